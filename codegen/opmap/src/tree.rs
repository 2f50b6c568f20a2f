//! The checked program. Emission, the interpreter, coverage and the support matrix read it.
//!
//! There are no unresolved names, every expression has its type, every conversion is explicit, and operators on tensors are nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effects::Fact;
use crate::returned::Returned;
use crate::source::Span;
pub use crate::syntax::ast::AVOIDED;
use crate::syntax::ast::{BinaryOp, ExampleValue, UnaryOp};
use crate::types::Ty;
use aten2onnx_operators::pattern::{Fusion, is_fusion};

/// All rules of the mapping files.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Sorted by overload.
    pub maps: Vec<Map>,
    /// Sorted by operator, then opset.
    pub lowers: Vec<Lower>,
    /// Sorted by operator, then opset.
    pub raises: Vec<Lower>,
    /// Those with the largest pattern first. Their two sides are among the maps.
    pub fuses: Vec<Fuse>,
    /// Sorted by operator, then opset.
    pub sames: Vec<Same>,
    /// Sorted by name.
    pub fns: Vec<Function>,
    /// Sorted by name.
    pub externs: Vec<Function>,
    /// What the `extern fn`s that make nodes may do, by name.
    pub emits: BTreeMap<String, Emits>,
    /// What the `extern fn`s say of their results, by name.
    pub results: BTreeMap<String, Returns>,
    /// Sorted by overload.
    pub unsupported: Vec<Unsupported>,
    /// Sorted by overload.
    pub facts: Vec<Fact>,
    /// In the order of the files.
    pub examples: Vec<Example>,
    /// Every branch of every rule; the index is its number.
    pub arms: Vec<Arm>,
    /// Where names are bound and used.
    pub links: Links,
}

/// Where names are bound and used, for editors. The rows of a family repeat those of its body.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// What parameters, `let`, patterns, comprehensions, folds and closures bind.
    pub bound: Vec<Bound>,
    /// The places that name something bound, each with the place where it is bound.
    pub uses: Vec<(Span, Span)>,
    /// The calls of helpers: the place of the name, and the helper in the checked program.
    pub calls: Vec<(Span, String)>,
}

/// A name that is bound.
#[derive(Debug, Clone)]
pub struct Bound {
    /// Where.
    pub span: Span,
    /// The name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// It is a parameter of a header.
    pub is_param: bool,
}

impl Links {
    /// Moves all of them to the end of these.
    pub(crate) fn append(&mut self, other: Links) {
        self.bound.extend(other.bound);
        self.uses.extend(other.uses);
        self.calls.extend(other.calls);
    }
}

impl Program {
    /// The `map` of an overload.
    pub fn map(&self, overload: &str) -> Option<&Map> {
        let at = self.maps.binary_search_by(|m| m.function.name.as_str().cmp(overload)).ok()?;
        self.maps.get(at)
    }

    /// The `map`s of operators: all but the two sides of each `fuse`.
    pub fn operator_maps(&self) -> impl Iterator<Item = &Map> {
        self.maps.iter().filter(|map| !is_fusion(&map.function.name))
    }

    /// The `lower OP before N`, or with [`AVOIDED`] the `lower OP avoided`.
    pub fn lower(&self, op: &str, before: u32) -> Option<&Lower> {
        let at = self.lowers.binary_search_by(|l| (l.op.as_str(), l.before).cmp(&(op, before))).ok()?;
        self.lowers.get(at)
    }

    /// The `raise OP from N`.
    pub fn raise(&self, op: &str, from: u32) -> Option<&Lower> {
        let at = self.raises.binary_search_by(|r| (r.op.as_str(), r.before).cmp(&(op, from))).ok()?;
        self.raises.get(at)
    }

    /// What an `extern fn` says of its result.
    pub fn returned(&self, external: &str) -> Option<Returned> {
        self.results.get(external).map(|returns| returns.is)
    }

    /// The name of an `extern fn` whose result is this.
    pub fn external_that(&self, is: Returned) -> Option<&str> {
        self.results.iter().find(|(_, returns)| returns.is == is).map(|(name, _)| name.as_str())
    }

    /// The `fn` of a name.
    pub fn helper(&self, name: &str) -> Option<&Function> {
        let at = self.fns.binary_search_by(|f| f.name.as_str().cmp(name)).ok()?;
        self.fns.get(at)
    }

    /// The `extern fn` of a name.
    pub fn external(&self, name: &str) -> Option<&Function> {
        let at = self.externs.binary_search_by(|f| f.name.as_str().cmp(name)).ok()?;
        self.externs.get(at)
    }

