//! `return`: what follows an `if` whose branches return is its `else`. So the passes after this one do not see returns.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Block, Expr, ExprKind, Statement, StatementKind};

/// The error for a `return` anywhere else.
pub(super) fn misplaced(span: Span) -> Diagnostic {
    Diagnostic::new("E0505", span, "`return` is only allowed in a branch of an `if` that is a statement of the body")
        .label("not here")
        .help("the value of a block is its last expression")
}

/// The body with an `else` in place of returns. Returns in other places stay.
pub(super) fn without_returns(block: &Block, out: &mut Vec<Diagnostic>) -> Block {
    let mut block = block.clone();
    if let Some(result) = block.result.take_if(|result| is_returning(result)) {
        let (span, comments) = (result.span, std::mem::take(&mut block.trailing));
        let kind = StatementKind::Expr(*result);
        block.statements.push(Statement { comments, blank_before: block.blank_before_result, kind, span });
    }
    let is_first = |s: &Statement| matches!(&s.kind, StatementKind::Expr(e) if is_returning(e));
    let Some(at) = block.statements.iter().position(is_first) else { return block };
    let after = block.statements.split_off(at + 1);
    let Some(Statement { kind: StatementKind::Expr(choice), .. }) = block.statements.pop() else { return block };
    let start = after.first().map(|s| s.span).or(block.result.as_ref().map(|r| r.span));
    let rest = Block {
        span: start.map_or(choice.span, |start| Span { end: block.span.end, ..start }),
        statements: after,
        result: block.result.take(),
        trailing: std::mem::take(&mut block.trailing),
        blank_before_result: false,
    };
    let rest = (!rest.statements.is_empty() || rest.result.is_some()).then_some(rest);
    block.result = Some(Box::new(with_rest(choice, rest, out)));
    block
}

/// Whether it is an `if` with a `return` in a branch.
fn is_returning(expr: &Expr) -> bool {
    let ExprKind::If(_, then, otherwise) = &expr.kind else { return false };
    has_return(then) || otherwise.as_ref().is_some_and(|block| has_return(block))
}

fn has_return(block: &Block) -> bool {
    let returns = |statement: &Statement| match &statement.kind {
        StatementKind::Return(_) => true,
        StatementKind::Expr(expr) => is_returning(expr),
        _ => false,
    };
    block.statements.iter().any(returns) || block.result.as_ref().is_some_and(|result| is_returning(result))
}

/// An `if` as an expression: its branches give what they return, and a missing `else` gives the rest.
fn with_rest(choice: Expr, rest: Option<Block>, out: &mut Vec<Diagnostic>) -> Expr {
    let Expr { kind: ExprKind::If(condition, then, otherwise), span } = choice else { return choice };
    let then = returned(then, out);
    let otherwise = match otherwise.map(|block| *block) {
        None => match rest {
            Some(rest) => Some(without_returns(&rest, out)),
            None => {
                let text = "the body has no value where the condition of this `if` is false";
                let diagnostic = Diagnostic::new("E0505", span, text).label("nothing follows");
                out.push(diagnostic.help("write the value after it, or `else { .. }`"));
                Some(refusal(span))
            }
        },
        Some(block) if is_else_if(&block) => {
            let span = block.span;
            let result = block.result.map(|choice| Box::new(with_rest(*choice, rest, out)));
            Some(Block { statements: Vec::new(), result, trailing: Vec::new(), blank_before_result: false, span })
        }
        Some(block) => {
            if let Some(rest) = rest {
                unreachable_after(rest.span, out);
            }
            Some(returned(block, out))
        }
    };
    Expr { kind: ExprKind::If(condition, then, otherwise.map(Box::new)), span }
}

fn is_else_if(block: &Block) -> bool {
    block.statements.is_empty() && block.result.as_ref().is_some_and(|e| matches!(e.kind, ExprKind::If(..)))
}

/// A branch that ends with `return` or refuses, as a block with a value.
fn returned(mut block: Block, out: &mut Vec<Diagnostic>) -> Block {
    let refuses = |e: &Expr| matches!(e.kind, ExprKind::Fail(_) | ExprKind::Since(_));
    if let Some(at) = block.statements.iter().position(|s| matches!(s.kind, StatementKind::Return(_))) {
        let next = block.statements.get(at + 1).map(|s| s.span).or(block.result.as_ref().map(|r| r.span));
        if let Some(next) = next {
            unreachable_after(next, out);
        }
        block.statements.truncate(at + 1);
        if let Some(Statement { kind: StatementKind::Return(value), .. }) = block.statements.pop() {
            block.result = Some(Box::new(value));
        }
        return without_returns(&block, out);
    }
    let ends = match (&block.result, block.statements.last().map(|s| &s.kind)) {
        (Some(result), _) => refuses(result) || is_returning(result),
        (None, Some(StatementKind::Expr(last))) => refuses(last) || is_returning(last),
        _ => false,
    };
    if ends {
        return without_returns(&block, out);
    }
    let text = "this branch does not return, but another branch of its `if` does";
    let diagnostic = Diagnostic::new("E0505", block.span, text).label("it must end with `return` or `fail`");
    out.push(diagnostic.help("what follows an `if` whose branches return is its `else`"));
    block.result = refusal(block.span).result;
    block
}

/// A block whose value fits everywhere, so that no further errors follow.
fn refusal(span: Span) -> Block {
    let result = Some(Box::new(Expr { kind: ExprKind::Fail(Vec::new()), span }));
    Block { statements: Vec::new(), result, trailing: Vec::new(), blank_before_result: false, span }
}

fn unreachable_after(span: Span, out: &mut Vec<Diagnostic>) {
    out.push(Diagnostic::new("E0602", span, "the code after `return` is never reached").label("never reached"));
}
