//! The syntax tree: what stands in a file, with comments and spans, before any name is looked up.
//!
//! Invariants: every node has the span of its own text; nothing is expanded or desugared; printing a tree and
//! parsing it again gives the same tree (but for spans).

use crate::source::Span;

/// A name or a piece of text with its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ident {
    /// As written. In a family it may hold placeholders: `{name}`, `{name}_backward`.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A comment line that stands on its own (`// ...`), without the slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// After `//`, trailing blanks cut.
    pub text: String,
    /// Where.
    pub span: Span,
    /// A blank line stood before it.
    pub blank_before: bool,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// The `//!` lines at its head, without the marks.
    pub docs: Vec<String>,
    /// In the order of the file.
    pub items: Vec<Item>,
    /// Comments after the last item.
    pub trailing: Vec<Comment>,
}

/// One item with what stands before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Comment lines before the item (and before its docs).
    pub comments: Vec<Comment>,
    /// The `///` lines, without the marks.
    pub docs: Vec<String>,
    /// A blank line stood before its docs or, without docs, its keyword. (Comments have their own mark.)
    pub blank_before: bool,
    /// What it is.
    pub kind: ItemKind,
    /// From its first keyword to its end.
    pub span: Span,
}

/// The kinds of items.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemKind {
    /// `map aten::elu(...) -> Tensor ...`
    Map(Map),
    /// `lower Gelu before 20 (...) ...`
    Lower(Lower),
    /// `same Cast 13 as 19 "why"`
    Same(Same),
    /// `fn name(...) -> T ...`
    Fn(Fn),
    /// `extern fn name(...) -> T`
    ExternFn(ExternFn),
    /// `unsupported aten::nonzero_static "reason"`
    Unsupported(Unsupported),
    /// `import_domain "mydomain" 1`
    ImportDomain(ImportDomain),
    /// `example aten::elu(f32[2, 3])`
    Example(Example),
}

/// `aten::mul.Tensor`: a namespace, an operator and, unless it is the default, an overload.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpName {
    /// `aten`
    pub namespace: Ident,
    /// `mul`; may hold placeholders.
    pub name: Ident,
    /// `Tensor`; may hold placeholders. None for the default overload.
    pub overload: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// A type as written: `Tensor?[]`, `int[2]`, `(Tensor, Tensor)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeExpr {
    /// What.
    pub kind: TypeExprKind,
    /// Where.
    pub span: Span,
}

/// The forms of types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeExprKind {
    /// `Tensor`, `int`, `Scalar`, ... (alias marks are dropped when parsed)
    Name(String),
    /// `T?`
    Optional(Box<TypeExpr>),
    /// `T[]` or `T[2]`
    List(Box<TypeExpr>, Option<u32>),
    /// `(A, B)`; `()` is the empty tuple.
    Tuple(Vec<TypeExpr>),
}

/// A parameter of a header: `Scalar alpha=1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// `Scalar`
    pub ty: TypeExpr,
    /// `alpha`
    pub name: Ident,
    /// The text after `=`, as written (PyTorch's own notation: `1`, `[]`, `None`, `contiguous_format`).
    pub default: Option<Ident>,
    /// It stood after a lone `*`.
    pub keyword_only: bool,
    /// All of it.
    pub span: Span,
}

/// A result of a header: `Tensor values`, or a nameless `Tensor`.
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    /// Its type.
    pub ty: TypeExpr,
    /// Its name, if it has one.
    pub name: Option<Ident>,
}

/// `map`
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// The overload.
    pub op: OpName,
    /// The header's parameters.
    pub params: Vec<Param>,
    /// The header's results. `-> ()` has none.
    pub returns: Vec<Return>,
    /// `since N "reason"` after the header.
    pub since: Option<SinceClause>,
    /// What it does.
    pub body: Body,
    /// The rows of a family.
    pub rows: Option<Vec<Row>>,
    /// Header text, from the namespace to the return type.
    pub header_span: Span,
}

