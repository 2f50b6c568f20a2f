//! Effects of PyTorch's operators on memory, and other facts that passes before the rules need: from the alias
//! annotations of schemas, and from the facts in the rule files (`view`, `write`, `update`, `rewrite`, `fact`).

use std::sync::OnceLock;

use aten2onnx_core::dtype::Dtype;
use rustc_hash::FxHashMap;

#[cfg(not(aten2onnx_single))]
include!(concat!(env!("OUT_DIR"), "/effects.rs"));
// An exporter for one opset has it beside its rules.
#[cfg(aten2onnx_single)]
include!(concat!(env!("ATEN2ONNX_FACTS"), "/effects.rs"));

/// The facts about an operator, if there are any.
pub fn operator(name: &str) -> Option<&'static Operator> {
    // Every pass asks for every node.
    static BY_NAME: OnceLock<FxHashMap<&'static str, &'static Operator>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| OPERATORS.iter().map(|operator| (operator.name, operator)).collect());
    by_name.get(name).copied()
}

/// Whether an operator has a trait.
pub fn is(name: &str, what: Trait) -> bool {
    operator(name).is_some_and(|operator| operator.is(what))
}

/// How the results of an operator share memory with its first tensor; None if they do not.
pub fn view(name: &str) -> Option<&'static View> {
    operator(name)?.view
}

/// What an operator writes to; None if nothing.
pub fn writes(name: &str) -> Option<&'static Writes> {
    operator(name)?.writes
}

/// Whether a tensor argument with this name only selects elements. Its dtype does not take part in type promotion.
pub fn selects(argument: &str) -> bool {
    SELECTING.contains(&argument)
}

/// The facts about an operator.
#[derive(Debug)]
pub struct Operator {
    /// The overload: `aten::add_.Tensor`.
    pub name: &'static str,
    /// How its results share memory with its first tensor.
    pub view: Option<&'static View>,
    /// What it writes to.
    pub writes: Option<&'static Writes>,
    /// Other tensors that it writes, even if the schema does not mark them.
    pub updates: &'static [Update],
    /// Other operators that can replace a call.
    pub rewrites: &'static [Rewrite],
    /// Other facts.
    pub traits: &'static [Trait],
}

/// How results share memory with the first tensor.
#[derive(Debug)]
pub struct View {
    /// When they share memory.
    pub sharing: Sharing,
    /// Whether the schema marks them as views.
    pub is_marked: bool,
    /// Whether the elements of the result keep the tensor's order.
    pub in_order: bool,
    /// Whether the results have no elements in common.
    pub apart: bool,
    /// Whether an element of the tensor may occur several times in the result.
    pub repeats: bool,
    /// Whether the elements are windows of `size` elements, each `step` after the previous one.
    pub windows: bool,
    /// Whether the result reinterprets the bytes as another type.
    pub reinterprets: bool,
    /// The value of the tensor after its view is overwritten.
    pub inverse: Option<Term>,
}

/// When a result shares memory with the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Always.
    Always,
    /// It may be a view, the tensor itself or a copy.
    Maybe,
    /// It is the tensor itself.
    Itself,
    /// It is the tensor itself if this argument is false, and may be otherwise.
    ItselfUnless(&'static str),
    /// It is the tensor itself if that has the requested layout, else a copy.
    IfLayout,
    /// It is the tensor itself if that has the requested dtype, else a copy.
    IfDtype,
    /// It is a view if the strides allow it, else a copy.
    IfStrides,
}

/// What an operator writes to.
#[derive(Debug)]
pub struct Writes {
    /// The arguments.
    pub args: &'static [&'static str],
    /// How it writes.
    pub form: WriteForm,
    /// Whether an argument is a list of tensors.
    pub lists: bool,
    /// The operator that returns the same values as results.
    pub functional: Option<&'static str>,
    /// Arguments that the functional operator names differently, with its names.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Whether the functional operator is told the dtype, which is that of the argument.
    pub takes_dtype: bool,
    /// Whether everything is overwritten.
    pub whole: bool,
    /// Whether every element gets the same value.
    pub constant: bool,
    /// Whether the tensor gets other memory or another size.
    pub resizes: bool,
    /// The new value, if it is not the result of the functional operator.
    pub value: Option<Term>,
}

/// How an operator writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteForm {
    /// To its first argument, which is also its result: `add_`.
    InPlace,
    /// To arguments that only receive its results: `out=`.
    Out,
    /// To arguments in addition to its results, or to several.
    Other,
}

/// What an operator writes in addition to its results.
#[derive(Debug)]
pub struct Update {
    /// The arguments.
    pub args: &'static [&'static str],
    /// Only if this argument is true.
    pub flag: Option<&'static str>,
    /// The new values; None if they cannot be expressed.
    pub value: Option<Updated>,
}

/// The new values of updated arguments.
#[derive(Debug)]
pub enum Updated {
    /// The new value of the one argument.
    One(FactCall),
    /// A call that returns the operator's results first and the new values last, with the number of these results.
    Together(FactCall, usize),
}

/// Other operators that replace a call.
#[derive(Debug)]
pub struct Rewrite {
    /// When it applies.
    pub when: When,
    /// The replacement.
    pub call: FactCall,
}

/// When a rewrite applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// If only the result with this number is used.
    Only(usize),
    /// If the size of the split dimension is symbolic.
    Symbolic,
    /// For each element of the lists.
    Each,
}

/// Other facts about an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trait {
    /// It only checks conditions that the exporter may assume.
    Assertion,
    /// It reads shapes and dtypes of tensors, not elements.
    ReadsShapes,
    /// It depends on the memory of its tensor, not its elements.
    ReadsMemory,
    /// It returns that memory, changed.
    GivesMemory,
    /// Autocast does not change its arguments.
    IgnoresAutocast,
    /// It returns this dtype for integers and booleans.
    Gives(Dtype),
    /// torch.export may record wrong sizes for its results.
    RecordsOtherSizes,
    /// Several results are correct.
    SeveralAnswers,
    /// Its results are sizes of a tensor, which torch.export records.
    GivesSizes,
    /// Its result is a number read from a tensor.
    GivesNumber,
}

/// A call of another operator.
#[derive(Debug)]
pub struct FactCall {
    /// The overload.
    pub target: &'static str,
    /// Its arguments by name.
    pub args: &'static [(&'static str, Term)],
}

/// A value in a fact.
#[derive(Debug)]
pub enum Term {
    /// An argument of the operator, with its default.
    Argument(&'static str, Option<Literal>),
    /// The new value of the view.
    New,
    /// The number of the result in a list.
    Position,
    /// The start of the result along the argument `dim`.
    Start,
    /// The end of the result.
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
    Call(FactCall),
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

/// An operator without facts, the base of the rows of the table.
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
    form: WriteForm::InPlace,
    lists: false,
    functional: None,
    renamed: &[],
    takes_dtype: false,
    whole: false,
    constant: false,
    resizes: false,
    value: None,
};

impl Operator {
    /// Whether it has a trait.
    pub fn is(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }

    /// The replacement of a call.
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
