//! Integers that a model unpacks from a weight by shifts, masks, views, joins and lookups, as a program for the writer: for checkpoints of GPTQ,
//! AWQ, HQQ and others that pack several integers in an element.
//!
//! It must not read a weight that something else reads too: its bytes would be written twice.

use aten2onnx_core::axes::counted_from_start;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::rewriter::Rewriter;
use super::weight;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Operation, Program, Step, View, Weight, row_major};
use aten2onnx_onnx::graph::{Node, Source, Value};

/// The largest number of steps, and of nodes that are read.
const STEPS: usize = 400;
/// Weights of fewer bytes may be written twice.
const SMALL: u64 = 1 << 10;

/// A weight of the integers that a value holds, with 8 bits for each; None if it is no such value.
pub(super) fn weight_of(cx: &Rewriter<'_>, value: Value) -> Option<Weight> {
    let node = cx.producer(value)?;
    let can = cx.dtype(value).is_int() || cx.dtype(value).is_float();
    if !can || !OPERATORS.contains(&node.op) {
        return None;
    }
    let mut reader = Reader {
        cx,
        program: Program::default(),
        known: FxHashMap::default(),
        left: STEPS,
        edges: FxHashSet::default(),
    };
    let at = reader.step(Step::Positions)?;
    reader.value(value, at)?;
    reader.reads_alone().then_some(())?;
    let name = reader.program.source()?.name.clone();
    let (least, most) = reader.program.range()?;
    let dtype = if least < 0 { Dtype::Int8 } else { Dtype::Uint8 };
    let fits = if least < 0 { -128 <= least && most < 128 } else { most < 256 };
    let sizes = cx.known_sizes(value)?;
    if fits { reader.program.weight(&name, dtype, &sizes) } else { None }
}

/// The operators that are read.
const OPERATORS: &[&str] = &[
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "Cast",
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "Less",
    "Reshape",
    "Slice",
    "Squeeze",
    "Sub",
    "Transpose",
    "Unsqueeze",
    "Where",
];

struct Reader<'a, 'b> {
    cx: &'a Rewriter<'b>,
    program: Program,
    /// The step that has the elements of a value at the positions of another step.
    known: FxHashMap<(Value, usize), usize>,
    /// How many more nodes may be read.
    left: usize,
    /// The inputs of nodes that are read: the node's result, and the index of the input.
    edges: FxHashSet<(Value, usize, Value)>,
}

impl Reader<'_, '_> {
    fn step(&mut self, step: Step) -> Option<usize> {
        if self.program.len() >= STEPS { None } else { self.program.push(step) }
    }

    /// Whether nothing else reads the weights, nor what is made of them.
    fn reads_alone(&self) -> bool {
        let mut counts: FxHashMap<Value, u32> = FxHashMap::default();
        let mut readers: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
        for (result, _, value) in &self.edges {
            *counts.entry(*value).or_default() += 1;
            readers.entry(*value).or_default().push(*result);
        }
        let is_large = |value: &Value| match self.cx.builder.source(*value) {
            Source::Weight(weight) => weight.byte_len().is_none_or(|len| len >= SMALL),
            _ => false,
        };
        let mut left: Vec<Value> = counts.keys().copied().filter(is_large).collect();
        let mut seen: FxHashSet<Value> = left.iter().copied().collect();
        while let Some(value) = left.pop() {
            // What nothing of it reads is the result, which has one user.
            if self.cx.uses(value) > counts.get(&value).copied().unwrap_or(1) {
                return false;
            }
            left.extend(readers.get(&value).into_iter().flatten().copied().filter(|reader| seen.insert(*reader)));
        }
        true
    }

    /// The elements of a value at positions.
    fn value(&mut self, value: Value, at: usize) -> Option<usize> {
        if let Some(known) = self.known.get(&(value, at)) {
            return Some(*known);
        }
        let made = match self.cx.producer(value) {
            Some(node) => self.node(&node.clone(), value, at)?,
            None => self.constant(value, at)?,
        };
        self.known.insert((value, at), made);
        Some(made)
    }

