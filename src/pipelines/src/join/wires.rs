//! Which outputs are which inputs, and whether their types fit.

use std::str::FromStr;

use super::super::dims;
use super::super::index::graph_of;
use super::Joined;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::{TypeProto, ValueInfoProto, tensor_shape_proto::dimension::Value, type_proto};

/// An output and the input that it becomes, as the user names them: `out=in`, or `a:out=b:in` with the names of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// The output.
    pub from: String,
    /// The input.
    pub to: String,
}

impl FromStr for Wire {
    type Err = String;

    fn from_str(text: &str) -> Result<Wire, String> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(Wire { from: from.to_owned(), to: to.to_owned() })
            }
            _ => Err("write OUT=IN, such as `features=x`, or MODEL:OUT=MODEL:IN".to_owned()),
        }
    }
}

/// A wire between models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wired {
    /// The number of the model, and its value.
    pub from: (usize, String),
    /// The number of the model, and its input.
    pub to: (usize, String),
}

/// Finds what wires connect.
///
/// # Errors
/// Names that no model has, or several; an input that is wired twice; types that do not fit.
pub fn find(parts: &[Joined], wires: &[Wire]) -> Result<Vec<Wired>> {
    let mut found: Vec<Wired> = Vec::new();
    for wire in wires {
        let placed = |error: Error| error.at(format!("wire `{}={}`", wire.from, wire.to));
        let from = end(parts, "output", &wire.from).map_err(placed)?;
        let to = end(parts, "input", &wire.to).map_err(placed)?;
        if from.0 == to.0 {
            return Err(placed(Error::unsupported("it connects a model with itself").help("wire two models")));
        }
        if found.iter().any(|other| other.to == to) {
            return Err(placed(
                Error::unsupported(format!("the input `{}` is wired twice", to.1)).help("an input gets one value"),
            ));
        }
        let wired = Wired { from, to };
        check_types(parts, &wired).map_err(placed)?;
        found.push(wired);
    }
    Ok(found)
}

/// Finds the inputs that several models share: the later ones are wired to that of the first.
///
/// # Errors
/// Names that fewer than two models have as inputs that are not wired; types that do not fit.
pub fn shared(parts: &[Joined], share: &[String], wires: &[Wired]) -> Result<Vec<Wired>> {
    let mut found = Vec::new();
    for name in share {
        let placed = |error: Error| error.at(format!("input `{name}`"));
        let is_open = |number: usize| !wires.iter().any(|wire| wire.to == (number, name.clone()));
        let all = (0..).zip(parts).filter(|(number, part)| names(part, "input").contains(name) && is_open(*number));
        let all: Vec<usize> = all.map(|(number, _)| number).collect();
        let [first, later @ ..] = all.as_slice() else {
            return Err(placed(
                Error::unsupported("no model has it as an input that is not wired").help(known(parts, "input")),
            ));
        };
        if later.is_empty() {
            let only = parts.get(*first).map_or("", |part| part.name.as_str());
            return Err(placed(
                Error::unsupported(format!("only `{only}` has it as an input that is not wired"))
                    .help(known(parts, "input")),
            ));
        }
        for number in later {
            let wired = Wired { from: (*first, name.clone()), to: (*number, name.clone()) };
            check_types(parts, &wired).map_err(placed)?;
            found.push(wired);
        }
    }
    Ok(found)
}

/// The inputs or outputs of all models, as text.
fn known(parts: &[Joined], what: &str) -> String {
    let of = |part: &Joined| format!("`{}` has `{}`", part.name, names(part, what).join("`, `"));
    parts.iter().map(of).collect::<Vec<_>>().join("; ")
}

fn end(parts: &[Joined], what: &str, name: &str) -> Result<(usize, String)> {
    let all = (0..).zip(parts).filter(|(_, part)| names(part, what).iter().any(|known| known == name));
    let all: Vec<usize> = all.map(|(number, _)| number).collect();
    let of_model = name.split_once(':').and_then(|(model, name)| {
        let number = parts.iter().position(|part| part.name == model)?;
        names(parts.get(number)?, what).iter().any(|known| known == name).then(|| (number, name.to_owned()))
    });
    match (all.as_slice(), of_model) {
        ([one], _) => Ok((*one, name.to_owned())),
        ([], Some(found)) => Ok(found),
        ([], None) => Err(Error::unsupported(format!("no model has an {what} `{name}`")).help(known(parts, what))),
        (several, _) => {
            let models =
                several.iter().filter_map(|number| parts.get(*number)).map(|part| format!("`{}:{name}`", part.name));
            Err(Error::unsupported(format!("several models have an {what} `{name}`"))
                .help(format!("write which one: {}", models.collect::<Vec<_>>().join(" or "))))
        }
    }
}

fn names(part: &Joined, what: &str) -> Vec<String> {
    let Some(graph) = &part.model.proto.graph else { return Vec::new() };
    let values = if what == "input" { &graph.input } else { &graph.output };
    values.iter().map(|value| value.name().to_owned()).collect()
}

