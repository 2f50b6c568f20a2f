//! The builder: what rules call to make ONNX nodes.
//!
//! It takes calls in the newest form of ONNX and gives values that are native at the target opset: literals become tensors,
//! operators are lowered, dtypes legalised, types inferred, small constants folded, and equal shape arithmetic shared. Nothing
//! but the builder and the `lower` rules knows that opsets differ. It never sees the text of a rule, nor an archive.
//!
//! The files, in the order a call goes through them: `literals` (inputs to values), `fold` and `reuse` (no node at all), `node`
//! (the walk down the versions), `legalise` (dtypes), `emit` (the node itself), and at the end `finish` and `names`.

mod args;
mod arithmetic;
mod axes;
mod bodies;
mod bundles;
mod call;
mod complex;
mod constants;
mod contents;
mod edit;
mod emit;
mod encode;
mod facts;
mod finish;
mod fold;
mod foreign;
mod legalise;
mod literals;
mod lowerings;
mod names;
mod node;
mod outs;
mod raise;
mod reuse;
mod scalar;
mod shapes;
mod sizes;
mod source;
mod special;
mod symbols;
#[cfg(test)]
mod tests;
mod trace;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use args::{ArgValue, Args};
pub use arithmetic::ScalarOp;
pub use call::Call;
pub use complex::as_stored;
pub(crate) use encode::decode;
pub(crate) use fold::evaluate;
pub use literals::In;
pub use lowerings::Lowerings;
pub use outs::{IntoOuts, Out, Outs};
pub use scalar::Scalar;
pub use source::{Known, SourceNode};
pub use symbols::Binding;
pub use trace::{Event, Trace};

use crate::dtype::Dtype;
use crate::error::Error;
use crate::graph::{Constant, Node, Origin, Source, Type, Value};
use crate::sym::SymInt;
use crate::targets::Target;

/// Makes one ONNX graph.
pub struct Builder {
    /// The target opset of the default domain.
    opset: u32,
    values: Vec<ValueData>,
    /// The graph, and the bodies that are being built inside it.
    scopes: Vec<Scope>,
    /// Number of scopes ever opened.
    scope_count: u32,
    outputs: Vec<(Arc<str>, Value)>,
    constants: FxHashMap<Constant, Value>,
    /// Numbers that PyTorch promotes as plain Python numbers, by the value they stand for.
    wrapped: FxHashMap<Value, Value>,
    /// What complex values stand for.
    pairs: FxHashMap<Value, complex::Pair>,
    /// Weights by the address of what they share.
    weights: FxHashMap<usize, Value>,
    /// Bounds of symbols, inclusive.
    ranges: FxHashMap<Arc<str>, (Option<i64>, Option<i64>)>,
    origins: Vec<Origin>,
    origin: u32,
    /// Number of symbols made for what is not known.
    fresh: Cell<u32>,
    /// Lowerings under way.
    depth: u32,
    trace: Trace,
    /// The dtypes that a runtime has no kernel for, by operator: bit `Dtype as u32`.
    avoided: FxHashMap<&'static str, u64>,
    /// What PyTorch makes of a Python float.
    default_float: Dtype,
    /// Versions of other domains.
    domains: BTreeMap<&'static str, u32>,
    /// Operators that a runtime has not at all.
    lacking: FxHashSet<&'static str>,
    /// Nodes of a model are converted for the sake of a runtime's kernels too.
    for_runtime: bool,
    /// Lowerings that are not of the build.
    added: Vec<Arc<dyn Lowerings>>,
}

/// What is known of a value while the graph is built.
struct ValueData {
    ty: Type,
    source: Source,
    /// The elements of a small integer or boolean tensor with at most one dimension.
    content: Option<Arc<[SymInt]>>,
    /// The elements of a sequence or optional that is not in the graph.
    items: Option<Arc<[Value]>>,
    /// The name it should get.
    name: Option<Arc<str>>,
    /// The scope it was made in.
    scope: u32,
    /// What was running when it was made.
    origin: u32,
    /// A wrapped number is another handle of this value; only rules see it.
    stands_for: Option<Value>,
}

/// A graph or body that is being built. What is cached in it is visible in the scopes inside it.
#[derive(Default)]
struct Scope {
    id: u32,
    inputs: Vec<Value>,
    nodes: Vec<Node>,
    reuse: FxHashMap<reuse::Key, Vec<Value>>,
    /// Where symbols are found.
    bindings: FxHashMap<Arc<str>, symbols::Bound>,
    /// Expressions that are dimensions of values.
    dims: FxHashMap<SymInt, (Value, usize)>,
    /// Sizes that are in the graph as 0-dim values.
    sizes: FxHashMap<SymInt, Value>,
}

