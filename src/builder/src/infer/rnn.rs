//! Recurrent layers.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

/// `Y` has the hidden state of every step, the others the last one. With `layout` 1 the batch comes first.
pub(super) fn rnn(c: &Ctx) -> Result<Vec<Type>> {
    for i in 0..3 {
        c.want_rank(i, 3)?;
    }
    let batch_first = c.flag("layout");
    let (steps, batch) = match c.shape(0) {
        Some([batch, steps, _]) if batch_first => (steps.clone(), batch.clone()),
        Some([steps, batch, _]) => (steps.clone(), batch.clone()),
        _ => (c.fresh(), c.fresh()),
    };
    let directions = SymInt::from(if c.string("direction") == Some("bidirectional") { 2 } else { 1 });
    let hidden = match (c.int("hidden_size"), c.shape(2)) {
        (Some(n), _) => SymInt::from(n),
        (None, Some([_, _, hidden])) => hidden.clone(),
        _ => c.fresh(),
    };
    let (y, last) = if batch_first {
        (vec![batch.clone(), steps, directions.clone(), hidden.clone()], vec![batch, directions, hidden])
    } else {
        (vec![steps, directions.clone(), batch.clone(), hidden.clone()], vec![directions, batch, hidden])
    };
    let mut shapes = vec![Some(last); c.version.outputs.len()];
    if let Some(first) = shapes.first_mut() {
        *first = Some(y);
    }
    c.outputs_typed(shapes)
}
