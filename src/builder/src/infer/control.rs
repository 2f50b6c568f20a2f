//! Control flow: the output types follow from those of the bodies' outputs.
//!
//! An anonymous size in a body belongs to a value of the body, so outside it is replaced by a new symbol.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Body, Type};

use super::ctx::Ctx;
use super::dims::has_anonymous;
use super::sequence::element;

fn body_types(c: &Ctx, body: &Body) -> Result<Vec<Type>> {
    let ty =
        |v: &aten2onnx_onnx::graph::Value| c.cx.type_of(*v).ok_or_else(|| c.error("an output of a body has no type"));
    body.outputs.iter().map(ty).collect()
}

/// The most precise type that covers both.
fn union(c: &Ctx, a: &Type, b: &Type) -> Result<Type> {
    match (a, b) {
        (Type::Tensor { dtype, shape: a }, Type::Tensor { dtype: other, shape: b }) if dtype == other => {
            Ok(Type::Tensor { dtype: *dtype, shape: c.union_shapes(a.as_deref(), b.as_deref()) })
        }
        (Type::Sequence(a), Type::Sequence(b)) => Ok(Type::Sequence(Box::new(union(c, a, b)?))),
        (Type::Optional(a), Type::Optional(b)) => Ok(Type::Optional(Box::new(union(c, a, b)?))),
        _ => Err(c.error(format!("{a} and {b} differ"))),
    }
}

/// The type as seen outside of the body.
fn leaving(c: &Ctx, ty: &Type) -> Type {
    match ty {
        Type::Tensor { dtype, shape } => {
            let outside = |d: &SymInt| if has_anonymous(d) { c.fresh() } else { d.clone() };
            Type::Tensor { dtype: *dtype, shape: shape.as_ref().map(|dims| dims.iter().map(outside).collect()) }
        }
        Type::Sequence(of) => Type::Sequence(Box::new(leaving(c, of))),
        Type::Optional(of) => Type::Optional(Box::new(leaving(c, of))),
    }
}

/// A size that both branches share is known outside, because a symbol belongs to one value.
pub(super) fn branch(c: &Ctx) -> Result<Vec<Type>> {
    let yes = body_types(c, c.body("then_branch")?)?;
    let no = body_types(c, c.body("else_branch")?)?;
    if yes.len() != no.len() {
        return Err(c.error(format!("the branches have {} and {} outputs", yes.len(), no.len())));
    }
    match c.ints(0).as_deref() {
        Some([0]) => Ok(no.iter().map(|t| leaving(c, t)).collect()),
        Some([_]) => Ok(yes.iter().map(|t| leaving(c, t)).collect()),
        _ => yes.iter().zip(&no).map(|(a, b)| union(c, a, b)).collect(),
    }
}

/// A scan output: the results of all iterations, stacked along an axis.
fn stacked(c: &Ctx, ty: &Type, axis: i64, length: SymInt) -> Result<Type> {
    let Type::Tensor { dtype, shape } = leaving(c, ty) else { return Err(c.error("scan outputs must be tensors")) };
    let Some(dims) = shape else { return Ok(Type::Tensor { dtype, shape: None }) };
    let (before, after) = dims.split_at(c.axis(axis, dims.len() + 1)?);
    Ok(Type::Tensor { dtype, shape: Some([before, &[length], after].concat()) })
}

/// Outputs are the loop-carried values, whose shapes may change between iterations, and the scan outputs.
pub(super) fn loop_(c: &Ctx) -> Result<Vec<Type>> {
    let outputs = body_types(c, c.body("body")?)?;
    let carried = c.inputs.len().saturating_sub(2);
    let Some((_, outputs)) = outputs.split_first().filter(|(_, o)| o.len() >= carried) else {
        return Err(c.error(format!("the body returns {} values for {carried} loop-carried ones", outputs.len())));
    };
    let mut types = Vec::with_capacity(outputs.len());
    for (i, ty) in outputs.iter().enumerate() {
        types.push(match (i < carried, ty) {
            (false, _) => stacked(c, ty, 0, c.fresh())?,
            (true, Type::Optional(_)) => union(c, c.ty(i + 2)?, ty)?,
            // The input may be an optional if the body returns a tensor.
            (true, _) => match c.ty(i + 2)? {
                Type::Optional(before) => union(c, before, ty)?,
                before => union(c, before, ty)?,
            },
        });
    }
    Ok(types)
}

/// All scanned inputs have the same length; state variables keep their shapes.
pub(super) fn scan(c: &Ctx) -> Result<Vec<Type>> {
    let outputs = body_types(c, c.body("body")?)?;
    let scanned = usize::try_from(c.int("num_scan_inputs").unwrap_or(0)).unwrap_or(usize::MAX);
    let Some(states) = c.inputs.len().checked_sub(scanned).filter(|n| *n <= outputs.len()) else {
        return Err(c.error(format!("num_scan_inputs is {scanned}")));
    };
    let axis = |name: &str, i: usize| c.int_list(name).and_then(|axes| axes.get(i).copied()).unwrap_or(0);
    let mut length = None;
    for i in 0..scanned {
        let Some(dims) = c.shape(states + i) else { continue };
        let Some(dim) = dims.get(c.axis(axis("scan_input_axes", i), dims.len())?) else { continue };
        length = Some(length.map_or_else(|| Ok(dim.clone()), |known| c.equal_dims(&known, dim))?);
    }
    let length = length.unwrap_or_else(|| c.fresh());
    let mut types = Vec::with_capacity(outputs.len());
    for (i, ty) in outputs.iter().enumerate() {
        types.push(match i.checked_sub(states) {
            None => unchanged(c, c.ty(i)?, ty)?,
            Some(k) => stacked(c, ty, axis("scan_output_axes", k), length.clone())?,
        });
    }
    Ok(types)
}

/// A state variable, whose shape may not change. Anonymous sizes of the body are not used.
fn unchanged(c: &Ctx, before: &Type, after: &Type) -> Result<Type> {
    match (before, after) {
        (Type::Tensor { dtype, shape: Some(before) }, Type::Tensor { dtype: other, shape }) if dtype == other => {
            Ok(Type::Tensor { dtype: *dtype, shape: c.equal_shapes(Some(before), shape.as_deref())? })
        }
        (Type::Tensor { dtype, shape: None }, Type::Tensor { dtype: other, .. }) if dtype == other => {
            Ok(leaving(c, after))
        }
        _ => Err(c.error(format!("{before} and {after} differ"))),
    }
}

pub(super) fn sequence_map(c: &Ctx) -> Result<Vec<Type>> {
    element(c, 0)?;
    let outputs = body_types(c, c.body("body")?)?;
    Ok(outputs.iter().map(|ty| Type::Sequence(Box::new(leaving(c, ty)))).collect())
}
