//! Constants: makes them and shares equal ones.

use std::sync::Arc;

use crate::build::values::encode;
use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Constant, Data, Source, Type, Value};

/// The elements of larger constants are not read.
pub(crate) const MAX_FOLDED: usize = 1024;

impl Builder {
    /// A constant from little-endian bytes, packed as in ONNX's `raw_data`.
    pub fn constant(&mut self, dtype: Dtype, sizes: &[i64], bytes: impl Into<Arc<[u8]>>) -> Result<Value> {
        let constant = Constant::new(dtype, sizes.to_vec(), bytes);
        if !constant.is_consistent() {
            let given = constant.bytes().len();
            return Err(self.fault(format!("{given} bytes do not fit a constant of {}", Type::sized(dtype, sizes))));
        }
        Ok(self.intern(constant))
    }

    /// A constant, shared with equal ones.
    pub fn intern(&mut self, constant: Constant) -> Value {
        if let Some(value) = self.shared.constants.get(&constant) {
            return *value;
        }
        let value = self.add_constant(constant.clone());
        self.shared.constants.insert(constant, value);
        value
    }

    /// Whether a value is a weight of some size, or a constant that was computed from one.
    pub(crate) fn follows_weight(&self, value: Value) -> bool {
        self.data(value).follows_weight
    }

    pub(crate) fn mark_of_weight(&mut self, value: Value) {
        self.data_mut(value).follows_weight = true;
    }

    pub(crate) fn add_constant(&mut self, constant: Constant) -> Value {
        let ty = Type::sized(constant.dtype, &constant.sizes);
        let content = content(&constant);
        self.add_value(ty, Source::Constant(constant), content)
    }

    /// A number as a 0-dim tensor; a number of the graph is cast.
    pub fn scalar(&mut self, number: &Scalar, dtype: Dtype) -> Result<Value> {
        match number.simplified() {
            Scalar::Sym(n) => {
                let value = self.sym_value(&n)?;
                self.cast(value, dtype)
            }
            Scalar::Value(value) => self.cast(value, dtype),
            known => self.shaped(&[known], &[], dtype),
        }
    }

    /// Known numbers as a one-dimensional constant.
    pub fn numbers(&mut self, numbers: &[Scalar], dtype: Dtype) -> Result<Value> {
        self.shaped(numbers, &[numbers.len() as i64], dtype)
    }

    /// A one-dimensional constant of strings.
    pub fn strings(&mut self, texts: &[String]) -> Result<Value> {
        let data = Data::Strings(texts.into());
        Ok(self.intern(Constant { dtype: Dtype::String, sizes: vec![texts.len() as i64], data }))
    }

    pub(crate) fn shaped(&mut self, numbers: &[Scalar], sizes: &[i64], dtype: Dtype) -> Result<Value> {
        if dtype.is_complex() {
            return self.complex_numbers(numbers, sizes, dtype);
        }
        let mut bytes = Vec::with_capacity(numbers.len() * 8);
        for number in numbers {
            bytes.extend(encode::encode(number, dtype).map_err(|what| self.contradiction(what))?);
        }
        self.constant(dtype, sizes, bytes)
    }

    /// Known integers as a one-dimensional int64 constant.
    pub fn ints(&mut self, ints: &[i64]) -> Value {
        let bytes: Vec<u8> = ints.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.intern(Constant::new(Dtype::Int64, vec![ints.len() as i64], bytes))
    }

    /// A plain Python number used as a tensor: only its category takes part in type promotion.
    pub fn wrapped_number(&mut self, number: &Scalar) -> Result<Value> {
        let plain = match number.simplified() {
            // A number that the graph computes, such as a float that was a size, is a number all the same.
            Scalar::Value(value) => self.plain(value),
            Scalar::Int(_) | Scalar::Sym(_) => self.scalar(number, Dtype::Int64)?,
            Scalar::Float(_) => self.scalar(number, Dtype::Float64)?,
            Scalar::Bool(_) => self.scalar(number, Dtype::Bool)?,
            Scalar::Complex(..) => self.scalar(number, Dtype::Complex128)?,
        };
        if let Some(wrapped) = self.shared.wrapped.get(&plain) {
            return Ok(*wrapped);
        }
        let data = self.data(plain);
        let (ty, source, content) = (data.ty.clone(), data.source.clone(), data.content.clone());
        let wrapped = self.add_value(ty, source, content);
        self.data_mut(wrapped).stands_for = Some(plain);
        self.shared.wrapped.insert(plain, wrapped);
        Ok(wrapped)
    }

    /// The value that a wrapped number duplicates; others are returned unchanged.
    pub(crate) fn plain(&self, value: Value) -> Value {
        self.data(value).stands_for.unwrap_or(value)
    }

    /// Casts a value; emits no node if the dtype is the same.
    pub fn cast(&mut self, value: Value, to: Dtype) -> Result<Value> {
        let value = self.plain(value);
        if self.dtype(value) == to {
            return Ok(value);
        }
        if self.is_complex(value) || to.is_complex() {
            return self.cast_complex(value, to);
        }
        self.node1("Cast", vec![value.into()], vec![("to", Attr::Int(to.onnx().into()))])
    }

    /// A constant that is small enough to fold.
    pub(crate) fn small_constant(&self, value: Value) -> Option<&Constant> {
        match &self.data(value).source {
            Source::Constant(constant) if constant.len() <= MAX_FOLDED => Some(constant),
            _ => None,
        }
    }
}

/// The elements of a small integer or boolean tensor with at most one dimension.
fn content(constant: &Constant) -> Option<Arc<[SymInt]>> {
    let wanted = constant.dtype.is_int() || constant.dtype == Dtype::Bool;
    if !wanted || constant.sizes.len() > 1 || constant.len() > MAX_FOLDED {
        return None;
    }
    let numbers = encode::decode(constant.dtype, constant.bytes())?;
    numbers.iter().map(|n| n.as_int().map(SymInt::from)).collect()
}
