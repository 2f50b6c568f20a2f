//! Modules as local functions: which calls of modules the nodes of a finished graph are in.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::outline::{ClassCall, Outlined, outline};
use aten2onnx_onnx::{Functions, Model, ir};
use aten2onnx_program::ModuleCall;

/// The first IR version whose functions state types.
const TYPES_IR: u32 = 10;

/// Nodes that are shared compute sizes and masks; more than these are a layer.
const MOST_SHARED: usize = 256;

/// The calls of a program by the name of the node.
type Calls = FxHashMap<String, Arc<[ModuleCall]>>;

/// Turns modules into functions; a note says which. `asked` is the IR version that the user wants.
///
/// # Errors
/// An IR version without functions.
pub(super) fn outlined(
    model: &mut Model,
    graph: &Graph,
    calls: &Calls,
    which: Functions,
    asked: Option<u32>,
) -> Result<Option<String>> {
    if which == Functions::None {
        return Ok(None);
    }
    let with_types = asked.unwrap_or_else(|| ir::needed(model).version) >= TYPES_IR;
    let found = outline(model, &of_nodes(graph, calls), which, with_types);
    ir::set(model, asked)?;
    Ok(Some(note(&found, which)))
}

/// The calls of each node of the main graph. A node that stands for equal ones is in the calls that all of them are in.
fn of_nodes(graph: &Graph, calls: &Calls) -> Vec<Arc<[ClassCall]>> {
    let mut stacks = Stacks::of(graph, calls);
    let nodes = &graph.body.nodes;
    let mut found: Vec<Arc<[ClassCall]>> = nodes.iter().map(|node| stacks.of_origin(node.origin)).collect();
    let makers: FxHashMap<Value, usize> =
        nodes.iter().enumerate().flat_map(|(at, node)| node.outputs.iter().flatten().map(move |v| (*v, at))).collect();
    for (at, node) in nodes.iter().enumerate() {
        let sharers = node.outputs.iter().flatten().filter_map(|value| graph.sharers.get(value)).flatten();
        let own = Arc::clone(&found[at]);
        let mut depth = own.len();
        for sharer in sharers {
            let other = stacks.of_origin(*sharer);
            depth = own.iter().zip(other.iter()).take(depth).take_while(|(a, b)| a == b).count();
        }
        if depth == own.len() {
            continue;
        }
        if let Some(inside) = inside(graph, at, &own[..depth], &found, &makers) {
            let common: Arc<[ClassCall]> = own[..depth].into();
            inside.into_iter().for_each(|at| found[at] = Arc::clone(&common));
        }
    }
    found
}

/// A node and those that it needs inside of the same call, deeper than `common`; None if one of them reads a weight: the result of a layer
/// is not shared, however many read its sizes.
fn inside(
    graph: &Graph,
    at: usize,
    common: &[ClassCall],
    calls: &[Arc<[ClassCall]>],
    makers: &FxHashMap<Value, usize>,
) -> Option<Vec<usize>> {
    let (mut all, mut open) = (Vec::new(), vec![at]);
    while let Some(at) = open.pop() {
        if all.contains(&at) {
            continue;
        }
        if all.len() >= MOST_SHARED {
            return None;
        }
        all.push(at);
        for value in graph.body.nodes[at].inputs.iter().flatten() {
            if graph.weight(*value).is_some() {
                return None;
            }
            let maker = makers.get(value).copied();
            open.extend(maker.filter(|at| calls[*at].len() > common.len() && calls[*at].starts_with(common)));
        }
    }
    Some(all)
}

/// The calls of origins.
struct Stacks<'a> {
    graph: &'a Graph,
    calls: &'a Calls,
    /// A node that a pass or a preparation made has the module of the one that it is made from.
    by_module: FxHashMap<&'a str, &'a Arc<[ModuleCall]>>,
    known: FxHashMap<*const ModuleCall, Arc<[ClassCall]>>,
    none: Arc<[ClassCall]>,
}

impl<'a> Stacks<'a> {
    fn of(graph: &'a Graph, calls: &'a Calls) -> Stacks<'a> {
        let mut by_module = FxHashMap::default();
        for stack in calls.values() {
            let Some(last) = stack.last() else { continue };
            let known: &mut &Arc<[ModuleCall]> = by_module.entry(last.id.as_str()).or_insert(stack);
            // A module has one stack, unless several modules own it: the first in the order of names.
            let ids = |stack: &Arc<[ModuleCall]>| stack.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
            if !Arc::ptr_eq(known, stack) && ids(stack) < ids(known) {
                *known = stack;
            }
        }
        Stacks { graph, calls, by_module, known: FxHashMap::default(), none: Arc::new([]) }
    }

    fn of_origin(&mut self, origin: u32) -> Arc<[ClassCall]> {
        let stack = self.graph.provenance.get(origin as usize).and_then(|origin| {
            let module = || self.by_module.get(origin.module.as_deref()?).copied();
            self.calls.get(&origin.node_name).or_else(module)
        });
        let Some(stack) = stack else { return Arc::clone(&self.none) };
        let same = || stack.iter().map(|call| ClassCall { id: call.id.clone(), class: call.class.clone() }).collect();
        Arc::clone(self.known.entry(stack.as_ptr()).or_insert_with(same))
    }
}

fn note(found: &[Outlined], which: Functions) -> String {
    if found.is_empty() {
        return match which {
            Functions::Repeated => "no module occurs more than once, so that there are no functions",
            _ => "the program does not say which modules its nodes are of, so that there are no functions",
        }
        .to_owned();
    }
    let named = |function: &Outlined| format!("{} (called {} times)", function.name, function.calls);
    let listed: Vec<String> = found.iter().rev().take(4).map(named).collect();
    let more = if found.len() > listed.len() { ", ..." } else { "" };
    format!("{} functions: {}{more}", found.len(), listed.join(", "))
}
