//! Converts types of values from ONNX's messages.

use std::collections::HashMap;

use super::dims::Sizes;
use aten2onnx_builder::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;
use aten2onnx_onnx::proto::{TypeProto, tensor_shape_proto::dimension::Value as Dim, type_proto};

/// The maximal nesting of types; ONNX uses at most two.
const MAX_DEPTH: u32 = 8;

/// Reads types. Equal texts of dimensions are equal sizes.
#[derive(Debug, Default)]
pub struct Types {
    /// Symbolic sizes that become numbers.
    pub(super) sizes: Sizes,
    /// Symbols for expressions, which are not parsed.
    opaque: HashMap<String, SymInt>,
}

impl Types {
    /// Reads types with some sizes as numbers.
    pub fn new(sizes: Sizes) -> Types {
        Types { sizes, opaque: HashMap::new() }
    }

    /// The type; None if it is not declared, or not a tensor, sequence or optional (a map, a sparse tensor).
    pub fn read(&mut self, builder: &Builder, proto: &TypeProto) -> Option<Type> {
        self.nested(builder, proto, 0)
    }

    fn nested(&mut self, builder: &Builder, proto: &TypeProto, depth: u32) -> Option<Type> {
        if depth > MAX_DEPTH {
            return None;
        }
        match proto.value.as_ref()? {
            type_proto::Value::TensorType(tensor) => {
                let dtype = Dtype::from_onnx(tensor.elem_type())?;
                let dims = tensor.shape.as_ref().map(|shape| &shape.dim);
                let shape = dims.map(|dims| dims.iter().map(|dim| self.size(builder, dim.value.as_ref())).collect());
                Some(Type::Tensor { dtype, shape })
            }
            type_proto::Value::SequenceType(of) => {
                let of = self.nested(builder, of.elem_type.as_deref()?, depth + 1)?;
                Some(Type::Sequence(Box::new(of)))
            }
            type_proto::Value::OptionalType(of) => {
                let of = self.nested(builder, of.elem_type.as_deref()?, depth + 1)?;
                Some(Type::Optional(Box::new(of)))
            }
            _ => None,
        }
    }

    fn size(&mut self, builder: &Builder, dim: Option<&Dim>) -> SymInt {
        match dim {
            Some(Dim::DimValue(size)) if *size >= 0 => SymInt::from(*size),
            Some(Dim::DimParam(name)) if self.sizes.named(name).is_some() => {
                self.sizes.named(name).map_or_else(|| builder.unknown_size(), SymInt::from)
            }
            Some(Dim::DimParam(name)) if is_identifier(name) => SymInt::symbol(name.as_str()),
            Some(Dim::DimParam(text)) if !matches!(text.as_str(), "" | "?" | "-1") => {
                let count = self.opaque.len();
                self.opaque.entry(text.clone()).or_insert_with(|| SymInt::symbol(format!("?dim_{count}"))).clone()
            }
            _ => builder.unknown_size(),
        }
    }
}

/// Whether it is an identifier, and not one that exporters write for unknown sizes.
fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first && chars.all(|c| c.is_alphanumeric() || c == '_') && text != "None"
}
