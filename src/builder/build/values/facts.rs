//! Facts about values: types, dtypes, shapes; and the inputs, weights and outputs of the graph.

use std::sync::Arc;

use crate::build::Builder;
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

    /// The element type; of a sequence or optional that of its tensors.
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

    /// One size; a negative `i` counts from the end. A 0-dim tensor counts as one of size 1.
    pub fn dim(&self, value: Value, i: i64) -> Result<SymInt> {
        let shape = self.known_shape(value)?;
        let rank = shape.len() as i64;
        if rank == 0 && (i == 0 || i == -1) {
            return Ok(SymInt::from(1));
        }
        let index = usize::try_from(if i < 0 { i + rank } else { i }).ok();
        let size = index.and_then(|i| shape.get(i));
        size.cloned().ok_or_else(|| Error::input(format!("there is no dimension {i} in a tensor of rank {rank}")))
    }

    fn known_shape(&self, value: Value) -> Result<&[SymInt]> {
        self.ty(value).shape().ok_or_else(|| match self.ty(value) {
            Type::Tensor { .. } => Error::refused("the number of dimensions of a tensor is not known", None),
            other => self.fault(format!("{other} is no tensor")),
        })
    }

    /// The product of all sizes.
    pub fn numel(&self, value: Value) -> Result<SymInt> {
        Ok(self.known_shape(value)?.iter().product())
    }

    /// Is it a number that PyTorch promotes as a plain Python number?
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

    /// A weight; weights that share their [`Arc`] are one value.
    pub fn weight(&mut self, weight: Arc<Weight>) -> Value {
        let key = Arc::as_ptr(&weight) as usize;
        if let Some(value) = self.shared.weights.get(&key) {
            return *value;
        }
        let ty = Type::sized(weight.dtype, &weight.sizes);
        let name = Arc::from(weight.name.as_str());
        // The graph keeps the weight, so the address is not given to another one.
        let value = self.add_value(ty, Source::Weight(weight), None);
        self.data_mut(value).name = Some(name);
        self.shared.weights.insert(key, value);
        value
    }

    /// An output of the graph.
    pub fn output(&mut self, name: &str, value: Value) {
        self.outputs.push((Arc::from(name), value));
    }

    /// Suggests a name for a node's result; the first one given stands.
    pub fn name_value(&mut self, value: Value, name: &str) {
        let data = self.data_mut(value);
        if data.name.is_none() && matches!(data.source, Source::Node) {
            data.name = Some(Arc::from(name));
        }
    }

    /// Refines a type by what PyTorch recorded. Another dtype or rank is a fault of the rule.
    pub fn set_type(&mut self, value: Value, recorded: &Type) -> Result<()> {
        self.refine(value, recorded).map_err(|(inferred, recorded)| {
            let fault = self.fault(format!("gives {inferred} where PyTorch recorded {recorded}"));
            fault.help(
                "load and run the program in PyTorch: if it gives the former there, the archive contradicts itself",
            )
        })
    }

    /// Takes the better of two facts for each dimension; gives both types back where they contradict each other.
    pub(crate) fn refine(&mut self, value: Value, other: &Type) -> std::result::Result<(), (Type, Type)> {
        // The sizes of inputs and weights are what the user called them.
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

/// The better of two facts; None where they contradict each other.
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

/// A known size before a symbolic one, a symbolic one before an unknown one, what was recorded before what was inferred.
fn refined_size(inferred: &SymInt, recorded: &SymInt, keep: bool) -> Option<SymInt> {
    let keeps = match (inferred.known(), recorded.known()) {
        (Some(a), Some(b)) if a != b => return None,
        (Some(_), _) => true,
        (None, Some(_)) => false,
        (None, None) => recorded.has_anonymous() || (keep && !inferred.has_anonymous()),
    };
    Some(if keeps { inferred.clone() } else { recorded.clone() })
}
