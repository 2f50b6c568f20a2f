//! Normalizations that also return statistics.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;
use super::reduce::reduced;

/// The statistics have one element per channel.
pub(super) fn batch(c: &Ctx) -> Result<Vec<Type>> {
    let mut channels = match c.shape(0) {
        Some([_, channels, ..]) => channels.clone(),
        Some([_]) => SymInt::from(1),
        Some([]) => return Err(c.error("the data must not be a scalar")),
        None => c.fresh(),
    };
    for i in 1..5 {
        c.want_rank(i, 1)?;
        if let Some([length]) = c.shape(i) {
            channels = c.equal_dims(&channels, length)?;
        }
    }
    let mut shapes = vec![Some(vec![channels]); c.version.outputs.len()];
    if let Some(first) = shapes.first_mut() {
        *first = c.owned_shape(0);
    }
    c.outputs_typed(shapes)
}

/// The weights are lists of one length.
pub(super) fn with_weights(c: &Ctx) -> Result<Vec<Type>> {
    c.want_rank(1, 1)?;
    c.want_rank(2, 1)?;
    if let (Some([scale]), Some([bias])) = (c.shape(1), c.shape(2)) {
        c.equal_dims(scale, bias)?;
    }
    c.one_output(c.owned_shape(0))
}

/// The mean and the inverse standard deviation have the dtype of `stash_type`.
pub(super) fn layer(c: &Ctx) -> Result<Vec<Type>> {
    let mut types = vec![Type::Tensor { dtype: c.dtype(0)?, shape: c.owned_shape(0) }];
    let dtype = c.dtype_attr("stash_type")?.unwrap_or(Dtype::Float32);
    let shape = match c.shape(0) {
        Some(dims) => {
            let axes: Vec<usize> = (c.axis_attr(-1, dims.len())?..dims.len()).collect();
            Some(reduced(dims, &axes, true))
        }
        None => None,
    };
    types.extend(vec![Type::Tensor { dtype, shape }; 2]);
    Ok(types)
}
