//! Text on one line: types, literals, and expressions that are readable there.

use crate::syntax::ast::{
    Argument, ArmPattern, BinaryOp, Block, ClosureParams, Condition, Expr, ExprKind, Ident, ListItem, OnnxName, OpName,
    Param, Pattern, Return, SinceClause, Statement, StatementKind, TextPart, TypeExpr, TypeExprKind, UnaryOp,
};

/// Which expressions may be on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Those that are readable on one line: no `match`, no `else if`, few statements.
    Natural,
    /// All, for the expressions inside the text of a `fail`, which cannot be broken.
    Forced,
}

/// An expression on one line, if the mode allows it.
pub(super) fn expr(expr: &Expr, mode: Mode) -> Option<String> {
    operand(expr, 0, mode)
}

/// An operand, in parentheses if its precedence is below `least`.
pub(super) fn operand(expr: &Expr, least: u8, mode: Mode) -> Option<String> {
    if needs_parentheses(expr, least) {
        return Some(format!("({})", bare(expr, mode)?));
    }
    bare(expr, mode)
}

fn bare(expr: &Expr, mode: Mode) -> Option<String> {
    Some(match &expr.kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Float(_, text) => text.clone(),
        ExprKind::Str(text) => string(text),
        ExprKind::Name(name) => name.text.clone(),
        ExprKind::Path(op) => op_name(op),
        ExprKind::Node(name, arguments) => call(&onnx_name(name), arguments, mode)?,
        ExprKind::Rule(op, arguments) => call(&op_name(op), arguments, mode)?,
        ExprKind::Call(name, arguments) => call(&name.text, arguments, mode)?,
        ExprKind::Unary(op, inner) => format!("{}{}", unary_sign(*op), operand(inner, UNARY, mode)?),
        ExprKind::Binary(op, left, right) => {
            let (least_left, least_right) = sides(*op);
            let left = operand(left, least_left, mode)?;
            format!("{left} {} {}", op.sign(), operand(right, least_right, mode)?)
        }
        ExprKind::Coalesce(left, right) => {
            let left = operand(left, COALESCE_LEFT, mode)?;
            format!("{left} ?? {}", operand(right, coalesce_right(right), mode)?)
        }
        ExprKind::If(condition, then, otherwise) => if_expr(condition, then, otherwise.as_deref(), mode)?,
        ExprKind::Match(..) if mode == Mode::Natural => return None,
        ExprKind::Match(value, arms) => {
            let arms: Option<Vec<String>> = arms
                .iter()
                .map(|arm| Some(format!("{} => {}", patterns(&arm.patterns, mode)?, self::expr(&arm.value, mode)?)))
                .collect();
            format!("match {} {{ {} }}", self::expr(value, mode)?, arms?.join(", "))
        }
        ExprKind::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| list_item(item, mode)).collect();
            format!("[{}]", items?.join(", "))
        }
        ExprKind::Comprehension { element, pattern, list, condition } => {
            let mut text = format!("[{} {}", self::expr(element, mode)?, for_clause(pattern, list, mode)?);
            if let Some(condition) = condition {
                text = format!("{text} if {}", self::expr(condition, mode)?);
            }
            text + "]"
        }
        ExprKind::Tuple(exprs) => {
            let exprs: Option<Vec<String>> = exprs.iter().map(|one| self::expr(one, mode)).collect();
            format!("({})", exprs?.join(", "))
        }
        ExprKind::Index(list, index) => {
            format!("{}[{}]", operand(list, POSTFIX, mode)?, self::expr(index, mode)?)
        }
        ExprKind::Slice(list, start, end) => {
            let range = slice_range(start.as_deref(), end.as_deref(), mode)?;
            format!("{}[{range}]", operand(list, POSTFIX, mode)?)
        }
        ExprKind::Fold { state, init, item, list, body } => {
            format!("{} {}", fold_head(state, init, item, list, mode)?, block(body, 0, mode)?)
        }
        ExprKind::Block(inner) => block(inner, 1, mode)?,
        ExprKind::Fail(parts) => fail(parts)?,
        ExprKind::Since(clause) => since(clause),
        ExprKind::Closure(params, body) => format!("{} {}", closure_params(params), self::expr(body, mode)?),
    })
}

