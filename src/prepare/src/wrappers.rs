//! Inlines the nested graphs of `with torch.no_grad()` and `with torch.autocast(..)`.
//!
//! Takes and returns a [`Program`]. Afterwards there are no `wrap_with_set_grad_enabled` and `wrap_with_autocast`,
//! except those of an unexpected form. Gradients do not matter here; the casts of autocast, which torch only records in
//! the types of results, become nodes. Linear in the size of the program (times the nesting depth).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, InputKind, Node, NodeOutput, Program, TensorMeta};
use aten2onnx_rules::effects::{self, Trait, WriteForm};

/// Inlines wrappers in a program and its nested graphs.
pub fn inline(program: &mut Program) {
    let weights: Vec<String> = program.weights.iter().map(|weight| weight.value.clone()).collect();
    graph(&mut program.graph, &weights);
}

/// A wrapper that can be inlined.
struct Wrapper {
    body: Arc<Graph>,
    /// The operands bound to the inputs of the body.
    operands: Vec<String>,
    /// The names of the results; None for unused ones.
    results: Vec<Option<String>>,
    autocast: Option<Dtype>,
}

fn graph(graph: &mut Graph, weights: &[String]) {
    for node in &mut graph.nodes {
        for (_, arg) in &mut node.args {
            if let Arg::Graph(nested) = arg {
                self::graph(Arc::make_mut(nested), &[]);
            }
        }
    }
    if !graph.nodes.iter().any(|node| wrapper(node).is_some()) {
        return;
    }
    let inputs = graph.inputs.iter().map(|input| &input.name);
    let mut taken: FxHashSet<String> = inputs.chain(weights).cloned().collect();
    taken.extend(graph.nodes.iter().flat_map(visit::results).map(str::to_owned));
    let mut inliner =
        Inliner { taken, names: 0, renamed: FxHashMap::default(), done: Vec::with_capacity(graph.nodes.len()) };
    for mut node in std::mem::take(&mut graph.nodes) {
        node.args.iter_mut().for_each(|(_, arg)| inliner.rename(arg));
        match wrapper(&node) {
            Some(wrapper) => {
                drop(node);
                inliner.splice(wrapper, graph);
            }
            None => inliner.done.push(node),
        }
    }
    for output in &mut graph.outputs {
        inliner.rename(&mut output.value);
    }
    graph.nodes = inliner.done;
}

/// The parts of a node, if it is a wrapper of the expected form.
fn wrapper(node: &Node) -> Option<Wrapper> {
    let at = node.args.iter().position(|(_, arg)| matches!(arg, Arg::Graph(_)))?;
    let (before, after) = node.args.split_at(at);
    let ((_, Arg::Graph(body)), operands) = after.split_first()? else { return None };
    let autocast = match (node.target.as_str(), before) {
        ("higher_order::wrap_with_set_grad_enabled", _) => None,
        ("higher_order::wrap_with_autocast", [_, _, (_, Arg::Bool(false)), ..]) => None,
        ("higher_order::wrap_with_autocast", [_, (_, Arg::Dtype(dtype)), (_, Arg::Bool(true)), ..]) => Some(*dtype),
        // Without a dtype, the default of the device applies.
        ("higher_order::wrap_with_autocast", [(_, Arg::Str(device)), (_, Arg::None), (_, Arg::Bool(true)), ..]) => {
            Some(if device == "cpu" { Dtype::Bfloat16 } else { Dtype::Float16 })
        }
        _ => return None,
    };
    let operands = operands.iter().map(|(_, arg)| match arg {
        Arg::Tensor(name) | Arg::Sym(name) => Some(name.clone()),
        _ => None,
    });
    let operands = operands.collect::<Option<Vec<String>>>()?;
    let has_constants = body.inputs.iter().any(|input| matches!(input.kind, InputKind::Constant(_)));
    if has_constants || operands.len() != body.inputs.len() || node.outputs.len() != body.outputs.len() {
        return None;
    }
    let results = node.outputs.iter().zip(&body.outputs).map(|(output, value)| match (output, &value.value) {
        (NodeOutput::None, _) => Some(None),
        (NodeOutput::Tensor(name) | NodeOutput::Sym(name), Arg::Tensor(_) | Arg::Sym(_)) => Some(Some(name.clone())),
        _ => None,
    });
    Some(Wrapper { body: Arc::clone(body), operands, results: results.collect::<Option<_>>()?, autocast })
}

struct Inliner {
    /// All names in the outer graph.
    taken: FxHashSet<String>,
    /// The number of generated names.
    names: usize,
    /// Results of wrappers, and their replacements.
    renamed: FxHashMap<String, String>,
    done: Vec<Node>,
}

impl Inliner {
    fn rename(&self, arg: &mut Arg) {
        rename(arg, &self.renamed);
    }

