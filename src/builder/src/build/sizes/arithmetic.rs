//! Arithmetic on numbers in rules: folded if both are known, symbolic on integers, nodes otherwise.

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// An operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, a float
    Div,
    /// `a // b`, rounded down
    FloorDiv,
    /// `a % b`, with the sign of `b`
    Mod,
    /// `a ** b`
    Pow,
}

impl Builder {
    /// `a op b` as Python computes it.
    pub fn scalar_op(&mut self, op: ScalarOp, a: &Scalar, b: &Scalar) -> Result<Scalar> {
        let (a, b) = (a.simplified(), b.simplified());
        if a.is_known() && b.is_known() {
            return known(op, &a, &b).ok_or_else(|| self.fault(format!("{op:?} of {a:?} and {b:?} is undefined")));
        }
        if let (Some(x), Some(y)) = (a.as_size(), b.as_size()) {
            let result = match op {
                ScalarOp::Add => Some(x.add(&y)),
                ScalarOp::Sub => Some(x.sub(&y)),
                ScalarOp::Mul => Some(x.mul(&y)),
                ScalarOp::FloorDiv => Some(x.floor_div(&y)),
                ScalarOp::Mod => Some(x.modulo(&y)),
                ScalarOp::Pow => Some(x.pow(&y)),
                ScalarOp::Div => None,
            };
            if let Some(result) = result {
                return Ok(result.into());
            }
        }
        let dtype = self.common_dtype(op, &a, &b);
        let (a, b) = (self.scalar(&a, dtype)?, self.scalar(&b, dtype)?);
        Ok(Scalar::Value(self.in_graph(op, a, b)?))
    }

    /// `-a`
    pub fn scalar_neg(&mut self, a: &Scalar) -> Result<Scalar> {
        match a.simplified() {
            Scalar::Float(x) => Ok(Scalar::Float(-x)),
            Scalar::Complex(re, im) => Ok(Scalar::Complex(-re, -im)),
            Scalar::Value(v) => Ok(Scalar::Value(self.node1("Neg", vec![v.into()], vec![])?)),
            other => self.scalar_op(ScalarOp::Sub, &Scalar::Int(0), &other),
        }
    }

    /// Tensors of the graph keep their float dtype; Python floats are float64.
    fn common_dtype(&self, op: ScalarOp, a: &Scalar, b: &Scalar) -> Dtype {
        let of = |x: &Scalar| match x {
            Scalar::Value(v) => Some(self.dtype(*v)),
            _ => None,
        };
        let is_float = |x: &Scalar| matches!(x, Scalar::Float(_)) || of(x).is_some_and(Dtype::is_float);
        match (of(a).filter(|d| d.is_float()), of(b).filter(|d| d.is_float())) {
            (Some(x), Some(y)) if x == y => x,
            (Some(x), None) | (None, Some(x)) => x,
            _ if op == ScalarOp::Div || is_float(a) || is_float(b) => Dtype::Float64,
            _ => Dtype::Int64,
        }
    }

    fn in_graph(&mut self, op: ScalarOp, a: Value, b: Value) -> Result<Value> {
        let name = match op {
            ScalarOp::Add => "Add",
            ScalarOp::Sub => "Sub",
            ScalarOp::Mul => "Mul",
            ScalarOp::Div => "Div",
            ScalarOp::Pow => "Pow",
            ScalarOp::FloorDiv => {
                let rest = self.node1("Mod", vec![a.into(), b.into()], vec![])?;
                let exact = self.node1("Sub", vec![a.into(), rest.into()], vec![])?;
                return self.node1("Div", vec![exact.into(), b.into()], vec![]);
            }
            ScalarOp::Mod => "Mod",
        };
        self.node1(name, vec![a.into(), b.into()], vec![])
    }
}

/// None where Python raises or the result is NaN.
fn known(op: ScalarOp, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    if let (Scalar::Complex(..), _) | (_, Scalar::Complex(..)) = (a, b) {
        return complex(op, a, b);
    }
    let whole = !matches!(a, Scalar::Float(_)) && !matches!(b, Scalar::Float(_));
    if whole && op != ScalarOp::Div {
        let result = integers(op, a.as_int()?, b.as_int()?);
        if result.is_some() {
            return result.map(Scalar::Int);
        }
    }
    floats(op, a.as_float()?, b.as_float()?).map(Scalar::Float)
}

fn integers(op: ScalarOp, a: i64, b: i64) -> Option<i64> {
    let (x, y) = (SymInt::from(a), SymInt::from(b));
    match op {
        ScalarOp::Add => a.checked_add(b),
        ScalarOp::Sub => a.checked_sub(b),
        ScalarOp::Mul => a.checked_mul(b),
        ScalarOp::FloorDiv => x.floor_div(&y).known(),
        ScalarOp::Mod => x.modulo(&y).known(),
        ScalarOp::Pow => x.pow(&y).known(),
        ScalarOp::Div => None,
    }
}

fn floats(op: ScalarOp, a: f64, b: f64) -> Option<f64> {
    match op {
        ScalarOp::Add => Some(a + b),
        ScalarOp::Sub => Some(a - b),
        ScalarOp::Mul => Some(a * b),
        ScalarOp::Div => (b != 0.0).then(|| a / b),
        ScalarOp::FloorDiv => (b != 0.0).then(|| divided(a, b)[0]),
        ScalarOp::Mod => (b != 0.0).then(|| divided(a, b)[1]),
        ScalarOp::Pow => Some(a.powf(b)),
    }
}

/// The quotient, rounded down, and the remainder with the sign of the divisor, as Python computes them: the remainder of C's `fmod` is
/// exact, and the quotient is that of a number that the divisor divides.
fn divided(a: f64, b: f64) -> [f64; 2] {
    let rest = a % b;
    let is_other_sign = if b < 0.0 { rest > 0.0 } else { rest < 0.0 };
    let quotient = (a - rest) / b - f64::from(is_other_sign);
    let floor = quotient.floor();
    let next = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
    let remainder = if is_other_sign { rest + b } else { rest };
    [next, if remainder == 0.0 { remainder.copysign(b) } else { remainder }]
}

fn complex(op: ScalarOp, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    let parts = |x: &Scalar| match x {
        Scalar::Complex(re, im) => Some((*re, *im)),
        real => real.as_float().map(|re| (re, 0.0)),
    };
    let ((a, b), (c, d)) = (parts(a)?, parts(b)?);
    match op {
        ScalarOp::Add => Some(Scalar::Complex(a + c, b + d)),
        ScalarOp::Sub => Some(Scalar::Complex(a - c, b - d)),
        ScalarOp::Mul => Some(Scalar::Complex(a * c - b * d, a * d + b * c)),
        _ => None,
    }
}
