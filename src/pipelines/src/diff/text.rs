//! Types, nodes and functions as lines of text.

use aten2onnx_convert::elements_of;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto,
    tensor_shape_proto::dimension::Value, type_proto,
};

/// The most characters of a text.
const MOST: usize = 120;

/// The most bytes of a tensor that are shown.
const FEW: usize = 64;

/// The beginning of a text in one line.
pub fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// `x float32[n, 3]`
pub fn value(value: &ValueInfoProto) -> String {
    format!("{} {}", value.name(), value.r#type.as_ref().map_or_else(|| "of an unknown type".to_owned(), ty))
}

fn ty(of: &TypeProto) -> String {
    let nested = |of: Option<&TypeProto>| of.map(ty).unwrap_or_default();
    match &of.value {
        Some(type_proto::Value::TensorType(tensor)) => {
            let size = |value: &Option<Value>| match value {
                Some(Value::DimValue(size)) => size.to_string(),
                Some(Value::DimParam(name)) => name.clone(),
                None => "?".to_owned(),
            };
            let sizes =
                tensor.shape.as_ref().map(|shape| shape.dim.iter().map(|dim| size(&dim.value)).collect::<Vec<_>>());
            format!(
                "{}{}",
                dtype(tensor.elem_type()),
                sizes.map_or_else(String::new, |sizes| format!("[{}]", sizes.join(", ")))
            )
        }
        Some(type_proto::Value::SequenceType(of)) => format!("sequence of {}", nested(of.elem_type.as_deref())),
        Some(type_proto::Value::OptionalType(of)) => format!("optional {}", nested(of.elem_type.as_deref())),
        Some(_) => "another type".to_owned(),
        None => "of an unknown type".to_owned(),
    }
}

fn dtype(number: i32) -> String {
    Dtype::from_onnx(number).map_or_else(|| format!("dtype {number}"), |dtype| dtype.to_string())
}

/// `float32[3]`
pub fn tensor(tensor: &TensorProto) -> String {
    format!("{}{:?}", dtype(tensor.data_type()), tensor.dims)
}

/// A tensor with its elements, or with a number that stands for many of them.
fn whole(of: &TensorProto) -> String {
    let strings: Vec<_> = of.string_data.iter().map(|text| String::from_utf8_lossy(text)).collect();
    let bytes = elements_of(of).unwrap_or_default();
    let elements = match bytes.len() <= FEW {
        true => format!("{bytes:?}"),
        false => format!("of {} bytes, {:016x}", bytes.len(), super::hash_of(&bytes)),
    };
    if strings.is_empty() { format!("{} {elements}", tensor(of)) } else { format!("{} {strings:?}", tensor(of)) }
}

/// A node with its attributes, in one line.
pub fn node(node: &NodeProto, model: &Model) -> String {
    let call = match node.domain() {
        "" => node.op_type().to_owned(),
        domain => format!("{domain}::{}", node.op_type()),
    };
    let known = |name: &&String| !name.is_empty();
    let inputs = node.input.iter().filter(known).map(String::as_str).collect::<Vec<_>>().join(", ");
    let outputs = node.output.iter().filter(known).map(String::as_str).collect::<Vec<_>>().join(", ");
    let attributes: Vec<String> = node.attribute.iter().map(attribute).collect();
    let attributes = if attributes.is_empty() { String::new() } else { format!(" {{{}}}", attributes.join(", ")) };
    let function = model.proto.functions.iter().any(|f| f.domain() == node.domain() && f.name() == node.op_type());
    let what = if function { "function " } else { "" };
    short(&format!("{outputs} = {what}{call}({inputs}){attributes} `{}`", node.name()))
}

/// All attributes of a node in the order of their names.
pub fn attributes(node: &NodeProto) -> Vec<String> {
    let mut all: Vec<String> = node.attribute.iter().map(attribute).collect();
    all.sort();
    all
}

/// The attributes of a node that are no tensors, and the types of those that are.
pub fn forms(node: &NodeProto) -> Vec<String> {
    let form = |of: &AttributeProto| match &of.t {
        Some(found) => format!("{} = {}", of.name(), tensor(found)),
        None => attribute(of),
    };
    let mut all: Vec<String> = node.attribute.iter().map(form).collect();
    all.sort();
    all
}

/// `axis = 1`; graphs and tensors with all that they contain.
fn attribute(attribute: &AttributeProto) -> String {
    let tensors = attribute.t.iter().chain(&attribute.tensors).map(whole);
    let graphs = attribute.g.iter().chain(&attribute.graphs).map(graph);
    let inner: Vec<String> = tensors.chain(graphs).collect();
    let value = if !inner.is_empty() {
        inner.join("; ")
    } else if !attribute.ref_attr_name().is_empty() {
        format!("@{}", attribute.ref_attr_name())
    } else if let Some(text) = &attribute.s {
        format!("{:?}", String::from_utf8_lossy(text))
    } else if let Some(number) = attribute.i {
        number.to_string()
    } else if let Some(number) = attribute.f {
        format!("{number:?}")
    } else if !attribute.ints.is_empty() {
        format!("{:?}", attribute.ints)
    } else if !attribute.floats.is_empty() {
        format!("{:?}", attribute.floats)
    } else {
        let types: Vec<String> = attribute.tp.iter().chain(&attribute.type_protos).map(ty).collect();
        format!("{:?} {types:?}", attribute.strings.iter().map(|s| String::from_utf8_lossy(s)).collect::<Vec<_>>())
    };
    format!("{} = {value}", attribute.name())
}

fn graph(graph: &GraphProto) -> String {
    let nodes: Vec<String> = graph.node.iter().map(plain).collect();
    let weights = graph.initializer.iter().map(|t| format!("{} {}", t.name(), whole(t)));
    let names = |values: &[ValueInfoProto]| values.iter().map(|value| value.name()).collect::<Vec<_>>().join(", ");
    let weights: Vec<String> = weights.collect();
    format!("({}) -> ({}): {} {}", names(&graph.input), names(&graph.output), weights.join("; "), nodes.join("; "))
}

/// A node without its name.
fn plain(node: &NodeProto) -> String {
    let attributes = attributes(node).join(", ");
    format!(
        "{} = {}::{}({}) {{{attributes}}}",
        node.output.join(", "),
        node.domain(),
        node.op_type(),
        node.input.join(", ")
    )
}

/// A function with all that it contains.
pub fn function(function: &FunctionProto) -> String {
    let nodes: Vec<String> = function.node.iter().map(plain).collect();
    let opsets: Vec<String> = function.opset_import.iter().map(|i| format!("{} {}", i.domain(), i.version())).collect();
    let defaults: Vec<String> = function.attribute_proto.iter().map(attribute).collect();
    format!(
        "({}) -> ({}): {} [{}] {} {}",
        function.input.join(", "),
        function.output.join(", "),
        nodes.join("; "),
        opsets.join(", "),
        function.attribute.join(", "),
        defaults.join(", ")
    )
}