/// The declared types of both ends.
fn types(parts: &[Joined], wired: &Wired) -> Option<(TypeProto, TypeProto)> {
    let graph = |number: usize| parts.get(number).and_then(|part| graph_of(&part.model.proto).ok());
    let find = |name: &str, values: &[ValueInfoProto]| values.iter().find(|value| value.name() == name)?.r#type.clone();
    let (from, to) = (graph(wired.from.0)?, graph(wired.to.0)?);
    // What is shared begins at an input.
    let start = find(&wired.from.1, &from.output).or_else(|| find(&wired.from.1, &from.input))?;
    Some((start, find(&wired.to.1, &to.input)?))
}

fn check_types(parts: &[Joined], wired: &Wired) -> Result<()> {
    let Some((from, to)) = types(parts, wired) else { return Ok(()) };
    let (Some(from), Some(to)) = (&from.value, &to.value) else { return Ok(()) };
    let (type_proto::Value::TensorType(a), type_proto::Value::TensorType(b)) = (from, to) else {
        return match std::mem::discriminant(from) == std::mem::discriminant(to) {
            true => Ok(()),
            false => Err(Error::unsupported("a tensor, a sequence and an optional value are different types")
                .help("wire values of one type")),
        };
    };
    if a.elem_type() != b.elem_type() {
        let name = |number| Dtype::from_onnx(number).map_or_else(|| number.to_string(), |dtype| dtype.to_string());
        let (a, b) = (name(a.elem_type()), name(b.elem_type()));
        return Err(Error::unsupported(format!("the output is {a}, but the input is {b}"))
            .help(format!("change one of them first: `aten2onnx edit --input-type {}={a}`", wired.to.1)));
    }
    let (Some(a), Some(b)) = (&a.shape, &b.shape) else { return Ok(()) };
    if a.dim.len() != b.dim.len() {
        return Err(Error::unsupported(format!(
            "the output has {} dimensions, but the input {}",
            a.dim.len(),
            b.dim.len()
        ))
        .help("wire values of one rank"));
    }
    for (axis, (a, b)) in a.dim.iter().zip(&b.dim).enumerate() {
        if let (Some(Value::DimValue(a)), Some(Value::DimValue(b))) = (&a.value, &b.value)
            && a != b
        {
            return Err(Error::unsupported(format!("axis {axis} of the output is {a}, but that of the input is {b}"))
                .help("wire values of one shape, or export one of the models with a dynamic dimension"));
        }
    }
    Ok(())
}

/// Gives the dimensions of wired inputs the names that they have in the outputs. A number replaces a name.
pub fn unite_dims(parts: &mut [Joined], wires: &[Wired], notes: &mut Vec<String>) -> Result<()> {
    for number in 0..parts.len() {
        dims_apart(parts, number);
    }
    for wired in wires {
        let Some((from, to)) = types(parts, wired) else { continue };
        for (axis, (a, b)) in sizes(&from).into_iter().zip(sizes(&to)).enumerate() {
            match (a, b) {
                (Some(a), Some(Value::DimParam(b)))
                    if !b.is_empty() && dims::is_name(&b) && a != Value::DimParam(b.clone()) =>
                {
                    if matches!(&a, Value::DimParam(text) if text.is_empty()) {
                        continue;
                    }
                    // Of two names, that of the earlier model stays.
                    let (from, to) = match a {
                        Value::DimParam(a) if first_with(parts, &b) < first_with(parts, &a) => (a, Value::DimParam(b)),
                        a => (b, a),
                    };
                    parts.iter_mut().for_each(|part| dims::replace(&mut part.model, &from, &to));
                }
                (Some(Value::DimParam(a)), Some(Value::DimValue(b))) if !a.is_empty() => {
                    notes.push(format!(
                        "axis {axis} of `{}` is `{a}`, and has to be {b} as the input `{}` is",
                        wired.from.1, wired.to.1
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The number of the first model that has a dimension of this name.
fn first_with(parts: &[Joined], symbol: &str) -> usize {
    let has = |part: &Joined| graph_of(&part.model.proto).is_ok_and(|graph| dims::symbols(graph).contains(symbol));
    parts.iter().position(has).unwrap_or(parts.len())
}

/// Renames the dimensions of a model that models before it have, too.
fn dims_apart(parts: &mut [Joined], number: usize) {
    let (before, rest) = parts.split_at_mut(number);
    let Some(part) = rest.first_mut() else { return };
    let symbols = |part: &Joined| graph_of(&part.model.proto).map(dims::symbols).unwrap_or_default();
    let mut taken: Vec<String> = before.iter().flat_map(symbols).collect();
    let own = symbols(part);
    taken.extend(own.iter().cloned());
    for symbol in own.into_iter().filter(|symbol| before.iter().any(|part| symbols(part).contains(symbol))) {
        let prefix: String = part.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let mut name = format!("{prefix}_{symbol}");
        if name.starts_with(|c: char| c.is_numeric()) {
            name.insert(0, '_');
        }
        while taken.contains(&name) {
            name.push('_');
        }
        taken.push(name.clone());
        dims::replace(&mut part.model, &symbol, &Value::DimParam(name));
    }
}

fn sizes(ty: &TypeProto) -> Vec<Option<Value>> {
    match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => {
            tensor.shape.iter().flat_map(|shape| &shape.dim).map(|dim| dim.value.clone()).collect()
        }
        _ => Vec::new(),
    }
}
