//! A `fuse` as two rules with the same parameters: what it replaces, `fuse::NAME.before`, and the replacement, `fuse::NAME`.

use crate::source::Span;
use crate::syntax::ast::walk::walk_expr;
use crate::syntax::ast::{
    Argument, Block, Body, Condition, Expr, ExprKind, Fuse, Ident, Map, OpName, Return, Statement, StatementKind,
    TextPart, TypeExpr, TypeExprKind, UnaryOp,
};

/// In a pattern: other nodes may read the result of the node inside, too.
const SHARED: &str = "shared";

/// The replacement, and what it replaces.
pub(super) fn both_rules(fuse: &Fuse) -> [Map; 2] {
    let mut pattern = fuse.pattern.clone();
    walk_expr(&mut pattern, &mut |expr| {
        if let Some(inner) = inside_shared(expr) {
            *expr = inner.clone();
        }
    });
    [rule(fuse, None, replacement(fuse)), rule(fuse, Some(Fuse::BEFORE), Body::Expr(pattern))]
}

/// The node inside `shared(..)`.
pub fn inside_shared(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(name, args) if name.text == SHARED => match args.as_slice() {
            [Argument::Positional(inner)] => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

fn rule(fuse: &Fuse, overload: Option<&str>, body: Body) -> Map {
    let name = &fuse.name;
    let ident = |text: &str| Ident { text: text.to_owned(), span: name.span };
    let op = OpName {
        namespace: ident(Fuse::NAMESPACE),
        name: name.clone(),
        overload: overload.map(ident),
        span: name.span,
    };
    let tensor = TypeExpr { kind: TypeExprKind::Name("Tensor".to_owned()), span: name.span };
    Map {
        op,
        params: fuse.params.clone(),
        returns: vec![Return { ty: tensor, name: None }],
        since: None,
        body,
        rows: None,
        header_span: fuse.header_span,
    }
}

/// The replacement. It refuses where the condition does not hold.
fn replacement(fuse: &Fuse) -> Body {
    let Some(condition) = &fuse.condition else { return fuse.body.clone() };
    let refusal = refusal(fuse, condition);
    let mut block = match &fuse.body {
        Body::Block(block) => block.clone(),
        Body::Expr(expr) => Block {
            statements: Vec::new(),
            result: Some(Box::new(expr.clone())),
            trailing: Vec::new(),
            blank_before_result: false,
            span: expr.span,
        },
    };
    block.statements.insert(0, refusal);
    Body::Block(block)
}

/// `if !(condition) { fail ".." }`
fn refusal(fuse: &Fuse, condition: &Expr) -> Statement {
    let span: Span = condition.span;
    let of = |kind: ExprKind| Expr { kind, span };
    let text = format!("the condition of `{}` does not hold", fuse.rule_name());
    let fails = Block {
        statements: Vec::new(),
        result: Some(Box::new(of(ExprKind::Fail(vec![TextPart::Text(text)])))),
        trailing: Vec::new(),
        blank_before_result: false,
        span,
    };
    let is_not = of(ExprKind::Unary(UnaryOp::Not, Box::new(condition.clone())));
    let kind = StatementKind::Expr(of(ExprKind::If(Condition::Expr(Box::new(is_not)), fails, None)));
    Statement { comments: Vec::new(), blank_before: false, kind, span }
}
