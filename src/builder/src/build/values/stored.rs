//! The numbers in small stored tensors: constants, and weights whose bytes lie in memory or in a mapped file.

use crate::build::values::encode;
use crate::build::{Builder, Scalar};
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::graph::{Source, Value};

/// Larger weights are not read.
const MAX_BYTES: u64 = 64 * 1024;

impl Builder {
    /// The elements of a constant or of a small weight, in row-major order. None of what the graph computes, of inputs, of large
    /// weights, and of those that have no bytes yet.
    pub fn stored_numbers(&self, value: Value) -> Option<Vec<Scalar>> {
        let Source::Weight(weight) = &self.data(self.plain(value)).source else { return self.constant_numbers(value) };
        let payload = Payload::new(weight).ok().filter(|payload| payload.len() <= MAX_BYTES)?;
        encode::decode(weight.dtype, payload.slice()?)
    }

    /// A small weight as a constant, so that what follows from it is computed while the model is exported; others are unchanged.
    pub fn stored_constant(&mut self, value: Value) -> Result<Value> {
        let Source::Weight(weight) = &self.data(self.plain(value)).source else { return Ok(value) };
        let weight = weight.clone();
        let Some(payload) = Payload::new(&weight).ok().filter(|payload| payload.len() <= MAX_BYTES) else {
            return Ok(value);
        };
        match payload.slice() {
            Some(bytes) => self.constant(weight.dtype, &weight.sizes, bytes.to_vec()),
            None => Ok(value),
        }
    }

    /// The elements of a stored tensor of integers or booleans, in row-major order.
    pub fn stored_ints(&self, value: Value) -> Option<Vec<i64>> {
        match self.constant_ints(value) {
            Some(known) => Some(known),
            None => self.stored_numbers(value)?.iter().map(Scalar::as_int).collect(),
        }
    }
}
