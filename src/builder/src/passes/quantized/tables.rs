//! Looks up what a model computes for each integer of few bits, such as the floats of FP4: PyTorch makes them of shifts, masks and chosen bit
//! patterns, which are dozens of nodes.
//!
//! It must not change a number, nor compute integers twice: all nodes on the way are only for the result.

use rustc_hash::FxHashMap;

use super::super::constants::known;
use super::super::rewriter::Rewriter;
use crate::build::evaluate_wrapping;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant, Node, Type, Value};

/// Fewer nodes are left: a cast, a difference and a product are a dequantization.
const FEWEST: usize = 8;
/// The largest number of nodes.
const MOST: usize = 200;
/// The largest integer.
const LARGEST: i64 = 15;
/// The nodes between masks or shifts and the integers that are looked up.
const DEPTH: usize = 8;

pub(in super::super) fn look_up_tables(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    if cx.passes.keep_weights || !matches!(node.op, "BitCast" | "Cast") || !cx.dtype(result).is_float() {
        return None;
    }
    let found = Found::of(cx, node)?;
    let codes = found.codes.filter(|codes| cx.shape(*codes) == cx.shape(result))?;
    let count = largest(cx, codes, DEPTH).filter(|largest| *largest <= LARGEST)? + 1;
    let table = found.table(cx, codes, count)?;
    let table = cx.builder.intern(table);
    let indices = cx.builder.cast(codes, Dtype::Int32).ok()?;
    cx.make("Gather", &[table, indices], vec![("axis", Attr::Int(0))])
}

/// The nodes that compute a value from integers and constants, element by element.
#[derive(Default)]
struct Found {
    /// In topological order.
    nodes: Vec<Node>,
    /// How often each value is read by them.
    reads: FxHashMap<Value, u32>,
    codes: Option<Value>,
}

impl Found {
    fn of(cx: &Rewriter<'_>, node: &Node) -> Option<Found> {
        let mut found = Found::default();
        found.add(cx, node)?;
        let result = node.outputs.first().copied().flatten()?;
        let is_alone = |value: &Value| *value == result || found.reads.get(value) == Some(&cx.uses(*value));
        let mut all = found.nodes.iter().filter_map(|node| node.outputs.first().copied().flatten()).chain(found.codes);
        (found.nodes.len() >= FEWEST && all.all(|value| is_alone(&value))).then_some(found)
    }

    fn add(&mut self, cx: &Rewriter<'_>, node: &Node) -> Option<()> {
        (self.nodes.len() + self.reads.len() < 2 * MOST).then_some(())?;
        for value in node.inputs.iter().copied() {
            let value = value?;
            if known(cx, value).is_some() {
                continue;
            }
            let reads = self.reads.entry(value).or_default();
            *reads += 1;
            if *reads > 1 {
                continue;
            }
            match cx.producer(value).filter(|node| is_elementwise(cx, node)).cloned() {
                Some(node) => self.add(cx, &node)?,
                None if self.codes.is_none() && cx.dtype(value).is_int() => self.codes = Some(value),
                None => return None,
            }
        }
        self.nodes.push(node.clone());
        Some(())
    }

    /// The result for 0, 1, 2, ...
    fn table(&self, cx: &Rewriter<'_>, codes: Value, count: i64) -> Option<Constant> {
        let numbers: Vec<u8> = (0..count).map(|n| u8::try_from(n).ok()).collect::<Option<_>>()?;
        let given = Constant::new(Dtype::Uint8, vec![count], numbers);
        let typed = |dtype: Dtype| Type::sized(dtype, &[count]);
        let given = evaluate_wrapping("Cast", &[], &[&given], &typed(cx.dtype(codes)))?;
        let mut made: FxHashMap<Value, Constant> = FxHashMap::from_iter([(codes, given)]);
        let mut last = None;
        for node in &self.nodes {
            let result = node.outputs.first().copied().flatten()?;
            let input = |value: &Option<Value>| {
                let value = (*value)?;
                let constant = || known(cx, value).filter(|constant| is_table(node, value) || is_single(constant));
                made.get(&value).cloned().or_else(constant)
            };
            let inputs: Vec<Constant> = node.inputs.iter().map(input).collect::<Option<_>>()?;
            let inputs: Vec<&Constant> = inputs.iter().collect();
            let constant = evaluate_wrapping(node.op, &node.attrs, &inputs, &typed(cx.dtype(result)))?;
            made.insert(result, constant.clone());
            last = Some(constant);
        }
        last
    }
}

/// Whether a value is the table of a lookup.
fn is_table(node: &Node, value: Value) -> bool {
    node.op == "Gather" && node.input(0) == Some(value)
}

/// Whether a constant broadcasts to a list.
fn is_single(constant: &Constant) -> bool {
    matches!(constant.sizes.as_slice(), [] | [1])
}

fn is_elementwise(cx: &Rewriter<'_>, node: &Node) -> bool {
    match node.op {
        "Add" | "And" | "BitCast" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Cast" | "Div"
        | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Mod" | "Mul" | "Neg" | "Not" | "Or"
        | "Sub" | "Where" => node.outputs.len() == 1,
        // Of a constant.
        "Gather" => {
            node.int("axis").unwrap_or(0) == 0
                && node.input(0).and_then(|table| known(cx, table)).is_some_and(|table| table.sizes.len() == 1)
        }
        _ => false,
    }
}

/// The largest of integers that are masked or shifted, and then only moved; None if it is not known, or one may be negative.
fn largest(cx: &Rewriter<'_>, value: Value, depth: usize) -> Option<i64> {
    let node = cx.producer(value)?;
    let number = |i: usize| cx.builder.constant_scalar(node.input(i)?)?.as_int();
    let inner = |i: usize| depth.checked_sub(1).and_then(|depth| largest(cx, node.input(i)?, depth));
    match node.op {
        "BitwiseAnd" => number(1).or_else(|| number(0)).filter(|mask| *mask >= 0),
        "BitShift" if cx.dtype(value) == Dtype::Uint8 => {
            let is_right = matches!(node.attr("direction"), Some(Attr::Str(direction)) if direction == "RIGHT");
            number(1).filter(|shift| is_right && (0..8).contains(shift)).map(|shift| 255 >> shift)
        }
        "Flatten" | "Reshape" | "Squeeze" | "Transpose" | "Unsqueeze" => inner(0),
        "Concat" => (0..node.inputs.len()).map(inner).try_fold(0, |most, part| Some(most.max(part?))),
        _ => None,
    }
}