/// `since 16 "no GridSample before"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceClause {
    /// 16
    pub opset: u32,
    /// Where the number is.
    pub opset_span: Span,
    /// The reason.
    pub reason: String,
    /// All of it.
    pub span: Span,
}

/// A row of a family: `acos => Acos,` or `key => (A, "b", 3),`
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Comment lines before it.
    pub comments: Vec<Comment>,
    /// Its `///` lines.
    pub docs: Vec<String>,
    /// A blank line stood before its docs or key.
    pub blank_before: bool,
    /// `acos`, may hold dots.
    pub key: Ident,
    /// The columns: literals, names, overloads (`aten::x.y` is [`ExprKind::Path`]).
    pub columns: Vec<Expr>,
    /// A comment at the end of its line.
    pub trailing: Option<Comment>,
    /// All of it.
    pub span: Span,
}

/// `lower`
#[derive(Debug, Clone, PartialEq)]
pub struct Lower {
    /// The operator; a domain if it was written.
    pub op: OnnxName,
    /// N of `before N`.
    pub before: u32,
    /// Where N is.
    pub before_span: Span,
    /// Inputs, then attributes with their suffix.
    pub params: Vec<Ident>,
    /// The outputs it names.
    pub outputs: LowerOutputs,
    /// What it does.
    pub body: Body,
    /// From `lower` to the end of the outputs.
    pub header_span: Span,
}

/// What a lowering gives.
#[derive(Debug, Clone, PartialEq)]
pub enum LowerOutputs {
    /// Nothing written: the one output.
    Single,
    /// `-> (Y, Mean)`
    Named(Vec<Ident>),
    /// `-> [outputs]`: the variadic output of this name.
    Variadic(Ident),
}

/// `Gelu` or `com.microsoft::QuickGelu`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OnnxName {
    /// `com.microsoft`; None is the default domain.
    pub domain: Option<Ident>,
    /// `Gelu`; may hold placeholders.
    pub name: Ident,
    /// All of it.
    pub span: Span,
}

/// `import_domain "mydomain" 1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportDomain {
    /// `mydomain`
    pub domain: Ident,
    /// The version of the domain that models are to import.
    pub version: u32,
}

/// `same Cast 13 as 19 "why"`
#[derive(Debug, Clone, PartialEq)]
pub struct Same {
    /// The operator.
    pub op: OnnxName,
    /// The older opset.
    pub from: u32,
    /// The newer opset.
    pub to: u32,
    /// Where the numbers are.
    pub numbers_span: Span,
    /// Why.
    pub why: String,
}

/// `fn`
#[derive(Debug, Clone, PartialEq)]
pub struct Fn {
    /// Its name.
    pub name: Ident,
    /// Its parameters (no keyword-only ones; defaults are allowed).
    pub params: Vec<Param>,
    /// Its result.
    pub returns: TypeExpr,
    /// What it does.
    pub body: Body,
}

/// `extern fn`
#[derive(Debug, Clone, PartialEq)]
pub struct ExternFn {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result.
    pub returns: TypeExpr,
}

/// `unsupported`
#[derive(Debug, Clone, PartialEq)]
pub struct Unsupported {
    /// The overload.
    pub op: OpName,
    /// What a user reads.
    pub reason: String,
}

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
    /// A blank line stood before the result.
    pub blank_before_result: bool,
    /// With the braces.
    pub span: Span,
}

/// A statement with the comment lines before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Comment lines before it.
    pub comments: Vec<Comment>,
    /// A blank line stood before it.
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
    /// `if c { fail "..." }` and the like, whose value is not used. The semicolon is optional after a brace.
    Expr(Expr),
}