    /// Whether an example calls a `map` with complex numbers.
    pub fn takes_complex(&self, overload: &str) -> bool {
        let is_of = |e: &Example| matches!(&e.target, Target::Map(name) if name == overload);
        self.examples.iter().any(|e| is_of(e) && e.has_complex())
    }

    /// Whether there is a `same OP .. as N`.
    pub fn same(&self, op: &str, to: u32) -> bool {
        self.sames.binary_search_by(|s| (s.op.as_str(), s.to).cmp(&(op, to))).is_ok()
    }
}

/// What `map`, `lower`, `raise`, `fn` and `extern fn` have in common.
#[derive(Debug, Clone)]
pub struct Function {
    /// `aten::elu`, `Gelu before 20`, `Squeeze from 13`, `to_float`. That of a `fn` without `pub` begins with its file:
    /// `aten/pool::windows`.
    pub name: String,
    /// Documentation lines.
    pub docs: Vec<String>,
    /// The header.
    pub span: Span,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Result.
    pub returns: Ty,
    /// `{}` for an `extern fn`. Shared between states of the files that do not differ in it.
    pub body: Arc<Expr>,
}

/// The name of a helper as written, without its file.
pub fn short_name(helper: &str) -> &str {
    helper.rsplit("::").next().unwrap_or(helper)
}

/// Whether a function is a `lower` or a `raise`: their names hold the opset, others no space.
pub fn is_lowering(function: &str) -> bool {
    function.contains(' ')
}

/// Whether a rule is what a `fuse` replaces, and not the replacement.
pub fn is_replaced(rule: &str) -> bool {
    is_fusion(rule) && rule.contains('.')
}

/// Whether a helper is private to its file.
pub fn is_private(helper: &str) -> bool {
    helper.contains("::")
}

/// What an `extern fn` says of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returns {
    /// What it is.
    pub is: Returned,
    /// The positions of the parameters that this is about.
    pub args: Vec<usize>,
}

/// What an `extern fn` may do to the graph.
#[derive(Debug, Clone, Default)]
pub struct Emits {
    /// The operators of the nodes that it may make.
    pub ops: Vec<String>,
    /// Why it is not a rule; empty if it makes no nodes.
    pub because: String,
    /// What it may refuse: the first opset that needs no refusal, and the reason.
    pub since: Vec<(u32, String)>,
    /// The declaration.
    pub span: Span,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// The size in `int[2]`: a single number stands for a list of this size.
    pub size: Option<u32>,
    /// Its value where a call leaves it out.
    pub default: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// A checked `map`.
#[derive(Debug, Clone)]
pub struct Map {
    /// Its name is the overload.
    pub function: Function,
    /// `since N "reason"` of the header.
    pub since: Option<(u32, String)>,
    /// The place of the clause.
    pub since_span: Option<Span>,
}

/// A checked `lower` or `raise`.
#[derive(Debug, Clone)]
pub struct Lower {
    /// Its parameters are the inputs, then the attributes with their suffixes.
    pub function: Function,
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub op: String,
    /// A `lower` replaces `op` below this opset, or at any if it is [`AVOIDED`]; a `raise` replaces older calls from it on.
    pub before: u32,
    /// The opset that added the version in the header, whose form the replaced calls have.
    pub form: u32,
    /// How many of the parameters are inputs.
    pub inputs: usize,
}

/// A checked `fuse`.
#[derive(Debug, Clone)]
pub struct Fuse {
    /// What it replaces, and by which rule.
    pub fusion: Fusion,
    /// The header.
    pub span: Span,
    /// Whether it has no condition.
    pub always: bool,
}

/// A checked `same`.
#[derive(Debug, Clone)]
pub struct Same {
    /// The operator.
    pub op: String,
    /// The version that changed shape.
    pub to: u32,
    /// Where.
    pub span: Span,
}

/// `unsupported`
#[derive(Debug, Clone)]
pub struct Unsupported {
    /// The overload.
    pub name: String,
    /// The reason, for users.
    pub reason: String,
    /// The overload's name.
    pub span: Span,
}

/// A branch of a rule.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The rule: `aten::elu`, `Gelu before 20`, `to_float`.
    pub rule: String,
    /// The condition or pattern as written.
    pub text: String,
    /// Where.
    pub span: Span,
    /// It only refuses (`fail`, `since`), so no example can reach it and succeed.
    pub refuses: bool,
}

