//! Matrix products and determinants.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::{Ctx, Shape};

/// The product of input 0 and input `b`.
pub(super) fn matmul(c: &Ctx, b: usize) -> Result<Vec<Type>> {
    let (Some(x), Some(y)) = (c.shape(0), c.shape(b)) else { return c.one_output(None) };
    c.one_output(Some(product_shape(c, x, y)?))
}

/// Vectors are a row on the left and a column on the right; that dimension is dropped from the result.
fn product_shape(c: &Ctx, x: &[SymInt], y: &[SymInt]) -> Result<Vec<SymInt>> {
    let (batch_x, row, inner_x) = match x {
        [] => return Err(c.error("takes no scalars")),
        [inner] => ([].as_slice(), None, inner),
        [batch @ .., row, inner] => (batch, Some(row), inner),
    };
    let (batch_y, inner_y, column) = match y {
        [] => return Err(c.error("takes no scalars")),
        [inner] => ([].as_slice(), inner, None),
        [batch @ .., inner, column] => (batch, inner, Some(column)),
    };
    if let (Some(a), Some(b)) = (inner_x.known(), inner_y.known())
        && a != b
    {
        return Err(c.error(format!("inner sizes {a} and {b} differ")));
    }
    let mut shape = c.broadcast_two(batch_x, batch_y)?;
    shape.extend(row.into_iter().chain(column).cloned());
    Ok(shape)
}

pub(super) fn gemm(c: &Ctx) -> Result<Vec<Type>> {
    for i in 0..2 {
        c.want_rank(i, 2)?;
    }
    let side = |i: usize, transposed: bool| match c.shape(i) {
        Some([a, b]) if transposed => (b.clone(), a.clone()),
        Some([a, b]) => (a.clone(), b.clone()),
        _ => (c.fresh(), c.fresh()),
    };
    let (rows, inner_a) = side(0, c.flag("transA"));
    let (inner_b, columns) = side(1, c.flag("transB"));
    if let (Some(a), Some(b)) = (inner_a.known(), inner_b.known())
        && a != b
    {
        return Err(c.error(format!("inner sizes {a} and {b} differ")));
    }
    c.one_output(Some(vec![rows, columns]))
}

pub(super) fn det(c: &Ctx) -> Result<Vec<Type>> {
    let shape: Shape = match c.shape(0) {
        Some([batch @ .., a, b]) => {
            c.equal_dims(a, b)?;
            Some(batch.to_vec())
        }
        Some(_) => return Err(c.error("the data must have rank 2 or more")),
        None => None,
    };
    c.one_output(shape)
}