/// What a `let`, a comprehension or a closure binds.
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
    /// `3`; hexadecimal is not known.
    Int(i64),
    /// `0.5`, `1e-5`, as written.
    Float(f64, String),
    /// `"text"`, unescaped.
    Str(String),
    /// A lower-case name or a constant (`INT64_MAX`, `True`, `None`, `float32`), perhaps a placeholder `{x}`.
    Name(Ident),
    /// `aten::mul.Tensor` that is not called (only in the columns of a family).
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
    /// `if`; the else branch is a block or another `if` (kept as a block with that `if` as its result and the same span).
    If(Condition, Block, Option<Box<Block>>),
    /// `match`
    Match(Box<Expr>, Vec<Arm>),
    /// `[a, ..rest]`
    List(Vec<ListItem>),
    /// `[e for p in xs if c]`
    Comprehension { element: Box<Expr>, pattern: Pattern, list: Box<Expr>, condition: Option<Box<Expr>> },
    /// `(a, b)`: two or more; parentheses around one leave no trace but the printed ones that precedence needs.
    Tuple(Vec<Expr>),
    /// `xs[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `xs[a .. b]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `{ ... }`
    Block(Block),
    /// `fail "reason {dim}"`, cut at its braces.
    Fail(Vec<TextPart>),
    /// `since 18 "reason"` in the place of a value.
    Since(SinceClause),
    /// `|i, cond| { ... }` or `|| e`
    Closure(Vec<Ident>, Box<Expr>),
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
    /// A blank line stood before it.
    pub blank_before: bool,
    /// Alternatives: `a | b`.
    pub patterns: Vec<ArmPattern>,
    /// The value.
    pub value: Expr,
    /// The patterns' place.
    pub span: Span,
}

/// A pattern of a match arm. Tuples of a match on a tuple have a pattern for each element.
#[derive(Debug, Clone, PartialEq)]
pub enum ArmPattern {
    /// `_`
    Wild(Span),
    /// A literal int, float, string, or a negative number.
    Literal(Expr),
    /// A name: a constant or dtype name if it is one, else a binding.
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
    /// By place.
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

/// Infix operators, loosest first: `??` (its own node), `||`, `&&`, comparisons and `in`, `+ -`, `* / %`, `**`.
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

/// `example aten::elu(f32[2, 3], alpha = 0.5) with n = 4`
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// What is called.
    pub target: ExampleTarget,
    /// Its arguments.
    pub args: Vec<ExampleArg>,
    /// Sizes of symbolic dimensions.
    pub with: Vec<(Ident, i64)>,
}

/// An ATen overload or an ONNX operator.
#[derive(Debug, Clone, PartialEq)]
pub enum ExampleTarget {
    /// `aten::elu`; may hold placeholders.
    Map(OpName),
    /// `Gelu`
    Lower(OnnxName),
}

/// An argument of an example.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleArg {
    /// `alpha`, or by place.
    pub name: Option<Ident>,
    /// Its value.
    pub value: ExampleValue,
    /// All of it.
    pub span: Span,
}

/// What an example gives.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExampleValue {
    /// `f32[2, n] in 0.1 .. 0.9`
    Tensor { dtype: String, sizes: Vec<ExampleSize>, range: Option<(f64, f64)> },
    /// `i64{0, 2}`, `f32{{1, 2}, {3, 4}}`: elements in row-major order and the sizes.
    Literal { dtype: String, sizes: Vec<i64>, elements: Vec<f64> },
    /// A list of values.
    List(Vec<ExampleValue>),
    /// An int.
    Int(i64),
    /// A float (also `INF`, `-INF`, `NAN`).
    Float(f64),
    /// `True`
    Bool(bool),
    /// A string.
    Str(String),
    /// `None`
    None,
    /// A dtype, or another name: `float16`, `contiguous_format`.
    Name(String),
    /// `outputs = 3` has an Int; `body_g = |..| {..}` a closure.
    Graph(Box<Expr>),
    /// `SequenceConstruct(f32[2], f32[3])`: what an ONNX operator gives.
    Node(Ident, Vec<ExampleArg>),
}

/// A size of an example's tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleSize {
    /// `3`
    Known(i64),
    /// `n`
    Symbolic(String),
}
