//! Visits the nodes of a graph in order and rebuilds them, with values replaced.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Passes;
use super::common::{Known, Seen};
use super::fuse::Fusions;
use super::layouts::Layouts;
use super::quantize::Choices;
use super::sizes::Contents;
use super::splits::Slices;
use crate::build::{Builder, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Attr, Body, Constant, Node, Source, Type, Value};
use aten2onnx_onnx::schema;

/// A pass: given a node with one result, it returns a value that replaces the result. Nodes that it makes are inserted
/// before the node, or removed again if it returns None.
pub(super) type Pass = fn(&mut Rewriter<'_>, &Node) -> Option<Value>;

/// One round over the graph.
pub(super) struct Rewriter<'a> {
    /// Makes nodes.
    pub(super) builder: &'a mut Builder,
    /// What the passes may do.
    pub(super) passes: Passes,
    /// The weights that are quantized, in the rounds that do it.
    pub(super) choices: Option<Arc<Choices>>,
    /// The `fuse` rules.
    pub(super) fusions: Arc<Fusions>,
    /// The depth and position of the node that computes a value, once it is rebuilt.
    producers: Vec<Option<(u32, u32)>>,
    /// Upper bound of the number of uses of a value.
    uses: Vec<u32>,
    /// How many of these only ask for its sizes.
    asked: Vec<u32>,
    /// Matrices that are read in both layouts, and those layouts that were made.
    pub(super) layouts: Layouts,
    forward: FxHashMap<Value, Value>,
    seen: Seen,
    /// Integer tensors, for `sizes`.
    pub(super) contents: Contents,
    /// Slices, for `splits`.
    pub(super) slices: Slices,
    /// Large results whose elements are all the same, for `constants`: their nodes stay.
    pub(super) filled: FxHashMap<Value, Constant>,
    /// Nodes registered in `producers`, by depth.
    registered: Vec<usize>,
    fired: usize,
}

