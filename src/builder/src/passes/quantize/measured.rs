//! Rounds values to integers of 8 bits with ranges that were measured: a QuantizeLinear and a DequantizeLinear stand before what computes with integers,
//! and after it where the runtime asks for that.
//!
//! It must not round a value without a finite range, nor one in a body, whose ranges are not measured.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::{Constant, Node, Source, Value};
use aten2onnx_onnx::schema::{self, Integers};

use super::choice::Choices;
use super::sites::{Reading, port};
use crate::build::Builder;
use crate::passes::dead::live_nodes;

/// The least and the largest number of values, from runs of the model.
pub type ValueRanges = FxHashMap<Value, [f64; 2]>;

/// What is rounded, for people.
#[derive(Debug, Default)]
pub(super) struct Rounding {
    /// The nodes that compute with integers.
    pub nodes: usize,
    /// The values that are rounded.
    pub values: usize,
    /// Whether they become signed integers.
    pub is_signed: bool,
    /// Operators that could compute with integers, but read or make a value without a finite range.
    pub without_range: BTreeSet<&'static str>,
}

/// The nodes with values rounded.
///
/// # Errors
/// The opset has no form of the operators.
pub(super) fn round_values(
    builder: &mut Builder,
    nodes: Vec<Node>,
    choices: &Choices,
    ranges: &ValueRanges,
) -> Result<(Vec<Node>, Rounding)> {
    let results: Vec<Value> = builder.results_mut().map(|value| *value).collect();
    let Decided { read, made, same, integer, rounding } = decided(builder, &nodes, choices, ranges, &results);
    let mut rounded = Rounded { floats: FxHashMap::default(), ranges, same };
    let is_rounded = |value: &Value| read.contains(value) || made.contains(value);
    let inputs: BTreeSet<Value> = nodes.iter().flat_map(|node| node.inputs.iter().copied().flatten()).collect();
    for value in inputs.into_iter().filter(is_rounded) {
        if matches!(builder.source(value), Source::Input) {
            rounded.round(builder, value)?;
        }
    }
    for (i, mut node) in nodes.into_iter().enumerate() {
        builder.follow_origin(&node);
        for value in node.inputs.iter_mut().flatten() {
            if made.contains(value) || integer.contains(&i) {
                *value = rounded.floats.get(value).copied().unwrap_or(*value);
            }
        }
        let outputs: Vec<Value> = node.outputs.iter().copied().flatten().filter(is_rounded).collect();
        builder.nodes_mut().push(node.clone());
        for value in outputs {
            rounded.round(builder, value)?;
        }
    }
    for value in builder.results_mut().filter(|value| made.contains(*value)) {
        *value = rounded.floats.get(value).copied().unwrap_or(*value);
    }
    let rounding = Rounding { values: rounded.floats.len(), ..rounding };
    Ok((live_nodes(builder), rounding))
}

/// Which values are rounded, and what reads them.
#[derive(Default)]
struct Decided {
    /// Values that operators on integers read.
    read: FxHashSet<Value>,
    /// Values that they make, which everything reads rounded.
    made: FxHashSet<Value>,
    /// Values with the range of another.
    same: FxHashMap<Value, Value>,
    /// The places of the nodes that read rounded values.
    integer: FxHashSet<usize>,
    rounding: Rounding,
}

/// Decides it for all nodes.
fn decided(builder: &Builder, nodes: &[Node], choices: &Choices, ranges: &ValueRanges, results: &[Value]) -> Decided {
    let reading = Reading::of(builder, nodes, results);
    let mut plan = Plan { builder, reading, choices, ranges, decided: Decided::default() };
    plan.decided.rounding.is_signed = builder.quantized().symmetric;
    nodes.iter().enumerate().for_each(|(i, node)| plan.add(i, node));
    nodes.iter().enumerate().rev().for_each(|(i, node)| plan.add_mover(i, node));
    nodes.iter().for_each(|node| plan.share_range(node));
    plan.decided
}

