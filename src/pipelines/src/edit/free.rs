//! Constant dimensions of inputs that become symbolic. `Reshape`s that hold the number are found, and mended where that is certain.

use std::collections::HashMap;

use super::super::dims::{self, dim_of, mentions};
use super::super::index::{graph_of, place_of};
use super::super::names;
use super::super::types::{self, has_shape};
use aten2onnx_convert::elements_of;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{
    GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, tensor_shape_proto::dimension::Value, type_proto,
};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::schema;
use aten2onnx_options::{DimName, WhichDim};
use aten2onnx_rules::Rules;

/// So many times a model is looked at again after nodes were mended.
const MOST_TURNS: usize = 64;

/// A dimension that was a constant.
struct Freed {
    input: String,
    axis: i64,
    before: i64,
    name: String,
}

/// The types of values, by name.
type Known = HashMap<String, TypeProto>;

/// Frees the constant dimensions of inputs that get names.
///
/// # Errors
/// Nodes that hold the number.
pub fn free(
    model: &mut Model,
    source: &Source,
    dims: &[DimName],
    rules: &Rules,
    notes: &mut Vec<String>,
) -> Result<()> {
    let freed = freed(model, dims)?;
    if freed.is_empty() {
        return Ok(());
    }
    let before = types::infer(source, rules).unwrap_or_default();
    let mut open = source.proto.clone();
    if let Some(graph) = &mut open.graph {
        declare(graph, &freed)?;
    }
    for _ in 0..MOST_TURNS {
        let known =
            types::infer(&source.clone().with_proto(open.clone()), rules).map_err(|why| contradicted(&freed, why))?;
        let mended = mended(model, &freed, &before, &known)?;
        if mended.is_empty() {
            let Some(graph) = &mut model.proto.graph else { return Ok(()) };
            declare(graph, &freed)?;
            state(graph, &known);
            return Ok(());
        }
        for (number, sizes) in mended {
            let Some(node) = model.proto.graph.as_ref().and_then(|graph| graph.node.get(number)) else { continue };
            notes.push(format!("{} held the size that is free now: it reshapes to {sizes:?}", place_of(node)));
            let name = names::free(
                &format!("{}/sizes", node.output.first().map_or("", String::as_str)),
                &mut names::taken(model),
            );
            for graph in [&mut model.proto, &mut open].into_iter().filter_map(|proto| proto.graph.as_mut()) {
                give_sizes(graph, number, &name, &sizes);
            }
        }
    }
    Err(Error::internal("the sizes of a model were mended without end"))
}

/// The dimensions that are constants and get names.
fn freed(model: &mut Model, dims: &[DimName]) -> Result<Vec<Freed>> {
    let mut freed = Vec::new();
    let Some(graph) = &mut model.proto.graph else { return Ok(freed) };
    for dim in dims.iter().filter(|dim| dim.size().is_none()) {
        let WhichDim::Axis(input, axis) = &dim.which else { continue };
        if let Some(Value::DimValue(before)) = dim_of(graph, input, *axis)?.value {
            freed.push(Freed { input: input.clone(), axis: *axis, before, name: dim.name.clone() });
        }
    }
    Ok(freed)
}

/// Declares the dimensions as free; types that may depend on them are no longer stated.
fn declare(graph: &mut GraphProto, freed: &[Freed]) -> Result<()> {
    for dim in freed {
        dim_of(graph, &dim.input, dim.axis)?.value = Some(Value::DimParam(dim.name.clone()));
    }
    let inputs = std::mem::take(&mut graph.input);
    dims::visit(graph, &mut |value| unstate(value));
    graph.value_info.retain(|info| info.r#type.is_some());
    graph.input = inputs;
    Ok(())
}

/// Leaves the shape of a tensor open.
fn unstate(value: &mut ValueInfoProto) {
    if let Some(type_proto::Value::TensorType(tensor)) = value.r#type.as_mut().and_then(|ty| ty.value.as_mut()) {
        tensor.shape = None;
    }
}

