//! Type promotion as PyTorch does it, by the table dumped from PyTorch (`mappings/schemas/promotion.txt`).

use crate::builder::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::rules::{COMBINE, NUMBERS, PROMOTE};

/// The dtypes of operands by rank of priority: tensors with dimensions, tensors without, Python numbers.
#[derive(Default)]
struct Operands([Option<Dtype>; 3]);

impl Operands {
    fn add(&mut self, rank: usize, dtype: Dtype) -> Result<()> {
        let slot = &mut self.0[rank];
        *slot = Some(match *slot {
            None => dtype,
            Some(before) => promoted(before, dtype)?,
        });
        Ok(())
    }

    fn add_value(&mut self, cx: &Builder, x: Value) -> Result<()> {
        let rank = if cx.is_wrapped(x) {
            2
        } else if cx.rank(x)? == 0 {
            1
        } else {
            0
        };
        self.add(rank, cx.dtype(x))
    }

    fn result(self) -> Result<Dtype> {
        let mut higher = None;
        for dtype in self.0.into_iter().rev().flatten() {
            higher = Some(match higher {
                None => dtype,
                Some(lower) => looked_up(&COMBINE, dtype, lower)?,
            });
        }
        higher.ok_or_else(|| Error::internal("the common dtype of nothing"))
    }
}

fn looked_up(table: &[[Option<Dtype>; 27]; 27], a: Dtype, b: Dtype) -> Result<Dtype> {
    let row = table.get(a as usize).and_then(|row| row.get(b as usize));
    row.copied().flatten().ok_or_else(|| Error::refused(format!("PyTorch has no common dtype for {a} and {b}"), None))
}

fn promoted(a: Dtype, b: Dtype) -> Result<Dtype> {
    looked_up(&PROMOTE, a, b)
}

/// The dtype that two dtypes meet in.
pub fn promote_dtypes(_: &mut Builder, a: Dtype, b: Dtype) -> Result<Dtype> {
    promoted(a, b)
}

/// The dtype that tensors meet in: tensors with dimensions count before 0-dim ones, these before plain numbers.
pub fn result_type(cx: &mut Builder, xs: &[Value]) -> Result<Dtype> {
    let mut operands = Operands::default();
    for x in xs {
        operands.add_value(cx, *x)?;
    }
    operands.result()
}

/// The dtype that a tensor and a number meet in.
pub fn result_type_with(cx: &mut Builder, x: Value, number: &Scalar) -> Result<Dtype> {
    let mut operands = Operands::default();
    operands.add_value(cx, x)?;
    operands.add(2, scalar_dtype(cx, number)?)?;
    operands.result()
}

/// The dtype of a number alone.
pub fn scalar_dtype(cx: &mut Builder, number: &Scalar) -> Result<Dtype> {
    let kind = match number {
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) | Scalar::Sym(_) => "int",
        Scalar::Float(_) => "float",
        Scalar::Complex(..) => "complex",
        // A float of the graph is computed in float64, and counts as the default float.
        Scalar::Value(v) if cx.dtype(*v).is_float() => "float",
        Scalar::Value(v) if cx.dtype(*v) == Dtype::Bool => "bool",
        Scalar::Value(_) => "int",
    };
    let found = NUMBERS.iter().find(|row| row.0 == kind).map(|row| row.1);
    found.ok_or_else(|| Error::internal(format!("no dtype for a number of kind {kind}")))
}