// ---------------------------------------------------------------- precedence

/// The body of a closure extends as far as possible.
const CLOSURE: u8 = 0;
const COALESCE: u8 = 1;
const OR: u8 = 2;
const COMPARISON: u8 = 4;
pub(super) const UNARY: u8 = 7;
const POW: u8 = 8;
pub(super) const POSTFIX: u8 = 9;
const PRIMARY: u8 = 10;
/// Parentheses around operators inside `??` help readers; the parser does not need them.
pub(super) const COALESCE_LEFT: u8 = UNARY;

/// See [`COALESCE_LEFT`].
pub(super) fn coalesce_right(right: &Expr) -> u8 {
    if matches!(right.kind, ExprKind::Binary(..)) { UNARY } else { COALESCE }
}

fn precedence(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Closure(..) => CLOSURE,
        ExprKind::Coalesce(..) => COALESCE,
        // At the start of a statement they end it, and an operator after them would belong to their last part.
        ExprKind::If(..) | ExprKind::Match(..) | ExprKind::Fold { .. } | ExprKind::Block(..) => COALESCE,
        ExprKind::Binary(op, ..) => binary_precedence(*op),
        ExprKind::Unary(..) => UNARY,
        ExprKind::Int(value) if *value < 0 => UNARY,
        ExprKind::Index(..) | ExprKind::Slice(..) => POSTFIX,
        _ => PRIMARY,
    }
}

fn binary_precedence(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Or => OR,
        And => 3,
        Eq | Ne | Lt | Le | Gt | Ge | In => COMPARISON,
        Add | Sub => 5,
        Mul | Div | Rem => 6,
        Pow => POW,
    }
}

/// The least precedence of the left and the right operand without parentheses. Parentheses around `&&` in `||` help readers;
/// the parser does not need them.
pub(super) fn sides(op: BinaryOp) -> (u8, u8) {
    match binary_precedence(op) {
        OR => (OR, COMPARISON),
        COMPARISON => (COMPARISON + 1, COMPARISON + 1),
        POW => (POSTFIX, UNARY),
        level => (level, level + 1),
    }
}

/// `if`, `match` and blocks, which end at their brace as statements.
pub(super) fn is_block_like(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::If(..) | ExprKind::Match(..) | ExprKind::Block(..))
}

pub(super) fn unary_sign(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::Not => "!",
    }
}

// ---------------------------------------------------------------- parts of expressions

fn call(name: &str, arguments: &[Argument], mode: Mode) -> Option<String> {
    let arguments: Option<Vec<String>> = arguments.iter().map(|one| argument(one, mode)).collect();
    Some(format!("{name}({})", arguments?.join(", ")))
}

pub(super) fn argument(argument: &Argument, mode: Mode) -> Option<String> {
    Some(match argument {
        Argument::Positional(value) => expr(value, mode)?,
        Argument::Spread(value) => format!("..{}", expr(value, mode)?),
        Argument::Named(name, value) => format!("{} = {}", name.text, expr(value, mode)?),
    })
}

pub(super) fn list_item(item: &ListItem, mode: Mode) -> Option<String> {
    Some(match item {
        ListItem::One(value) => expr(value, mode)?,
        ListItem::Spread(value) => format!("..{}", expr(value, mode)?),
    })
}

/// `fold acc = init for x in xs`
pub(super) fn fold_head(state: &Pattern, init: &Expr, item: &Pattern, list: &Expr, mode: Mode) -> Option<String> {
    let start = format!("fold {} = {}", binding(state), expr(init, mode)?);
    Some(format!("{start} {}", for_clause(item, list, mode)?))
}

/// `for x in xs`
pub(super) fn for_clause(pattern: &Pattern, list: &Expr, mode: Mode) -> Option<String> {
    Some(format!("for {} in {}", binding(pattern), expr(list, mode)?))
}

pub(super) fn binding(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Name(name) => name.text.clone(),
        Pattern::Tuple(names, _) => format!("({})", names_list(names)),
    }
}

