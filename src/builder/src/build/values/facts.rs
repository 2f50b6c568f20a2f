//! Facts about values: types, dtypes, shapes. Also the inputs, weights and outputs of the graph.

use std::sync::Arc;

use crate::build::Builder;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Source, Type, Value};

impl Builder {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.data(value).ty
    }

    /// The element type; for a sequence or optional, that of its tensors.
    pub fn dtype(&self, value: Value) -> Dtype {
        self.ty(value).dtype()
    }

    /// The number of dimensions.
    pub fn rank(&self, value: Value) -> Result<i64> {
        Ok(self.known_shape(value)?.len() as i64)
    }

    /// The sizes.
    pub fn shape(&self, value: Value) -> Result<Vec<SymInt>> {
        Ok(self.known_shape(value)?.to_vec())
    }

    /// One size; a negative `i` counts from the end. A 0-dim tensor counts as one dimension of size 1.
    pub fn dim(&self, value: Value, i: i64) -> Result<SymInt> {
        let shape = self.known_shape(value)?;
        let rank = shape.len();
        if rank == 0 && (i == 0 || i == -1) {
            return Ok(SymInt::from(1));
        }
        let size = counted_from_start(i, rank).and_then(|index| shape.get(index));
        size.cloned().ok_or_else(|| Error::input(format!("a tensor of rank {rank} has no dimension {i}")))
    }

    fn known_shape(&self, value: Value) -> Result<&[SymInt]> {
        self.ty(value).shape().ok_or_else(|| match self.ty(value) {
            Type::Tensor { .. } => Error::refused("the number of dimensions of a tensor is unknown", None),
            other => self.fault(format!("{other} is not a tensor")),
        })
    }

    /// The product of all sizes.
    pub fn numel(&self, value: Value) -> Result<SymInt> {
        Ok(self.known_shape(value)?.iter().product())
    }

    /// Whether the value is promoted as a plain Python number.
    pub fn is_wrapped(&self, value: Value) -> bool {
        self.data(value).stands_for.is_some()
    }

    /// An input of the graph.
    pub fn input(&mut self, name: &str, ty: Type) -> Value {
        let value = self.add_value(ty, Source::Input, None);
        self.data_mut(value).name = Some(Arc::from(name));
        self.scope_mut().inputs.push(value);
        self.bind_sizes(value, true);
        value
    }

    /// A weight; weights that share an [`Arc`] are one value.
    pub fn weight(&mut self, weight: Arc<Weight>) -> Value {
        let key = Arc::as_ptr(&weight) as usize;
        if let Some(value) = self.shared.weights.get(&key) {
            return *value;
        }
        let ty = Type::sized(weight.dtype, &weight.sizes);
        let name = Arc::from(weight.name.as_str());
        // The graph keeps the weight alive, so its address cannot be reused.
        let value = self.add_value(ty, Source::Weight(weight), None);
        self.data_mut(value).name = Some(name);
        self.shared.weights.insert(key, value);
        value
    }

    /// An output of the graph.
    pub fn output(&mut self, name: &str, value: Value) {
        self.outputs.push((Arc::from(name), value));
    }

    /// Suggests a name for a node's result; the first suggestion is used.
    pub fn name_value(&mut self, value: Value, name: &str) {
        let data = self.data_mut(value);
        if data.name.is_none() && matches!(data.source, Source::Node) {
            data.name = Some(Arc::from(name));
        }
    }

    /// Refines a type with the one PyTorch recorded. Another dtype or rank is an error of the rule.
    pub fn set_type(&mut self, value: Value, recorded: &Type) -> Result<()> {
        self.refine(value, recorded).map_err(|(inferred, recorded)| {
            self.contradiction(format!("returns {inferred} where PyTorch recorded {recorded}"))
        })
    }

    /// Keeps the more precise fact for each dimension; returns both types if they contradict.
    pub(crate) fn refine(&mut self, value: Value, other: &Type) -> std::result::Result<(), (Type, Type)> {
        // Inputs and weights keep the size names of the user.
        let is_given = !matches!(self.data(value).source, Source::Node);
        let Some(refined) = refined(self.ty(value), other, is_given) else {
            return Err((self.ty(value).clone(), other.clone()));
        };
        if refined != *self.ty(value) {
            self.data_mut(value).ty = refined;
            if self.is_complex(value) {
                self.refine_pair(value);
                return Ok(());
            }
            self.bind_sizes(value, false);
        }
        Ok(())
    }
}

/// The more precise type; None if they contradict.
fn refined(inferred: &Type, recorded: &Type, keep: bool) -> Option<Type> {
    match (inferred, recorded) {
        (Type::Sequence(a), Type::Sequence(b)) => Some(Type::Sequence(Box::new(refined(a, b, keep)?))),
        (Type::Optional(a), Type::Optional(b)) => Some(Type::Optional(Box::new(refined(a, b, keep)?))),
        (Type::Tensor { dtype: a, shape: x }, Type::Tensor { dtype: b, shape: y }) if a == b => {
            let shape = match (x, y) {
                (Some(x), Some(y)) if x.len() == y.len() => {
                    Some(x.iter().zip(y).map(|(x, y)| refined_size(x, y, keep)).collect::<Option<_>>()?)
                }
                (Some(_), Some(_)) => return None,
                (x, y) => x.clone().or_else(|| y.clone()),
            };
            Some(Type::Tensor { dtype: *a, shape })
        }
        _ => None,
    }
}

/// Prefers known to symbolic, symbolic to unknown, and recorded to inferred sizes.
fn refined_size(inferred: &SymInt, recorded: &SymInt, keep: bool) -> Option<SymInt> {
    let keeps = match (inferred.known(), recorded.known()) {
        (Some(a), Some(b)) if a != b => return None,
        (Some(_), _) => true,
        (None, Some(_)) => false,
        (None, None) => recorded.has_anonymous() || (keep && !inferred.has_anonymous()),
    };
    Some(if keeps { inferred.clone() } else { recorded.clone() })
}
