//! Complex numbers, which ONNX operators do not take: each complex value is represented by real ones.
//!
//! Rules see a value of dtype complex64 with PyTorch's shape. No node has this value: it represents a real and an
//! imaginary part, or one real tensor with a last dimension of 2. Either representation is computed from the other on
//! demand. Inputs, weights and outputs of the graph are real tensors with a last dimension of 2.

mod operators;

pub(crate) use operators::ComplexCall;

use std::sync::Arc;

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Attr, Source, Type, Value};

/// The representations of a complex value; at least one is present.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pair {
    /// The real and the imaginary part; None for an imaginary part of zeros.
    parts: Option<(Value, Option<Value>)>,
    /// Both parts, stacked in a last dimension of 2.
    joined: Option<Value>,
}

impl Builder {
    /// A complex value from two real ones of the same shape; None means that the imaginary part is zero.
    pub fn complex(&mut self, re: Value, im: Option<Value>) -> Result<Value> {
        let re = self.plain(re);
        let im = im.map(|im| self.plain(im));
        let ty = self.ty(re);
        let Some(dtype) = ty.dtype().complex() else {
            return Err(self.fault(format!("a complex number with a real part of {ty}")));
        };
        let ty = Type::Tensor { dtype, shape: ty.shape().map(<[SymInt]>::to_vec) };
        Ok(self.add_pair(ty, Pair { parts: Some((re, im)), joined: None }))
    }

    /// A complex value from a real tensor whose last dimension is 2.
    pub fn paired(&mut self, joined: Value) -> Result<Value> {
        let joined = self.plain(joined);
        let mut shape = self.shape(joined)?;
        let (Some(dtype), Some(_)) =
            (self.dtype(joined).complex(), shape.pop().filter(|n| n.known().is_none_or(|n| n == 2)))
        else {
            return Err(self.fault(format!("complex numbers in {}", self.ty(joined))));
        };
        Ok(self.add_pair(Type::tensor(dtype, shape), Pair { parts: None, joined: Some(joined) }))
    }

    fn add_pair(&mut self, ty: Type, pair: Pair) -> Value {
        let value = self.add_value(ty, Source::Node, None);
        self.shared.pairs.insert(value, pair);
        value
    }

    /// Whether the value is complex.
    pub fn is_complex(&self, value: Value) -> bool {
        self.shared.pairs.contains_key(&self.plain(value))
    }

    fn pair(&self, value: Value) -> Pair {
        self.shared.pairs.get(&value).copied().unwrap_or_default()
    }

    /// The real and the imaginary part; None for an imaginary part of zeros.
    pub fn parts(&mut self, value: Value) -> Result<(Value, Option<Value>)> {
        let value = self.plain(value);
        let pair = self.pair(value);
        match (pair.parts, pair.joined) {
            (Some(parts), _) => Ok(parts),
            (None, Some(joined)) => {
                let re = self.part_at(joined, 0)?;
                let im = self.part_at(joined, 1)?;
                self.keep_pair(value, |pair| pair.parts = Some((re, Some(im))));
                Ok((re, Some(im)))
            }
            (None, None) => Ok((value, None)),
        }
    }

    fn part_at(&mut self, joined: Value, i: i64) -> Result<Value> {
        self.node1("Gather", vec![joined.into(), i.into()], vec![("axis", Attr::Int(-1))])
    }

    /// The imaginary part, as zeros if there is none.
    pub fn imaginary(&mut self, value: Value) -> Result<Value> {
        let (re, im) = self.parts(value)?;
        match im {
            Some(im) => Ok(im),
            None => self.zeros_like(re),
        }
    }

    fn zeros_like(&mut self, re: Value) -> Result<Value> {
        let (shape, dtype) = (self.shape(re)?, self.dtype(re));
        self.full(&shape, &Scalar::Int(0), dtype)
    }

    /// The real tensor with both parts in a last dimension of 2; real values are returned unchanged.
    pub fn joined(&mut self, value: Value) -> Result<Value> {
        let value = self.plain(value);
        if !self.is_complex(value) {
            return Ok(value);
        }
        if let Some(joined) = self.pair(value).joined {
            return Ok(joined);
        }
        let re = self.parts(value)?.0;
        let im = self.imaginary(value)?;
        let last = self.rank(re)?;
        let mut columns = Vec::with_capacity(2);
        for part in [re, im] {
            columns.push(self.node1("Unsqueeze", vec![part.into(), vec![last].into()], vec![])?);
        }
        let joined = self.node1("Concat", vec![columns.into()], vec![("axis", Attr::Int(last))])?;
        if let Some(name) = self.data(value).name.clone() {
            self.name_value(joined, &name);
        }
        self.keep_pair(value, |pair| pair.joined = Some(joined));
        Ok(joined)
    }