pub(super) fn names_list(names: &[Ident]) -> String {
    names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// `a .. b`, `.. b`, `a ..`, `..`
pub(super) fn slice_range(start: Option<&Expr>, end: Option<&Expr>, mode: Mode) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(start) = start {
        parts.push(expr(start, mode)?);
    }
    parts.push("..".to_owned());
    if let Some(end) = end {
        parts.push(expr(end, mode)?);
    }
    Some(parts.join(" "))
}

pub(super) fn closure_params(params: &ClosureParams) -> String {
    let texts = names_and_rest(&params.names, params.rest.as_ref());
    if texts.is_empty() { "||".to_owned() } else { format!("|{}|", texts.join(", ")) }
}

/// The names, and the last one after `..`.
pub(super) fn names_and_rest(names: &[Ident], rest: Option<&Ident>) -> Vec<String> {
    let rest = rest.map(|name| format!("..{}", name.text));
    names.iter().map(|name| name.text.clone()).chain(rest).collect()
}

pub(super) fn condition(condition: &Condition, mode: Mode) -> Option<String> {
    match condition {
        Condition::Expr(value) => expr(value, mode),
        Condition::Let(name, value) => Some(format!("let {} = {}", name.text, expr(value, mode)?)),
    }
}

/// Whether an operand needs parentheses.
pub(super) fn needs_parentheses(expr: &Expr, least: u8) -> bool {
    precedence(expr) < least
}

fn if_expr(test: &Condition, then: &Block, otherwise: Option<&Block>, mode: Mode) -> Option<String> {
    let mut text = format!("if {} {}", condition(test, mode)?, branch(then, mode)?);
    if let Some(otherwise) = otherwise {
        let otherwise = match else_if(otherwise) {
            Some(_) if mode == Mode::Natural => return None,
            Some(chained) => expr(chained, mode)?,
            None => branch(otherwise, mode)?,
        };
        text = format!("{text} else {otherwise}");
    }
    Some(text)
}

/// A branch may be on the line of its `if` if it is one simple expression.
fn branch(branch: &Block, mode: Mode) -> Option<String> {
    if let ([Statement { kind: StatementKind::Return(value), comments, .. }], None) =
        (branch.statements.as_slice(), &branch.result)
        && comments.is_empty()
        && branch.trailing.is_empty()
        && !is_block_like(value)
    {
        return Some(format!("{{ return {}; }}", expr(value, mode)?));
    }
    let nested = branch.result.as_ref().is_some_and(|result| is_block_like(result));
    if nested && mode == Mode::Natural {
        return None;
    }
    block(branch, 0, mode)
}

/// The `if` of an `else if`.
pub(super) fn else_if(block: &Block) -> Option<&Expr> {
    let result = block.result.as_deref()?;
    let lone = block.statements.is_empty() && block.trailing.is_empty();
    (lone && matches!(result.kind, ExprKind::If(..))).then_some(result)
}

/// A block with at most this number of statements, and a result.
pub(super) fn block(block: &Block, statements: usize, mode: Mode) -> Option<String> {
    let fits = block.statements.len() <= statements && (block.statements.is_empty() || block.result.is_some());
    let commented = !block.trailing.is_empty() || block.statements.iter().any(|one| !one.comments.is_empty());
    if mode == Mode::Natural && (!fits || commented) {
        return None;
    }
    let mut parts = Vec::new();
    for (at, one) in block.statements.iter().enumerate() {
        let last = at + 1 == block.statements.len() && block.result.is_none();
        parts.push(statement(one, last, mode)?);
    }
    if let Some(value) = &block.result {
        parts.push(expr(value, mode)?);
    }
    Some(if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(" ")) })
}

fn statement(statement: &Statement, last: bool, mode: Mode) -> Option<String> {
    Some(match &statement.kind {
        StatementKind::Let(pattern, value) => format!("let {} = {};", binding(pattern), expr(value, mode)?),
        StatementKind::Ignore(name, why) => ignore(name, why),
        StatementKind::Since(clause) => format!("{};", since(clause)),
        StatementKind::Return(value) => format!("return {};", expr(value, mode)?),
        StatementKind::Expr(value) => {
            let text = statement_expr(value, mode)?;
            if is_block_like(value) && !last { text } else { text + ";" }
        }
    })
}

