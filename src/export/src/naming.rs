//! Renames dimensions, inputs and outputs of a finished graph as the user requested.

use aten2onnx_core::axes::counted_from_start;
use std::collections::{BTreeSet, HashMap};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Graph, Value};

use aten2onnx_options::{DimName, Rename, WhichDim};

/// The symbols of the model that are renamed.
pub(super) fn dims(graph: &Graph, dims: &[DimName]) -> Result<HashMap<String, SymInt>> {
    let known = symbols(graph);
    let mut names: HashMap<String, SymInt> = HashMap::new();
    let fixed: Vec<&str> =
        dims.iter().filter(|dim| dim.size().is_some()).filter_map(|dim| dim.which.symbol()).collect();
    for dim in dims.iter().filter(|dim| dim.size().is_none()) {
        if fixed.contains(&dim.name.as_str()) || dim.which.symbol().is_some_and(|symbol| fixed.contains(&symbol)) {
            continue;
        }
        let symbol = match &dim.which {
            WhichDim::Symbol(symbol) if known.contains(symbol) => symbol.clone(),
            WhichDim::Symbol(symbol) => return Err(no_such_symbol(symbol, &known)),
            WhichDim::Axis(input, axis) => symbol_of(graph, input, *axis)?,
        };
        let name = SymInt::symbol(dim.name.as_str());
        let before = names.insert(symbol.clone(), name.clone());
        if before.is_some_and(|before| before != name) {
            return Err(Error::unsupported(format!("two names are given for the dimension `{symbol}`")));
        }
    }
    let chosen: BTreeSet<&str> = names.values().filter_map(SymInt::as_symbol).collect();
    if chosen.len() < names.len() {
        return Err(Error::unsupported("one name is given for two dimensions that may differ"));
    }
    match known.iter().find(|symbol| chosen.contains(symbol.as_str()) && !names.contains_key(*symbol)) {
        Some(symbol) => Err(Error::unsupported(format!("another dimension is already named `{symbol}`"))),
        None => Ok(names),
    }
}

pub(super) fn no_such_symbol(symbol: &str, known: &BTreeSet<String>) -> Error {
    let known: Vec<String> = known.iter().map(|symbol| format!("`{symbol}`")).collect();
    let help = match known.is_empty() {
        true => "this model has no symbolic dimensions".to_owned(),
        false => format!("the model has {}", known.join(", ")),
    };
    Error::unsupported(format!("the model has no dimension `{symbol}`")).help(help)
}

fn symbol_of(graph: &Graph, input: &str, axis: i64) -> Result<String> {
    let value =
        find(graph, &graph.body.inputs, input).ok_or_else(|| no_such(graph, &graph.body.inputs, "input", input))?;
    let ty = graph.ty(value);
    let shape = ty.shape().unwrap_or_default();
    let index = counted_from_start(axis, shape.len());
    let Some(size) = index.and_then(|index| shape.get(index)) else {
        return Err(Error::unsupported(format!("the input `{input}` has no axis {axis}: it is {ty}")));
    };
    size.as_symbol().filter(|symbol| !symbol.starts_with('?')).map(str::to_owned).ok_or_else(|| {
        Error::unsupported(format!("axis {axis} of the input `{input}` is not a single symbol: it is {ty}"))
    })
}

/// All named symbols in the types of inputs, outputs and inner values.
fn symbols(graph: &Graph) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for size in graph.values.iter().filter_map(|info| info.ty.shape()).flatten() {
        size.visit_symbols(&mut |symbol| {
            if !symbol.starts_with('?') && !all.contains(symbol) {
                all.insert(symbol.to_owned());
            }
        });
    }
    all
}

/// The inputs and outputs that are renamed.
pub(super) fn names(graph: &Graph, inputs: &[Rename], outputs: &[Rename]) -> Result<HashMap<Value, String>> {
    let mut names = HashMap::new();
    for (what, values, choices) in [("input", &graph.body.inputs, inputs), ("output", &graph.body.outputs, outputs)] {
        let mut next = values.iter();
        for choice in choices {
            let value = match &choice.old {
                Some(old) => find(graph, values, old).ok_or_else(|| no_such(graph, values, what, old))?,
                None => *next.next().ok_or_else(|| too_many(what, values.len()))?,
            };
            if let Some(before) = names.insert(value, choice.new.clone()) {
                let old = graph.name(value);
                return Err(Error::unsupported(format!(
                    "two names are given for the {what} `{old}`: `{before}` and `{}`",
                    choice.new
                ))
                .help(
                    "a name alone is for the next in order, counted from the first: write `OLD=NEW` for all of them",
                ));
            }
        }
    }
    check_unique(graph, &names)?;
    Ok(names)
}

