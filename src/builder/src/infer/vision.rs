//! Images and text.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;
use super::dims::int;

/// Sizes `[N, C, spatial..]` to a grid `[N, spatial.., 2 or 3]`.
pub(super) fn affine_grid(c: &Ctx) -> Result<Vec<Type>> {
    let sizes = c.content(1).or_else(|| c.length(1).map(|rank| c.fresh_shape(rank)));
    let Some(sizes) = sizes else { return c.one_output(None) };
    let [batch, _, spatial @ ..] = sizes.as_slice() else { return Err(c.error("takes at least two sizes")) };
    let mut shape = vec![batch.clone()];
    shape.extend(spatial.iter().cloned());
    shape.push(int(spatial.len()));
    c.one_output(Some(shape))
}

pub(super) fn grid_sample(c: &Ctx) -> Result<Vec<Type>> {
    let rank = c.shape(0).or(c.shape(1)).map(<[SymInt]>::len);
    let Some(rank) = rank else { return c.one_output(None) };
    if [0, 1].iter().any(|i| c.shape(*i).is_some_and(|s| s.len() != rank)) {
        return Err(c.error("data and grid differ in rank"));
    }
    let mut shape = c.fresh_shape(rank);
    let channels = c.shape(0).unwrap_or_default().iter().take(2);
    let spatial = c.shape(1).unwrap_or_default().iter().enumerate().skip(1).take(rank.saturating_sub(2));
    for (i, dim) in channels.enumerate().chain(spatial.map(|(i, d)| (i + 1, d))) {
        if let Some(place) = shape.get_mut(i) {
            *place = dim.clone();
        }
    }
    c.one_output(Some(shape))
}

fn block(c: &Ctx) -> Result<i64> {
    match c.int("blocksize") {
        Some(n) if n > 0 => Ok(n),
        _ => Err(c.error("blocksize must be positive")),
    }
}

pub(super) fn depth_to_space(c: &Ctx) -> Result<Vec<Type>> {
    let n = block(c)?;
    let Some(dims) = c.shape(0) else { return c.one_output(Some(c.fresh_shape(4))) };
    let [batch, depth, h, w] = dims else { return Err(c.error("takes images of rank 4")) };
    let area = SymInt::from(n) * n;
    if depth.known().is_some() && depth.modulo(&area) != 0 {
        return Err(c.error(format!("depth {depth} is not a multiple of {area}")));
    }
    c.one_output(Some(vec![batch.clone(), depth.floor_div(&area), h * n, w * n]))
}

pub(super) fn space_to_depth(c: &Ctx) -> Result<Vec<Type>> {
    let n = SymInt::from(block(c)?);
    let Some(dims) = c.shape(0) else { return c.one_output(Some(c.fresh_shape(4))) };
    let [batch, depth, h, w] = dims else { return Err(c.error("takes images of rank 4")) };
    for size in [h, w] {
        if size.known().is_some() && size.modulo(&n) != 0 {
            return Err(c.error(format!("size {size} is not a multiple of {n}")));
        }
    }
    c.one_output(Some(vec![batch.clone(), &(depth * &n) * &n, h.floor_div(&n), w.floor_div(&n)]))
}

/// Pooled regions, one per region of interest.
fn regions(c: &Ctx, height: i64, width: i64) -> Result<Vec<Type>> {
    let count = c.shape(1).and_then(<[SymInt]>::first).cloned().unwrap_or_else(|| c.fresh());
    let channels = c.shape(0).and_then(|s| s.get(1)).cloned().unwrap_or_else(|| c.fresh());
    c.one_output(Some(vec![count, channels, SymInt::from(height), SymInt::from(width)]))
}

pub(super) fn roi_align(c: &Ctx) -> Result<Vec<Type>> {
    let [height, width] = ["output_height", "output_width"].map(|name| c.int(name).unwrap_or(1));
    if height < 1 || width < 1 {
        return Err(c.error("the height and the width of the output must be positive"));
    }
    regions(c, height, width)
}

pub(super) fn max_roi_pool(c: &Ctx) -> Result<Vec<Type>> {
    match c.int_list("pooled_shape").as_deref() {
        Some([height, width]) => regions(c, *height, *width),
        _ => Err(c.error("pooled_shape must have two sizes")),
    }
}

pub(super) fn image_decoder(c: &Ctx) -> Result<Vec<Type>> {
    let channels = if c.string("pixel_format") == Some("Grayscale") { 1 } else { 3 };
    c.one_output(Some(vec![c.fresh(), c.fresh(), SymInt::from(channels)]))
}

/// Stop words are removed from the last dimension; an empty result becomes one empty string.
pub(super) fn string_normalizer(c: &Ctx) -> Result<Vec<Type>> {
    let keeps_all = !matches!(c.attr("stopwords"), Some(aten2onnx_onnx::graph::Attr::Strs(words)) if !words.is_empty());
    match c.shape(0) {
        Some([.., last]) if keeps_all && c.at_least(last, 1) => c.one_output(c.owned_shape(0)),
        Some([_]) => c.one_output(Some(vec![c.fresh()])),
        Some([_, _]) => c.one_output(Some(vec![SymInt::from(1), c.fresh()])),
        Some(_) => Err(c.error("takes strings of rank 1 or 2")),
        None => c.one_output(None),
    }
}

/// The parts in a new last dimension, and their number.
pub(super) fn string_split(c: &Ctx) -> Result<Vec<Type>> {
    let parts = c.shape(0).map(|dims| {
        let mut dims = dims.to_vec();
        dims.push(c.fresh());
        dims
    });
    c.outputs_typed(vec![parts, c.owned_shape(0)])
}

/// One count for each output index of an n-gram.
pub(super) fn tf_idf(c: &Ctx) -> Result<Vec<Type>> {
    let largest = c.int_list("ngram_indexes").and_then(|list| list.into_iter().max());
    let Some(count) = largest.and_then(|n| n.checked_add(1)) else { return Err(c.error("has no ngram_indexes")) };
    match c.shape(0) {
        Some([_]) => c.one_output(Some(vec![SymInt::from(count)])),
        Some([batch, _]) => c.one_output(Some(vec![batch.clone(), SymInt::from(count)])),
        Some(_) => Err(c.error("takes tokens of rank 1 or 2")),
        None => c.one_output(None),
    }
}
