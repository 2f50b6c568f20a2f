//! Merges slices that divide a dimension into one Split.
//!
//! It must not merge slices with gaps, overlaps or steps, or if the size is unknown.

use rustc_hash::FxHashMap;

use super::rewriter::Rewriter;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// The slices of each value and axis, collected before a round.
#[derive(Default)]
pub(super) struct Slices {
    /// The start and end of each slice, by sliced value and axis.
    pieces: FxHashMap<(Value, usize), Vec<(i64, i64)>>,
    /// The results of the Split by start; empty if the slices do not cover the dimension.
    made: FxHashMap<(Value, usize), FxHashMap<i64, Value>>,
}

impl Slices {
    /// Records the slices among the nodes of one body.
    pub(super) fn note(&mut self, cx: &Rewriter<'_>, nodes: &[Node]) {
        for node in nodes {
            if let Some(piece) = piece(cx, node) {
                self.pieces.entry((piece.x, piece.axis)).or_default().push((piece.start, piece.end));
            }
        }
    }
}

/// A slice of a dimension of known size.
struct Piece {
    x: Value,
    axis: usize,
    start: i64,
    end: i64,
    size: i64,
}

fn piece(cx: &Rewriter<'_>, node: &Node) -> Option<Piece> {
    if node.op != "Slice" {
        return None;
    }
    let x = node.input(0)?;
    let list = |name: &str, i: usize| match node.ints(name) {
        Some(ints) => Some(ints.to_vec()),
        None => cx.ints(node.input(i)?),
    };
    let (starts, ends) = (list("starts", 1)?, list("ends", 2)?);
    let axes = if node.input(3).is_some() || node.ints("axes").is_some() { list("axes", 3)? } else { vec![0] };
    let steps = if node.input(4).is_some() { cx.ints(node.input(4)?)? } else { vec![1] };
    let ([start], [end], [axis], [1]) = (starts.as_slice(), ends.as_slice(), axes.as_slice(), steps.as_slice()) else {
        return None;
    };
    let shape = cx.shape(x)?;
    let axis = counted_from_start(*axis, shape.len())?;
    let size = shape.get(axis)?.known()?;
    let from_front = |n: i64| if n < 0 { n.saturating_add(size) } else { n }.clamp(0, size);
    let (start, end) = (from_front(*start), from_front(*end));
    (start < end).then_some(Piece { x, axis, start, end, size })
}

pub(super) fn merge_slices(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let piece = piece(cx, node)?;
    if cx.filled.contains_key(&piece.x) {
        return None;
    }
    let key = (piece.x, piece.axis);
    if let Some(made) = cx.slices.made.get(&key) {
        return made.get(&piece.start).copied();
    }
    let pieces = cx.slices.pieces.get_mut(&key).map(std::mem::take)?;
    let Some(pieces) = in_order(pieces, piece.size) else {
        cx.slices.made.insert(key, FxHashMap::default());
        return None;
    };
    let sizes: Vec<i64> = pieces.iter().map(|(start, end)| end - start).collect();
    let sizes = cx.builder.ints(&sizes);
    let inputs = vec![piece.x.into(), sizes.into()];
    let attrs = vec![("axis", Attr::Int(piece.axis as i64))];
    let made = cx.builder.node("Split", inputs, attrs, pieces.len()).ok()?;
    let made: FxHashMap<i64, Value> = pieces.iter().map(|(start, _)| *start).zip(made).collect();
    let result = made.get(&piece.start).copied();
    cx.slices.made.insert(key, made);
    result
}

/// The slices in order, if they cover a dimension of this size.
fn in_order(mut pieces: Vec<(i64, i64)>, size: i64) -> Option<Vec<(i64, i64)>> {
    pieces.sort_unstable();
    pieces.dedup();
    let mut end = 0;
    for (start, next) in &pieces {
        if *start != end {
            return None;
        }
        end = *next;
    }
    (end == size && pieces.len() > 1).then_some(pieces)
}
