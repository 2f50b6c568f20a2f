//! Makes generated Rust read as if it were written by hand: no parentheses, blocks, borrows, suffixes and `Ok`s that say nothing.
//!
//! It takes parsed Rust and gives Rust that does the same. Emission may thus be generous with parentheses and braces,
//! and need not know what stands around an expression.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ItemFn, LitInt, Stmt, UnOp, parse_quote};

/// Tidies a whole file. `prettyplease` puts parentheses back where precedence needs them.
pub(super) fn tidy(file: &mut syn::File) {
    Plain.visit_file_mut(file);
    Tails.visit_file_mut(file);
}

/// Takes away what an expression does not need.
struct Plain;

impl VisitMut for Plain {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        while let Some(inner) = inside(expr) {
            *expr = inner;
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        visit_mut::visit_block_mut(self, block);
        flatten(block);
    }

    /// A number that `quote` wrote says its type; what takes it knows it.
    fn visit_lit_int_mut(&mut self, number: &mut LitInt) {
        if matches!(number.suffix(), "u32" | "usize") {
            *number = LitInt::new(number.base10_digits(), number.span());
        }
    }
}

/// What parentheses hold, or what `*&` and `&*` lead back to.
fn inside(expr: &Expr) -> Option<Expr> {
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

/// A block that ends in a block holds its statements itself: nothing is bound in between.
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

/// Brings the `Ok` of a function to the values that it is about.
struct Tails;

impl VisitMut for Tails {
    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        visit_mut::visit_item_fn_mut(self, function);
        end(&mut function.block);
    }
}

/// `Ok({ .. x })` is `.. Ok(x)`.
fn end(block: &mut Block) {
    let Some(Stmt::Expr(tail, None)) = block.stmts.last_mut() else { return };
    let Some(value) = wrapped(tail) else { return };
    *tail = fine(value);
    flatten(block);
}

/// What stands in `Ok(..)`.
fn wrapped(expr: &Expr) -> Option<Expr> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    if !path.path.is_ident("Ok") || call.args.len() != 1 {
        return None;
    }
    call.args.first().cloned()
}

/// The value as a result: `Ok` goes down to the ends of its branches, and meets the `?` there.
fn fine(value: Expr) -> Expr {
    match value {
        Expr::Block(mut block) if block.label.is_none() => {
            fine_block(&mut block.block);
            Expr::Block(block)
        }
        Expr::If(mut choice) => {
            let Some((token, other)) = choice.else_branch.take() else { return parse_quote!(Ok(#choice)) };
            fine_block(&mut choice.then_branch);
            choice.else_branch = Some((token, Box::new(fine(*other))));
            Expr::If(choice)
        }
        Expr::Match(mut choice) => {
            for arm in &mut choice.arms {
                let body = std::mem::replace(&mut *arm.body, Expr::Verbatim(proc_macro2::TokenStream::new()));
                *arm.body = fine(body);
                arm.comma.get_or_insert(syn::Token![,](Span::call_site()));
            }
            Expr::Match(choice)
        }
        Expr::Try(attempt) => *attempt.expr,
        Expr::Return(_) => value,
        value => parse_quote!(Ok(#value)),
    }
}

fn fine_block(block: &mut Block) {
    if let Some(Stmt::Expr(tail, None)) = block.stmts.last_mut() {
        let value = std::mem::replace(tail, Expr::Verbatim(proc_macro2::TokenStream::new()));
        *tail = fine(value);
    }
    flatten(block);
}
