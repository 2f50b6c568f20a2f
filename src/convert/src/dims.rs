//! `convert --dim batch=1`: symbolic sizes of a model's inputs that become numbers.

use aten2onnx_core::axes::counted_from_start;
use std::collections::{BTreeSet, HashMap};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;
use aten2onnx_onnx::proto::{
    GraphProto, TensorShapeProto, ValueInfoProto, tensor_shape_proto::dimension::Value as Dim, type_proto,
};
use aten2onnx_options::{DimName, WhichDim};

/// The sizes that become numbers.
#[derive(Debug, Default)]
pub struct Sizes {
    /// By the names of symbolic dimensions.
    named: HashMap<String, i64>,
    /// By input and axis: dimensions without a name.
    unnamed: HashMap<(String, usize), i64>,
}

impl Sizes {
    /// Reads the options against the inputs of a graph.
    ///
    /// # Errors
    /// An unknown dimension, input or axis; a name in place of a number; or two sizes for a dimension.
    pub fn of(graph: &GraphProto, dims: &[DimName]) -> Result<Sizes> {
        let mut sizes = Sizes::default();
        for dim in dims {
            let size = dim.size().ok_or_else(|| {
                Error::unsupported(format!("`{}` is not a size", dim.name))
                    .help("`convert` makes sizes constant: `--dim batch=1`; it does not rename them")
            })?;
            let before = match &dim.which {
                WhichDim::Symbol(name) => sizes.name(graph, name, size)?,
                WhichDim::Axis(input, axis) => sizes.axis(graph, input, *axis, size)?,
            };
            if before.is_some_and(|before| before != size) {
                return Err(Error::unsupported(format!("two sizes are given for `{}`", dim.which)));
            }
        }
        Ok(sizes)
    }

    fn name(&mut self, graph: &GraphProto, name: &str, size: i64) -> Result<Option<i64>> {
        let known = names(graph);
        if known.contains(name) {
            return Ok(self.named.insert(name.to_owned(), size));
        }
        let all: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let help = if all.is_empty() {
            "the inputs of this model have no named dimensions; give an input and its axis: `--dim x:0=1`".to_owned()
        } else {
            format!("the inputs have {}", all.join(", "))
        };
        Err(Error::unsupported(format!("the model has no dimension `{name}`")).help(help))
    }

    fn axis(&mut self, graph: &GraphProto, input: &str, axis: i64, size: i64) -> Result<Option<i64>> {
        let Some(found) = graph.input.iter().find(|known| known.name() == input) else {
            let known: Vec<String> = graph.input.iter().map(|input| format!("`{}`", input.name())).collect();
            let help = format!("the model has {}", known.join(", "));
            return Err(Error::unsupported(format!("the model has no input `{input}`")).help(help));
        };
        let dims = shape(found).map(|shape| shape.dim.as_slice()).unwrap_or_default();
        let rank = dims.len();
        let index = counted_from_start(axis, rank);
        let Some((index, dim)) = index.and_then(|index| dims.get(index).map(|dim| (index, dim))) else {
            return Err(Error::unsupported(format!(
                "the input `{input}` has no axis {axis}: it has {rank} dimensions"
            )));
        };
        match &dim.value {
            Some(Dim::DimValue(given)) if *given >= 0 && *given != size => {
                Err(Error::unsupported(format!("axis {axis} of the input `{input}` is {given}, not {size}")))
            }
            Some(Dim::DimParam(name)) if !name.is_empty() => Ok(self.named.insert(name.clone(), size)),
            _ => Ok(self.unnamed.insert((input.to_owned(), index), size)),
        }
    }

    /// The number for a named dimension.
    pub fn named(&self, name: &str) -> Option<i64> {
        self.named.get(name).copied()
    }

    /// Whether all sizes stay as they are.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.unnamed.is_empty()
    }

    /// Writes the numbers into the declaration of an input.
    pub fn state(&self, input: &mut ValueInfoProto) {
        let name = input.name().to_owned();
        let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_mut().and_then(|ty| ty.value.as_mut()) else {
            return;
        };
        let dims = tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim);
        for (axis, dim) in dims.enumerate() {
            let size = match &dim.value {
                Some(Dim::DimParam(symbol)) if !symbol.is_empty() => self.named(symbol),
                _ => self.unnamed.get(&(name.clone(), axis)).copied(),
            };
            if let Some(size) = size {
                dim.value = Some(Dim::DimValue(size));
            }
        }
    }

    /// Fills in the numbers of an input's dimensions that have no name.
    pub fn fill(&self, input: &str, ty: &mut Type) {
        let Type::Tensor { shape: Some(shape), .. } = ty else { return };
        for (axis, size) in shape.iter_mut().enumerate() {
            if let Some(given) = self.unnamed.get(&(input.to_owned(), axis)) {
                *size = SymInt::from(*given);
            }
        }
    }
}

/// The names of the dimensions of inputs.
fn names(graph: &GraphProto) -> BTreeSet<&str> {
    let dims = graph.input.iter().filter_map(shape).flat_map(|shape| &shape.dim);
    let named = dims.filter_map(|dim| match &dim.value {
        Some(Dim::DimParam(name)) if !name.is_empty() => Some(name.as_str()),
        _ => None,
    });
    named.collect()
}

fn shape(value: &ValueInfoProto) -> Option<&TensorShapeProto> {
    match value.r#type.as_ref()?.value.as_ref()? {
        type_proto::Value::TensorType(tensor) => tensor.shape.as_ref(),
        _ => None,
    }
}