    fn constant(&mut self, value: Value, at: usize) -> Option<usize> {
        let weight = weight(self.cx, value).filter(|weight| !weight.storage.is_computed())?;
        let is_whole = weight.dtype.is_int() && weight.dtype.bits() >= 8 || weight.dtype == Dtype::Bool;
        is_whole.then_some(())?;
        if let Some(number) = self.cx.builder.constant_scalar(value).and_then(|number| number.as_int()) {
            return self.step(Step::Number(number));
        }
        let view = View { sizes: weight.sizes.clone(), strides: weight.strides.clone(), offset: weight.offset };
        let place = if weight.is_contiguous() && weight.offset == 0 { at } else { self.step(Step::View(at, view))? };
        self.step(Step::Load(place, Arc::new(weight)))
    }

    /// An input at positions of the same sizes.
    fn input(&mut self, node: &Node, i: usize, at: usize) -> Option<usize> {
        let (input, result) = (node.input(i)?, node.outputs.first().copied().flatten()?);
        self.edges.insert((result, i, input));
        self.value(input, at)
    }

    /// An input that is broadcast to the result.
    fn operand(&mut self, node: &Node, i: usize, at: usize) -> Option<usize> {
        let (input, result) = (node.input(i)?, node.outputs.first().copied().flatten()?);
        let (from, to) = (self.cx.known_sizes(input)?, self.cx.known_sizes(result)?);
        if from == to {
            return self.input(node, i, at);
        }
        let own = super::aligned(&from, &to)?;
        let strides = own.iter().zip(row_major(&own)).map(|(n, stride)| if *n == 1 { 0 } else { stride }).collect();
        let place = self.step(Step::View(at, View { sizes: to, strides, offset: 0 }))?;
        self.input(node, i, place)
    }

