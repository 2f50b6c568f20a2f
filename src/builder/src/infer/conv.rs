//! Convolutions.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;
use super::dims::product;
use super::pool::Window;

/// Data at input 0, weights at input `w`.
pub(super) fn conv(c: &Ctx, w: usize) -> Result<Vec<Type>> {
    let Some(x) = c.shape(0) else {
        return c.one_output(c.shape(w).map(|w| conv_without_data(c, w)));
    };
    let [batch, channels, spatial @ ..] = x else { return Err(c.error("the data must have rank 2 or more")) };
    let weights = c.shape(w);
    let out_channels = match weights {
        Some([out, per_group, kernel @ ..]) if kernel.len() == spatial.len() => {
            c.equal_dims(&(per_group * c.int("group").unwrap_or(1)), channels)?;
            out.clone()
        }
        Some(_) => return Err(c.error("data and weights differ in rank")),
        None => c.fresh(),
    };
    let window = Window::read(c, spatial.len(), weights.and_then(|w| w.get(2..)))?;
    c.one_output(Some(window.shape(c, batch, &out_channels, spatial)?))
}

fn conv_without_data(c: &Ctx, weights: &[SymInt]) -> Vec<SymInt> {
    let mut shape = c.fresh_shape(weights.len());
    if let (Some(channels), Some(out)) = (shape.get_mut(1), weights.first()) {
        *channels = out.clone();
    }
    shape
}

/// Weights `[C, M / group, kernel..]`.
pub(super) fn transpose(c: &Ctx) -> Result<Vec<Type>> {
    let Some(x) = c.shape(0) else { return c.one_output(c.shape(1).map(|w| c.fresh_shape(w.len()))) };
    let [batch, channels, spatial @ ..] = x else { return Err(c.error("the data must have rank 2 or more")) };
    let weights = c.shape(1);
    let out_channels = match weights {
        Some([into, per_group, kernel @ ..]) if kernel.len() == spatial.len() => {
            c.equal_dims(into, channels)?;
            per_group * c.int("group").unwrap_or(1)
        }
        Some(_) => return Err(c.error("data and weights differ in rank")),
        None => c.fresh(),
    };
    let mut shape = vec![batch.clone(), out_channels];
    if let Some(sizes) = c.int_list("output_shape").filter(|s| !s.is_empty()) {
        // Some exporters also write the batch and channel sizes.
        let sizes = sizes.get(sizes.len().saturating_sub(spatial.len())..).unwrap_or_default();
        shape.extend(sizes.iter().map(|n| SymInt::from(*n)));
    } else {
        let window = Window::read(c, spatial.len(), weights.and_then(|w| w.get(2..)))?;
        let extra = c.int_list("output_padding").unwrap_or_default();
        let extra = |i: usize| SymInt::from(extra.get(i).copied().unwrap_or(0));
        shape.extend(spatial.iter().enumerate().map(|(i, d)| window.transposed_output(c, i, d, &extra(i))));
    }
    c.one_output(Some(shape))
}

/// The output has the shape of the data; the state is one shorter than the kernel.
pub(super) fn causal_with_state(c: &Ctx) -> Result<Vec<Type>> {
    for i in 0..2 {
        c.want_rank(i, 3)?;
    }
    let state = match (c.shape(0), c.shape(1)) {
        (Some([batch, channels, _]), weights) => {
            let kept = weights.and_then(<[SymInt]>::last).map_or_else(|| c.fresh(), |kernel| kernel - 1);
            Some(vec![batch.clone(), channels.clone(), kept])
        }
        _ => c.owned_shape(3).or_else(|| Some(c.fresh_shape(3))),
    };
    c.outputs_typed(vec![c.owned_shape(0).or_else(|| Some(c.fresh_shape(3))), state])
}

/// Columns `[N, C * block elements, L]` to an image `[N, C, sizes..]`.
pub(super) fn col2im(c: &Ctx) -> Result<Vec<Type>> {
    c.want_rank(0, 3)?;
    let sizes = match c.content(1) {
        Some(sizes) => Some(sizes),
        None => c.length(1).or_else(|| c.length(2)).map(|n| c.fresh_shape(n)),
    };
    let Some(sizes) = sizes else { return c.one_output(None) };
    let (batch, channels) = match (c.shape(0), c.content(2)) {
        (Some([batch, columns, _]), Some(block)) => (batch.clone(), columns.floor_div(&product(&block))),
        (Some([batch, ..]), _) => (batch.clone(), c.fresh()),
        _ => (c.fresh(), c.fresh()),
    };
    let mut shape = vec![batch, channels];
    shape.extend(sizes);
    c.one_output(Some(shape))
}