/// What the decisions follow from.
struct Plan<'a> {
    builder: &'a Builder,
    reading: Reading<'a>,
    choices: &'a Choices,
    ranges: &'a ValueRanges,
    decided: Decided,
}

impl Plan<'_> {
    /// Notes a node that computes with integers.
    fn add(&mut self, at: usize, node: &Node) {
        let Some(result) = self.result(node) else { return };
        let integers = schema::facts(node.op).integers;
        let Some(reads) = self.operands(node, integers) else { return };
        let runtime = self.builder.quantized();
        let after = self.after_activation(result);
        let is_made = !runtime.operators.is_empty() && !runtime.float_results.contains(&node.op);
        if !reads.iter().all(|value| self.has_range(*value)) || is_made && !self.has_range(after) {
            self.decided.rounding.without_range.insert(node.op);
            return;
        }
        self.decided.read.extend(reads);
        self.decided.integer.insert(at);
        self.decided.rounding.nodes += 1;
        if is_made {
            self.decided.made.insert(after);
        }
    }

    /// The float32 results of a node that is not left as it is.
    fn results(&self, node: &Node) -> Option<Vec<Value>> {
        let runtime = self.builder.quantized();
        let is_listed = runtime.operators.is_empty() || runtime.operators.contains(&node.op);
        let results: Vec<Value> = node.outputs.iter().copied().collect::<Option<_>>()?;
        let is_float =
            |result: &Value| self.builder.dtype(*result) == Dtype::Float32 && !self.choices.is_skipped(*result);
        (is_listed && results.iter().all(is_float)).then_some(results)
    }

    /// The only one of them.
    fn result(&self, node: &Node) -> Option<Value> {
        let results = self.results(node)?;
        results.first().copied().filter(|_| results.len() == 1)
    }

    /// What a node reads as integers, if it computes with them.
    fn operands(&self, node: &Node, integers: Integers) -> Option<Vec<Value>> {
        let is_computed =
            |value: &Value| !matches!(self.builder.source(*value), Source::Constant(_) | Source::Weight(_));
        match integers {
            Integers::No | Integers::Same => None,
            // Without a measurement only products are known to be integers everywhere.
            Integers::Values if self.builder.quantized().operators.is_empty() => None,
            Integers::Values => {
                let all: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
                all.iter().all(is_computed).then_some(all)
            }
            Integers::Products => {
                let x = node.input(0).filter(is_computed)?;
                let other = node.input(port(node)?)?;
                match self.reading.weight(node) {
                    Some((weight, _)) => self.choices.chosen.get(&weight)?.is_whole.then_some(vec![x]),
                    None if is_computed(&other) && node.op == "MatMul" => Some(vec![x, other]),
                    None => None,
                }
            }
        }
    }

    /// Whether a value is what a node makes that stays as it is, or an activation function after that. If it were rounded, a runtime would round the
    /// weights of the node, too.
    fn is_kept(&self, value: Value) -> bool {
        let of_activation = self.reading.maker(value).filter(|node| is_activation(node)).and_then(|node| node.input(0));
        self.choices.is_skipped(value) || of_activation.is_some_and(|value| self.choices.is_skipped(value))
    }

    fn has_range(&self, value: Value) -> bool {
        self.builder.dtype(value) == Dtype::Float32
            && !self.is_kept(value)
            && self.ranges.get(&value).is_some_and(|range| range.iter().all(|number| number.is_finite()))
    }

    /// The value itself, or that of the activation function alone that reads it: limits of the integers do what these do.
    fn after_activation(&self, value: Value) -> Value {
        match self.reading.only_reader(value) {
            Some(node) if is_activation(node) && node.input(0) == Some(value) => {
                node.outputs.first().copied().flatten().unwrap_or(value)
            }
            _ => value,
        }
    }

    /// What moves elements that are read as integers moves integers.
    fn add_mover(&mut self, at: usize, node: &Node) {
        let is_mover =
            schema::facts(node.op).integers == Integers::Same && !self.builder.quantized().operators.is_empty();
        let Some(results) = self.results(node).filter(|_| is_mover) else { return };
        let Some(value) = node.input(0) else { return };
        let is_stored = matches!(self.builder.source(value), Source::Constant(_) | Source::Weight(_));
        if results.iter().any(|result| self.decided.read.contains(result)) && !is_stored && self.has_range(value) {
            // All parts of a value are integers, or none is.
            self.decided.read.extend(results);
            self.decided.read.insert(value);
            self.decided.integer.insert(at);
        }
    }

    /// What is moved keeps its range.
    fn share_range(&mut self, node: &Node) {
        let is_mover = schema::facts(node.op).integers == Integers::Same;
        let Some(results) = self.results(node).filter(|_| is_mover) else { return };
        let Some(value) = node.input(0) else { return };
        if self.decided.read.contains(&value) || self.decided.made.contains(&value) {
            let origin = self.decided.same.get(&value).copied().unwrap_or(value);
            let read = results.into_iter().filter(|result| self.decided.read.contains(result));
            self.decided.same.extend(read.map(|result| (result, origin)));
        }
    }
}