/// An expression whose value is not used.
pub(super) fn statement_expr(value: &Expr, mode: Mode) -> Option<String> {
    match &value.kind {
        // Without parentheses it would be parsed as the statement `since`.
        ExprKind::Since(clause) => Some(format!("({})", since(clause))),
        _ => expr(value, mode),
    }
}

pub(super) fn ignore(name: &Ident, why: &str) -> String {
    format!("ignore({}) {};", name.text, string(why))
}

pub(super) fn since(clause: &SinceClause) -> String {
    format!("since {} {}", clause.opset, string(&clause.reason))
}

pub(super) fn patterns(patterns: &[ArmPattern], mode: Mode) -> Option<String> {
    let texts: Option<Vec<String>> = patterns.iter().map(|one| pattern(one, mode)).collect();
    Some(texts?.join(" | "))
}

fn pattern(pattern: &ArmPattern, mode: Mode) -> Option<String> {
    Some(match pattern {
        ArmPattern::Wild(_) => "_".to_owned(),
        ArmPattern::Literal(value) => expr(value, mode)?,
        ArmPattern::Name(name) => name.text.clone(),
        ArmPattern::Tuple(inner, _) => {
            let inner: Option<Vec<String>> = inner.iter().map(|one| self::pattern(one, mode)).collect();
            format!("({})", inner?.join(", "))
        }
    })
}

// ---------------------------------------------------------------- strings

/// A quoted string.
pub(super) fn string(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out
}

fn fail(parts: &[TextPart]) -> Option<String> {
    let mut out = "fail \"".to_owned();
    for part in parts {
        match part {
            TextPart::Text(text) => out.push_str(&escaped(text).replace('{', "{{").replace('}', "}}")),
            TextPart::Expr(value) => {
                let value = expr(value, Mode::Forced)?;
                // `{{` would be an escaped brace.
                let blank = if value.starts_with('{') { " " } else { "" };
                out.push_str(&format!("{{{blank}{value}{blank}}}"));
            }
        }
    }
    Some(out + "\"")
}

// ---------------------------------------------------------------- headers

pub(super) fn op_name(op: &OpName) -> String {
    let overload = op.overload.as_ref().map(|overload| format!(".{}", overload.text)).unwrap_or_default();
    format!("{}::{}{overload}", op.namespace.text, op.name.text)
}

pub(super) fn onnx_name(name: &OnnxName) -> String {
    match &name.domain {
        Some(domain) => format!("{}::{}", domain.text, name.name.text),
        None => name.name.text.clone(),
    }
}

pub(super) fn ty(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeExprKind::Name(name) => name.clone(),
        TypeExprKind::Optional(inner) => format!("{}?", self::ty(inner)),
        TypeExprKind::List(inner, None) => format!("{}[]", self::ty(inner)),
        TypeExprKind::List(inner, Some(size)) => format!("{}[{size}]", self::ty(inner)),
        TypeExprKind::Tuple(types) => format!("({})", types.iter().map(self::ty).collect::<Vec<_>>().join(", ")),
    }
}

/// The parameters of a header, with `*` before the keyword-only ones.
pub(super) fn params(params: &[Param]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut keyword_only = false;
    for param in params {
        if param.keyword_only && !keyword_only {
            keyword_only = true;
            texts.push("*".to_owned());
        }
        let default = param.default.as_ref().map(|default| format!("={}", default.text)).unwrap_or_default();
        texts.push(format!("{} {}{default}", ty(&param.ty), param.name.text));
    }
    texts
}

/// `Tensor` or `(Tensor values, Tensor indices)`
pub(super) fn returns(returns: &[Return]) -> String {
    let texts: Vec<String> = returns.iter().map(returned).collect();
    match texts.as_slice() {
        [one] if !one.starts_with('(') => one.clone(),
        _ => format!("({})", texts.join(", ")),
    }
}

fn returned(one: &Return) -> String {
    let name = one.name.as_ref().map(|name| format!(" {}", name.text)).unwrap_or_default();
    format!("{}{name}", ty(&one.ty))
}
