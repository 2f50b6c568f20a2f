//! Known elements of values: numbers, and symbolic sizes.

use crate::build::values::encode;
use crate::build::{Binding, Builder, Scalar, read};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Constant, Source, Type, Value};

/// Longer lists of sizes are refused.
const MAX_SIZES: i64 = 1024;

impl Builder {
    /// The constant of a value, if it is one.
    pub fn constant_of(&self, value: Value) -> Option<&Constant> {
        match &self.data(value).source {
            Source::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The elements of a constant as numbers, in row-major order.
    pub(crate) fn constant_numbers(&self, value: Value) -> Option<Vec<Scalar>> {
        let constant = self.constant_of(value)?;
        encode::decode(constant.dtype, constant.bytes())
    }

    /// The elements of a constant of integers or booleans.
    pub fn constant_ints(&self, value: Value) -> Option<Vec<i64>> {
        if let Some(content) = &self.data(value).content {
            return content.iter().map(SymInt::known).collect();
        }
        let dtype = self.dtype(value);
        if !dtype.is_int() && dtype != Dtype::Bool {
            return None;
        }
        self.constant_numbers(value)?.iter().map(Scalar::as_int).collect()
    }

    /// The elements of a constant of real numbers.
    pub fn constant_floats(&self, value: Value) -> Option<Vec<f64>> {
        self.constant_numbers(value)?.iter().map(Scalar::as_float).collect()
    }

    /// The only element of a constant.
    pub fn constant_scalar(&self, value: Value) -> Option<Scalar> {
        match self.constant_numbers(value)?.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// The only element of a constant, or of a weight with data: programs hold numbers that a model writes as tensors, `torch.tensor(0.0)`, with their weights.
    pub fn stored_scalar(&self, value: Value) -> Option<Scalar> {
        let Source::Weight(weight) = &self.data(value).source else { return self.constant_scalar(value) };
        if weight.sizes.iter().any(|size| *size != 1) {
            return None;
        }
        let constant = read(weight)?;
        encode::decode(constant.dtype, constant.bytes())?.into_iter().next()
    }

    /// The elements of an integer tensor with at most one dimension, if sizes and constants determine them.
    pub fn content(&self, value: Value) -> Option<&[SymInt]> {
        self.data(value).content.as_deref()
    }

    /// The only element of an integer tensor as a size, known or read from the graph.
    pub fn sym(&mut self, value: Value) -> Result<SymInt> {
        if let Some([only]) = self.content(value) {
            return Ok(only.clone());
        }
        let dtype = self.dtype(value);
        if !dtype.is_int() && dtype != Dtype::Bool {
            return Err(self.contradiction(format!("a tensor of {dtype} is not a size")));
        }
        let value = self.cast(value, Dtype::Int64)?;
        let scalar = match self.rank(value) {
            Ok(0) => value,
            _ => self.node1("Reshape", vec![value.into(), Vec::<i64>::new().into()], vec![])?,
        };
        if let Some([only]) = self.content(scalar) {
            return Ok(only.clone());
        }
        let symbol = self.fresh_symbol();
        if let Some(name) = symbol.as_symbol() {
            self.bind_symbol(name, Binding::Scalar(scalar));
        }
        self.data_mut(scalar).content = Some(std::slice::from_ref(&symbol).into());
        Ok(symbol)
    }

    /// The elements of a one-dimensional integer tensor as sizes, known or read from the graph.
    pub fn sym_ints(&mut self, value: Value) -> Result<Vec<SymInt>> {
        if let Some(content) = self.content(value) {
            return Ok(content.to_vec());
        }
        let count = match self.shape(value)?.as_slice() {
            [] => return Ok(vec![self.sym(value)?]),
            [count] => count.known(),
            _ => return Err(self.fault("a list of sizes must have one dimension")),
        };
        let count = count.ok_or_else(|| Error::refused("the number of sizes in a tensor must be known", None))?;
        if count > MAX_SIZES {
            return Err(Error::unsupported(format!("a list of {count} sizes: no tensor has so many dimensions")));
        }
        let mut sizes = Vec::new();
        for i in 0..count {
            let element = self.node1("Gather", vec![value.into(), i.into()], vec![])?;
            sizes.push(self.sym(element)?);
        }
        Ok(sizes)
    }

    /// The only element of a tensor as a number, known or in the graph.
    pub fn number(&mut self, value: Value) -> Result<Scalar> {
        if let Some(known) = self.constant_scalar(value) {
            return Ok(known);
        }
        if self.content(value).is_some_and(|c| c.len() == 1) && self.dtype(value) == Dtype::Int64 {
            return Ok(self.sym(value)?.into());
        }
        match self.rank(value) {
            Ok(0) => Ok(Scalar::Value(value)),
            _ => Ok(Scalar::Value(self.node1("Reshape", vec![value.into(), Vec::<i64>::new().into()], vec![])?)),
        }
    }

    /// A new symbol for an unknown size.
    pub(crate) fn fresh_symbol(&self) -> SymInt {
        self.symbols.fresh.set(self.symbols.fresh.get().saturating_add(1));
        SymInt::symbol(format!("?{}", self.symbols.fresh.get()))
    }

    /// A constant with these elements and this type, if they fit.
    pub(crate) fn content_as_constant(&self, ty: &Type, content: &[SymInt]) -> Option<Constant> {
        let Type::Tensor { dtype, shape: Some(shape) } = ty else { return None };
        let sizes = match shape.len() {
            0 if content.len() == 1 => Vec::new(),
            1 => vec![content.len() as i64],
            _ => return None,
        };
        let mut bytes = Vec::with_capacity(content.len() * 8);
        for element in content {
            bytes.extend(encode::encode_int(element.known()?, *dtype)?);
        }
        Some(Constant::new(*dtype, sizes, bytes))
    }
}
