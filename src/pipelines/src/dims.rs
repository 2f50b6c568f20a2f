//! Names and numbers of symbolic dimensions, everywhere in a model.

use std::collections::BTreeSet;

use super::index::graph_of;
use super::places::no_such;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{
    GraphProto, TypeProto, ValueInfoProto, tensor_shape_proto::Dimension, tensor_shape_proto::dimension::Value,
    type_proto,
};
use aten2onnx_options::{DimName, WhichDim};

/// Gives dimensions names or numbers. One that is a constant and gets a name was freed before.
pub fn change(model: &mut Model, dims: &[DimName]) -> Result<()> {
    for dim in dims {
        let size = dim.size().map(Value::DimValue).unwrap_or_else(|| Value::DimParam(dim.name.clone()));
        match &dim.which {
            WhichDim::Symbol(symbol) => {
                let known = symbols(graph_of(&model.proto)?);
                if !known.contains(symbol) {
                    return Err(no_such("dimension", symbol, known.iter().map(String::as_str)));
                }
                replace(model, symbol, &size);
            }
            WhichDim::Axis(input, axis) => of_axis(model, input, *axis, &size)?,
        }
    }
    Ok(())
}

fn of_axis(model: &mut Model, input: &str, axis: i64, size: &Value) -> Result<()> {
    let Some(graph) = &mut model.proto.graph else { return Ok(()) };
    let dim = dim_of(graph, input, axis)?;
    match dim.value.clone() {
        Some(Value::DimParam(symbol)) if !symbol.is_empty() => replace(model, &symbol, size),
        Some(Value::DimValue(given)) if given >= 0 && Value::DimValue(given) != *size => {
            return Err(Error::unsupported(format!("axis {axis} of the input `{input}` is {given}, another number"))
                .help(format!("give it a name first: `--dim {input}:{axis}=batch`")));
        }
        _ => dim.value = Some(size.clone()),
    }
    Ok(())
}

/// A dimension of an input.
///
/// # Errors
/// There is no such input, or no such axis.
pub fn dim_of<'g>(graph: &'g mut GraphProto, input: &str, axis: i64) -> Result<&'g mut Dimension> {
    let known: Vec<String> = graph.input.iter().map(|input| input.name().to_owned()).collect();
    let found = graph.input.iter_mut().find(|known| known.name() == input);
    let found = found.ok_or_else(|| no_such("input", input, known.iter().map(String::as_str)))?;
    let shape = found.r#type.as_mut().and_then(shape_of).map(Vec::as_mut_slice).unwrap_or_default();
    let rank = shape.len();
    let index = counted_from_start(axis, rank);
    index.and_then(|index| shape.get_mut(index)).ok_or_else(|| {
        Error::unsupported(format!("the input `{input}` has no axis {axis}: it has {rank} dimensions"))
            .help("axes are counted from 0, or from -1 at the end")
    })
}

fn shape_of(ty: &mut TypeProto) -> Option<&mut Vec<Dimension>> {
    match ty.value.as_mut()? {
        type_proto::Value::TensorType(tensor) => tensor.shape.as_mut().map(|shape| &mut shape.dim),
        type_proto::Value::SequenceType(of) => shape_of(of.elem_type.as_deref_mut()?),
        type_proto::Value::OptionalType(of) => shape_of(of.elem_type.as_deref_mut()?),
        _ => None,
    }
}

/// Visits the declared types of a graph and of its bodies.
pub fn visit(graph: &mut GraphProto, found: &mut dyn FnMut(&mut ValueInfoProto)) {
    graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info).for_each(&mut *found);
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    attributes.flat_map(|a| a.g.iter_mut().chain(&mut a.graphs)).for_each(|body| visit(body, found));
}

/// Replaces a symbol. Sizes that are computed from it, such as `2*n`, are no longer stated if it becomes a number.
pub fn replace(model: &mut Model, symbol: &str, size: &Value) {
    let change = |dim: &mut Dimension| {
        let Some(Value::DimParam(text)) = &dim.value else { return };
        let parts = words(text);
        if !parts.contains(&symbol) {
            return;
        }
        dim.value = match (size, parts.as_slice()) {
            (_, [_]) => Some(size.clone()),
            (Value::DimParam(new), parts) => {
                Some(Value::DimParam(parts.iter().map(|part| if *part == symbol { new } else { *part }).collect()))
            }
            (Value::DimValue(_), _) => None,
        };
    };
    if let Some(graph) = &mut model.proto.graph {
        let change = |value: &mut ValueInfoProto| {
            value.r#type.as_mut().and_then(shape_of).into_iter().flatten().for_each(change);
        };
        visit(graph, &mut { change });
    }
}

/// Whether it is a name, not an expression.
pub fn is_name(text: &str) -> bool {
    matches!(words(text).as_slice(), [_]) && !text.starts_with(|c: char| c.is_numeric())
}

/// Whether an expression contains a name.
pub fn mentions(text: &str, name: &str) -> bool {
    words(text).contains(&name)
}

/// The names, and what is between them, of an expression.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

/// The symbols of the types that a graph declares.
pub fn symbols(graph: &GraphProto) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut graph = GraphProto {
        input: graph.input.clone(),
        output: graph.output.clone(),
        value_info: graph.value_info.clone(),
        ..GraphProto::default()
    };
    visit(&mut graph, &mut |value| {
        for dim in value.r#type.as_mut().and_then(shape_of).into_iter().flatten() {
            if let Some(Value::DimParam(text)) = &dim.value {
                let names =
                    words(text).into_iter().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
                known.extend(names.map(str::to_owned));
            }
        }
    });
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_consist_of_names_and_what_is_between_them() {
        assert_eq!(words("n"), ["n"]);
        assert_eq!(words("2*n + nn//2"), ["2", "*", "n", " + ", "nn", "//", "2"]);
        assert!(words("").is_empty());
    }
}
