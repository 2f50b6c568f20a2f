//! Resize and Upsample: computes sizes from scales in float32, as runtimes do.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

pub(super) fn resize(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axes = match c.int_list("axes") {
        Some(axes) => c.axes(&axes, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    let of_axes: Vec<&SymInt> = axes.iter().filter_map(|a| dims.get(*a)).collect();
    let Some(sizes) = new_sizes(c, &of_axes)? else { return c.one_output(Some(c.fresh_shape(dims.len()))) };
    if sizes.len() != axes.len() {
        return Err(c.error(format!("{} sizes or scales for {} axes", sizes.len(), axes.len())));
    }
    let mut shape = dims.to_vec();
    for (axis, size) in axes.iter().zip(sizes) {
        if let Some(dim) = shape.get_mut(*axis) {
            *dim = size;
        }
    }
    c.one_output(Some(shape))
}

fn new_sizes(c: &Ctx, dims: &[&SymInt]) -> Result<Option<Vec<SymInt>>> {
    if c.has(3) && c.length(3) != Some(0) {
        let Some(sizes) = c.content(3) else { return Ok(None) };
        return match c.string("keep_aspect_ratio_policy") {
            None | Some("stretch") => Ok(Some(sizes)),
            Some(policy) => Ok(keep_aspect_ratio(policy, dims, &sizes)),
        };
    }
    // With `tf_crop_and_resize`, the size depends on the regions of interest, and runtimes differ.
    let crops = c.string("coordinate_transformation_mode") == Some("tf_crop_and_resize");
    let Some(scales) = scales(c).filter(|_| !crops) else { return Ok(None) };
    if scales.len() != dims.len() {
        return Err(c.error(format!("{} scales for {} axes", scales.len(), dims.len())));
    }
    let scaled = |(dim, scale): (&&SymInt, f64)| scaled(dim, scale).unwrap_or_else(|| c.fresh());
    Ok(Some(dims.iter().zip(scales).map(scaled).collect()))
}

/// Input 1 of two, or input 2 of four.
fn scales(c: &Ctx) -> Option<Vec<f64>> {
    c.floats(if c.version.inputs.len() == 2 { 1 } else { 2 })
}

/// `floor(dim * scale)` in float32. A symbolic size is only scaled if no rounding can occur.
fn scaled(dim: &SymInt, scale: f64) -> Option<SymInt> {
    let scale = scale as f32;
    if let Some(n) = dim.known() {
        let size = (n as f32 * scale).floor();
        return (size.abs() < 9.0e15).then_some(SymInt::from(size as i64));
    }
    let denominator = [1i64, 2, 4, 8, 16].into_iter().find(|d| (scale * *d as f32).fract() == 0.0)?;
    let numerator = scale * denominator as f32;
    if numerator.abs() > 1024.0 {
        return None;
    }
    Some((dim * numerator as i64).floor_div(&SymInt::from(denominator)))
}

/// One scale for all axes: the smallest or largest that the sizes require.
fn keep_aspect_ratio(policy: &str, dims: &[&SymInt], sizes: &[SymInt]) -> Option<Vec<SymInt>> {
    let dims: Vec<i64> = dims.iter().map(|d| d.known()).collect::<Option<_>>()?;
    let sizes: Vec<i64> = sizes.iter().map(SymInt::known).collect::<Option<_>>()?;
    let scales = sizes.iter().zip(&dims).map(|(size, dim)| *size as f32 / *dim as f32);
    let scale = match policy {
        "not_larger" => scales.reduce(f32::min)?,
        "not_smaller" => scales.reduce(f32::max)?,
        _ => return None,
    };
    // Half rounds up, as the specification says.
    let round = |dim: &i64| SymInt::from((*dim as f32 * scale + 0.5).floor() as i64);
    scale.is_finite().then(|| dims.iter().map(round).collect())
}
