//! Checks that every value is defined once, before its first use: later passes rely on it.

use rustc_hash::FxHashSet;

use crate::visit;
use crate::{Arg, Graph, InputKind, Program};
use aten2onnx_core::error::{Error, Result};

/// Checks a program and its nested graphs.
pub fn names(program: &Program) -> Result<()> {
    let mut defined = FxHashSet::with_capacity_and_hasher(program.graph.tensors.len(), rustc_hash::FxBuildHasher);
    for weight in &program.weights {
        define(&mut defined, &weight.value)?;
    }
    graph(&program.graph, defined)
}

fn graph<'a>(graph: &'a Graph, mut defined: FxHashSet<&'a str>) -> Result<()> {
    for input in &graph.inputs {
        if !matches!(input.kind, InputKind::Constant(_)) {
            define(&mut defined, &input.name)?;
        }
    }
    for node in &graph.nodes {
        let place = |error: Error| error.at(format!("node `{}` ({})", node.name, node.target));
        for (_, arg) in &node.args {
            used(&defined, arg).map_err(place)?;
            if let Arg::Graph(nested) = arg {
                self::graph(nested, FxHashSet::default()).map_err(|error| place(error.at("nested graph")))?;
            }
        }
        for name in visit::results(node) {
            define(&mut defined, name).map_err(place)?;
        }
    }
    for (index, output) in graph.outputs.iter().enumerate() {
        used(&defined, &output.value).map_err(|error| error.at(format!("output {index}")))?;
    }
    Ok(())
}

fn define<'a>(defined: &mut FxHashSet<&'a str>, name: &'a str) -> Result<()> {
    if defined.insert(name) { Ok(()) } else { Err(Error::input(format!("the value `{name}` is defined twice"))) }
}

fn used(defined: &FxHashSet<&str>, arg: &Arg) -> Result<()> {
    let mut missing = None;
    visit::each_name(arg, &mut |name| {
        if missing.is_none() && !defined.contains(name) {
            missing = Some(name);
        }
    });
    let message = |name| format!("the value `{name}` is used before it is defined, or never defined");
    missing.map_or(Ok(()), |name| Err(Error::input(message(name))))
}
