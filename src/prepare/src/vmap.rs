//! Converts `torch.vmap`, which torch.export records as operators that add and remove a hidden dimension.
//!
//! Takes and returns a [`Program`]. The nodes between `_vmap_increment_nesting` and `_vmap_decrement_nesting` that
//! depend on tensors with the hidden dimension become the body of a `map`. Regions of an unexpected form are not
//! changed and have no rule. Linear in the size of the program (times the nesting depth).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, Input, InputKind, Node, NodeOutput, Output, OutputKind, Program, TensorMeta};

const NAMESPACE: &str = "torch._functorch.predispatch::";

/// Converts the regions of a program and its nested graphs.
pub fn to_maps(program: &mut Program) {
    visit::each_graph_mut(&mut program.graph, &mut graph);
}

fn graph(graph: &mut Graph) {
    let mut done = Vec::with_capacity(graph.nodes.len());
    let mut nodes = std::mem::take(&mut graph.nodes).into_iter();
    while let Some(node) = nodes.next() {
        if operator(&node) != Some("_vmap_increment_nesting") {
            done.push(node);
            continue;
        }
        let mut region = Vec::new();
        let mut depth = 1;
        for inner in nodes.by_ref() {
            match operator(&inner) {
                Some("_vmap_increment_nesting") => depth += 1,
                Some("_vmap_decrement_nesting") => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            region.push(inner);
        }
        match Region::of(&region, graph) {
            Some(found) => done.extend(found.into_map(graph)),
            None => {
                done.push(node);
                done.extend(region);
            }
        }
    }
    graph.nodes = done;
}

/// The name of an operator of functorch.
fn operator(node: &Node) -> Option<&str> {
    node.target.strip_prefix(NAMESPACE)
}

/// A tensor that gains or loses the hidden dimension.
struct Border {
    /// Its name without the dimension.
    inner: String,
    /// Its name with the dimension.
    outer: String,
    dim: i64,
    origin: Node,
}

struct Region {
    before: Vec<Node>,
    body: Vec<Node>,
    added: Vec<Border>,
    removed: Vec<Border>,
    /// Values from outside that the body reads.
    captured: Vec<String>,
}

impl Region {
    /// Finds the region; None if it has an unexpected form.
    fn of(nodes: &[Node], graph: &Graph) -> Option<Region> {
        let mut region = Region {
            before: Vec::new(),
            body: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            captured: Vec::new(),
        };
        let mut hidden: FxHashSet<&str> = FxHashSet::default();
        let mut results: FxHashSet<&str> = FxHashSet::default();
        let mut depth = 0;
        for node in nodes {
            let mut read = Vec::new();
            node.args.iter().for_each(|(_, arg)| visit::each_name(arg, &mut |name| read.push(name)));
            // Results must not be read inside the region.
            if read.iter().any(|name| results.contains(name)) {
                return None;
            }
            match operator(node) {
                Some("_vmap_increment_nesting") => depth += 1,
                Some("_vmap_decrement_nesting") => depth -= 1,
                Some("_add_batch_dim") if depth == 0 => {
                    let border = border(node, 1)?;
                    region.added.push(Border { outer: border.0, inner: border.1, dim: border.2, origin: node.clone() });
                    hidden.extend(visit::results(node));
                    continue;
                }
                Some("_remove_batch_dim") if depth == 0 => {
                    let border = border(node, 3)?;
                    region.removed.push(Border {
                        inner: border.0,
                        outer: border.1,
                        dim: border.2,
                        origin: node.clone(),
                    });
                    results.extend(visit::results(node));
                    continue;
                }
                _ => {}
            }
            if depth > 0 || operator(node).is_some() || read.iter().any(|name| hidden.contains(name)) {
                hidden.extend(visit::results(node));
                region.body.push(node.clone());
            } else {
                region.before.push(node.clone());
            }
        }
        let is_known = |name: &str| graph.tensors.contains_key(name);
        if region.added.is_empty()
            || region.removed.is_empty()
            || !region.added.iter().all(|border| is_known(&border.inner))
        {
            return None;
        }
        region.captured = region.captures();
        Some(region)
    }

    fn captures(&self) -> Vec<String> {
        let mut known: FxHashSet<&str> = self.added.iter().map(|border| border.inner.as_str()).collect();
        known.extend(self.body.iter().flat_map(visit::results));
        let mut captured = Vec::new();
        let removed = self.removed.iter().map(|border| border.inner.as_str());
        let args = self.body.iter().flat_map(|node| &node.args);
        let mut read: Vec<&str> = Vec::new();
        args.for_each(|(_, arg)| visit::each_name(arg, &mut |name| read.push(name)));
        for name in read.into_iter().chain(removed) {
            if known.insert(name) {
                captured.push(name.to_owned());
            }
        }
        captured
    }

    /// Equivalent nodes with a `map`.
    fn into_map(self, graph: &mut Graph) -> Vec<Node> {
        let Region { before, body, added, removed, captured } = self;
        let mut done = before;
        let mut slices = Vec::with_capacity(added.len());
        for border in &added {
            slices.push(Some(move_dimension(
                border,
                border.dim,
                0,
                &border.outer,
                &format!("{}_first", border.inner),
                &mut done,
            )));
        }
        let nested = nested_graph(body, &added, &removed, &captured, graph);
        let first = |border: &Border| match border.dim {
            0 => border.outer.clone(),
            _ => format!("{}_first", border.outer),
        };
        let names: Vec<String> = removed.iter().map(first).collect();
        let origin = removed.first().map(|border| border.origin.clone()).unwrap_or_default();
        done.push(Node {
            name: names.first().cloned().unwrap_or_default(),
            target: "higher_order::map_impl".to_owned(),
            args: vec![
                (String::new(), Arg::Graph(Arc::new(nested))),
                (String::new(), Arg::Tensors(slices)),
                (String::new(), Arg::Tensors(captured.into_iter().map(Some).collect())),
            ],
            outputs: names.iter().cloned().map(NodeOutput::Tensor).collect(),
            ..origin
        });
        for (border, name) in removed.iter().zip(&names).filter(|(border, _)| border.dim != 0) {
            let args = movedim(name, 0, border.dim);
            let outputs = vec![NodeOutput::Tensor(border.outer.clone())];
            let target = "aten::movedim.int".to_owned();
            done.push(Node { target, args, outputs, ..border.origin.clone() });
        }
        done
    }
}

/// Tensor, result and dimension of a node that adds or removes the hidden dimension.
fn border(node: &Node, dim_at: usize) -> Option<(String, String, i64)> {
    let (Some((_, Arg::Tensor(from))), Some((_, Arg::Int(dim)))) = (node.args.first(), node.args.get(dim_at)) else {
        return None;
    };
    let [NodeOutput::Tensor(to)] = node.outputs.as_slice() else { return None };
    Some((from.clone(), to.clone(), *dim))
}

/// Moves a dimension of the tensor under `name`; returns the tensor itself if nothing moves.
fn move_dimension(border: &Border, from: i64, to: i64, tensor: &str, name: &str, done: &mut Vec<Node>) -> String {
    if from == to {
        return tensor.to_owned();
    }
    done.push(Node {
        name: name.to_owned(),
        target: "aten::movedim.int".to_owned(),
        args: movedim(tensor, from, to),
        outputs: vec![NodeOutput::Tensor(name.to_owned())],
        ..border.origin.clone()
    });
    name.to_owned()
}

fn movedim(tensor: &str, from: i64, to: i64) -> Vec<(String, Arg)> {
    vec![
        ("self".to_owned(), Arg::Tensor(tensor.to_owned())),
        ("source".to_owned(), Arg::Int(from)),
        ("destination".to_owned(), Arg::Int(to)),
    ]
}

fn nested_graph(body: Vec<Node>, added: &[Border], removed: &[Border], captured: &[String], outer: &Graph) -> Graph {
    let kind = |name: &str| match name {
        _ if outer.sym_ints.contains_key(name) => InputKind::SymInt,
        _ if outer.sym_floats.contains_key(name) => InputKind::SymFloat,
        _ if outer.sym_bools.contains_key(name) => InputKind::SymBool,
        _ => InputKind::Tensor,
    };
    let names = added.iter().map(|border| &border.inner).chain(captured);
    let inputs: Vec<Input> = names.map(|name| Input { name: name.clone(), kind: kind(name) }).collect();
    let outputs =
        removed.iter().map(|border| Output { value: Arg::Tensor(border.inner.clone()), kind: OutputKind::User });
    let inside: FxHashSet<&str> =
        inputs.iter().map(|input| input.name.as_str()).chain(body.iter().flat_map(visit::results)).collect();
    let tensors: FxHashMap<String, TensorMeta> = picked(&outer.tensors, &inside);
    let mut graph = Graph {
        tensors,
        sym_ints: picked(&outer.sym_ints, &inside),
        sym_floats: picked(&outer.sym_floats, &inside),
        sym_bools: picked(&outer.sym_bools, &inside),
        outputs: outputs.collect(),
        inputs,
        nodes: body,
    };
    // A nested vmap.
    self::graph(&mut graph);
    graph
}

fn picked<T: Clone>(of: &FxHashMap<String, T>, names: &FxHashSet<&str>) -> FxHashMap<String, T> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), of.get(*name)?.clone()))).collect()
}