impl Builder {
    /// A builder for a target opset.
    pub fn new(opset: u32) -> Builder {
        Builder {
            opset,
            values: Vec::new(),
            scopes: vec![Scope::default()],
            scope_count: 1,
            outputs: Vec::new(),
            constants: FxHashMap::default(),
            wrapped: FxHashMap::default(),
            pairs: FxHashMap::default(),
            weights: FxHashMap::default(),
            ranges: FxHashMap::default(),
            origins: vec![Origin::default()],
            origin: 0,
            fresh: Cell::new(0),
            depth: 0,
            trace: Trace::default(),
            avoided: FxHashMap::default(),
            default_float: Dtype::Float32,
            domains: BTreeMap::new(),
            lacking: FxHashSet::default(),
            for_runtime: false,
            added: Vec::new(),
        }
    }

    /// The target opset.
    pub fn opset(&self) -> i64 {
        self.opset.into()
    }

    /// What `torch.get_default_dtype()` was where the program was written.
    pub fn default_float(&self) -> Dtype {
        self.default_float
    }

    /// States what `torch.get_default_dtype()` was.
    pub fn set_default_float(&mut self, dtype: Dtype) {
        self.default_float = dtype;
    }

    /// States that the runtime has no kernel for an operator on these dtypes: it computes in a wider one, or is said as older
    /// opsets say it, where that can be.
    pub fn avoid(&mut self, op: &'static str, dtypes: &[Dtype]) {
        let mask = dtypes.iter().fold(0u64, |mask, dtype| mask | 1 << *dtype as u32);
        *self.avoided.entry(op).or_default() |= mask;
    }

    /// States that the runtime has no such operator: it is said as older opsets say it, or refused.
    pub fn lack(&mut self, op: &'static str) {
        self.lacking.insert(op);
    }

    /// Avoids what a runtime by name cannot do, also in nodes of a model that could stay as they are.
    pub fn aim_at(&mut self, target: &Target) {
        if target.kernels {
            self.missing_kernels(|_, _| true);
        }
        target.lacks.iter().for_each(|op| self.lack(op));
        self.for_runtime = true;
    }

    /// Avoids what ONNX Runtime's CPU provider has no kernel for, as the default profile says. bfloat16 alone is no reason: it is
    /// for processors that compute in it.
    pub fn avoid_missing_kernels(&mut self) {
        self.missing_kernels(|dtype, all| dtype != Dtype::Bfloat16 || all.contains(&Dtype::Float32));
    }

    fn missing_kernels(&mut self, counts: impl Fn(Dtype, &[Dtype]) -> bool) {
        for (op, since, dtypes) in crate::rules::ONNXRUNTIME_LACKS {
            let in_force = crate::schema::find(op).and_then(|op| op.at(self.opset));
            if in_force.is_some_and(|version| version.since == *since) {
                let avoided: Vec<Dtype> = dtypes.iter().copied().filter(|dtype| counts(*dtype, dtypes)).collect();
                self.avoid(op, &avoided);
            }
        }
    }

    /// States where the nodes that follow come from: names and messages derive from it.
    pub fn set_origin(&mut self, origin: Origin) {
        // The index fits: every origin comes with a node of the input file.
        self.origin = u32::try_from(self.origins.len()).unwrap_or(u32::MAX);
        self.origins.push(origin);
    }

    /// Where the nodes that are made now come from.
    pub fn origin(&self) -> Option<&Origin> {
        self.origins.get(self.origin as usize)
    }

    /// Records which arms are reached, and more if asked for.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Records that a condition was tried; gives it back. The branch for when it does not hold has the next number.
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

    /// A fault of the rule that runs.
    pub fn fault(&self, message: impl std::fmt::Display) -> Error {
        match self.origin().map(|o| o.rule.as_str()) {
            Some(rule) if !rule.is_empty() => Error::internal(format!("{message} (in the rule for `{rule}`)")),
            _ => Error::internal(message.to_string()),
        }
    }

    fn scope(&self) -> Option<&Scope> {
        self.scopes.last()
    }

    fn scope_mut(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn add_value(&mut self, ty: Type, source: Source, content: Option<Arc<[SymInt]>>) -> Value {
        let scope = match source {
            // Constants and weights are initializers of the whole graph.
            Source::Constant(_) | Source::Weight(_) => 0,
            Source::Input | Source::Node => self.scope().map_or(0, |s| s.id),
        };
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let origin = self.origin;
        let data = ValueData { ty, source, content, items: None, name: None, scope, origin, stands_for: None };
        self.values.push(data);
        value
    }

    fn data(&self, value: Value) -> &ValueData {
        &self.values[value.index()]
    }

    fn data_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value.index()]
    }
}
