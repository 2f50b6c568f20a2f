//! The builder. A call goes through `node`: it finds the version for the target opset (steps: `node::literals`,
//! `node::legalise` and `node::emit`), unless `fold` or `node::reuse` show that no node is needed. `graph::finish` and
//! `graph::names` run last.

mod args;
mod complex;
mod emitted;
mod fold;
mod graph;
mod node;
mod origins;
mod outs;
mod sizes;
mod target;
mod trace;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use args::{ArgValue, Args};
pub use complex::as_stored;
pub use emitted::{Became, ExternRecord, NamedCall};
pub(crate) use fold::{
    bytes_of, encoded_floats, evaluate, evaluate_rounded, evaluate_wrapping, multiplied, read, uniform,
};
pub use graph::function::Graph;
pub(crate) use graph::live::Live;
use graph::{Scope, ValueData};
pub use node::OperatorForm;
pub use node::call::NodeCall;
pub use node::literals::In;
use node::lowerings::LoweringTables;
pub use node::lowerings::{AVOIDED, LowerFn, Lowerings};
pub use node::source::{Known, SourceNode};
use origins::Origins;
pub use outs::{IntoOuts, Out, Outs};
pub use sizes::arithmetic::ScalarOp;
pub use sizes::symbols::Binding;
use sizes::symbols::Symbols;
use target::Limits;
pub use trace::{Event, Trace};
pub(crate) use values::encode::decode;
pub use values::encode::{encode_float, encode_int};
pub use values::scalar::Scalar;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Error;
use aten2onnx_onnx::graph::{Constant, Value};

/// Builds one ONNX graph.
pub struct Builder {
    /// The opset, and what the runtime lacks.
    limits: Limits,
    /// The dtype that PyTorch gives a Python float.
    default_float: Dtype,
    /// Versions of other domains.
    domains: BTreeMap<&'static str, u32>,
    values: Vec<ValueData>,
    /// The graph, and the bodies that are being built inside it.
    scopes: Vec<Scope>,
    /// Number of scopes ever opened.
    scope_count: u32,
    outputs: Vec<(Arc<str>, Value)>,
    shared: Shared,
    symbols: Symbols,
    origins: Origins,
    trace: Trace,
    lowerings: LoweringTables,
    savings: BTreeMap<(u32, u32), (usize, u64)>,
    /// Patterns of `fuse` rules, and of fusions of the passes, that are not applied.
    pub(crate) unfused: Vec<String>,
    /// Origins of nodes that were not made, because an equal one has this result.
    sharers: FxHashMap<Value, Vec<u32>>,
}

/// Values that exist once in the whole graph.
#[derive(Default)]
struct Shared {
    constants: FxHashMap<Constant, Value>,
    /// Numbers that PyTorch promotes as plain Python numbers, by the value that they duplicate.
    wrapped: FxHashMap<Value, Value>,
    /// The representations of complex values.
    pairs: FxHashMap<Value, complex::Pair>,
    /// Inputs of bodies that are the first part of a packed sequence, with the rank of its elements.
    packed: FxHashMap<Value, usize>,
    /// Weights by the address of their elements.
    weights: FxHashMap<usize, Value>,
}

impl Builder {
    /// A builder for a target opset.
    pub fn new(opset: u32) -> Builder {
        Builder {
            limits: Limits::of(opset),
            default_float: Dtype::Float32,
            domains: BTreeMap::new(),
            values: Vec::new(),
            scopes: vec![Scope::default()],
            scope_count: 1,
            outputs: Vec::new(),
            shared: Shared::default(),
            symbols: Symbols::default(),
            origins: Origins::default(),
            trace: Trace::default(),
            lowerings: LoweringTables::default(),
            savings: BTreeMap::new(),
            unfused: Vec::new(),
            sharers: FxHashMap::default(),
        }
    }

    /// The default dtype of PyTorch, `torch.get_default_dtype()`, when the program was exported.
    pub fn default_float(&self) -> Dtype {
        self.default_float
    }

    /// Sets the default dtype of PyTorch.
    pub fn set_default_float(&mut self, dtype: Dtype) {
        self.default_float = dtype;
    }

    /// The record of reached arms, and of all steps if [`Trace::enable`] was called.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Records the value of a condition and returns it. The branch for false has the next number.
    pub fn branch(&mut self, arm: u32, condition: bool) -> bool {
        self.trace.branch(arm, condition);
        if !condition {
            self.trace.reach(arm + 1);
        }
        condition
    }

    /// Records that an arm was reached.
    pub fn arm(&mut self, arm: u32) {
        self.trace.branch(arm, true);
    }

    /// An internal error that names the current rule.
    pub fn fault(&self, message: impl std::fmt::Display) -> Error {
        Error::internal(self.of_rule(message))
    }

    /// An error for sizes or dtypes that contradict an operator; it names the current rule.
    pub fn contradiction(&self, message: impl std::fmt::Display) -> Error {
        Error::contradiction(self.of_rule(message))
    }

    /// A message with the current rule.
    pub(crate) fn of_rule(&self, message: impl std::fmt::Display) -> String {
        match self.origin().map(|o| o.rule.as_str()) {
            Some(rule) if !rule.is_empty() => format!("{message} (in the rule for `{rule}`)"),
            _ => message.to_string(),
        }
    }
}
