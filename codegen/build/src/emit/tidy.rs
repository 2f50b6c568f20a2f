//! Makes generated Rust readable: removes parentheses, blocks, references, suffixes and `Ok`s that are not needed.
//!
//! The result does the same. Emission may thus write parentheses and braces without knowing the context of an expression.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ItemFn, LitInt, Stmt, UnOp, parse_quote};

/// Tidies a whole file. `prettyplease` puts parentheses back where precedence needs them.
pub(super) fn tidy(file: &mut syn::File) {
    RemoveRedundant.visit_file_mut(file);
    MoveOkInwards.visit_file_mut(file);
}

/// Removes what an expression does not need.
struct RemoveRedundant;

impl VisitMut for RemoveRedundant {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        while let Some(inner) = unwrapped(expr) {
            *expr = inner;
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        visit_mut::visit_block_mut(self, block);
        flatten(block);
    }

    /// Numbers from `quote` have suffixes, which the context makes redundant.
    fn visit_lit_int_mut(&mut self, number: &mut LitInt) {
        if matches!(number.suffix(), "u32" | "usize") {
            *number = LitInt::new(number.base10_digits(), number.span());
        }
    }
}

/// The expression inside parentheses or after `*&`.
fn unwrapped(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Paren(paren) => Some((*paren.expr).clone()),
        Expr::Group(group) => Some((*group.expr).clone()),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => match &*unary.expr {
            Expr::Reference(borrow) if borrow.mutability.is_none() => Some((*borrow.expr).clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Moves the statements of a block at the end of a block into the outer one. Nothing is bound in between.
fn flatten(block: &mut Block) {
    while let Some(Stmt::Expr(Expr::Block(last), None)) = block.stmts.last() {
        if last.label.is_some() || !last.attrs.is_empty() {
            return;
        }
        let inner = last.block.stmts.clone();
        block.stmts.pop();
        block.stmts.extend(inner);
    }
}

/// Moves the `Ok` of a function to the ends of its branches.
struct MoveOkInwards;

impl VisitMut for MoveOkInwards {
    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        visit_mut::visit_item_fn_mut(self, function);
        simplify_tail(&mut function.block);
    }
}

/// `Ok({ .. x })` is `.. Ok(x)`.
fn simplify_tail(block: &mut Block) {
    let Some(Stmt::Expr(tail, None)) = block.stmts.last_mut() else { return };
    let Some(value) = ok_content(tail) else { return };
    *tail = into_result(value);
    flatten(block);
}

/// The content of `Ok(..)`.
fn ok_content(expr: &Expr) -> Option<Expr> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    if !path.path.is_ident("Ok") || call.args.len() != 1 {
        return None;
    }
    call.args.first().cloned()
}

/// The value as a `Result`: `Ok` moves to the ends of its branches, where it cancels `?`.
fn into_result(value: Expr) -> Expr {
    match value {
        Expr::Block(mut block) if block.label.is_none() => {
            block_into_result(&mut block.block);
            Expr::Block(block)
        }
        Expr::If(mut choice) => {
            let Some((token, other)) = choice.else_branch.take() else { return parse_quote!(Ok(#choice)) };
            block_into_result(&mut choice.then_branch);
            choice.else_branch = Some((token, Box::new(into_result(*other))));
            Expr::If(choice)
        }
        Expr::Match(mut choice) => {
            for arm in &mut choice.arms {
                let body = std::mem::replace(&mut *arm.body, Expr::Verbatim(proc_macro2::TokenStream::new()));
                *arm.body = into_result(body);
                arm.comma.get_or_insert(syn::Token![,](Span::call_site()));
            }
            Expr::Match(choice)
        }
        Expr::Try(attempt) => *attempt.expr,
        Expr::Return(_) => value,
        value => parse_quote!(Ok(#value)),
    }
}

fn block_into_result(block: &mut Block) {
    if let Some(Stmt::Expr(tail, None)) = block.stmts.last_mut() {
        let value = std::mem::replace(tail, Expr::Verbatim(proc_macro2::TokenStream::new()));
        *tail = into_result(value);
    }
    flatten(block);
}
