//! The IR version: the lowest that the content requires, because runtimes reject models with newer versions.
//!
//! It is independent of the opset. The floors are by feature, according to ONNX's history of IR versions.

use std::str::FromStr;

use super::Model;
use crate::facts;
use crate::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto, type_proto};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

/// The version that came with the oldest opset; below it, initializers must be inputs as well.
const OLDEST: u32 = facts::IR_VERSIONS[0].1;
/// The newest version that is known here.
const NEWEST: u32 = facts::IR_VERSIONS[facts::IR_VERSIONS.len() - 1].1;

/// The requested IR version of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ir {
    /// The lowest that the model requires, which most readers accept.
    #[default]
    Lowest,
    /// The version of the ONNX release that introduced the opset.
    Release,
    /// A fixed version.
    Version(u32),
}

impl Ir {
    /// The requested version; None for the lowest.
    pub fn version(self, opset: u32) -> Option<u32> {
        match self {
            Ir::Lowest => None,
            Ir::Release => facts::IR_VERSIONS.iter().find(|(o, _)| *o == opset).map(|(_, ir)| *ir),
            Ir::Version(version) => Some(version),
        }
    }
}

impl FromStr for Ir {
    type Err = String;

    fn from_str(text: &str) -> Result<Ir, String> {
        match text {
            "lowest" => Ok(Ir::Lowest),
            "release" => Ok(Ir::Release),
            _ => text.parse().map(Ir::Version).map_err(|_| "a number, `lowest` or `release`".to_owned()),
        }
    }
}

/// A version and the feature that requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// The version.
    pub version: u32,
    /// The feature that requires it.
    pub reason: String,
}

/// Sets the version to `asked`, or to the lowest that is sufficient.
pub fn set(model: &mut Model, asked: Option<u32>) -> Result<()> {
    let floor = needed(model);
    let version = match asked {
        None => floor.version.max(OLDEST),
        Some(asked) if asked > NEWEST => {
            return Err(Error::unsupported(format!("IR version {asked} does not exist"))
                .help(format!("the newest is {NEWEST}, and this model needs at least {}", floor.version)));
        }
        Some(asked) if asked < floor.version => {
            let needs = format!("the model needs IR version {} for {}", floor.version, floor.reason);
            return Err(Error::unsupported(format!("IR version {asked} is too old for this model")).help(needs));
        }
        Some(asked) => asked,
    };
    model.proto.ir_version = Some(version.into());
    Ok(())
}

/// The lowest version that supports this model.
pub fn needed(model: &Model) -> Floor {
    let mut floor = Floor { version: 3, reason: "a graph".to_owned() };
    if !model.weights.is_empty() {
        floor.require(4, || "initializers that are not inputs".to_owned());
    }
    for weight in &model.weights {
        floor.dtype(weight.dtype, &weight.name);
    }
    floor.model(&model.proto);
    floor
}

/// The version that introduced an element type.
fn of_dtype(dtype: Dtype) -> u32 {
    use Dtype::*;
    match dtype {
        Bfloat16 => 4,
        Float8E4M3FN | Float8E4M3FNUZ | Float8E5M2 | Float8E5M2FNUZ => 9,
        Uint4 | Int4 => 10,
        Float4E2M1 => 11,
        Float8E8M0 => 12,
        Uint2 | Int2 => 13,
        _ => 3,
    }
}

impl Floor {
    fn require(&mut self, version: u32, reason: impl FnOnce() -> String) {
        if version > self.version {
            *self = Floor { version, reason: reason() };
        }
    }

    fn dtype(&mut self, dtype: Dtype, name: &str) {
        self.require(of_dtype(dtype), || format!("{} (`{name}`)", dtype.onnx_name()));
    }

    fn number(&mut self, number: Option<i32>, name: &str) {
        if let Some(dtype) = Dtype::from_onnx(number.unwrap_or_default()) {
            self.dtype(dtype, name);
        }
    }

    fn model(&mut self, model: &ModelProto) {
        if let Some(function) = model.functions.first() {
            self.require(8, || format!("the function `{}`", function.name()));
        }
        for function in &model.functions {
            if !function.value_info.is_empty() || !function.metadata_props.is_empty() || !function.overload().is_empty()
            {
                self.require(10, || format!("the types inside of the function `{}`", function.name()));
            }
            function.value_info.iter().for_each(|info| self.value(info));
            function.node.iter().for_each(|node| self.node(node));
        }
        if let Some(graph) = &model.graph {
            self.graph(graph);
        }
    }

    fn graph(&mut self, graph: &GraphProto) {
        if !graph.initializer.is_empty() {
            self.require(4, || "initializers that are not inputs".to_owned());
        }
        for tensor in &graph.initializer {
            self.number(tensor.data_type, tensor.name());
        }
        for info in graph.input.iter().chain(&graph.output).chain(&graph.value_info) {
            self.value(info);
        }
        if !graph.metadata_props.is_empty() {
            self.require(10, || "metadata of the graph".to_owned());
        }
        graph.node.iter().for_each(|node| self.node(node));
    }

    fn value(&mut self, info: &ValueInfoProto) {
        if let Some(ty) = &info.r#type {
            self.ty(ty, info.name());
        }
        if !info.metadata_props.is_empty() {
            self.require(10, || format!("metadata of the value `{}`", info.name()));
        }
    }

    fn ty(&mut self, ty: &TypeProto, name: &str) {
        match &ty.value {
            Some(type_proto::Value::TensorType(tensor)) => self.number(tensor.elem_type, name),
            Some(type_proto::Value::SparseTensorType(tensor)) => self.number(tensor.elem_type, name),
            Some(type_proto::Value::SequenceType(of)) => of.elem_type.iter().for_each(|ty| self.ty(ty, name)),
            Some(type_proto::Value::OptionalType(of)) => {
                self.require(8, || format!("an optional type (`{name}`)"));
                of.elem_type.iter().for_each(|ty| self.ty(ty, name));
            }
            Some(type_proto::Value::MapType(of)) => of.value_type.iter().for_each(|ty| self.ty(ty, name)),
            Some(type_proto::Value::OpaqueType(_)) | None => {}
        }
    }

    fn node(&mut self, node: &NodeProto) {
        if !node.metadata_props.is_empty() {
            self.require(10, || format!("metadata of the node `{}`", node.name()));
        }
        if !node.overload().is_empty() {
            self.require(10, || format!("the overload of the node `{}`", node.name()));
        }
        if !node.device_configurations.is_empty() {
            self.require(11, || format!("the devices of the node `{}`", node.name()));
        }
        node.attribute.iter().for_each(|attribute| self.attribute(attribute, node.name()));
    }

    fn attribute(&mut self, attribute: &AttributeProto, node: &str) {
        for tensor in attribute.t.iter().chain(&attribute.tensors) {
            self.number(tensor.data_type, node);
        }
        for ty in attribute.tp.iter().chain(&attribute.type_protos) {
            self.ty(ty, node);
        }
        attribute.g.iter().chain(&attribute.graphs).for_each(|graph| self.graph(graph));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_are_read_by_name_and_number() {
        assert_eq!("release".parse::<Ir>().unwrap().version(13), Some(7));
        assert_eq!("10".parse::<Ir>().unwrap().version(13), Some(10));
        assert_eq!("lowest".parse::<Ir>().unwrap().version(13), None);
        assert!("newest".parse::<Ir>().is_err());
    }
}