    fn node(&mut self, node: &Node, result: Value, at: usize) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let dtype = self.cx.dtype(result);
        let sizes = self.cx.known_sizes(result)?;
        let moves = matches!(
            node.op,
            "Concat" | "Expand" | "Flatten" | "Gather" | "Reshape" | "Slice" | "Squeeze" | "Transpose" | "Unsqueeze"
        );
        // Floats without fractions may be moved, but not computed with.
        if dtype.is_float() && node.op != "Cast" && !moves {
            return None;
        }
        match node.op {
            "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => self.input(node, 0, at),
            "Expand" => self.operand(node, 0, at),
            "Transpose" => {
                let from = row_major(&self.cx.known_sizes(node.input(0)?)?);
                let reversed: Vec<i64> = (0..from.len() as i64).rev().collect();
                let perm = node.ints("perm").unwrap_or(&reversed);
                let strides =
                    perm.iter().map(|axis| from.get(usize::try_from(*axis).ok()?).copied()).collect::<Option<_>>()?;
                let place = self.step(Step::View(at, View { sizes, strides, offset: 0 }))?;
                self.input(node, 0, place)
            }
            "Slice" => {
                let (starts, steps) =
                    (self.cx.ints(node.input(1)?)?, node.input(4).map_or(Some(vec![1]), |value| self.cx.ints(value))?);
                let axes = node.input(3).map_or(Some(vec![0]), |value| self.cx.ints(value))?;
                let ([start], [axis], [1]) = (starts.as_slice(), axes.as_slice(), steps.as_slice()) else {
                    return None;
                };
                let from = self.cx.known_sizes(node.input(0)?)?;
                let axis = counted_from_start(*axis, from.len())?;
                let size = *from.get(axis)?;
                let start = if *start < 0 { start + size } else { *start }.clamp(0, size);
                let strides = row_major(&from);
                let offset = start.checked_mul(*strides.get(axis)?)?;
                let place = self.step(Step::View(at, View { sizes, strides, offset }))?;
                self.input(node, 0, place)
            }
            "Gather" => self.gathered(node, at),
            "Range" => {
                let number = |i: usize| self.cx.builder.constant_scalar(node.input(i)?)?.as_int();
                let start = number(0).filter(|_| number(2) == Some(1))?;
                let start = self.step(Step::Number(start))?;
                self.step(Step::Apply(Operation::Add, at, start))
            }
            "Concat" => self.joined(node, &sizes, at),
            "Cast" => {
                let inner = self.input(node, 0, at)?;
                // Floats are exact: nothing computes with them, and the result has at most 8 bits.
                if dtype.is_float() { Some(inner) } else { self.step(Step::Wrap(inner, dtype)) }
            }
            "Where" => {
                let (c, a, b) = (self.operand(node, 0, at)?, self.operand(node, 1, at)?, self.operand(node, 2, at)?);
                self.step(Step::Choose(c, a, b))
            }
            _ => {
                let op = operation(node, dtype)?;
                let (a, b) = (self.operand(node, 0, at)?, self.operand(node, 1, at)?);
                let made = self.step(Step::Apply(op, a, b))?;
                if dtype == Dtype::Bool { Some(made) } else { self.step(Step::Wrap(made, dtype)) }
            }
        }
    }

    /// Indices along an axis.
    fn gathered(&mut self, node: &Node, at: usize) -> Option<usize> {
        let from = self.cx.known_sizes(node.input(0)?)?;
        let axis = node.int("axis").unwrap_or(0);
        let axis = counted_from_start(axis, from.len())?;
        let size = *from.get(axis)?;
        let inner = from.get(axis + 1..)?.iter().product::<i64>().max(1);
        let place = match indices(self.cx, node.input(1)?, size) {
            Some(table) => Step::Lookup { at, inner, size: table.len() as i64, from: size, table: table.into() },
            None => {
                let [count] = *self.cx.known_sizes(node.input(1)?)?.as_slice() else { return None };
                let place = self.step(Step::Index { at, inner, size: count })?;
                Step::Follow { at, inner, size: count, from: size, index: self.input(node, 1, place)? }
            }
        };
        let place = self.step(place)?;
        self.input(node, 0, place)
    }

    /// Each element is taken from the part in which it lies; the others are read anywhere.
    fn joined(&mut self, node: &Node, sizes: &[i64], at: usize) -> Option<usize> {
        let axis = node.int("axis")?;
        let axis = counted_from_start(axis, sizes.len())?;
        let inner = sizes.get(axis + 1..)?.iter().product::<i64>().max(1);
        let size = *sizes.get(axis)?;
        let index = self.step(Step::Index { at, inner, size })?;
        let (mut start, mut made) = (0, None);
        for i in 0..node.inputs.len() {
            let own = *self.cx.known_sizes(node.input(i)?)?.get(axis)?;
            let place = |index: i64| (index - start).clamp(0, (own - 1).max(0));
            let table: Vec<i64> = (0..size).map(place).collect();
            let place = self.step(Step::Lookup { at, inner, size, from: own, table: table.into() })?;
            let part = self.input(node, i, place)?;
            made = Some(match made {
                None => part,
                Some(before) => {
                    let start = self.step(Step::Number(start))?;
                    let is_before = self.step(Step::Apply(Operation::Less, index, start))?;
                    self.step(Step::Choose(is_before, before, part))?
                }
            });
            start += own;
        }
        made
    }
}

/// What a node computes for each element.
fn operation(node: &Node, dtype: Dtype) -> Option<Operation> {
    Some(match node.op {
        "Add" => Operation::Add,
        "Sub" => Operation::Sub,
        "And" | "BitwiseAnd" => Operation::And,
        "BitwiseOr" => Operation::Or,
        "Less" => Operation::Less,
        "BitShift" if !dtype.is_unsigned() => return None,
        "BitShift" => match node.attr("direction")? {
            aten2onnx_onnx::graph::Attr::Str(direction) if direction == "LEFT" => Operation::Left,
            _ => Operation::Right,
        },
        _ => return None,
    })
}

/// Constant indices of an axis of this size, in a list.
pub(super) fn indices(cx: &Rewriter<'_>, value: Value, size: i64) -> Option<Vec<i64>> {
    let constant = super::super::constants::known(cx, value).filter(|indices| indices.sizes.len() == 1)?;
    let numbers = crate::build::decode(constant.dtype, constant.bytes())?;
    let numbers: Vec<i64> = numbers.iter().map(crate::build::Scalar::as_int).collect::<Option<_>>()?;
    numbers.into_iter().map(|i| Some(if i < 0 { i + size } else { i }).filter(|i| (0..size).contains(i))).collect()
}
