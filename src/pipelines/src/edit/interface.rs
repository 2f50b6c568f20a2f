//! Inputs and outputs: their names and dtypes.

use rustc_hash::FxHashMap;

use super::super::index::graph_of;
use super::super::names::{self, Names, rename_reads};
use super::super::places::no_such;
use super::super::types::opset_of;
use super::Options;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::model::number;
use aten2onnx_onnx::proto::{
    AttributeProto, GraphProto, NodeProto, ValueInfoProto, attribute_proto::AttributeType, type_proto,
};
use aten2onnx_onnx::schema;
use aten2onnx_options::Rename;

/// The operator that changes dtypes.
const CAST: &str = "Cast";

/// The new names of inputs and outputs, by their names.
pub fn names(graph: &GraphProto, options: &Options) -> Result<Names> {
    let mut names = Names::default();
    for (what, values, choices) in
        [("input", &graph.input, &options.input_names), ("output", &graph.output, &options.output_names)]
    {
        let known: Vec<&str> = values.iter().map(|value| value.name()).collect();
        for (old, new) in chosen(what, &known, choices)? {
            if names.insert(old.clone(), new).is_some() {
                return Err(Error::unsupported(format!("two names are given for `{old}`"))
                    .help("a name alone is for the next in order, counted from the first: write `OLD=NEW`"));
            }
        }
    }
    Ok(names)
}

fn chosen(what: &str, known: &[&str], choices: &[Rename]) -> Result<Vec<(String, String)>> {
    let mut next = known.iter();
    let pair = |choice: &Rename| match &choice.old {
        Some(old) if known.contains(&old.as_str()) => Ok((old.clone(), choice.new.clone())),
        Some(old) => Err(no_such(what, old, known.iter().copied())),
        None => match next.next() {
            Some(old) => Ok(((*old).to_owned(), choice.new.clone())),
            None => Err(Error::unsupported(format!("the model has only {} of its {what}s to name", known.len()))
                .help(format!("leave out the name `{}`", choice.new))),
        },
    };
    choices.iter().map(pair).collect()
}

/// Gives inputs and outputs other dtypes, and casts them inside.
pub fn cast(model: &mut Model, inputs: &[(String, Dtype)], outputs: &[(String, Dtype)]) -> Result<()> {
    let mut taken = names::taken(model);
    for (is_input, (name, dtype)) in inputs.iter().map(|one| (true, one)).chain(outputs.iter().map(|one| (false, one)))
    {
        let placed = |error: Error| error.at(format!("{} `{name}`", if is_input { "input" } else { "output" }));
        let Some(before) = retyped(model, name, *dtype, is_input).map_err(placed)? else { continue };
        let inner = names::free(&format!("{name}/{CAST}"), &mut taken);
        let Some(graph) = &mut model.proto.graph else { continue };
        let renamed: Names = FxHashMap::from_iter([(name.clone(), inner.clone())]);
        graph.node.iter_mut().for_each(|node| rename_reads(node, &renamed));
        for node in graph.node.iter_mut().filter(|_| !is_input) {
            node.output.iter_mut().filter(|output| *output == name).for_each(|output| output.clone_from(&inner));
        }
        match is_input {
            true => graph.node.insert(0, cast_node(name, &inner, before)?),
            false => graph.node.push(cast_node(&inner, name, *dtype)?),
        }
    }
    Ok(())
}

fn cast_node(from: &str, to: &str, dtype: Dtype) -> Result<NodeProto> {
    let attribute = AttributeProto {
        name: Some("to".to_owned()),
        r#type: Some(AttributeType::Int.into()),
        i: Some(number(dtype)?.into()),
        ..AttributeProto::default()
    };
    Ok(NodeProto {
        name: Some(format!("{to}/{CAST}")),
        op_type: Some(CAST.to_owned()),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        attribute: vec![attribute],
        ..NodeProto::default()
    })
}

/// Declares another dtype, and returns the one before; None if it is the same.
fn retyped(model: &mut Model, name: &str, dtype: Dtype, is_input: bool) -> Result<Option<Dtype>> {
    let opset = opset_of(&model.proto);
    let graph = graph_of(&model.proto)?;
    let (what, values) = if is_input { ("input", &graph.input) } else { ("output", &graph.output) };
    let is_weight = graph.initializer.iter().any(|tensor| tensor.name() == name)
        || model.weights.iter().any(|weight| weight.name == name);
    if !values.iter().any(|value| value.name() == name) {
        return Err(no_such(what, name, values.iter().map(|value| value.name())));
    }
    if is_weight || graph.input.iter().any(|v| v.name() == name) && graph.output.iter().any(|v| v.name() == name) {
        return Err(Error::unsupported("it is a weight, or an input and an output at once, which cannot be cast")
            .help("only inputs without a default and outputs that nodes compute are cast"));
    }
    let Some(graph) = &mut model.proto.graph else { return Ok(None) };
    let mut values = if is_input { graph.input.iter_mut() } else { graph.output.iter_mut() };
    let declared = values.find(|value| value.name() == name).and_then(elem_type);
    let Some(elem_type) = declared else {
        return Err(Error::unsupported("it is not a tensor of a declared dtype").help("only tensors are cast"));
    };
    let before =
        Dtype::from_onnx(*elem_type).ok_or_else(|| Error::input(format!("unknown element type {elem_type}")))?;
    if before == dtype {
        return Ok(None);
    }
    check_cast(before, dtype, opset)?;
    *elem_type = number(dtype)?;
    Ok(Some(before))
}

fn elem_type(value: &mut ValueInfoProto) -> Option<&mut i32> {
    match value.r#type.as_mut()?.value.as_mut()? {
        type_proto::Value::TensorType(tensor) => tensor.elem_type.as_mut().filter(|number| **number != 0),
        _ => None,
    }
}

fn check_cast(before: Dtype, after: Dtype, opset: u32) -> Result<()> {
    let version = schema::find(CAST).and_then(|op| op.at(opset));
    let has = |port: Option<&schema::Port>, dtype| {
        let types = version.zip(port).and_then(|(version, port)| version.types.get(usize::from(port.ty)));
        types.is_none_or(|types| types.has(dtype))
    };
    let (from, to) = (version.and_then(|v| v.input_port(0)), version.and_then(|v| v.output_port(0)));
    match [(from, before), (to, after), (from, after), (to, before)]
        .into_iter()
        .find(|(port, dtype)| !has(*port, *dtype))
    {
        Some((_, dtype)) => Err(Error::unsupported(format!("opset {opset} cannot cast {dtype}"))
            .help("convert the model to a newer opset first: `aten2onnx convert`")),
        None => Ok(()),
    }
}
