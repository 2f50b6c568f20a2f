//! The syntax tree of a file, with comments and spans.
//!
//! Names are not resolved and nothing is expanded. Every node has the span of its own text. Printing a tree and parsing the result
//! gives the same tree, except for spans.

mod example;
mod expr;
pub mod walk;

use super::fact::Fact;
use crate::source::Span;
pub use example::{Example, ExampleArg, ExampleSize, ExampleTarget, ExampleValue};
pub use expr::{
    Argument, Arm, ArmPattern, BinaryOp, Block, Body, ClosureParams, Condition, Expr, ExprKind, ListItem, Pattern,
    Statement, StatementKind, TextPart, UnaryOp,
};

/// A name or another text with its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ident {
    /// As written. In a family it may contain placeholders: `{name}`, `{name}_backward`.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A comment on a line of its own (`// ...`), without the slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The text after `//`, without trailing blanks.
    pub text: String,
    /// Where.
    pub span: Span,
    /// There is a blank line before it.
    pub blank_before: bool,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// The `//!` lines at its start, without the marks.
    pub docs: Vec<String>,
    /// In the order of the file.
    pub items: Vec<Item>,
    /// Comments after the last item.
    pub trailing: Vec<Comment>,
}

/// One item with its comments and documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Comment lines before the item and its documentation.
    pub comments: Vec<Comment>,
    /// The `///` lines, without the marks.
    pub docs: Vec<String>,
    /// There is a blank line before its documentation or, without any, before its keyword.
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
    /// `raise Squeeze from 13 (...) ...`
    Raise(Lower),
    /// `fuse quotient(Tensor x, Tensor y) from Mul(x, Reciprocal(y)) = ...`
    Fuse(Fuse),
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
    /// `view aten::select.int = ...`, `write`, `update`, `rewrite` and `fact`
    Fact(Fact),
    /// `example aten::elu(f32[2, 3])`
    Example(Example),
}

/// `aten::mul.Tensor`: a namespace, an operator and, unless it is the default, an overload.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpName {
    /// `aten`
    pub namespace: Ident,
    /// `mul`, perhaps with placeholders.
    pub name: Ident,
    /// `Tensor`, perhaps with placeholders. None for the default overload.
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
    /// `Tensor`, `int`, `Scalar`, ... Alias marks are dropped.
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
    /// The text after `=` in PyTorch's notation: `1`, `[]`, `None`, `contiguous_format`.
    pub default: Option<Ident>,
    /// It is after a `*`.
    pub keyword_only: bool,
    /// All of it.
    pub span: Span,
}

/// A result of a header: `Tensor values`, or `Tensor` without a name.
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
    /// The body.
    pub body: Body,
    /// The rows of a family.
    pub rows: Option<Vec<Row>>,
    /// The header, from the namespace to the return type.
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
    /// There is a blank line before its documentation or key.
    pub blank_before: bool,
    /// `acos`, perhaps with dots.
    pub key: Ident,
    /// The columns: literals, names, overloads (`aten::x.y` is [`ExprKind::Path`]).
    pub columns: Vec<Expr>,
    /// A comment at the end of its line.
    pub trailing: Option<Comment>,
    /// All of it.
    pub span: Span,
}

/// In place of N: `lower OP avoided`, which replaces calls of any opset that the runtime does not compute as it should.
pub const AVOIDED: u32 = u32::MAX;

/// `lower` or `raise`
#[derive(Debug, Clone, PartialEq)]
pub struct Lower {
    /// The operator.
    pub op: OnnxName,
    /// N of `before N` or `from N`, or [`AVOIDED`].
    pub before: u32,
    /// Where N is.
    pub before_span: Span,
    /// Inputs, then attributes with their suffix.
    pub params: Vec<Ident>,
    /// `..attrs`: the attributes that are not listed.
    pub rest: Option<Ident>,
    /// The outputs.
    pub outputs: LowerOutputs,
    /// The body.
    pub body: Body,
    /// From the keyword to the end of the outputs.
    pub header_span: Span,
}

impl Lower {
    /// What a `lower` is called: `Gelu before 20`, `Or avoided`.
    #[must_use]
    pub fn lowering_name(&self) -> String {
        match self.before {
            AVOIDED => format!("{} avoided", self.op.full()),
            before => format!("{} before {before}", self.op.full()),
        }
    }

