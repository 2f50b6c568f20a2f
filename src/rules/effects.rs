//! What PyTorch's operators do to memory, and what else the passes before the rules must know of them: from the alias marks of the schemas, and
//! from the facts that stand beside the rules (`view`, `write`, `update`, `rewrite`, `fact`).

use aten2onnx_core::dtype::Dtype;

include!(concat!(env!("OUT_DIR"), "/effects.rs"));

/// What is known of an operator; None where there is nothing to know.
pub fn operator(name: &str) -> Option<&'static Operator> {
    OPERATORS.binary_search_by(|operator| operator.name.cmp(name)).ok().map(|at| &OPERATORS[at])
}

/// Is this said of an operator?
pub fn is(name: &str, what: Trait) -> bool {
    operator(name).is_some_and(|operator| operator.is(what))
}

/// How the results of an operator share memory with its first tensor; None for memory of their own.
pub fn view(name: &str) -> Option<&'static View> {
    operator(name)?.view
}

/// What an operator writes to; None for nothing.
pub fn writes(name: &str) -> Option<&'static Writes> {
    operator(name)?.writes
}

/// Does a tensor argument of this name only tell which elements are meant? Its dtype has no part in that of a result.
pub fn selects(argument: &str) -> bool {
    SELECTING.contains(&argument)
}

/// What is known of an operator.
#[derive(Debug)]
pub struct Operator {
    /// The overload: `aten::add_.Tensor`.
    pub name: &'static str,
    /// How its results share memory with its first tensor.
    pub view: Option<&'static View>,
    /// What it writes to.
    pub writes: Option<&'static Writes>,
    /// What it writes besides, and where the schema does not mark that either.
    pub updates: &'static [Update],
    /// Other operators that stand for a call of it.
    pub rewrites: &'static [Rewrite],
    /// What else is said of it.
    pub traits: &'static [Trait],
}

/// How results share memory with the first tensor.
#[derive(Debug)]
pub struct View {
    /// When they do.
    pub sharing: Sharing,
    /// The schema marks them as views.
    pub is_marked: bool,
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
    /// What the tensor is after its view was overwritten.
    pub inverse: Option<Term>,
}

/// When a result shares memory with the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Always.
    Always,
    /// Perhaps: it may also be the tensor itself, or a copy.
    Maybe,
    /// It is the tensor itself.
    Itself,
    /// It is the tensor itself where this argument is false, and may be otherwise.
    ItselfUnless(&'static str),
    /// It is the tensor itself if that has the layout asked for, else a copy.
    IfLayout,
    /// It is the tensor itself if that has the dtype asked for, else a copy.
    IfDtype,
    /// It is a view where the strides allow it, else a copy.
    IfStrides,
}

/// What an operator writes to.
#[derive(Debug)]
pub struct Writes {
    /// The arguments.
    pub args: &'static [&'static str],
    /// How it does so.
    pub form: Form,
    /// One of them is a list of tensors.
    pub lists: bool,
    /// The operator that gives the same as results.
    pub functional: Option<&'static str>,
    /// Arguments that this one calls otherwise, with its names.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Nothing is left of what was there.
    pub whole: bool,
    /// Every element becomes the same.
    pub constant: bool,
    /// It gives the tensor other memory or another size.
    pub resizes: bool,
    /// The new value, where it is not what the functional operator gives.
    pub value: Option<Term>,
}

/// How an operator writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// To its first argument, which is its result too: `add_`.
    InPlace,
    /// To arguments that are there for its results only: `out=`.
    Out,
    /// To arguments besides giving results, or to several.
    Other,
}

/// What an operator writes besides giving results.
#[derive(Debug)]
pub struct Update {
    /// The arguments.
    pub args: &'static [&'static str],
    /// It does so only where this argument is true.
    pub flag: Option<&'static str>,
    /// What they become; None where it cannot be said.
    pub value: Option<Updated>,
}

/// What arguments become that an operator updates.
#[derive(Debug)]
pub enum Updated {
    /// The new value of the one argument.
    One(Call),
    /// A call that gives the operator's results first and the new values last; so many results stand before these.
    Together(Call, usize),
}

/// Other operators that stand for a call.
#[derive(Debug)]
pub struct Rewrite {
    /// Where they do.
    pub when: When,
    /// What stands for it.
    pub call: Call,
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

/// What else is said of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// It has a dtype of its own for integers and booleans.
    Gives(Dtype),
    /// torch.export may record other sizes of its results than they have.
    RecordsOtherSizes,
    /// Its results are sizes of a tensor, which torch.export records.
    GivesSizes,
    /// Its result is a number out of a tensor.
    GivesNumber,
}

/// A call of another operator.
#[derive(Debug)]
pub struct Call {
    /// The overload.
    pub target: &'static str,
    /// Its arguments by name.
    pub args: &'static [(&'static str, Term)],
}

/// A value that a fact names.
#[derive(Debug)]
pub enum Term {
    /// An argument of the operator, and what it is where a call leaves it out.
    Argument(&'static str, Option<Literal>),
    /// What the view is now.
    New,
    /// The number of the result in a list.
    Position,
    /// Where the result begins along the argument `dim`.
    Start,
    /// Where it ends.
    End,
    /// The sizes of all results along the argument `dim`.
    Sizes,
    /// A constant.
    Literal(Literal),
    /// A list of integers.
    List(&'static [Term]),
    /// The sum of two integers.
    Sum(&'static [Term; 2]),
    /// The inverse of a permutation.
    Inverse(&'static Term),
    /// The dtype of a tensor.
    Dtype(&'static Term),
    /// The number of dimensions of a tensor.
    Rank(&'static Term),
    /// The integers from one to before another.
    Range(&'static [Term; 2]),
    /// A call of another operator.
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

/// An operator of which nothing is known: what the rows of the table begin with.
const OPERATOR: Operator = Operator { name: "", view: None, writes: None, updates: &[], rewrites: &[], traits: &[] };

/// A view by the schema alone.
const VIEW: View = View {
    sharing: Sharing::Always,
    is_marked: true,
    in_order: false,
    apart: false,
    repeats: false,
    windows: false,
    reinterprets: false,
    inverse: None,
};

/// A write by the schema alone.
const WRITES: Writes = Writes {
    args: &["self"],
    form: Form::InPlace,
    lists: false,
    functional: None,
    renamed: &[],
    whole: false,
    constant: false,
    resizes: false,
    value: None,
};

impl Operator {
    /// Is this said of it?
    pub fn is(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }

    /// What stands for a call of it.
    pub fn rewrite(&self, when: impl Fn(When) -> bool) -> Option<&Rewrite> {
        self.rewrites.iter().find(|rewrite| when(rewrite.when))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPERATORS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn schemas_and_facts_meet() {
        assert_eq!(writes("aten::add_.Tensor").and_then(|writes| writes.functional), Some("aten::add.Tensor"));
        assert!(writes("aten::zero_").is_some_and(|writes| writes.whole && writes.value.is_some()));
        assert!(view("aten::expand").is_some_and(|view| view.is_marked && view.repeats));
        assert!(view("aten::einsum").is_some_and(|view| !view.is_marked && view.sharing == Sharing::Maybe));
        assert!(is("aten::sym_size.int", Trait::GivesSizes) && is("aten::item", Trait::GivesNumber));
        assert!(operator("aten::relu").is_none());
    }
}
