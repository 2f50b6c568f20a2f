//! Facts about PyTorch's operators as they are checked: how results share memory with arguments, what is written, which other
//! operators stand for a call. What the alias marks of the schemas tell is not here: see [`crate::schema::writes`].

use crate::source::Span;

/// A checked fact.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The overload.
    pub op: String,
    /// What is said of it.
    pub what: What,
    /// The item.
    pub span: Span,
}

/// What a fact says.
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
    /// The elements of the result stand in the order of the tensor's.
    pub in_order: bool,
    /// The results have no element in common.
    pub apart: bool,
    /// One element of the tensor may stand several times in the result.
    pub repeats: bool,
    /// The elements are windows of `size` elements, each `step` after the one before.
    pub windows: bool,
    /// The result has elements of another type, which have no places in the tensor.
    pub reinterprets: bool,
    /// What the tensor is after its view was overwritten by `src`.
    pub inverse: Option<Term>,
}

/// When a result shares memory with the tensor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Always.
    #[default]
    Always,
    /// Perhaps: it may also be the tensor itself, or a copy.
    Maybe,
    /// It is the tensor itself.
    Itself,
    /// It is the tensor itself where this argument is false, and may be otherwise.
    ItselfUnless(String),
    /// It is the tensor itself if that has the layout asked for, else a copy.
    IfLayout,
    /// It is the tensor itself if that has the dtype asked for, else a copy.
    IfDtype,
    /// It is a view where the strides allow it, else a copy.
    IfStrides,
}

/// What an in-place operator writes.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// Nothing is left of what was there.
    pub whole: bool,
    /// Every element becomes the same.
    pub constant: bool,
    /// It gives the tensor other memory or another size.
    pub resizes: bool,
    /// The new value; a tensor stands for its elements in the dtype and the shape of what is written.
    pub value: Option<Term>,
}

/// What an operator writes besides giving results.
#[derive(Debug, Clone)]
pub struct Update {
    /// The arguments.
    pub args: Vec<String>,
    /// It does so only where this argument is true.
    pub flag: Option<String>,
    /// Their new value, or a call that gives the results of the operator first and the new values last.
    pub value: Option<Term>,
}

/// Other operators that stand for a call.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// Where they do.
    pub when: When,
    /// What stands for it.
    pub value: Term,
}

/// Where a rewrite applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Where nobody reads another result than the one of this number.
    Only(usize),
    /// Where the size of the dimension that is cut is symbolic.
    Symbolic,
    /// For each element of the lists.
    Each,
}

/// What else is known of an operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// It only checks what the exporter has been promised.
    Assertion,
    /// It asks tensors for their shapes and dtypes, not for elements.
    ReadsShapes,
    /// It sees the memory of its tensor, not its elements.
    ReadsMemory,
    /// It gives that memory, changed.
    GivesMemory,
    /// Autocast leaves its arguments as they are.
    IgnoresAutocast,
    /// It has a dtype of its own for integers and booleans: bool, int64 or float64.
    Gives(String),
    /// torch.export may record other sizes of its results than they have.
    RecordsOtherSizes,
}

/// A value that a fact names.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// An argument of the operator.
    Argument {
        /// Its name.
        name: String,
        /// What it is where a call leaves it out, if what it is given to has no such default.
        default: Option<Literal>,
    },
    /// `src`: what the view is now.
    New,
    /// `position`: the number of the result in a list.
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
    Call(Call),
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
pub struct Call {
    /// The overload.
    pub op: String,
    /// Its arguments by name.
    pub args: Vec<(String, Term)>,
    /// The number of its results.
    pub results: usize,
}

impl What {
    /// Calls `f` on every call that stands for the operator, the outer one first.
    pub fn each_call(&self, f: &mut dyn FnMut(&Call)) {
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
    /// Calls `f` on every call in it, the outer one first.
    pub fn each_call(&self, f: &mut dyn FnMut(&Call)) {
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