    /// What a `raise` is called: `Softmax from 13`.
    #[must_use]
    pub fn raise_name(&self) -> String {
        format!("{} from {}", self.op.full(), self.before)
    }
}

/// The outputs of a `lower` or `raise`.
#[derive(Debug, Clone, PartialEq)]
pub enum LowerOutputs {
    /// Nothing is written: the only output.
    Single,
    /// `-> (Y, Mean)`
    Named(Vec<Ident>),
    /// `-> [outputs]`: as many as are requested. The variadic output of this name, or in a `raise` the outputs of these names.
    List(Vec<Ident>),
}

/// `Gelu` or `com.microsoft::QuickGelu`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OnnxName {
    /// `com.microsoft`. None is the default domain.
    pub domain: Option<Ident>,
    /// `Gelu`, perhaps with placeholders.
    pub name: Ident,
    /// All of it.
    pub span: Span,
}

/// `import_domain "mydomain" 1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportDomain {
    /// `mydomain`
    pub domain: Ident,
    /// The version of the domain that models import.
    pub version: u32,
}

/// `fuse`
#[derive(Debug, Clone, PartialEq)]
pub struct Fuse {
    /// Its name.
    pub name: Ident,
    /// What the pattern leaves open.
    pub params: Vec<Param>,
    /// After `from`: what is replaced.
    pub pattern: Expr,
    /// After `if`: a bool.
    pub condition: Option<Expr>,
    /// The replacement.
    pub body: Body,
    /// From the name to the end of the parameters.
    pub header_span: Span,
}

impl Fuse {
    /// The namespace of the rules that a `fuse` consists of.
    pub const NAMESPACE: &'static str = aten2onnx_operators::pattern::FUSIONS;
    /// The overload of what is replaced.
    pub const BEFORE: &'static str = "before";

    /// The rule that computes the replacement: `fuse::quotient`.
    #[must_use]
    pub fn rule_name(&self) -> String {
        format!("{}::{}", Fuse::NAMESPACE, self.name.text)
    }

    /// The rule that computes what is replaced: `fuse::quotient.before`.
    #[must_use]
    pub fn name_before(&self) -> String {
        format!("{}.{}", self.rule_name(), Fuse::BEFORE)
    }
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
    /// `pub`: other files may call it.
    pub public: bool,
    /// Its name.
    pub name: Ident,
    /// Its parameters, perhaps with defaults. None is keyword-only.
    pub params: Vec<Param>,
    /// Its result.
    pub returns: TypeExpr,
    /// The body.
    pub body: Body,
}

/// `because "why"`
#[derive(Debug, Clone, PartialEq)]
pub struct Because {
    /// Why the function is not a rule.
    pub reason: String,
    /// The string.
    pub span: Span,
}

/// `is rank(x)`
#[derive(Debug, Clone, PartialEq)]
pub struct Is {
    /// What the result is.
    pub word: Ident,
    /// The parameters that it is about.
    pub args: Vec<Ident>,
}

/// `extern fn`
#[derive(Debug, Clone, PartialEq)]
pub struct ExternFn {
    /// `pub`: other files may call it.
    pub public: bool,
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result.
    pub returns: TypeExpr,
    /// `is rank(x)`: what is known of the result.
    pub is: Option<Is>,
    /// `emits [Gather, Slice]`: the operators of the nodes that it may make.
    pub emits: Vec<OnnxName>,
    /// `because "why"`: why a function that makes nodes is not a rule.
    pub because: Option<Because>,
    /// `since 11 "why"`: what it may refuse below an opset.
    pub since: Vec<SinceClause>,
}

/// `unsupported`
#[derive(Debug, Clone, PartialEq)]
pub struct Unsupported {
    /// The overload.
    pub op: OpName,
    /// The reason, for users.
    pub reason: String,
}

impl OpName {
    /// `aten::mul.Tensor`
    pub fn full(&self) -> String {
        match &self.overload {
            Some(overload) => format!("{}::{}.{}", self.namespace.text, self.name.text, overload.text),
            None => format!("{}::{}", self.namespace.text, self.name.text),
        }
    }
}

impl OnnxName {
    /// `Gelu`, or `com.microsoft::QuickGelu`
    pub fn full(&self) -> String {
        match &self.domain {
            Some(domain) => format!("{}::{}", domain.text, self.name.text),
            None => self.name.text.clone(),
        }
    }
}