/// An expression with its type.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What.
    pub kind: Kind,
    /// Its type.
    pub ty: Ty,
    /// Where.
    pub span: Span,
}

/// The forms of checked expressions.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Kind {
    /// A known int.
    Int(i64),
    /// A known float, which may be infinite or NaN.
    Float(f64),
    /// A known bool.
    Bool(bool),
    /// A known string.
    Str(String),
    /// A dtype by PyTorch's name.
    Dtype(String),
    /// `None`
    None,
    /// A parameter or a bound name.
    Local(String),
    /// The target opset.
    Opset,
    /// The number of outputs that were requested of a `lower` or `raise`.
    Outputs,
    /// A conversion to the type of the expression (int to SymInt, T to T?, ...).
    Convert(Box<Expr>),
    /// Export-time.
    Unary(UnaryOp, Box<Expr>),
    /// Export-time. Both sides have the same type, except for `in`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A node of the graph.
    Node(Box<Node>),
    /// Another `map`, by overload, with all its arguments.
    Rule(String, Vec<Expr>),
    /// A `fn` with all its arguments.
    Fn(String, Vec<Expr>),
    /// An `extern fn` with all its arguments.
    Extern(String, Vec<Expr>),
    /// A built-in of the language.
    Builtin(Builtin, Vec<Expr>),
    /// `if`, with the numbers of both branches.
    If { arms: [u32; 2], condition: Box<Expr>, then: Box<Expr>, other: Box<Expr> },
    /// `if let`
    IfLet { arms: [u32; 2], name: String, value: Box<Expr>, then: Box<Expr>, other: Box<Expr> },
    /// `match`
    Match { value: Box<Expr>, arms: Vec<MatchArm> },
    /// `a ?? b`, with the numbers of both branches.
    Coalesce { arms: [u32; 2], value: Box<Expr>, other: Box<Expr> },
    /// `[a, ..b]`
    List(Vec<Item>),
    /// `[element for pattern in list if condition]`
    Comprehension { element: Box<Expr>, names: Names, list: Box<Expr>, condition: Option<Box<Expr>> },
    /// `fold state = init for item in list { body }`. The initial value and the body have the type of the expression.
    Fold { state: Names, init: Box<Expr>, item: Names, list: Box<Expr>, body: Box<Expr> },
    /// `(a, b)`. The empty tuple is the value of statements.
    Tuple(Vec<Expr>),
    /// `xs[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `xs[a .. b]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// Statements and a result.
    Block(Vec<Statement>, Box<Expr>),
    /// `fail`
    Fail(Vec<Text>),
    /// `since` in place of a value.
    Since(u32, String),
    /// A graph as a function of its inputs.
    Closure(ClosureParams, Box<Expr>),
    /// The results of a graph whose inputs are these tensors: one, a tuple or a list, as the type says.
    Apply(Box<Expr>, Vec<Item>),
}

/// The parameters of a closure.
#[derive(Debug, Clone)]
pub struct ClosureParams {
    /// One `Tensor` each.
    pub names: Vec<String>,
    /// The others, as `Tensor[]`.
    pub rest: Option<String>,
}

/// A piece of a `fail` text.
#[derive(Debug, Clone)]
pub enum Text {
    /// Literal text.
    Text(String),
    /// A value.
    Value(Expr),
}

/// An element of a list.
#[derive(Debug, Clone)]
pub enum Item {
    /// One.
    One(Expr),
    /// All of another list.
    Spread(Expr),
}

/// What a `let` or a comprehension binds. `_` binds nothing.
#[derive(Debug, Clone)]
pub enum Names {
    /// The whole value.
    One(String),
    /// The parts of a tuple.
    Tuple(Vec<String>),
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Statement {
    /// `let`
    Let(Names, Expr),
    /// `since N "reason";`
    Since(u32, String, Span),
    /// An expression whose only effect can be to fail.
    Expr(Expr),
}

/// An arm of a `match`.
#[derive(Debug, Clone)]
pub struct MatchArm {
    /// Its number.
    pub arm: u32,
    /// Alternatives.
    pub patterns: Vec<Pattern>,
    /// Its value.
    pub value: Expr,
}

/// A pattern.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Pattern {
    /// `_`
    Wild,
    /// A name for the value. `unwrap` if the value is optional and an arm before takes `None`.
    Bind { name: String, unwrap: bool },
    /// `None`
    None,
    /// A literal, of the type of the value without its `?`.
    Literal(Expr),
    /// One for each part.
    Tuple(Vec<Pattern>),
}

