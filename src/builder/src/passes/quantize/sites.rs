//! Where weights are read that can be quantized: the right operand of a product or a convolution, the table of a lookup. What moves or casts the weight on its
//! way there is followed.

use rustc_hash::FxHashMap;

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Node, Source, Value};

use crate::build::Builder;

/// How many nodes are looked through.
pub(super) const DEPTH: usize = 6;

/// The numbers of a weight that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// Those along an axis: a product sums over it.
    Axis(usize),
    /// Those with the same index of an axis: the channel of a convolution's result.
    Channel(usize),
}

/// A node that reads a weight.
#[derive(Debug, Clone)]
pub(super) struct WeightSite {
    pub op: &'static str,
    pub name: String,
    pub module: Option<String>,
    pub along: Along,
}

impl WeightSite {
    pub fn of(builder: &Builder, node: &Node, along: Along) -> WeightSite {
        let module = builder.origin_of(node).and_then(|origin| origin.module.as_deref().map(str::to_owned));
        WeightSite { op: node.op, name: node.name.clone(), module, along }
    }
}

/// The input of a node that may be a quantized weight.
pub(super) fn port(node: &Node) -> Option<usize> {
    match node.op {
        "MatMul" | "Gemm" | "Conv" | "ConvTranspose" => Some(1),
        "Gather" if node.int("axis").unwrap_or(0) == 0 => Some(0),
        _ => None,
    }
}

/// What belongs together in such an input.
fn along(node: &Node, rank: usize) -> Option<Along> {
    match node.op {
        "MatMul" => Some(Along::Axis(rank.checked_sub(2)?)),
        "Gemm" if rank == 2 => Some(Along::Axis(usize::from(node.int("transB").unwrap_or(0) != 0))),
        "Conv" if rank > 2 => Some(Along::Channel(0)),
        "ConvTranspose" if rank > 2 => Some(Along::Channel(1)),
        "Gather" if rank > 1 => Some(Along::Axis(rank - 1)),
        _ => None,
    }
}

/// Whether a node moves or casts its first input.
pub(super) fn is_passed(node: &Node) -> bool {
    matches!(node.op, "Transpose" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Cast" | "Identity")
}

/// All nodes, those of bodies too, by what they make and what they read.
pub(super) struct Reading<'n> {
    pub builder: &'n Builder,
    makers: FxHashMap<Value, &'n Node>,
    readers: FxHashMap<Value, Vec<Option<&'n Node>>>,
    /// In order.
    pub nodes: Vec<&'n Node>,
}

impl<'n> Reading<'n> {
    pub fn of(builder: &'n Builder, nodes: &'n [Node], results: &[Value]) -> Reading<'n> {
        let (makers, readers) = (FxHashMap::default(), FxHashMap::default());
        let mut reading = Reading { builder, makers, readers, nodes: Vec::new() };
        nodes.iter().for_each(|node| reading.add(node));
        results.iter().for_each(|value| reading.readers.entry(*value).or_default().push(None));
        reading
    }

    fn add(&mut self, node: &'n Node) {
        self.nodes.push(node);
        self.makers.extend(node.outputs.iter().flatten().map(|value| (*value, node)));
        node.inputs.iter().flatten().for_each(|value| self.readers.entry(*value).or_default().push(Some(node)));
        for body in node.bodies() {
            body.nodes.iter().for_each(|node| self.add(node));
            body.outputs.iter().for_each(|value| self.readers.entry(*value).or_default().push(None));
        }
    }

    /// The weight that a node reads, and what belongs together in it.
    pub fn weight(&self, node: &Node) -> Option<(Value, Along)> {
        let mut value = node.input(port(node)?)?;
        let mut found = along(node, self.builder.ty(value).rank()?)?;
        for _ in 0..=DEPTH {
            if self.is_weight(value) {
                return Some((value, found));
            }
            let maker = self.makers.get(&value).filter(|maker| is_passed(maker))?;
            found = before(self.builder, maker, found)?;
            value = maker.input(0)?;
        }
        None
    }

    /// Whether a value is a weight of floats.
    pub fn is_weight(&self, value: Value) -> bool {
        let is_stored = match self.builder.source(value) {
            Source::Weight(_) => true,
            Source::Constant(constant) => constant.is_consistent(),
            Source::Input | Source::Node => false,
        };
        is_stored && matches!(self.builder.dtype(value), Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16)
    }

    /// The node that makes a value.
    pub fn maker(&self, value: Value) -> Option<&'n Node> {
        self.makers.get(&value).copied()
    }

    /// The node that reads a value, if nothing else does.
    pub fn only_reader(&self, value: Value) -> Option<&'n Node> {
        match self.readers.get(&value)?.as_slice() {
            [Some(node)] => Some(*node),
            _ => None,
        }
    }

    /// What reads a value in another way: an operator, or the results of the model or of a body.
    pub fn other_reader(&self, value: Value) -> Option<&'static str> {
        self.other_reader_within(value, DEPTH)
    }

    fn other_reader_within(&self, value: Value, depth: usize) -> Option<&'static str> {
        self.readers.get(&value).into_iter().flatten().find_map(|reader| {
            let Some(node) = reader else { return Some("an output") };
            let is_alone = |at: usize| {
                node.inputs.iter().filter(|input| **input == Some(value)).count() == 1 && node.input(at) == Some(value)
            };
            if port(node).is_some_and(is_alone) {
                return None;
            }
            let made = node.outputs.first().copied().flatten();
            match (is_passed(node) && is_alone(0), made, depth.checked_sub(1)) {
                (true, Some(made), Some(depth)) => self.other_reader_within(made, depth),
                _ => Some(node.op),
            }
        })
    }
}

/// What belongs together in the first input of a node, where that of its result is known.
fn before(builder: &Builder, node: &Node, along: Along) -> Option<Along> {
    let (from, to) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    let rank = builder.ty(from).rank()?;
    let moved = |axis: usize| -> Option<usize> {
        match node.op {
            "Transpose" => match node.ints("perm") {
                Some(perm) => counted_from_start(*perm.get(axis)?, rank),
                None => (rank - 1).checked_sub(axis),
            },
            "Cast" => builder.dtype(to).is_float().then_some(axis),
            "Identity" => Some(axis),
            _ => same_axis(&builder.ty(from).known_sizes()?, &builder.ty(to).known_sizes()?, axis),
        }
    };
    match along {
        Along::Axis(axis) => moved(axis).map(Along::Axis),
        Along::Channel(axis) => moved(axis).map(Along::Channel),
    }
}

/// The axis of a tensor that an axis of its reshaped form is.
fn same_axis(from: &[i64], to: &[i64], axis: usize) -> Option<usize> {
    let inner = |sizes: &[i64], axis: usize| sizes.get(axis + 1..).map(|rest| rest.iter().product::<i64>());
    (0..from.len()).find(|own| from.get(*own) == to.get(axis) && inner(from, *own) == inner(to, axis))
}