impl<'a> Rewriter<'a> {
    /// Prepares a round over these nodes of a builder's graph.
    pub(super) fn new(
        builder: &'a mut Builder,
        passes: Passes,
        fusions: &Arc<Fusions>,
        nodes: &[Node],
    ) -> Rewriter<'a> {
        let count = builder.value_count();
        let mut uses = vec![0; count];
        count_uses(nodes, &mut uses, |_| true);
        let mut asked = vec![0; count];
        count_uses(nodes, &mut asked, |node| ASKING.contains(&node.op));
        let layouts = Layouts::of(builder, nodes);
        for value in builder.results_mut() {
            add(&mut uses, *value, 1);
        }
        Rewriter {
            builder,
            passes,
            choices: None,
            fusions: Arc::clone(fusions),
            producers: vec![None; count],
            uses,
            asked,
            layouts,
            forward: FxHashMap::default(),
            seen: Seen::default(),
            contents: Contents::default(),
            slices: Slices::default(),
            filled: FxHashMap::default(),
            registered: vec![0],
            fired: 0,
        }
    }

    /// Visits the nodes; returns how often a rule applied.
    pub(super) fn run(mut self, nodes: Vec<Node>, rules: &[Pass]) -> usize {
        self.seen.open();
        self.contents.open();
        self.visit_nodes(nodes, rules);
        let Rewriter { builder, forward, fired, .. } = self;
        for value in builder.results_mut() {
            *value = resolved(&forward, *value);
        }
        fired
    }

    fn visit_nodes(&mut self, nodes: Vec<Node>, rules: &[Pass]) {
        let mut slices = std::mem::take(&mut self.slices);
        slices.note(self, &nodes);
        self.slices = slices;
        for mut node in nodes {
            for value in node.inputs.iter_mut().flatten() {
                *value = resolved(&self.forward, *value);
            }
            self.builder.follow_origin(&node);
            for (_, attr) in &mut node.attrs {
                for body in attr.bodies_mut() {
                    *body = self.body(std::mem::take(body), rules);
                }
            }
            self.builder.follow_origin(&node);
            self.node(node, rules);
        }
    }

    fn body(&mut self, mut body: Body, rules: &[Pass]) -> Body {
        self.builder.reopen(&body);
        self.seen.open();
        self.contents.open();
        self.registered.push(0);
        self.visit_nodes(std::mem::take(&mut body.nodes), rules);
        self.registered.pop();
        self.contents.close();
        self.seen.close();
        let outputs = body.outputs.iter().map(|value| resolved(&self.forward, *value)).collect();
        self.builder.close(outputs)
    }

    fn node(&mut self, node: Node, rules: &[Pass]) {
        if let [Some(result)] = *node.outputs.as_slice() {
            for rule in rules {
                let before = self.builder.nodes_mut().len();
                let new = rule(self, &node);
                if new.is_some_and(|new| new != result && self.accept(result, new, before)) {
                    return;
                }
                self.builder.truncate_nodes(before);
            }
        }
        match self.seen.find(&node) {
            Known::Same(values) => {
                let pairs: Vec<(Value, Value)> =
                    node.outputs.iter().zip(&values).filter_map(|(old, new)| Some(((*old)?, (*new)?))).collect();
                let more = more_outputs(&node.outputs, &values);
                if pairs.iter().all(|(old, new)| self.builder.take_over(*new, *old))
                    && self.add_outputs(&node, &values, more)
                {
                    for (old, new) in pairs {
                        self.builder.share(&[new], node.origin);
                        self.builder.share_as(old, new);
                        self.replace(old, new);
                    }
                    return;
                }
                self.push(node);
            }
            Known::New => self.push(node),
        }
    }

    /// Gives an earlier node, which has these results, those that only an equal one has; whether that is possible.
    fn add_outputs(&mut self, node: &Node, have: &[Option<Value>], more: Option<Vec<Option<Value>>>) -> bool {
        let Some(outputs) = more else { return true };
        let producer = have.iter().flatten().find_map(|value| self.producers.get(value.index()).copied().flatten());
        let Some((depth, i)) = producer.filter(|(depth, _)| *depth as usize == self.builder.depth()) else {
            return false;
        };
        let Some(earlier) = self.builder.nodes_mut().get_mut(i as usize) else { return false };
        earlier.outputs.clone_from(&outputs);
        self.seen.extend(node, &outputs);
        self.producers.resize(self.builder.value_count(), None);
        for value in outputs.iter().flatten() {
            if let Some(producer) = self.producers.get_mut(value.index()) {
                *producer = Some((depth, i));
            }
        }
        self.fired += 1;
        true
    }

    fn push(&mut self, node: Node) {
        self.builder.nodes_mut().push(node);
        self.register();
    }

    /// Accepts the value that a rule returned, if it can replace the old one.
    fn accept(&mut self, old: Value, new: Value, before: usize) -> bool {
        let made = self.builder.nodes_at(self.builder.depth()).get(before..).unwrap_or_default();
        let mut local: Vec<Value> = Vec::new();
        for node in made {
            if !node.inputs.iter().flatten().all(|v| local.contains(v) || self.is_made(*v)) {
                return false;
            }
            local.extend(node.outputs.iter().flatten());
        }
        if !(local.contains(&new) || self.is_made(new)) || !self.builder.take_over(new, old) {
            return false;
        }
        let inputs: Vec<Value> = made_inputs(self.builder, before);
        if local.contains(&new) {
            self.builder.share_as(old, new);
        }
        self.register();
        for value in inputs {
            add(&mut self.uses, value, 1);
        }
        self.replace(old, new);
        true
    }

    fn replace(&mut self, old: Value, new: Value) {
        let count = self.uses.get(old.index()).copied().unwrap_or(0);
        add(&mut self.uses, new, count);
        self.forward.insert(old, new);
        self.fired += 1;
    }

    fn is_made(&self, value: Value) -> bool {
        let is_made = || self.producers.get(value.index()).is_some_and(Option::is_some);
        self.builder.check_visible(value).is_ok() && (!matches!(self.builder.source(value), Source::Node) || is_made())
    }

    fn register(&mut self) {
        let depth = self.builder.depth();
        let Some(done) = self.registered.get_mut(depth) else { return };
        let nodes = self.builder.nodes_at(depth);
        self.producers.resize(self.builder.value_count(), None);
        for (i, node) in nodes.iter().enumerate().skip(*done) {
            for value in node.outputs.iter().flatten() {
                if let Some(producer) = self.producers.get_mut(value.index()) {
                    // Both fit, because values are numbered with 32 bits.
                    *producer = Some((depth as u32, i as u32));
                }
            }
        }
        *done = nodes.len();
    }

    // Queries for rules.

    /// The value that replaces this one now.
    pub(super) fn resolved(&self, value: Value) -> Value {
        resolved(&self.forward, value)
    }

    /// The node that computes a value.
    pub(super) fn producer(&self, value: Value) -> Option<&Node> {
        let (depth, i) = self.producers.get(value.index()).copied().flatten()?;
        self.builder.nodes_at(depth as usize).get(i as usize)
    }

    /// The node that computes an input, if it has this operator.
    pub(super) fn input_node(&self, node: &Node, i: usize, op: &str) -> Option<Node> {
        self.made_by(node.input(i)?, op)
    }

    /// The node that computes a value, if it has this operator.
    pub(super) fn made_by(&self, value: Value, op: &str) -> Option<Node> {
        self.producer(value).filter(|node| node.op == op).cloned()
    }

    /// An upper bound of the number of uses.
    pub(super) fn uses(&self, value: Value) -> u32 {
        self.uses.get(value.index()).copied().unwrap_or(0)
    }

    /// Whether it has a single use.
    pub(super) fn is_read_once(&self, value: Value) -> bool {
        self.uses(value) <= 1
    }

    /// Whether its elements have a single use; its sizes may be asked for.
    pub(super) fn has_one_reader(&self, value: Value) -> bool {
        let asked = self.asked.get(value.index()).copied().unwrap_or(0);
        self.uses(value).saturating_sub(asked) <= 1
    }

    /// Gives the node that computes a value other inputs, which are weights or constants: those who ask for the sizes of the value keep it.
    pub(super) fn rebuild(&mut self, value: Value, inputs: Vec<Value>) -> Option<()> {
        let (depth, i) = self.producers.get(value.index()).copied().flatten()?;
        if depth as usize != self.builder.depth() {
            return None;
        }
        let node = self.builder.nodes_mut().get_mut(i as usize)?;
        self.seen.forget(node);
        node.inputs = inputs.iter().copied().map(Some).collect();
        for input in inputs {
            add(&mut self.uses, input, 1);
        }
        Some(())
    }

    /// Whether products and lookups read the integers of a weight, which are to be stored once.
    pub(super) fn is_tied(&self, weight: &Weight) -> bool {
        self.choices.as_ref().is_some_and(|choices| choices.is_tied(weight))
    }

    /// The sizes.
    pub(super) fn shape(&self, value: Value) -> Option<&[SymInt]> {
        self.builder.ty(value).shape()
    }

    /// The rank.
    pub(super) fn rank(&self, value: Value) -> Option<usize> {
        self.builder.ty(value).rank()
    }

    /// The sizes, if all are known.
    pub(super) fn known_sizes(&self, value: Value) -> Option<Vec<i64>> {
        self.builder.ty(value).known_sizes()
    }

    /// Whether both have the same type, including every size.
    pub(super) fn same_type(&self, a: Value, b: Value) -> bool {
        matches!((self.builder.ty(a), self.builder.ty(b)), (Type::Tensor { shape: Some(_), .. }, b) if self.builder.ty(a) == b)
    }

    /// The element type.
    pub(super) fn dtype(&self, value: Value) -> Dtype {
        self.builder.dtype(value)
    }

    /// The integers of a constant.
    pub(super) fn ints(&self, value: Value) -> Option<Vec<i64>> {
        self.builder.constant_ints(value)
    }

    /// Whether the target opset has an operator.
    pub(super) fn has(&self, op: &str) -> bool {
        let opset = u32::try_from(self.builder.opset()).unwrap_or(0);
        schema::find(op).and_then(|found| found.at(opset)).is_some()
    }

    /// A node with one output.
    pub(super) fn make(
        &mut self,
        op: &'static str,
        inputs: &[Value],
        attrs: Vec<(&'static str, Attr)>,
    ) -> Option<Value> {
        let inputs = inputs.iter().map(|value| (*value).into()).collect();
        self.builder.node_of_runtime(op, inputs, attrs)
    }

    /// A node of an operator of the runtime's own domain, whose result has the type of another value.
    pub(super) fn make_own(
        &mut self,
        op: &'static str,
        inputs: Vec<Option<Value>>,
        attrs: Vec<(&'static str, Attr)>,
        like: Value,
    ) -> Option<Value> {
        let Type::Tensor { dtype, shape: Some(shape) } = self.builder.ty(like).clone() else { return None };
        let inputs = inputs.into_iter().map(|value| value.map_or(In::None, In::Value)).collect();
        self.builder.foreign(op, 1, inputs, attrs, vec![(dtype, shape)]).ok()?.first().copied()
    }

    /// A copy of the node with other inputs.
    pub(super) fn remade(&mut self, node: &Node, inputs: &[Value]) -> Option<Value> {
        self.make(node.op, inputs, node.attrs.clone())
    }
}

/// The outputs of two equal nodes in one; None if the first has all of the second's.
fn more_outputs(wanted: &[Option<Value>], have: &[Option<Value>]) -> Option<Vec<Option<Value>>> {
    let at = |values: &[Option<Value>], i: usize| values.get(i).copied().flatten();
    let lacks = |i: usize| at(wanted, i).is_some() && at(have, i).is_none();
    (0..wanted.len())
        .any(lacks)
        .then(|| (0..wanted.len().max(have.len())).map(|i| at(have, i).or(at(wanted, i))).collect())
}

fn made_inputs(builder: &Builder, before: usize) -> Vec<Value> {
    let made = builder.nodes_at(builder.depth()).get(before..).unwrap_or_default();
    made.iter().flat_map(|node| node.inputs.iter().flatten().copied()).collect()
}

/// Operators that read the sizes of their input and not its elements.
const ASKING: &[&str] = &["Shape", "Size"];

/// Counts the uses by some of the nodes, and by bodies of what they return.
fn count_uses(nodes: &[Node], uses: &mut Vec<u32>, is_counted: fn(&Node) -> bool) {
    for node in nodes {
        if is_counted(node) {
            node.inputs.iter().flatten().for_each(|value| add(uses, *value, 1));
        }
        for body in node.bodies() {
            count_uses(&body.nodes, uses, is_counted);
            if is_counted(node) {
                body.outputs.iter().for_each(|value| add(uses, *value, 1));
            }
        }
    }
}

fn add(uses: &mut Vec<u32>, value: Value, count: u32) {
    if uses.len() <= value.index() {
        uses.resize(value.index() + 1, 0);
    }
    if let Some(uses) = uses.get_mut(value.index()) {
        *uses = uses.saturating_add(count);
    }
}

/// Follows the replacements of a value to the last one.
fn resolved(forward: &FxHashMap<Value, Value>, mut value: Value) -> Value {
    while let Some(next) = forward.get(&value) {
        value = *next;
    }
    value
}