    fn splice(&mut self, wrapper: Wrapper, outer: &mut Graph) {
        let Wrapper { body, operands, results, autocast } = wrapper;
        let body = Arc::unwrap_or_clone(body);
        let mut inner: FxHashMap<String, String> = FxHashMap::default();
        for (input, operand) in body.inputs.iter().zip(operands) {
            inner.insert(input.name.clone(), operand);
        }
        for name in body.nodes.iter().flat_map(visit::results) {
            let free = self.free_name(name);
            inner.insert(name.to_owned(), free);
        }
        move_table(body.tensors, &mut outer.tensors, &inner);
        move_table(body.sym_ints, &mut outer.sym_ints, &inner);
        move_table(body.sym_floats, &mut outer.sym_floats, &inner);
        move_table(body.sym_bools, &mut outer.sym_bools, &inner);
        for mut node in body.nodes {
            node.args.iter_mut().for_each(|(_, arg)| rename(arg, &inner));
            rename_results(&mut node, &inner);
            if autocast.is_some() {
                self.cast_inputs(&mut node, &mut outer.tensors);
            }
            self.done.push(node);
        }
        for (result, output) in results.into_iter().zip(body.outputs) {
            let mut value = output.value;
            rename(&mut value, &inner);
            if let (Some(result), Arg::Tensor(name) | Arg::Sym(name)) = (result, value) {
                self.renamed.insert(result, name);
            }
        }
    }

    /// Inside autocast, an operator whose result has another floating-point dtype than its arguments received casts of
    /// them.
    fn cast_inputs(&mut self, node: &mut Node, tensors: &mut FxHashMap<String, TensorMeta>) {
        if !is_cast_by_autocast(&node.target) {
            return;
        }
        let result = visit::results(node).next().and_then(|name| tensors.get(name)).map(|meta| meta.dtype);
        let Some(dtype) = result.filter(|dtype| dtype.is_float()) else { return };
        let mut casts: FxHashMap<String, String> = FxHashMap::default();
        for (_, arg) in &node.args {
            let mut read = Vec::new();
            visit::each_name(arg, &mut |name| read.push(name));
            for name in read {
                let meta = tensors.get(name).filter(|meta| meta.dtype.is_float() && meta.dtype != dtype);
                let Some(meta) = meta.cloned().filter(|_| !casts.contains_key(name)) else { continue };
                let cast = self.free_name(&format!("{name}_{dtype}"));
                tensors.insert(cast.clone(), TensorMeta { dtype, ..meta });
                let args =
                    vec![("self".to_owned(), Arg::Tensor(name.to_owned())), ("dtype".to_owned(), Arg::Dtype(dtype))];
                self.done.push(Node {
                    name: cast.clone(),
                    target: "aten::to.dtype".to_owned(),
                    args,
                    outputs: vec![NodeOutput::Tensor(cast.clone())],
                    module: node.module.clone(),
                    module_type: node.module_type.clone(),
                    source_line: node.source_line.clone(),
                });
                casts.insert(name.to_owned(), cast);
            }
        }
        node.args.iter_mut().for_each(|(_, arg)| rename(arg, &casts));
    }

    /// The name itself if it is unused, else with a number. Numbers are not reused, so that finding one takes constant
    /// time.
    fn free_name(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.taken.insert(free.clone()) {
            self.names += 1;
            free = format!("{name}_inlined_{}", self.names);
        }
        free
    }
}

/// Whether autocast casts the arguments. Conversions, writes and normalizations take theirs unchanged.
fn is_cast_by_autocast(target: &str) -> bool {
    let operator = effects::operator(target);
    let writes = operator.and_then(|operator| operator.writes).is_some_and(|writes| writes.form == WriteForm::InPlace);
    target.starts_with("aten::") && !writes && !operator.is_some_and(|operator| operator.is(Trait::IgnoresAutocast))
}

fn rename(arg: &mut Arg, names: &FxHashMap<String, String>) {
    visit::each_name_mut(arg, &mut |name| {
        if let Some(new) = names.get(name.as_str()) {
            new.clone_into(name);
        }
    });
}

fn rename_results(node: &mut Node, names: &FxHashMap<String, String>) {
    let rename = |name: &mut String| {
        if let Some(new) = names.get(name.as_str()) {
            new.clone_into(name);
        }
    };
    for output in &mut node.outputs {
        match output {
            NodeOutput::Tensor(name) | NodeOutput::Sym(name) => rename(name),
            NodeOutput::Tensors(names) => names.iter_mut().for_each(rename),
            NodeOutput::None => {}
        }
    }
}

/// Moves properties of values to their new names; properties of values of the outer graph are kept.
fn move_table<T>(from: FxHashMap<String, T>, to: &mut FxHashMap<String, T>, names: &FxHashMap<String, String>) {
    for (name, value) in from {
        if let Some(new) = names.get(&name) {
            to.entry(new.clone()).or_insert(value);
        }
    }
}