/// A call of an ONNX operator.
#[derive(Debug, Clone)]
pub struct Node {
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub op: String,
    /// The opset whose form of the operator the call has.
    pub form: u32,
    /// In order; trailing absent ones are left out.
    pub inputs: Vec<Input>,
    /// Name without suffix, and value.
    pub attrs: Vec<(String, AttrForm, Expr)>,
    /// The outputs that are requested.
    pub outputs: Outputs,
}

/// The argument for an input.
#[derive(Debug, Clone)]
pub enum Input {
    /// `Tensor`
    Tensor(Expr),
    /// `Tensor?`
    Optional(Expr),
    /// Nothing.
    Absent,
    /// A number that takes the dtype of the other inputs of its type variable.
    Number(Expr),
    /// `Scalar?` for an optional input.
    OptionalNumber(Expr),
    /// `int[]` or `SymInt[]` as a one-dimensional tensor.
    Ints(Expr),
    /// `float[]` as a one-dimensional tensor.
    Floats(Expr),
    /// `Tensor[]` spread into a variadic input.
    Spread(Expr),
}

/// The kind of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AttrForm {
    Float,
    Int,
    Str,
    Floats,
    Ints,
    Strs,
    Tensor,
    Graph,
}

/// How many outputs.
#[derive(Debug, Clone)]
pub enum Outputs {
    /// One value.
    One,
    /// A tuple of this length.
    Tuple(usize),
    /// A list of the length that the expression gives.
    List(Box<Expr>),
    /// One value or a tuple of stated types: the outputs of an operator of another domain. `form` is the version of that domain.
    Typed(Vec<Stated>),
}

/// The type that a rule states for an output.
#[derive(Debug, Clone)]
pub struct Stated {
    /// A ScalarType.
    pub dtype: Expr,
    /// A list of SymInts.
    pub shape: Expr,
}

/// The built-in functions of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Builtin {
    Len,
    Range,
    Enumerate,
    Zip,
    Reversed,
    Min,
    Max,
    MinOf,
    MaxOf,
    Sum,
    Abs,
    Int,
    Float,
}

/// What an example may set beside its sizes: `with exact_nan = 1` runs it as with the option `--exact-nan`.
pub const EXACT_NAN: &str = "exact_nan";

/// Before the name of an ONNX operator: `with without_Loop = 1` runs an example as for a runtime that does not have the operator.
pub const WITHOUT: &str = "without_";

/// Whether a name beside the sizes of an example is a setting.
pub fn is_setting(name: &str) -> bool {
    name == EXACT_NAN || name.starts_with(WITHOUT)
}

/// An example with a known target and named arguments.
#[derive(Debug, Clone)]
pub struct Example {
    /// The overload or the ONNX operator.
    pub target: Target,
    /// By parameter name (attributes without suffix), in the order of the header. Omitted arguments are not listed.
    pub args: Vec<(String, ExampleValue)>,
    /// Sizes of symbolic dimensions.
    pub with: Vec<(String, i64)>,
    /// As written, from `example` on.
    pub text: String,
    /// Where.
    pub span: Span,
}

impl Example {
    /// Whether an argument is a complex tensor.
    pub fn has_complex(&self) -> bool {
        self.args.iter().any(|(_, arg)| is_complex(arg))
    }
}

fn is_complex(arg: &ExampleValue) -> bool {
    match arg {
        ExampleValue::Tensor { dtype, .. } | ExampleValue::Literal { dtype, .. } => dtype.starts_with('c'),
        ExampleValue::List(items) => items.iter().any(is_complex),
        _ => false,
    }
}

/// What an example calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An overload.
    Map(String),
    /// An ONNX operator, in its newest form.
    Lower(String),
    /// An ONNX operator in the form before an opset.
    Raise(String, u32),
}

impl Expr {
    /// An expression.
    pub fn new(kind: Kind, ty: Ty, span: Span) -> Expr {
        Expr { kind, ty, span }
    }

    /// The empty tuple, which is the value of statements.
    pub fn unit(span: Span) -> Expr {
        Expr::new(Kind::Tuple(Vec::new()), Ty::unit(), span)
    }

    /// Whether it is a `fail` or `since`.
    pub fn refuses(&self) -> bool {
        matches!(self.kind, Kind::Since(..) | Kind::Fail(_))
    }

    /// Whether it never has a value.
    pub fn is_never(&self) -> bool {
        self.ty == Ty::Never && !matches!(self.kind, Kind::None)
    }
}