    /// Replaces complex outputs of the graph by real tensors.
    pub(crate) fn join_outputs(&mut self) -> Result<()> {
        for i in 0..self.outputs.len() {
            self.outputs[i].1 = self.joined(self.outputs[i].1)?;
        }
        Ok(())
    }

    /// Caches a representation of a value, unless it was made in a scope that ends before the value does.
    fn keep_pair(&mut self, value: Value, note: impl FnOnce(&mut Pair)) {
        if self.data(value).scope == self.scope().map_or(0, |s| s.id)
            && let Some(pair) = self.shared.pairs.get_mut(&value)
        {
            note(pair);
        }
    }

    /// A complex number as a value.
    pub(crate) fn complex_numbers(&mut self, numbers: &[Scalar], sizes: &[i64], dtype: Dtype) -> Result<Value> {
        let part = dtype.real();
        let split = |number: &Scalar| match number {
            Scalar::Complex(re, im) => (Scalar::Float(*re), Scalar::Float(*im)),
            real => (real.clone(), Scalar::Float(0.0)),
        };
        let (re, im): (Vec<Scalar>, Vec<Scalar>) = numbers.iter().map(split).unzip();
        let re = self.shaped(&re, sizes, part)?;
        let is_real = im.iter().all(|x| *x == 0.0);
        let im = if is_real { None } else { Some(self.shaped(&im, sizes, part)?) };
        self.complex(re, im)
    }

    /// A cast from or to a complex dtype. A cast to a real dtype keeps the real part; a cast to bool compares with 0.
    pub(crate) fn cast_complex(&mut self, value: Value, to: Dtype) -> Result<Value> {
        let (re, im) = self.parts(value)?;
        match (to.is_complex(), im) {
            (true, im) => {
                let re = self.cast(re, to.real())?;
                let im = im.map(|im| self.cast(im, to.real())).transpose()?;
                self.complex(re, im)
            }
            (false, Some(im)) if to == Dtype::Bool => {
                let (re, im) = (self.cast(re, to)?, self.cast(im, to)?);
                self.node1("Or", vec![re.into(), im.into()], vec![])
            }
            (false, _) => self.cast(re, to),
        }
    }

    /// An input of a program; a complex one is a real tensor in the graph.
    pub fn program_input(&mut self, name: &str, ty: Type) -> Value {
        if !ty.dtype().is_complex() {
            return self.input(name, ty);
        }
        let joined = Some(self.input(name, as_stored(&ty)));
        self.add_pair(ty, Pair { parts: None, joined })
    }

    /// A weight of a program; the bytes of a complex one are those of the real tensor.
    pub fn program_weight(&mut self, weight: Arc<Weight>) -> Value {
        if !weight.dtype.is_complex() {
            return self.weight(weight);
        }
        let key = Arc::as_ptr(&weight) as usize;
        if let Some(value) = self.shared.weights.get(&key) {
            return *value;
        }
        let doubled = |ns: &[i64]| ns.iter().map(|n| n.saturating_mul(2)).chain([1]).collect();
        let stored = Weight {
            name: weight.name.clone(),
            dtype: weight.dtype.real(),
            sizes: weight.sizes.iter().copied().chain([2]).collect(),
            strides: doubled(&weight.strides),
            offset: weight.offset.saturating_mul(2),
            storage: weight.storage.clone(),
        };
        let joined = Some(self.weight(Arc::new(stored)));
        let value = self.add_pair(Type::sized(weight.dtype, &weight.sizes), Pair { parts: None, joined });
        // The map keeps the weight alive, so its address cannot be reused.
        self.shared.weights.insert(key, value);
        value
    }

    /// Applies the known type of a complex value to its representations.
    pub(crate) fn refine_pair(&mut self, value: Value) {
        let pair = self.pair(value);
        let ty = self.ty(value).clone();
        let part = Type::Tensor { dtype: ty.dtype().real(), shape: ty.shape().map(<[SymInt]>::to_vec) };
        let parts = pair.parts.into_iter().flat_map(|(re, im)| [Some(re), im]).flatten().map(|v| (v, part.clone()));
        let joined = pair.joined.map(|v| (v, as_stored(&ty)));
        for (value, ty) in parts.chain(joined).collect::<Vec<_>>() {
            // A contradiction was already reported for the value itself.
            let _ = self.refine(value, &ty);
        }
    }
}

/// The real type that stores a complex one; other types are returned unchanged.
pub fn as_stored(ty: &Type) -> Type {
    match ty {
        Type::Tensor { dtype, shape } if dtype.is_complex() => Type::Tensor {
            dtype: dtype.real(),
            shape: shape.as_ref().map(|sizes| sizes.iter().cloned().chain([SymInt::from(2)]).collect()),
        },
        other => other.clone(),
    }
}