/// Whether the limits of integers can do what a node does.
fn is_activation(node: &Node) -> bool {
    matches!(node.op, "Relu" | "Clip")
}

/// Values that are rounded so far.
struct Rounded<'a> {
    /// By the value: the floats of its integers.
    floats: FxHashMap<Value, Value>,
    ranges: &'a ValueRanges,
    same: FxHashMap<Value, Value>,
}

impl Rounded<'_> {
    /// Makes the floats of a value's integers.
    fn round(&mut self, builder: &mut Builder, value: Value) -> Result<()> {
        let origin = self.same.get(&value).copied().unwrap_or(value);
        let Some(range) = self.ranges.get(&origin) else { return Ok(()) };
        let steps = Steps::of(*range, builder.quantized().symmetric);
        let scale = builder.intern(Constant::new(Dtype::Float32, vec![], steps.scale.to_le_bytes().to_vec()));
        let zero = builder.intern(Constant::new(steps.dtype, vec![], vec![steps.zero]));
        let codes = builder.node1("QuantizeLinear", vec![value.into(), scale.into(), zero.into()], vec![])?;
        let floats = builder.node1("DequantizeLinear", vec![codes.into(), scale.into(), zero.into()], vec![])?;
        self.floats.insert(value, floats);
        Ok(())
    }
}

/// How numbers become integers.
struct Steps {
    scale: f32,
    zero: u8,
    dtype: Dtype,
}

impl Steps {
    /// Those that have the numbers of a range, and 0.
    fn of([least, largest]: [f64; 2], is_symmetric: bool) -> Steps {
        let (least, largest) = (least.min(0.0), largest.max(0.0));
        let (span, steps) = match is_symmetric {
            true => (largest.max(-least), f64::from(i8::MAX)),
            false => (largest - least, f64::from(u8::MAX)),
        };
        // A value that is always 0 has any scale.
        let scale = if (span / steps) as f32 >= f32::MIN_POSITIVE { (span / steps) as f32 } else { 1.0 };
        match is_symmetric {
            true => Steps { scale, zero: 0, dtype: Dtype::Int8 },
            false => Steps { scale, zero: (-least / f64::from(scale)).round_ties_even() as u8, dtype: Dtype::Uint8 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_exact_and_ends_are_held() {
        for range in [[0.0, 6.0], [-1.0, 1.0], [-3.0, 0.5], [2.0, 9.0], [-9.0, -2.0]] {
            let steps = Steps::of(range, false);
            let code = |number: f64| (number / f64::from(steps.scale)).round_ties_even() + f64::from(steps.zero);
            for number in range {
                assert!((-0.5..=255.5).contains(&code(number)), "{range:?}: {number} is {}", code(number));
            }
            let steps = Steps::of(range, true);
            let most = range[0].abs().max(range[1].abs()) / f64::from(steps.scale);
            assert_eq!((steps.zero, most.round()), (0, 127.0));
        }
        assert_eq!(Steps::of([0.0, 0.0], false).scale, 1.0);
    }
}
