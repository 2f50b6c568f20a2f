//! Checked facts about PyTorch's operators: how results share memory with arguments, what is written, which operators can replace
//! a call. What follows from the alias marks of the schemas is in [`aten2onnx_schemas::writes`].

use crate::source::Span;

/// A checked fact.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The overload.
    pub op: String,
    /// The fact.
    pub what: What,
    /// The item.
    pub span: Span,
}

/// The kinds of facts.
#[derive(Debug, Clone)]
pub enum What {
    /// `view`
    View(View),
    /// `write`
    Write(Write),
    /// `update`
    Update(Update),
    /// `rewrite`
    Rewrite(Rewrite),
    /// `fact`
    Traits(Vec<Trait>),
}

/// How the results of an operator relate to its first tensor.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// When they share its memory.
    pub sharing: Sharing,
    /// The elements of the result are those of the tensor in row-major order.
    pub in_order: bool,
    /// The results have no element in common.
    pub apart: bool,
    /// One element of the tensor may appear several times in the result.
    pub repeats: bool,
    /// The elements are windows of `size` elements, `step` apart.
    pub windows: bool,
    /// The result reinterprets the memory as elements of another dtype.
    pub reinterprets: bool,
    /// The value of the tensor after `src` was written to the view.
    pub inverse: Option<Term>,
}

/// When a result shares memory with the tensor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Always.
    #[default]
    Always,
    /// It may be a view, the tensor itself or a copy.
    Maybe,
    /// It is the tensor itself.
    Itself,
    /// It is the tensor itself if this argument is false, and may be otherwise.
    ItselfUnless(String),
    /// It is the tensor itself if the tensor has the requested layout, otherwise a copy.
    IfLayout,
    /// It is the tensor itself if the tensor has the requested dtype, otherwise a copy.
    IfDtype,
    /// It is a view if the strides allow it, otherwise a copy.
    IfStrides,
}

/// What an in-place operator writes.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// It overwrites every element.
    pub whole: bool,
    /// All elements become equal.
    pub constant: bool,
    /// It replaces the memory or the size of the tensor.
    pub resizes: bool,
    /// The new value. A tensor argument is cast and expanded to the written tensor.
    pub value: Option<Term>,
}

/// What an operator writes in addition to returning results.
#[derive(Debug, Clone)]
pub struct Update {
    /// The arguments.
    pub args: Vec<String>,
    /// Only if this bool argument is true.
    pub flag: Option<String>,
    /// Their new value, or a call that returns the results of the operator first and the new values last.
    pub value: Option<Term>,
}

/// A call that replaces a call of the operator.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// The condition.
    pub when: When,
    /// The new call.
    pub value: Term,
}

/// When a rewrite applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// No other result than the one of this index is read.
    Only(usize),
    /// The size of the split dimension is symbolic.
    Symbolic,
    /// For each element of the lists.
    Each,
}

/// What else is known of an operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// It only asserts a condition.
    Assertion,
    /// It uses the shapes and dtypes of its tensors, not their elements.
    ReadsShapes,
    /// It sees the memory of its tensor by strides.
    ReadsMemory,
    /// It returns that memory, changed.
    GivesMemory,
    /// Autocast does not cast its arguments.
    IgnoresAutocast,
    /// Its result has this dtype for integers and booleans: bool, int64 or float64.
    Gives(String),
    /// torch.export may record other sizes of its results than they have.
    RecordsOtherSizes,
    /// Several results are correct, as the vectors of a decomposition are.
    SeveralAnswers,
}

/// A value that a fact names.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// An argument of the operator.
    Argument {
        /// Its name.
        name: String,
        /// Its default, if the called operator has another default or none.
        default: Option<Literal>,
    },
    /// `src`: the new value of the view.
    New,
    /// `position`: the index of the result in the returned list.
    Position,
    /// `start`: where the result begins along `dim`.
    Start,
    /// `end`: where it ends.
    End,
    /// `sizes`: the sizes of all results along `dim`.
    Sizes,
    /// A number, or True, False and None.
    Literal(Literal),
    /// `[0, 1]`
    List(Vec<Term>),
    /// `a + b`
    Sum(Box<Term>, Box<Term>),
    /// `inverse(dims)`
    Inverse(Box<Term>),
    /// `dtype(x)`
    Dtype(Box<Term>),
    /// `rank(x)`
    Rank(Box<Term>),
    /// `range(a, b)`
    Range(Box<Term>, Box<Term>),
    /// `aten::full_like(self, value)`
    Call(TermCall),
}

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
}

/// A call of another operator.
#[derive(Debug, Clone, PartialEq)]
pub struct TermCall {
    /// The overload.
    pub op: String,
    /// Its arguments by name.
    pub args: Vec<(String, Term)>,
    /// The number of its results.
    pub results: usize,
}

impl What {
    /// Calls `f` on every call of the fact, the outermost first.
    pub fn each_call(&self, f: &mut dyn FnMut(&TermCall)) {
        let term = match self {
            What::View(view) => view.inverse.as_ref(),
            What::Write(write) => write.value.as_ref(),
            What::Update(update) => update.value.as_ref(),
            What::Rewrite(rewrite) => Some(&rewrite.value),
            What::Traits(_) => None,
        };
        term.into_iter().for_each(|term| term.each_call(f));
    }
}

impl Term {
    /// Calls `f` on every call of the term, the outermost first.
    pub fn each_call(&self, f: &mut dyn FnMut(&TermCall)) {
        match self {
            Term::Call(call) => {
                f(call);
                call.args.iter().for_each(|(_, term)| term.each_call(f));
            }
            Term::List(terms) => terms.iter().for_each(|term| term.each_call(f)),
            _ => {}
        }
    }
}