/// States what is known now.
fn state(graph: &mut GraphProto, known: &Known) {
    for value in graph.output.iter_mut().chain(&mut graph.value_info) {
        if let Some(ty) = known.get(value.name()).filter(|ty| has_shape(ty)) {
            value.r#type = Some(ty.clone());
        }
    }
    graph.value_info.retain(|info| info.r#type.as_ref().is_some_and(has_shape));
}

fn contradicted(freed: &[Freed], why: Error) -> Error {
    let names: Vec<String> = freed.iter().map(|dim| format!("{}:{}", dim.input, dim.axis)).collect();
    let message = format!("the model does not allow another size of `{}`: {}", names.join("`, `"), why.message);
    let help = "a node holds the number; export the model with a dynamic dimension instead";
    why.place.iter().rev().fold(Error::unsupported(message), |error, place| error.at(place.clone())).help(help)
}

/// The nodes that hold a number that is free, with the sizes that they get.
fn mended(model: &Model, freed: &[Freed], before: &Known, known: &Known) -> Result<Vec<(usize, Vec<i64>)>> {
    let graph = graph_of(&model.proto)?;
    let mut mended = Vec::new();
    let mut held = Vec::new();
    for (number, node) in graph.node.iter().enumerate().filter(|(_, node)| reshapes(node)) {
        let (Some(input), Some(output)) = (shape_of(node.input.first(), known), shape_of(node.output.first(), known))
        else {
            continue;
        };
        let Some(sizes) = node.input.get(1).and_then(|name| ints_of(model, graph, name)) else { continue };
        let Some(dim) = freed.iter().find(|dim| holds(&input, &output, dim, &sizes)) else { continue };
        let old = shape_of(node.output.first(), before);
        match new_sizes(node, dim, &sizes, &input, old.as_deref()) {
            Some(sizes) => mended.push((number, sizes)),
            None => held.push(format!("{} reshapes to {sizes:?}", place_of(node))),
        }
    }
    if held.is_empty() {
        return Ok(mended);
    }
    Err(Error::unsupported(format!("nodes hold a size that is to be free:\n    {}", held.join("\n    ")))
        .help("what they should reshape to does not follow: export the model with a dynamic dimension instead"))
}

fn reshapes(node: &NodeProto) -> bool {
    matches!(node.domain(), "" | "ai.onnx") && schema::facts(node.op_type()).shape == schema::Shape::Reshape
}

fn shape_of(name: Option<&String>, known: &Known) -> Option<Vec<Option<Value>>> {
    match known.get(name?)?.value.as_ref()? {
        type_proto::Value::TensorType(tensor) => {
            Some(tensor.shape.as_ref()?.dim.iter().map(|dim| dim.value.clone()).collect())
        }
        _ => None,
    }
}

fn has(shape: &[Option<Value>], dim: &Freed) -> bool {
    shape.iter().flatten().any(|size| matches!(size, Value::DimParam(text) if mentions(text, &dim.name)))
}

/// Whether sizes to reshape to hold the number of a dimension that is free.
fn holds(input: &[Option<Value>], output: &[Option<Value>], dim: &Freed, sizes: &[i64]) -> bool {
    let leads = |shape: &[Option<Value>]| shape.get(..1).is_some_and(|first| has(first, dim));
    match leads(input) {
        true => same_axis(input, dim, sizes).is_some() || !leads(output),
        false => has(input, dim) && (same_axis(input, dim, sizes).is_some() || !has(output, dim)),
    }
}

/// The axis that is the dimension in the input, and its number in the sizes to reshape to; the axes before it are the same in both.
fn same_axis(input: &[Option<Value>], dim: &Freed, sizes: &[i64]) -> Option<usize> {
    let axis = input.iter().position(|size| *size == Some(Value::DimParam(dim.name.clone())))?;
    let mut before = input.iter().zip(sizes).take(axis);
    let is_same = before.all(|(size, to)| *to == 0 || *size == Some(Value::DimValue(*to)));
    (is_same && sizes.get(axis) == Some(&dim.before)).then_some(axis)
}

/// The sizes that a node reshapes to if a dimension is free; None if they do not follow.
fn new_sizes(
    node: &NodeProto,
    dim: &Freed,
    sizes: &[i64],
    input: &[Option<Value>],
    before: Option<&[Option<Value>]>,
) -> Option<Vec<i64>> {
    let copies = !node.attribute.iter().any(|attribute| attribute.name() == "allowzero" && attribute.i() != 0);
    let with = |sizes: &[i64], axis: usize, size: i64| {
        let mut sizes = sizes.to_vec();
        *sizes.get_mut(axis)? = size;
        Some(sizes)
    };
    if let Some(axis) = same_axis(input, dim, sizes).filter(|_| copies) {
        return with(sizes, axis, 0);
    }
    // The first dimension varies slowest: a multiple of it in the first one of the result keeps the order of the elements.
    let constant = |size: &Option<Value>| match size {
        Some(Value::DimValue(size)) => Some(*size),
        _ => None,
    };
    let whole: Option<Vec<i64>> = before?.iter().map(constant).collect();
    let whole = whole?;
    let leads = has(input.get(..1)?, dim) && *whole.first()? % dim.before.max(1) == 0;
    leads.then(|| with(&whole, 0, -1)).flatten()
}

/// Gives a node other sizes to reshape to.
fn give_sizes(graph: &mut GraphProto, number: usize, name: &str, sizes: &[i64]) {
    let Some(input) = graph.node.get_mut(number).and_then(|node| node.input.get_mut(1)) else { return };
    *input = name.to_owned();
    graph.initializer.push(TensorProto {
        name: Some(name.to_owned()),
        dims: vec![sizes.len() as i64],
        data_type: Some(Dtype::Int64.onnx()),
        raw_data: Some(sizes.iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<u8>>().into()),
        ..TensorProto::default()
    });
}

/// The elements of a constant of whole numbers: a weight, or the value of a node.
fn ints_of(model: &Model, graph: &GraphProto, name: &str) -> Option<Vec<i64>> {
    let packed = |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    if let Some(weight) = model.weights.iter().find(|weight| weight.name == name) {
        return (weight.dtype == Dtype::Int64).then(|| Some(packed(&weight.weight.storage.read().ok()?)))?;
    }
    let node = || graph.node.iter().find(|node| node.output.iter().any(|output| output == name));
    let inside = graph.initializer.iter().find(|tensor| tensor.name() == name);
    let tensor = inside.or_else(|| node()?.attribute.iter().find(|a| a.name() == "value")?.t.as_ref());
    let Some(tensor) = tensor.filter(|tensor| tensor.data_type() == Dtype::Int64.onnx()) else {
        return node()?.attribute.iter().find(|a| a.name() == "value_ints").map(|a| a.ints.clone());
    };
    Some(packed(&elements_of(tensor)?))
}
