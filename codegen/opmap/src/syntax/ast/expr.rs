//! Bodies, statements and expressions.

use super::{Comment, Ident, OnnxName, OpName, SinceClause};
use crate::source::Span;

/// `= expression` or `{ ... }`
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// `= e`
    Expr(Expr),
    /// `{ ... }`
    Block(Block),
}

/// `{ statements; result }`
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// The last expression, without a semicolon.
    pub result: Option<Box<Expr>>,
    /// Comment lines before the result or the closing brace.
    pub trailing: Vec<Comment>,
    /// There is a blank line before the result.
    pub blank_before_result: bool,
    /// With the braces.
    pub span: Span,
}

/// A statement with the comment lines before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Comment lines before it.
    pub comments: Vec<Comment>,
    /// There is a blank line before it.
    pub blank_before: bool,
    /// What.
    pub kind: StatementKind,
    /// All of it.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// `let (a, b) = e;`
    Let(Pattern, Expr),
    /// `ignore(arg) "why";`
    Ignore(Ident, String),
    /// `since 16 "reason";`
    Since(SinceClause),
    /// `return e;` in a branch of an `if`.
    Return(Expr),
    /// An expression whose value is not used, such as `if c { fail "..." }`. The semicolon is optional after a brace.
    Expr(Expr),
}

/// The names that a `let` or a comprehension binds.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// `a`, or `_`
    Name(Ident),
    /// `(a, b)`
    Tuple(Vec<Ident>, Span),
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// The forms of expressions.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExprKind {
    /// `3`
    Int(i64),
    /// `0.5`, `1e-5`, as written.
    Float(f64, String),
    /// `"text"`, unescaped.
    Str(String),
    /// A lower-case name, a constant (`INT64_MAX`, `True`, `None`, `float32`) or a placeholder `{x}`.
    Name(Ident),
    /// `aten::mul.Tensor` in the columns of a family.
    Path(OpName),
    /// `Elu(x, alpha_f = a)`: a capitalised call, or one with a domain.
    Node(OnnxName, Vec<Argument>),
    /// `aten::mul.Tensor(a, b)`
    Rule(OpName, Vec<Argument>),
    /// `to_float(x)`: a lower-case call.
    Call(Ident, Vec<Argument>),
    /// `-x`, `!x`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a ?? b`
    Coalesce(Box<Expr>, Box<Expr>),
    /// `if`. An `else if` is a block with that `if` as its result and the same span.
    If(Condition, Block, Option<Box<Block>>),
    /// `match`
    Match(Box<Expr>, Vec<Arm>),
    /// `[a, ..rest]`
    List(Vec<ListItem>),
    /// `[e for p in xs if c]`
    Comprehension { element: Box<Expr>, pattern: Pattern, list: Box<Expr>, condition: Option<Box<Expr>> },
    /// `fold acc = init for x in list { body }`
    Fold { state: Pattern, init: Box<Expr>, item: Pattern, list: Box<Expr>, body: Block },
    /// `(a, b)`, with two or more elements. Parentheses around one expression are not in the tree.
    Tuple(Vec<Expr>),
    /// `xs[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `xs[a .. b]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `{ ... }`
    Block(Block),
    /// `fail "reason {dim}"`, split at its braces.
    Fail(Vec<TextPart>),
    /// `since 18 "reason"` in place of a value.
    Since(SinceClause),
    /// `|i, cond| { ... }` or `|| e`
    Closure(ClosureParams, Box<Expr>),
}

/// `i, cond, ..rest`
#[derive(Debug, Clone, PartialEq)]
pub struct ClosureParams {
    /// One value each.
    pub names: Vec<Ident>,
    /// All other values, as a list.
    pub rest: Option<Ident>,
}

/// `c` or `let b = bias`
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A bool.
    Expr(Box<Expr>),
    /// `let name = optional`
    Let(Ident, Box<Expr>),
}

/// A piece of a `fail` text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart {
    /// Literal text.
    Text(String),
    /// `{expression}`
    Expr(Expr),
}

/// `pattern => expression,`
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Comment lines before it.
    pub comments: Vec<Comment>,
    /// There is a blank line before it.
    pub blank_before: bool,
    /// Alternatives: `a | b`.
    pub patterns: Vec<ArmPattern>,
    /// The value.
    pub value: Expr,
    /// The place of the patterns.
    pub span: Span,
}

/// A pattern of a match arm.
#[derive(Debug, Clone, PartialEq)]
pub enum ArmPattern {
    /// `_`
    Wild(Span),
    /// A literal int, float or string. Numbers may be negative.
    Literal(Expr),
    /// The name of a constant or dtype, or a new name.
    Name(Ident),
    /// `(p, q)`
    Tuple(Vec<ArmPattern>, Span),
}

/// An element of a list.
#[derive(Debug, Clone, PartialEq)]
pub enum ListItem {
    /// `e`
    One(Expr),
    /// `..e`
    Spread(Expr),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// `e`
    Positional(Expr),
    /// `..list`
    Spread(Expr),
    /// `name = e`
    Named(Ident, Expr),
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

/// Infix operators, from loosest to tightest: `??` (its own node), `||`, `&&`, comparisons and `in`, `+ -`, `* / %`, `**`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
}

impl BinaryOp {
    /// Each with its sign.
    const SIGNS: [(BinaryOp, &'static str); 15] = [
        (BinaryOp::Or, "||"),
        (BinaryOp::And, "&&"),
        (BinaryOp::Eq, "=="),
        (BinaryOp::Ne, "!="),
        (BinaryOp::Lt, "<"),
        (BinaryOp::Le, "<="),
        (BinaryOp::Gt, ">"),
        (BinaryOp::Ge, ">="),
        (BinaryOp::In, "in"),
        (BinaryOp::Add, "+"),
        (BinaryOp::Sub, "-"),
        (BinaryOp::Mul, "*"),
        (BinaryOp::Div, "/"),
        (BinaryOp::Rem, "%"),
        (BinaryOp::Pow, "**"),
    ];

    /// How it is written: `+`.
    pub fn sign(self) -> &'static str {
        BinaryOp::SIGNS.iter().find(|(op, _)| *op == self).map_or("", |(_, sign)| sign)
    }

    /// The one that is written like this.
    pub fn of_sign(sign: &str) -> Option<BinaryOp> {
        BinaryOp::SIGNS.iter().find(|(_, own)| *own == sign).map(|(op, _)| *op)
    }
}
