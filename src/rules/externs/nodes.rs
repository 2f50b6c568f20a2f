//! Short methods for nodes that the extern functions make.

use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

/// Methods of the builder for common nodes.
pub(super) trait MakeNodes {
    /// A node with these inputs, no attributes, and one output.
    fn op(&mut self, op: &'static str, inputs: Vec<In>) -> Result<Value>;

    /// A node with one attribute.
    fn op_with(&mut self, op: &'static str, inputs: Vec<In>, name: &'static str, attr: Attr) -> Result<Value>;

    fn add(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value>;

    fn sub(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value>;

    fn mul(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value>;

    fn div(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value>;

    /// Clamps `x` to an interval: `Min(Max(x, low), high)`.
    fn between(&mut self, x: Value, low: impl Into<In>, high: impl Into<In>) -> Result<Value>;

    fn where_(&mut self, condition: Value, a: impl Into<In>, b: impl Into<In>) -> Result<Value>;

    fn gather(&mut self, x: Value, indices: impl Into<In>, axis: i64) -> Result<Value>;

    /// Concatenates along a dimension; a single tensor is returned unchanged.
    fn concat(&mut self, xs: Vec<Value>, axis: i64) -> Result<Value>;

    /// Permutes the dimensions.
    fn transpose(&mut self, x: Value, order: &[i64]) -> Result<Value>;

    fn unsqueeze(&mut self, x: Value, at: &[i64]) -> Result<Value>;

    /// `0, 1, ..., n - 1` in int64.
    fn count(&mut self, n: &SymInt) -> Result<Value>;
}

impl MakeNodes for Builder {
    fn op(&mut self, op: &'static str, inputs: Vec<In>) -> Result<Value> {
        self.node1(op, inputs, Vec::new())
    }

    fn op_with(&mut self, op: &'static str, inputs: Vec<In>, name: &'static str, attr: Attr) -> Result<Value> {
        self.node1(op, inputs, vec![(name, attr)])
    }

    fn add(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Add", vec![a.into(), b.into()])
    }

    fn sub(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Sub", vec![a.into(), b.into()])
    }

    fn mul(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Mul", vec![a.into(), b.into()])
    }

    fn div(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Div", vec![a.into(), b.into()])
    }

    fn between(&mut self, x: Value, low: impl Into<In>, high: impl Into<In>) -> Result<Value> {
        let x = self.op("Max", vec![x.into(), low.into()])?;
        self.op("Min", vec![x.into(), high.into()])
    }

    fn where_(&mut self, condition: Value, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Where", vec![condition.into(), a.into(), b.into()])
    }

    fn gather(&mut self, x: Value, indices: impl Into<In>, axis: i64) -> Result<Value> {
        self.op_with("Gather", vec![x.into(), indices.into()], "axis", Attr::Int(axis))
    }

    fn concat(&mut self, xs: Vec<Value>, axis: i64) -> Result<Value> {
        match xs.as_slice() {
            [only] => Ok(*only),
            _ => self.op_with("Concat", vec![xs.into()], "axis", Attr::Int(axis)),
        }
    }

    fn transpose(&mut self, x: Value, order: &[i64]) -> Result<Value> {
        if order.iter().enumerate().all(|(i, d)| i as i64 == *d) {
            return Ok(x);
        }
        self.op_with("Transpose", vec![x.into()], "perm", Attr::Ints(order.to_vec()))
    }

    fn unsqueeze(&mut self, x: Value, at: &[i64]) -> Result<Value> {
        if at.is_empty() { Ok(x) } else { self.op("Unsqueeze", vec![x.into(), at.into()]) }
    }

    fn count(&mut self, n: &SymInt) -> Result<Value> {
        let zero = self.scalar(&Scalar::Int(0), Dtype::Int64)?;
        self.op("Range", vec![zero.into(), n.into(), 1.into()])
    }
}
