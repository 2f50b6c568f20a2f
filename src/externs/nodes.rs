//! Short names for the nodes that the externs make.

use crate::builder::{Builder, In, Scalar};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::{Attr, Value};
use crate::sym::SymInt;

impl Builder {
    /// A node with these inputs, no attributes, and one output.
    pub(super) fn op(&mut self, op: &'static str, inputs: Vec<In>) -> Result<Value> {
        self.node1(op, inputs, Vec::new())
    }

    /// A node with one attribute.
    pub(super) fn op_with(
        &mut self,
        op: &'static str,
        inputs: Vec<In>,
        name: &'static str,
        attr: Attr,
    ) -> Result<Value> {
        self.node1(op, inputs, vec![(name, attr)])
    }

    pub(super) fn add(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Add", vec![a.into(), b.into()])
    }

    pub(super) fn sub(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Sub", vec![a.into(), b.into()])
    }

    pub(super) fn mul(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Mul", vec![a.into(), b.into()])
    }

    pub(super) fn div(&mut self, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Div", vec![a.into(), b.into()])
    }

    /// The smaller and the larger: `Min(Max(x, low), high)`.
    pub(super) fn between(&mut self, x: Value, low: impl Into<In>, high: impl Into<In>) -> Result<Value> {
        let x = self.op("Max", vec![x.into(), low.into()])?;
        self.op("Min", vec![x.into(), high.into()])
    }

    pub(super) fn where_(&mut self, condition: Value, a: impl Into<In>, b: impl Into<In>) -> Result<Value> {
        self.op("Where", vec![condition.into(), a.into(), b.into()])
    }

    pub(super) fn gather(&mut self, x: Value, indices: impl Into<In>, axis: i64) -> Result<Value> {
        self.op_with("Gather", vec![x.into(), indices.into()], "axis", Attr::Int(axis))
    }

    /// Joined along a dimension; one alone stays as it is.
    pub(super) fn concat(&mut self, xs: Vec<Value>, axis: i64) -> Result<Value> {
        match xs.as_slice() {
            [only] => Ok(*only),
            _ => self.op_with("Concat", vec![xs.into()], "axis", Attr::Int(axis)),
        }
    }

    /// Elements `from` to `to` of a dimension.
    pub(super) fn part(&mut self, x: Value, axis: i64, from: &SymInt, to: &SymInt) -> Result<Value> {
        let one = |n: &SymInt| In::Ints(vec![n.clone()]);
        self.op("Slice", vec![x.into(), one(from), one(to), vec![axis].into()])
    }

    /// The dimensions in another order.
    pub(super) fn transpose(&mut self, x: Value, order: &[i64]) -> Result<Value> {
        if order.iter().enumerate().all(|(i, d)| i as i64 == *d) {
            return Ok(x);
        }
        self.op_with("Transpose", vec![x.into()], "perm", Attr::Ints(order.to_vec()))
    }

    pub(super) fn unsqueeze(&mut self, x: Value, at: &[i64]) -> Result<Value> {
        if at.is_empty() { Ok(x) } else { self.op("Unsqueeze", vec![x.into(), at.into()]) }
    }

    /// `0, 1, ..., n - 1` in int64.
    pub(super) fn count(&mut self, n: &SymInt) -> Result<Value> {
        let zero = self.scalar(&Scalar::Int(0), Dtype::Int64)?;
        self.op("Range", vec![zero.into(), n.into(), 1.into()])
    }
}
