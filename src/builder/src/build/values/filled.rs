//! Tensors filled with one value.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

use crate::build::{Builder, Scalar};

/// Filled tensors with up to this many elements are constants.
const MAX_CONSTANT: i64 = 1024;

impl Builder {
    /// A tensor filled with one value.
    pub fn full(&mut self, size: &[SymInt], value: &Scalar, t: Dtype) -> Result<Value> {
        if let (true, Scalar::Complex(re, im)) = (t.is_complex(), value) {
            let re = self.full(size, &Scalar::Float(*re), t.real())?;
            let im = self.full(size, &Scalar::Float(*im), t.real())?;
            return self.complex(re, Some(im));
        }
        if t.is_complex() {
            let re = self.full(size, value, t.real())?;
            return self.complex(re, None);
        }
        if size.is_empty() || !value.is_known() {
            let one = self.scalar(value, t)?;
            return self.expand(one, size);
        }
        let known: Option<Vec<i64>> = size.iter().map(SymInt::known).collect();
        let count = known.as_ref().and_then(|sizes| sizes.iter().try_fold(1i64, |n, size| n.checked_mul(*size)));
        if let (Some(sizes), Some(count @ 0..=MAX_CONSTANT)) = (known, count) {
            return self.repeated(value, t, &sizes, count);
        }
        if t == Dtype::Bfloat16 && self.opset() < 20 {
            let wide = self.filled(size, value, Dtype::Float32)?;
            return self.cast(wide, t);
        }
        self.filled(size, value, t)
    }

    fn repeated(&mut self, value: &Scalar, t: Dtype, sizes: &[i64], count: i64) -> Result<Value> {
        let one = self.scalar(value, t)?;
        let bytes = self.constant_of(one).map(|c| c.bytes().to_vec()).unwrap_or_default();
        let count = usize::try_from(count).unwrap_or(0);
        self.constant(t, sizes, bytes.repeat(count))
    }

    fn filled(&mut self, size: &[SymInt], value: &Scalar, t: Dtype) -> Result<Value> {
        let one = self.numbers(std::slice::from_ref(value), t)?;
        self.node1("ConstantOfShape", vec![size.into()], vec![("value", Attr::Tensor(one))])
    }
}
