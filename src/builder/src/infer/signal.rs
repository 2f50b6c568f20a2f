//! Window functions and Fourier transforms.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::{Ctx, Param};
use super::dims::with_dim;

/// The number of frequencies of a real signal of this length.
fn one_sided(length: &SymInt) -> SymInt {
    length.floor_div(&SymInt::from(2)) + 1
}

pub(super) fn window(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = c.dtype_attr("output_datatype")?.unwrap_or(Dtype::Float32);
    c.typed(dtype, Some(vec![c.scalar(0).unwrap_or_else(|| c.fresh())]))
}

pub(super) fn mel_weights(c: &Ctx) -> Result<Vec<Type>> {
    for (i, what) in
        ["number of bands", "length", "sampling rate", "lower frequency", "upper frequency"].iter().enumerate()
    {
        c.want_one_element(i, what)?;
    }
    let dtype = c.dtype_attr("output_datatype")?.unwrap_or(Dtype::Float32);
    let bins = c.scalar(0).unwrap_or_else(|| c.fresh());
    let spectrum = c.scalar(1).map_or_else(|| c.fresh(), |n| one_sided(&n));
    c.typed(dtype, Some(vec![spectrum, bins]))
}

/// The last dimension holds real and imaginary parts. The axis is an attribute before opset 20 and an input since.
pub(super) fn dft(c: &Ctx) -> Result<Vec<Type>> {
    c.want_one_element(1, "length")?;
    c.want_one_element(2, "axis")?;
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axis = match c.int_param("axis", 2) {
        Param::Known(axis) => axis.first().copied(),
        Param::Absent => Some(c.int("axis").unwrap_or(-2)),
        Param::Unknown => None,
    };
    let Some(parts) = dims.len().checked_sub(1) else { return Err(c.error("the signal must not be a scalar")) };
    let (one_side, inverse) = (c.flag("onesided"), c.flag("inverse"));
    let complex = SymInt::from(if one_side && inverse { 1 } else { 2 });
    let Some(axis) = axis else { return c.one_output(Some(with_dim(&c.fresh_shape(dims.len()), parts, complex))) };
    let axis = c.axis(axis, dims.len())?;
    let given = dims.get(axis).cloned().unwrap_or_default();
    let length = match (c.has(1), one_side && inverse) {
        (true, _) => c.scalar(1).unwrap_or_else(|| c.fresh()),
        (false, true) => (given - 1) * 2,
        (false, false) => given,
    };
    let length = if one_side && !inverse { one_sided(&length) } else { length };
    c.one_output(Some(with_dim(&with_dim(dims, axis, length), parts, complex)))
}

/// A signal `[batch, length, 1 or 2]` to `[batch, frames, frequencies, 2]`.
pub(super) fn stft(c: &Ctx) -> Result<Vec<Type>> {
    let (batch, length) = match c.shape(0) {
        Some([batch, length, ..]) => (batch.clone(), length.clone()),
        _ => (c.fresh(), c.fresh()),
    };
    let frame = match (c.has(3), c.has(2)) {
        (true, _) if c.scalar(3).is_some() => c.scalar(3),
        (_, true) => c.shape(2).and_then(<[SymInt]>::first).cloned(),
        (true, false) => None,
        (false, false) => Some(length.clone()),
    };
    let frame = frame.unwrap_or_else(|| c.fresh());
    let frames = match c.scalar(1) {
        Some(step) if step != 0 => (length - &frame).floor_div(&step) + 1,
        _ => c.fresh(),
    };
    let frequencies = if c.int("onesided").unwrap_or(1) != 0 { one_sided(&frame) } else { frame };
    c.one_output(Some(vec![batch, frames, frequencies, SymInt::from(2)]))
}