/// Checks that no two inputs or outputs have the same name now.
fn check_unique(graph: &Graph, names: &HashMap<Value, String>) -> Result<()> {
    let mut known: HashMap<&str, Value> = HashMap::new();
    for value in graph.body.inputs.iter().chain(&graph.body.outputs) {
        let name = names.get(value).map_or(graph.name(*value), String::as_str);
        if known.insert(name, *value).is_some_and(|before| before != *value) && names.values().any(|new| new == name) {
            return Err(Error::unsupported(format!("one name is given to two inputs or outputs: `{name}`"))
                .help("names of inputs and outputs are unique in a model"));
        }
    }
    Ok(())
}

fn find(graph: &Graph, values: &[Value], name: &str) -> Option<Value> {
    values.iter().copied().find(|value| graph.name(*value) == name)
}

fn no_such(graph: &Graph, values: &[Value], what: &str, name: &str) -> Error {
    let known: Vec<String> = values.iter().map(|value| format!("`{}`", graph.name(*value))).collect();
    Error::unsupported(format!("the model has no {what} `{name}`")).help(format!("the model has {}", known.join(", ")))
}

fn too_many(what: &str, count: usize) -> Error {
    Error::unsupported(format!("more names than {what}s: the model has {count}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use aten2onnx_core::dtype::Dtype;
    use aten2onnx_onnx::graph::{Source, Type, ValueInfo};

    fn graph() -> Graph {
        let shape = vec![SymInt::symbol("s0"), &SymInt::symbol("s1") * &SymInt::from(2), SymInt::symbol("?3")];
        let x = ValueInfo { name: "x".into(), ty: Type::tensor(Dtype::Float32, shape), source: Source::Input };
        let mut graph = Graph { values: vec![x.clone(), ValueInfo { name: "y".into(), ..x }], ..Graph::default() };
        graph.body.inputs.extend([Value::new(0), Value::new(1)]);
        graph
    }

    fn named(choices: &[&str]) -> Result<HashMap<String, SymInt>> {
        let choices: Vec<DimName> = choices.iter().map(|text| text.parse().unwrap()).collect();
        dims(&graph(), &choices)
    }

    #[test]
    fn dimensions_are_named_by_symbol_or_axis() {
        let wanted = HashMap::from([("s0".to_owned(), SymInt::symbol("batch"))]);
        assert_eq!(named(&["s0=batch"]).unwrap(), wanted);
        assert_eq!(named(&["x:0=batch", "y:-3=batch"]).unwrap(), wanted);
        let refused = |choices: &[&str]| named(choices).unwrap_err();
        let error = refused(&["s7=batch"]);
        assert_eq!(error.message, "the model has no dimension `s7`");
        assert_eq!(error.help.clone().unwrap(), "the model has `s0`, `s1`");
        assert!(refused(&["x:3=batch"]).message.contains("has no axis 3"));
        assert!(refused(&["x:1=batch"]).message.contains("is not a single symbol"));
        assert!(refused(&["x:2=batch"]).message.contains("is not a single symbol"));
        assert!(refused(&["z:0=batch"]).message.contains("no input `z`"));
        assert!(refused(&["s0=a", "s0=b"]).message.contains("two names"));
        assert!(refused(&["s0=a", "s1=a"]).message.contains("one name"));
        assert!(refused(&["s0=s1"]).message.contains("already named `s1`"));
        assert!(named(&["s0=s1", "s1=s0"]).is_ok());
    }

    #[test]
    fn inputs_are_named_in_order_or_by_name() {
        let named = |choices: &[&str]| {
            let choices: Vec<Rename> = choices.iter().map(|text| text.parse().unwrap()).collect();
            names(&graph(), &choices, &[])
        };
        let wanted = HashMap::from([(Value::new(0), "a".to_owned()), (Value::new(1), "b".to_owned())]);
        assert_eq!(named(&["a", "b"]).unwrap(), wanted);
        assert_eq!(named(&["y=b", "x=a"]).unwrap(), wanted);
        assert_eq!(named(&["a", "b", "c"]).unwrap_err().message, "more names than inputs: the model has 2");
        for twice in [&["a", "x=b"][..], &["x=a", "x=b"], &["x=a", "b"]] {
            assert!(named(twice).unwrap_err().message.starts_with("two names are given for the input `x`"));
        }
        for same in [&["a", "a"][..], &["x=y"], &["y=x"]] {
            assert!(named(same).unwrap_err().message.starts_with("one name is given to two"), "{same:?}");
        }
        assert!(named(&["x=y", "y=x"]).is_ok());
        assert_eq!(named(&["z=a"]).unwrap_err().help.clone().unwrap(), "the model has `x`, `y`");
    }
}
