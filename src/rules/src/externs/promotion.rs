//! PyTorch's type promotion: tensors with dimensions take precedence over 0-dim tensors, and these over plain numbers.

use crate::promotion::{COMBINE, PROMOTE};
use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;

fn look_up(table: &[[Option<Dtype>; 27]; 27], a: Dtype, b: Dtype) -> Result<Dtype> {
    let found = table.get(a as usize).and_then(|row| row.get(b as usize)).copied().flatten();
    found.ok_or_else(|| Error::unsupported(format!("{a} and {b} have no common dtype")))
}

/// The common dtype of two dtypes of one category.
pub fn promote_dtypes(_: &mut Builder, a: Dtype, b: Dtype) -> Result<Dtype> {
    look_up(&PROMOTE, a, b)
}

/// The dtype of each category so far.
#[derive(Default)]
struct Operands {
    with_dimensions: Option<Dtype>,
    without: Option<Dtype>,
    numbers: Option<Dtype>,
}

impl Operands {
    fn add(slot: &mut Option<Dtype>, t: Dtype) -> Result<()> {
        *slot = Some(match *slot {
            Some(before) => look_up(&PROMOTE, before, t)?,
            None => t,
        });
        Ok(())
    }

    fn tensor(&mut self, cx: &Builder, x: Value) -> Result<()> {
        let t = cx.dtype(x);
        if cx.is_wrapped(x) {
            // The value of a Python float is a float64 tensor, but it promotes as the default dtype.
            return Operands::add(&mut self.numbers, default_of(cx, t));
        }
        let slot = if cx.rank(x)? == 0 { &mut self.without } else { &mut self.with_dimensions };
        Operands::add(slot, t)
    }

    fn result(&self) -> Result<Dtype> {
        let lower = combine(self.without, self.numbers)?;
        combine(self.with_dimensions, lower)?.ok_or_else(|| Error::internal("type promotion needs an operand"))
    }
}

fn combine(higher: Option<Dtype>, lower: Option<Dtype>) -> Result<Option<Dtype>> {
    match (higher, lower) {
        (Some(a), Some(b)) => look_up(&COMBINE, a, b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}

/// The default dtype for a number of this kind.
fn default_of(cx: &Builder, t: Dtype) -> Dtype {
    match t {
        Dtype::Float64 => cx.default_float(),
        Dtype::Complex128 => default_complex(cx),
        other => other,
    }
}

fn default_complex(cx: &Builder) -> Dtype {
    match cx.default_float() {
        Dtype::Float64 => Dtype::Complex128,
        Dtype::Float16 => Dtype::Complex32,
        _ => Dtype::Complex64,
    }
}

/// The value of `torch.get_default_dtype()`.
pub fn default_dtype(cx: &mut Builder) -> Result<Dtype> {
    Ok(cx.default_float())
}

/// The common dtype of tensors.
pub fn result_type(cx: &mut Builder, xs: &[Value]) -> Result<Dtype> {
    let mut operands = Operands::default();
    for x in xs {
        operands.tensor(cx, *x)?;
    }
    operands.result()
}

/// The common dtype of a tensor and a number.
pub fn result_type_with(cx: &mut Builder, x: Value, number: &Scalar) -> Result<Dtype> {
    let mut operands = Operands::default();
    operands.tensor(cx, x)?;
    let t = scalar_dtype(cx, number)?;
    Operands::add(&mut operands.numbers, t)?;
    operands.result()
}

/// The dtype of a single number.
pub fn scalar_dtype(cx: &mut Builder, number: &Scalar) -> Result<Dtype> {
    Ok(match number {
        Scalar::Bool(_) => Dtype::Bool,
        Scalar::Int(_) | Scalar::Sym(_) => Dtype::Int64,
        Scalar::Float(_) => cx.default_float(),
        Scalar::Complex(..) => default_complex(cx),
        Scalar::Value(value) => default_of(cx, cx.dtype(*value)),
    })
}
