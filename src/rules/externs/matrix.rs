//! Matrices of known size.

use super::nodes::MakeNodes;
use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// For larger matrices, the expansion has too many terms.
const MAX_SIZE: i64 = 4;

/// The determinant of small matrices, by Laplace expansion along the first row.
pub fn determinant(cx: &mut Builder, x: Value) -> Result<Value> {
    let size = cx.dim(x, -1)?.known().filter(|n| (1..=MAX_SIZE).contains(n));
    let size = size.ok_or_else(|| Error::refused("the determinant of a large matrix needs opset 11", Some(11)))?;
    let minor = minors(cx, x, 0, &(0..size).collect::<Vec<_>>())?;
    let shape = cx.shape(x)?;
    let lead = &shape[..shape.len().saturating_sub(2)];
    cx.reshape(minor, lead)
}

/// The determinant of the rows from `row` on and these columns, as 1x1 matrices.
fn minors(cx: &mut Builder, x: Value, row: i64, columns: &[i64]) -> Result<Value> {
    let mut sum: Option<Value> = None;
    for (i, column) in columns.iter().enumerate() {
        let mut term = element(cx, x, row, *column)?;
        if columns.len() > 1 {
            let others: Vec<i64> = columns.iter().copied().filter(|c| c != column).collect();
            let rest = minors(cx, x, row + 1, &others)?;
            term = cx.mul(term, rest)?;
        }
        sum = Some(match sum {
            None => term,
            Some(sofar) if i % 2 == 1 => cx.sub(sofar, term)?,
            Some(sofar) => cx.add(sofar, term)?,
        });
    }
    sum.ok_or_else(|| Error::input("the determinant needs a matrix with rows"))
}

fn element(cx: &mut Builder, x: Value, row: i64, column: i64) -> Result<Value> {
    let rank = cx.rank(x)?;
    let line = cx.part(x, rank - 2, &SymInt::from(row), &SymInt::from(row + 1))?;
    cx.part(line, rank - 1, &SymInt::from(column), &SymInt::from(column + 1))
}
