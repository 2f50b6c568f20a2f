//! Checks that every value is defined once, before it is used: what comes after may rely on it.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::program::{Arg, FloatArg, Graph, InputKind, IntArg, NodeOutput, Program};

/// Checks a program and its nested graphs.
pub fn names(program: &Program) -> Result<()> {
    let mut defined = HashSet::new();
    for weight in &program.weights {
        define(&mut defined, &weight.value)?;
    }
    graph(&program.graph, defined)
}

fn graph<'a>(graph: &'a Graph, mut defined: HashSet<&'a str>) -> Result<()> {
    for input in &graph.inputs {
        if !matches!(input.kind, InputKind::Constant(_)) {
            define(&mut defined, &input.name)?;
        }
    }
    for node in &graph.nodes {
        let place = |error: Error| error.at(format!("node `{}` ({})", node.name, node.target));
        for (_, arg) in &node.args {
            each_name(arg, &mut |name| used(&defined, name)).map_err(place)?;
            if let Arg::Graph(nested) = arg {
                self::graph(nested, HashSet::new()).map_err(|error| place(error.at("nested graph")))?;
            }
        }
        for output in &node.outputs {
            match output {
                NodeOutput::Tensor(name) | NodeOutput::Sym(name) => define(&mut defined, name).map_err(place)?,
                NodeOutput::Tensors(names) => {
                    for name in names {
                        define(&mut defined, name).map_err(place)?;
                    }
                }
                NodeOutput::None => {}
            }
        }
    }
    for (index, output) in graph.outputs.iter().enumerate() {
        each_name(&output.value, &mut |name| used(&defined, name))
            .map_err(|error| error.at(format!("output {index}")))?;
    }
    Ok(())
}

fn define<'a>(defined: &mut HashSet<&'a str>, name: &'a str) -> Result<()> {
    if defined.insert(name) { Ok(()) } else { Err(Error::input(format!("the value `{name}` is defined twice"))) }
}

fn used(defined: &HashSet<&str>, name: &str) -> Result<()> {
    if defined.contains(name) {
        return Ok(());
    }
    Err(Error::input(format!("the value `{name}` is used before it is defined, or never defined")))
}

/// Calls `f` with the name of every value that an argument reads.
pub fn each_name<'a>(arg: &'a Arg, f: &mut dyn FnMut(&'a str) -> Result<()>) -> Result<()> {
    match arg {
        Arg::Tensor(name) | Arg::Sym(name) => f(name),
        Arg::Tensors(names) => names.iter().flatten().try_for_each(|name| f(name)),
        Arg::NestedTensors(lists) => lists.iter().flatten().try_for_each(|name| f(name)),
        Arg::Ints(numbers) => numbers.iter().try_for_each(|number| match number {
            IntArg::Named(name) => f(name),
            IntArg::Known(_) => Ok(()),
        }),
        Arg::SymFloats(numbers) => numbers.iter().try_for_each(|number| match number {
            FloatArg::Named(name) => f(name),
            FloatArg::Known(_) => Ok(()),
        }),
        _ => Ok(()),
    }
}
