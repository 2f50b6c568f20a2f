//! Shapes: reshaping without needless arithmetic, broadcasting.

use crate::builder::Builder;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::sym::SymInt;

/// A new shape over the same elements; one size may be -1.
pub fn reshape(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    let inferred = inferred(cx, x, size)?;
    cx.reshape(x, &inferred)
}

/// The sizes with -1 replaced by what is left for it.
fn inferred(cx: &Builder, x: Value, size: &[SymInt]) -> Result<Vec<SymInt>> {
    let Some(at) = size.iter().position(|n| n.known() == Some(-1)) else { return Ok(size.to_vec()) };
    let others = size.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, n)| n);
    let others = others.fold(SymInt::from(1), |a, b| &a * b);
    if others.known() == Some(0) {
        return Err(Error::refused("a size of -1 beside a size of 0 could be anything", None));
    }
    let mut sizes = size.to_vec();
    sizes[at] = cx.numel(x)?.floor_div(&others);
    Ok(sizes)
}

/// Repeats along dimensions of size 1, and along new ones in front; a size of -1 stays as it is.
pub fn expand(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    let own = cx.shape(x)?;
    let new = size.len().saturating_sub(own.len());
    let kept = size.iter().enumerate().map(|(i, n)| match n.known() {
        Some(-1) if i >= new => own[i - new].clone(),
        _ => n.clone(),
    });
    let sizes: Vec<SymInt> = kept.collect();
    cx.expand(x, &sizes)
}

/// The shape that shapes broadcast to.
pub fn broadcast_all(_: &mut Builder, shapes: &[Vec<SymInt>]) -> Result<Vec<SymInt>> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = vec![SymInt::from(1); rank];
    for shape in shapes {
        for (out, size) in result.iter_mut().rev().zip(shape.iter().rev()) {
            *out = met(out, size)?;
        }
    }
    Ok(result)
}

/// The size that two sizes broadcast to. Of two symbols either may be 1: then it is the greater one.
fn met(a: &SymInt, b: &SymInt) -> Result<SymInt> {
    match (a.known(), b.known()) {
        _ if a == b => Ok(a.clone()),
        (Some(1), _) => Ok(b.clone()),
        (_, Some(1)) => Ok(a.clone()),
        (Some(x), Some(y)) => Err(Error::refused(format!("sizes {x} and {y} do not broadcast"), None)),
        (Some(_), None) => Ok(a.clone()),
        (None, Some(_)) => Ok(b.clone()),
        (None, None) => Ok(SymInt::max(a, b)),
    }
}
