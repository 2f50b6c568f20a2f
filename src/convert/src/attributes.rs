//! Converts attributes of nodes from ONNX's messages. Kinds that no known operator uses stay messages, with their tensors inside.

use prost::Message;

use super::graph::Conversion;
use super::own::own_attribute;
use super::tensors::Tensor;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::graph::intern;
use aten2onnx_onnx::graph::{Attr, Constant, Value};
use aten2onnx_onnx::proto::{AttributeProto, attribute_proto::AttributeType};
use aten2onnx_onnx::schema::Version;

impl Conversion<'_> {
    /// All attributes of a node except graphs, which need the types of the inputs first.
    pub(super) fn plain_attributes(
        &mut self,
        protos: &[AttributeProto],
        form: Option<&'static Version>,
    ) -> Result<Vec<(&'static str, Attr)>> {
        let mut attrs = Vec::with_capacity(protos.len());
        for proto in protos {
            let Some(proto) = self.resolved(proto) else { continue };
            if matches!(kind(&proto), AttributeType::Graph | AttributeType::Graphs) {
                continue;
            }
            let name = attribute_name(form, proto.name());
            let attr = self.attribute(&proto).map_err(|error| error.at(format!("attribute `{}`", proto.name())))?;
            attrs.push((name, attr));
        }
        Ok(attrs)
    }

    /// The attribute itself, or inside a function the one that it refers to in the call; None if that is absent.
    pub(super) fn resolved(&self, proto: &AttributeProto) -> Option<AttributeProto> {
        match proto.ref_attr_name() {
            "" => Some(proto.clone()),
            name => {
                let given = self.function_attribute(name)?;
                Some(AttributeProto { name: proto.name.clone(), ..given.clone() })
            }
        }
    }

    fn attribute(&mut self, proto: &AttributeProto) -> Result<Attr> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let message = || Attr::Message(proto.encode_to_vec().into());
        Ok(match kind(proto) {
            AttributeType::Float => Attr::Float(proto.f().into()),
            AttributeType::Int => Attr::Int(proto.i()),
            AttributeType::String => text(proto.s()).map_or_else(message, Attr::Str),
            AttributeType::Floats => Attr::Floats(proto.floats.iter().copied().map(f64::from).collect()),
            AttributeType::Ints => Attr::Ints(proto.ints.clone()),
            AttributeType::Strings => {
                let texts: Option<Vec<String>> = proto.strings.iter().map(|bytes| text(bytes)).collect();
                texts.map_or_else(message, Attr::Strs)
            }
            AttributeType::Tensor => {
                let tensor = proto.t.as_ref().ok_or_else(|| Error::input("a tensor is missing"))?;
                Attr::Tensor(self.constant_of_tensor(tensor)?)
            }
            AttributeType::Tensors | AttributeType::SparseTensor | AttributeType::SparseTensors => {
                Attr::Message(self.embedded(proto)?.encode_to_vec().into())
            }
            _ => message(),
        })
    }

    /// The attribute with all elements of its tensors inside.
    fn embedded(&mut self, proto: &AttributeProto) -> Result<AttributeProto> {
        let mut proto = proto.clone();
        own_attribute(&mut proto, &mut self.tensors)?;
        Ok(proto)
    }

    fn constant_of_tensor(&mut self, proto: &aten2onnx_onnx::proto::TensorProto) -> Result<Value> {
        let constant = match self.tensors.read(proto)? {
            Tensor::Constant(constant) => constant,
            // Attributes contain their bytes.
            Tensor::Weight(weight) => {
                let payload = Payload::new(&weight)?;
                let mut bytes = Vec::new();
                payload.write(&mut bytes)?;
                Constant::new(weight.dtype, weight.sizes.clone(), bytes)
            }
        };
        Ok(self.builder.intern(constant))
    }
}

/// The kind, which very old models omit.
pub fn kind(proto: &AttributeProto) -> AttributeType {
    match proto.r#type() {
        AttributeType::Undefined if proto.f.is_some() => AttributeType::Float,
        AttributeType::Undefined if proto.i.is_some() => AttributeType::Int,
        AttributeType::Undefined if proto.s.is_some() => AttributeType::String,
        AttributeType::Undefined if proto.t.is_some() => AttributeType::Tensor,
        AttributeType::Undefined if proto.g.is_some() => AttributeType::Graph,
        AttributeType::Undefined if !proto.floats.is_empty() => AttributeType::Floats,
        AttributeType::Undefined if !proto.ints.is_empty() => AttributeType::Ints,
        AttributeType::Undefined if !proto.strings.is_empty() => AttributeType::Strings,
        AttributeType::Undefined if !proto.graphs.is_empty() => AttributeType::Graphs,
        AttributeType::Undefined if !proto.tensors.is_empty() => AttributeType::Tensors,
        AttributeType::Undefined if proto.sparse_tensor.is_some() => AttributeType::SparseTensor,
        AttributeType::Undefined if !proto.sparse_tensors.is_empty() => AttributeType::SparseTensors,
        AttributeType::Undefined if proto.tp.is_some() => AttributeType::TypeProto,
        AttributeType::Undefined if !proto.type_protos.is_empty() => AttributeType::TypeProtos,
        kind => kind,
    }
}

/// The name in the schema, or the interned one.
pub fn attribute_name(form: Option<&'static Version>, name: &str) -> &'static str {
    let known = form.and_then(|form| form.attributes.iter().find(|a| a.name == name));
    known.map_or_else(|| intern(name), |attribute| attribute.name)
}
