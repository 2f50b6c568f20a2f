//! How far from 0 values can be, whatever the inputs of the model are: an interval analysis over weights and bounded operators. It gives what it can.
//!
//! A bound holds up to rounding, for inputs without infinities and NaN. Nothing is known of states of loops and of what reads the inputs without a norm or
//! a bounded function between.

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::{Payload, Sink, Storage, Weight, largest_finite};
use aten2onnx_onnx::graph::{Body, Graph, Node, Source, Value};
use aten2onnx_onnx::schema::{self, Bounded, Function};
use rustc_hash::FxHashMap;

/// The largest magnitudes of values, where they are known.
pub(crate) struct Bounds<'g> {
    graph: &'g Graph,
    known: FxHashMap<Value, f64>,
}

impl Bounds<'_> {
    /// Those of a graph and its bodies.
    pub fn of(graph: &Graph) -> Bounds<'_> {
        let mut bounds = Bounds { graph, known: FxHashMap::default() };
        bounds.body(&graph.body);
        bounds
    }

    /// The bound of a value; None if there is none, or nobody knows.
    pub fn get(&self, value: Value) -> Option<f64> {
        match &self.graph.info(value).source {
            Source::Constant(constant) if constant.dtype == Dtype::Float32 => {
                Some(largest_finite(constant.bytes()).into())
            }
            Source::Weight(weight) => weight.largest_finite().map(f64::from),
            _ if self.graph.ty(value).dtype() == Dtype::Bool => Some(1.0),
            _ => self.known.get(&value).copied(),
        }
    }

    fn body(&mut self, body: &Body) {
        for node in &body.nodes {
            if let Some(bound) = self.result(node).filter(|bound| bound.is_finite()) {
                self.known.extend(node.outputs.iter().flatten().map(|value| (*value, bound)));
            }
            node.bodies().for_each(|inner| self.body(inner));
        }
    }

    /// The bound of the results of a node.
    fn result(&self, node: &Node) -> Option<f64> {
        let facts = schema::facts(node.op);
        match facts.bounded {
            Bounded::Unit => return Some(1.0),
            Bounded::First => return self.input(node, 0),
            Bounded::Norm => return self.norm(node),
            Bounded::No => {}
        }
        if let Some(function) = facts.computes {
            return self.function(node, function);
        }
        if !facts.moves.is_empty() {
            // There may be constants between the elements: those of the other inputs.
            let floats = node.inputs.iter().flatten().filter(|value| self.graph.ty(**value).dtype().is_float());
            return self.largest(floats.copied());
        }
        match facts.linear {
            schema::Linear::Each => self.product(node),
            _ => None,
        }
    }

    fn input(&self, node: &Node, at: usize) -> Option<f64> {
        self.get(node.input(at)?)
    }

    /// The largest bound, if all are known.
    fn largest(&self, values: impl Iterator<Item = Value>) -> Option<f64> {
        values.map(|value| self.get(value)).try_fold(0.0, |most, bound| Some(f64::max(most, bound?)))
    }

    fn function(&self, node: &Node, function: Function) -> Option<f64> {
        let all = || node.inputs.iter().flatten().copied();
        match function {
            Function::Sigmoid | Function::Sin | Function::Cos | Function::Tanh | Function::Sign => Some(1.0),
            Function::Abs | Function::Neg | Function::Relu => self.input(node, 0),
            Function::Ceil | Function::Floor | Function::Round => Some(self.input(node, 0)? + 1.0),
            Function::Add | Function::Sub => {
                all().map(|value| self.get(value)).try_fold(0.0, |sum, bound| Some(sum + bound?))
            }
            Function::Mul => all().map(|value| self.get(value)).try_fold(1.0, |product, bound| Some(product * bound?)),
            Function::Max | Function::Min | Function::Clip => self.largest(all()),
            Function::Choose => self.largest(all().skip(1)),
            Function::Div => Some(self.input(node, 0)? / self.only_element(node.input(1)?)?),
            _ => None,
        }
    }

    /// The magnitude of the element of a constant that has one, and is not 0.
    fn only_element(&self, value: Value) -> Option<f64> {
        let sizes = self.graph.ty(value).known_sizes()?;
        let is_stored = !matches!(self.graph.info(value).source, Source::Input | Source::Node);
        (is_stored && sizes.iter().product::<i64>() == 1).then_some(())?;
        self.get(value).filter(|element| *element > 0.0)
    }

    /// Elements divided by the root of their mean square: none is larger than the root of their number.
    fn norm(&self, node: &Node) -> Option<f64> {
        let sizes = self.graph.ty(node.input(0)?).shape()?;
        let axis = counted_from_start(node.int("axis").unwrap_or(-1), sizes.len())?;
        let normalized: Vec<i64> = sizes.get(axis..)?.iter().map(SymInt::known).collect::<Option<_>>()?;
        let root = (normalized.iter().product::<i64>() as f64).sqrt();
        let bias = if node.input(2).is_some() { self.input(node, 2)? } else { 0.0 };
        Some(root * self.input(node, 1)? + bias)
    }

    /// A product with a stored weight: at most the bound of the other operand times the sum of the magnitudes that a result sums over.
    fn product(&self, node: &Node) -> Option<f64> {
        let Source::Weight(weight) = &self.graph.info(node.input(1)?).source else { return None };
        let channels = match node.int("transB") {
            _ if node.attr("kernel_shape").is_some() || weight.sizes.len() > 2 => 0,
            Some(1) => 0,
            _ => weight.sizes.len().checked_sub(1)?,
        };
        let bias = if node.input(2).is_some() { self.input(node, 2)? } else { 0.0 };
        let scale = |name| node.float(name).unwrap_or(1.0).abs();
        Some(self.input(node, 0)? * largest_sum(weight, channels)? * scale("alpha") + bias * scale("beta"))
    }
}

/// The largest sum of the magnitudes of a weight's elements with the same index of an axis.
fn largest_sum(weight: &Weight, axis: usize) -> Option<f64> {
    if weight.dtype != Dtype::Float32 || matches!(weight.storage, Storage::Absent(_)) {
        return None;
    }
    let size = |n: &i64| usize::try_from(*n).ok();
    let count = size(weight.sizes.get(axis)?)?;
    let inner = weight.sizes.get(axis + 1..)?.iter().map(size).product::<Option<usize>>()?;
    let mut sums = Sums { sums: vec![0.0; count], inner, at: 0 };
    Payload::new(weight).ok()?.write(&mut sums).ok()?;
    Some(sums.sums.into_iter().fold(0.0, f64::max))
}

/// Adds elements up by their index of an axis.
struct Sums {
    sums: Vec<f64>,
    /// How many elements one index of the axis has in a row.
    inner: usize,
    /// The place of the next element.
    at: usize,
}

impl Sink for Sums {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for element in bytes.as_chunks::<4>().0 {
            let index = (self.at / self.inner.max(1)) % self.sums.len().max(1);
            if let Some(sum) = self.sums.get_mut(index) {
                *sum += f64::from(f32::from_le_bytes(*element).abs());
            }
            self.at += 1;
        }
        Ok(())
    }
}
