//! The types of values: those that the model declares, else those that a conversion to its own opset infers.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use rustc_hash::FxHashMap;

use aten2onnx_convert::convert;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::model::number;
use aten2onnx_onnx::proto::{
    GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{Initializer, Model};
use aten2onnx_options::{ConvertOptions, InputSpec, OutputOptions, Size, Spec};
use aten2onnx_rules::Rules;

/// The types of a model's values.
#[derive(Debug)]
pub struct Types<'a> {
    source: &'a Source,
    rules: &'a Rules,
    /// The nodes in an order in which each value is computed before it is read.
    order: &'a [usize],
    declared: FxHashMap<String, TypeProto>,
    /// What a conversion infers, or why there is none.
    inferred: OnceCell<Result<HashMap<String, TypeProto>>>,
}

impl<'a> Types<'a> {
    /// The types that a model declares, with those that the user gives.
    ///
    /// # Errors
    /// A given type that is not a tensor.
    pub fn of(
        source: &'a Source,
        model: &Model,
        order: &'a [usize],
        rules: &'a Rules,
        given: &[InputSpec],
    ) -> Result<Types<'a>> {
        let mut declared = FxHashMap::default();
        if let Some(graph) = &model.proto.graph {
            declared.extend(stated(graph).map(|(name, ty)| (name.to_owned(), ty.clone())));
            for tensor in &graph.initializer {
                declared.insert(tensor.name().to_owned(), tensor_type(tensor.data_type(), &tensor.dims));
            }
            for values in
                graph.sparse_initializer.iter().filter_map(|tensor| Some((tensor.values.as_ref()?, &tensor.dims)))
            {
                declared.insert(values.0.name().to_owned(), tensor_type(values.0.data_type(), values.1));
            }
        }
        for weight in &model.weights {
            declared.insert(weight.name.clone(), weight_type(weight)?);
        }
        for spec in given {
            declared.insert(spec.name.clone(), given_type(spec)?);
        }
        Ok(Types { source, rules, order, declared, inferred: OnceCell::new() })
    }

    /// The declaration of an input or output.
    ///
    /// # Errors
    /// A type that is neither declared nor can be inferred.
    pub fn declaration(&self, name: &str) -> Result<ValueInfoProto> {
        let ty = self.ty(name).map_err(|error| error.at(format!("value `{name}`")))?;
        Ok(ValueInfoProto { name: Some(name.to_owned()), r#type: Some(ty), ..ValueInfoProto::default() })
    }

    fn ty(&self, name: &str) -> Result<TypeProto> {
        let declared = self.declared.get(name);
        if let Some(ty) = declared.filter(|ty| has_shape(ty)) {
            return Ok(ty.clone());
        }
        let inferred = self.inferred.get_or_init(|| infer(&self.sorted(), self.rules));
        let found = inferred.as_ref().ok().and_then(|types| types.get(name));
        if let Some(ty) = found.or(declared) {
            return Ok(ty.clone());
        }
        let error = match inferred {
            Ok(_) => Error::unsupported("its type is not declared, and cannot be inferred"),
            Err(why) => {
                Error::unsupported(format!("its type is not declared, and cannot be inferred: {}", why.message))
            }
        };
        Err(error.help(format!("give it: `--type {name}:f32[batch,3]`")))
    }
}

/// The types that a conversion of a model to its own opset infers, by name.
///
/// # Errors
/// Nodes that are not known, or sizes that contradict one another.
pub fn infer(source: &Source, rules: &Rules) -> Result<HashMap<String, TypeProto>> {
    let opset = opset_of(&source.proto).clamp(MIN_OPSET, MAX_OPSET);
    let converted = convert(source, &ConvertOptions::from(OutputOptions::of_rules(rules, opset, None)))?;
    let graph = converted.model.proto.graph.unwrap_or_default();
    Ok(stated(&graph).map(|(name, ty)| (name.to_owned(), ty.clone())).collect())
}

impl Types<'_> {
    /// The dtype of a tensor, if it is declared or can be inferred.
    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        let inferred = self.inferred.get_or_init(|| infer(&self.sorted(), self.rules));
        let ty = self.declared.get(name).or_else(|| inferred.as_ref().ok()?.get(name))?;
        match &ty.value {
            Some(type_proto::Value::TensorType(tensor)) => Dtype::from_onnx(tensor.elem_type()),
            _ => None,
        }
    }

    /// The model with its nodes in order, and with all types that are known.
    pub fn typed(&self) -> Source {
        let mut source = self.sorted();
        let inferred = self.inferred.get_or_init(|| infer(&source, self.rules));
        let Some(graph) = &mut source.proto.graph else { return source };
        let stated: HashSet<String> = stated(graph).map(|(name, _)| name.to_owned()).collect();
        let weights: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name()).collect();
        let known = self.declared.iter().chain(inferred.iter().flatten());
        let mut found: BTreeMap<&str, &TypeProto> = BTreeMap::new();
        for (name, ty) in known.filter(|(name, _)| !stated.contains(*name) && !weights.contains(name.as_str())) {
            found.entry(name).or_insert(ty);
        }
        let info = |(name, ty): (&str, &TypeProto)| ValueInfoProto {
            name: Some(name.to_owned()),
            r#type: Some(ty.clone()),
            ..ValueInfoProto::default()
        };
        let added: Vec<ValueInfoProto> = found.into_iter().map(info).collect();
        graph.value_info.extend(added);
        source
    }

    /// The model with its nodes in order.
    fn sorted(&self) -> Source {
        let mut proto = self.source.proto.clone();
        if let Some(graph) = proto.graph.as_mut().filter(|_| !self.order.is_sorted()) {
            let nodes = std::mem::take(&mut graph.node);
            graph.node = self.order.iter().filter_map(|number| nodes.get(*number)).cloned().collect();
        }
        self.source.clone().with_proto(proto)
    }
}

