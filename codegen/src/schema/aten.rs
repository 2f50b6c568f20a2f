//! PyTorch's operators: every overload's schema, from `mappings/schemas/aten.txt` and its neighbours.

use indexmap::IndexMap;

/// All overloads, by full name: `aten::mul.Tensor`, `aten::relu` for a default overload.
#[derive(Debug, Clone, Default)]
pub struct AtenSchemas {
    /// Sorted by name.
    pub ops: IndexMap<String, Schema>,
}

/// An overload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// `aten::mul.Tensor`
    pub name: String,
    /// In order.
    pub args: Vec<Arg>,
    /// In order; none for `-> ()`.
    pub returns: Vec<Ret>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// `self`
    pub name: String,
    /// As in native_functions.yaml, without alias marks: `Tensor?[]`, `int[2]`, `SymInt[]`.
    pub ty: String,
    /// Alias mark as written, such as `a!`, `a`, `a -> *`.
    pub alias: Option<String>,
    /// As written after `=`.
    pub default: Option<String>,
    /// It stands after `*`.
    pub keyword_only: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ret {
    /// Its type, without alias marks.
    pub ty: String,
    /// Alias mark as written.
    pub alias: Option<String>,
    /// Its name, if it has one.
    pub name: Option<String>,
}
