//! Names of values, nodes and functions that several models have, told apart by the name of their model.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::index::bodies;
use super::super::names::{self, Names, rename_all};
use super::Joined;
use super::common::Common;
use super::wires::Wired;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{FunctionProto, GraphProto, NodeProto};

/// Renames what clashes with an earlier model, and gives wired inputs the names of the outputs. Equal constants of one name become one.
///
/// # Errors
/// Weights that cannot be read.
pub fn keep_apart(parts: &mut [Joined], wires: &[Wired]) -> Result<()> {
    let mut taken: FxHashSet<String> = FxHashSet::default();
    let mut nodes: FxHashSet<String> = FxHashSet::default();
    let mut functions: Vec<FunctionProto> = Vec::new();
    // The names that values have now, by the number of the model.
    let mut renamed: Vec<Names> = Vec::new();
    let mut common = Common::default();
    for (number, part) in parts.iter_mut().enumerate() {
        common.remove(part)?;
        let wired: FxHashSet<&str> = wires.iter().filter(|w| w.to.0 == number).map(|w| w.to.1.as_str()).collect();
        let own: FxHashSet<String> = names::taken(&part.model);
        let mut clashes: Vec<&String> =
            own.iter().filter(|n| taken.contains(*n) && !wired.contains(n.as_str())).collect();
        clashes.sort();
        let mut all: FxHashSet<String> = taken.union(&own).cloned().collect();
        let new = |name: &String| (name.clone(), names::free(&format!("{}/{name}", part.name), &mut all));
        let changed: Names = clashes.into_iter().map(new).collect();
        let kept = |name: &String| changed.get(name).unwrap_or(name).clone();
        taken.extend(own.iter().filter(|name| !wired.contains(name.as_str())).map(kept));
        rename_all(&mut part.model, &changed);
        renamed.push(changed);
        rename_nodes(part, &mut nodes);
        rename_functions(part, &mut functions);
        common.add(part);
    }
    connect(parts, wires, &renamed, &mut taken);
    Ok(())
}

/// Gives wired inputs the names of the outputs.
fn connect(parts: &mut [Joined], wires: &[Wired], renamed: &[Names], taken: &mut FxHashSet<String>) {
    for (number, part) in parts.iter_mut().enumerate() {
        let own = wires.iter().filter(|wire| wire.to.0 == number);
        let pairs = own.map(|wire| {
            let from = renamed.get(wire.from.0).and_then(|names| names.get(&wire.from.1)).unwrap_or(&wire.from.1);
            (wire.to.1.clone(), from.clone())
        });
        let names: Names = pairs.collect();
        // A value of the model may have the name of the output already.
        let inner: Vec<String> = names::taken(&part.model)
            .into_iter()
            .filter(|own| names.values().any(|new| new == own) && !names.contains_key(own))
            .collect();
        let mut aside: Names = FxHashMap::default();
        for name in inner {
            aside.insert(name.clone(), names::free(&format!("{}/{name}", part.name), taken));
        }
        rename_all(&mut part.model, &aside);
        rename_all(&mut part.model, &names);
    }
}

fn rename_nodes(part: &mut Joined, taken: &mut FxHashSet<String>) {
    let Some(graph) = &mut part.model.proto.graph else { return };
    let before = taken.clone();
    for node in graph.node.iter_mut().filter(|node| !node.name().is_empty()) {
        if before.contains(node.name()) {
            node.name = Some(names::free(&format!("{}/{}", part.name, node.name()), taken));
        } else {
            taken.insert(node.name().to_owned());
        }
    }
}

type Id = (String, String, String);

/// Renames functions that differ from earlier ones of the same name, and their calls.
fn rename_functions(part: &mut Joined, known: &mut Vec<FunctionProto>) {
    let mut new: FxHashMap<Id, String> = FxHashMap::default();
    let own: Vec<Id> = part.model.proto.functions.iter().map(id).collect();
    let differing = differing(&part.model.proto.functions, known);
    for function in &part.model.proto.functions {
        if differing.contains(&id(function)) {
            let mut name = format!("{}_{}", function.name(), part.name);
            let is_taken = |name: &String| {
                let is = |(domain, other, _): &Id| domain == function.domain() && other == name;
                known.iter().any(|other| is(&id(other))) || own.iter().any(is)
            };
            while is_taken(&name) {
                name.push('_');
            }
            new.insert(id(function), name);
        }
    }
    let Model { proto, .. } = &mut part.model;
    let calls = |node: &mut NodeProto| {
        let id = (node.domain().to_owned(), node.op_type().to_owned(), node.overload().to_owned());
        if let Some(name) = new.get(&id) {
            node.op_type = Some(name.clone());
        }
    };
    proto.graph.iter_mut().for_each(|graph| visit(&mut graph.node, &calls));
    for function in &mut proto.functions {
        visit(&mut function.node, &calls);
        if let Some(name) = new.get(&id(function)) {
            function.name = Some(name.clone());
        }
    }
    known.extend(proto.functions.iter().cloned());
}

fn id(of: &FunctionProto) -> Id {
    (of.domain().to_owned(), of.name().to_owned(), of.overload().to_owned())
}

/// The functions that are others than those of the same names that are known: they differ, or what they call does.
fn differing(own: &[FunctionProto], known: &[FunctionProto]) -> FxHashSet<Id> {
    let clashes: Vec<(&FunctionProto, &FunctionProto)> =
        own.iter().filter_map(|of| Some((of, known.iter().find(|other| id(other) == id(of))?))).collect();
    let mut differing: FxHashSet<Id> = clashes.iter().filter(|(a, b)| a != b).map(|(of, _)| id(of)).collect();
    loop {
        let count = differing.len();
        for (of, _) in &clashes {
            if calls_any(&of.node, &differing) {
                differing.insert(id(of));
            }
        }
        if differing.len() == count {
            return differing;
        }
    }
}

fn calls_any(nodes: &[NodeProto], functions: &FxHashSet<Id>) -> bool {
    nodes.iter().any(|node| {
        let id = (node.domain().to_owned(), node.op_type().to_owned(), node.overload().to_owned());
        functions.contains(&id) || bodies(node).any(|body| calls_any(&body.node, functions))
    })
}

fn visit(nodes: &mut [NodeProto], found: &impl Fn(&mut NodeProto)) {
    for node in nodes {
        found(node);
        let bodies = node.attribute.iter_mut().flat_map(|a| a.g.iter_mut().chain(&mut a.graphs));
        bodies.for_each(|body: &mut GraphProto| visit(&mut body.node, found));
    }
}