/// The opset of the default domain; a model without one is of opset 1.
pub fn opset_of(model: &ModelProto) -> u32 {
    let imports = model.opset_import.iter().filter(|import| matches!(import.domain(), "" | "ai.onnx"));
    imports.filter_map(|import| u32::try_from(import.version()).ok()).max().unwrap_or(1)
}

/// The values whose element types a graph declares.
fn stated(graph: &GraphProto) -> impl Iterator<Item = (&str, &TypeProto)> {
    let values = graph.value_info.iter().chain(&graph.output).chain(&graph.input);
    let typed = values.filter_map(|value| Some((value.name(), value.r#type.as_ref()?)));
    typed.filter(|(_, ty)| match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => tensor.elem_type() != 0,
        other => other.is_some(),
    })
}

/// Whether a tensor, or the elements of a sequence, have a number of dimensions.
pub fn has_shape(ty: &TypeProto) -> bool {
    match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => tensor.shape.is_some(),
        Some(type_proto::Value::SequenceType(of)) => of.elem_type.as_deref().is_some_and(has_shape),
        Some(type_proto::Value::OptionalType(of)) => of.elem_type.as_deref().is_some_and(has_shape),
        other => other.is_some(),
    }
}

/// The type of a weight.
pub fn weight_type(weight: &Initializer) -> Result<TypeProto> {
    Ok(tensor_type(number(weight.dtype)?, &weight.weight.sizes))
}

/// The type of a tensor of these sizes.
pub fn tensor_type(elem_type: i32, sizes: &[i64]) -> TypeProto {
    typed(elem_type, sizes.iter().map(|size| tensor_shape_proto::dimension::Value::DimValue(*size)))
}

fn typed(elem_type: i32, dims: impl Iterator<Item = tensor_shape_proto::dimension::Value>) -> TypeProto {
    let dim = dims.map(|value| tensor_shape_proto::Dimension { value: Some(value), denotation: None });
    let shape = Some(TensorShapeProto { dim: dim.collect() });
    let tensor = type_proto::Tensor { elem_type: Some(elem_type), shape };
    TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() }
}

fn given_type(spec: &InputSpec) -> Result<TypeProto> {
    let Spec::Tensor(dtype, sizes) = &spec.spec else {
        return Err(Error::unsupported(format!("the type of `{}` is not a tensor", spec.name))
            .help("write its dtype and sizes: `--type x:f32[batch,3]`"));
    };
    let dims = sizes.iter().map(|size| match size {
        Size::Known(size) => tensor_shape_proto::dimension::Value::DimValue(*size),
        Size::Named(name) => tensor_shape_proto::dimension::Value::DimParam(name.clone()),
    });
    Ok(typed(number(*dtype)?, dims))
}
