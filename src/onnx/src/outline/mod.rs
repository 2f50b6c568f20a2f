//! Turns modules into local functions: finds the nodes of each call of a module, shares one function between those that compute the same,
//! and leaves a call in their place.
//!
//! `groups` finds the nodes that one call can stand for, `form` describes them without their names, `equal` decides what is inside of a
//! function and what is given to it, `emit` writes the messages, and `shared` names what several calls read. Weights are always given. Two
//! calls share a function if their nodes are the same but for weights, constants and simple attributes: class names do not count.

mod emit;
mod equal;
mod form;
mod groups;
mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::Model;
use crate::proto::{NodeProto, TensorProto};
use form::FunctionForm;

/// Which modules become functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Functions {
    /// None: the graph is flat
    #[default]
    None,
    /// All modules, nested
    Modules,
    /// The outermost of those that occur more than once
    Repeated,
}

/// The call of a module that a node belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassCall {
    /// Different for each call: `layers.0`, `layers.0@1`.
    pub id: String,
    /// The type of the module: `torch.nn.modules.linear.Linear`.
    pub class: String,
}

impl ClassCall {
    /// The path of the module.
    fn path(&self) -> &str {
        self.id.split('@').next().unwrap_or_default()
    }
}

/// A node of the main graph, and the calls that it is in, the outermost first.
struct Item {
    node: NodeProto,
    calls: Arc<[ClassCall]>,
}

/// A function that is not yet written: nodes whose values have canonical names.
struct Class {
    name: String,
    domain: String,
    form: FunctionForm,
    /// How often it was called.
    calls: usize,
    /// For each call, the names of the values inside, in the order of their canonical names.
    inside: Vec<Vec<String>>,
    /// Names of attributes of the function, by slot.
    slots: Vec<String>,
    /// Constants inside of the function, by their position.
    embedded: BTreeMap<usize, TensorProto>,
    /// Slots that are given by each call.
    given: Vec<usize>,
    /// The path of the module of the first call, with a dot.
    prefix: String,
}

/// What became of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlined {
    /// Its name.
    pub name: String,
    /// How often it is called, in a flat count.
    pub calls: usize,
}

/// State of all levels.
struct Outliner {
    classes: Vec<Class>,
    by_key: FxHashMap<Vec<u8>, usize>,
    names: FxHashSet<(String, String)>,
    constants: FxHashMap<String, TensorProto>,
    weights: FxHashSet<String>,
    outputs: FxHashSet<String>,
}

/// Turns modules into functions. `calls` are those of each node of the main graph. The IR version is not changed, but functions have types
/// inside if `with_types`.
pub fn outline(model: &mut Model, calls: &[Arc<[ClassCall]>], which: Functions, with_types: bool) -> Vec<Outlined> {
    let Some(graph) = model.proto.graph.as_mut().filter(|_| which != Functions::None) else { return Vec::new() };
    let nodes = std::mem::take(&mut graph.node);
    let none: Arc<[ClassCall]> = Arc::new([]);
    let calls = calls.iter().chain(std::iter::repeat(&none));
    let mut items: Vec<Item> =
        nodes.into_iter().zip(calls).map(|(node, calls)| Item { node, calls: Arc::clone(calls) }).collect();
    let mut outliner = Outliner {
        classes: Vec::new(),
        by_key: FxHashMap::default(),
        names: FxHashSet::default(),
        constants: graph.initializer.iter().map(|tensor| (tensor.name().to_owned(), tensor.clone())).collect(),
        weights: model.weights.iter().map(|weight| weight.name.clone()).collect(),
        outputs: graph.output.iter().map(|value| value.name().to_owned()).collect(),
    };
    let deepest = items.iter().map(|item| item.calls.len()).max().unwrap_or(0);
    match which {
        Functions::None => {}
        // Inner functions come first: outer ones call them.
        Functions::Modules => (1..=deepest).rev().for_each(|depth| outliner.level(&mut items, depth, 1)),
        Functions::Repeated => (1..=deepest).for_each(|depth| outliner.level(&mut items, depth, 2)),
    }
    let Outliner { mut classes, constants, .. } = outliner;
    let mut nodes: Vec<NodeProto> = items.into_iter().map(|item| item.node).collect();
    equal::fix_equal(&mut nodes, &mut classes, &constants);
    let found = classes.iter().map(|class| Outlined { name: class.name.clone(), calls: class.calls }).collect();
    emit::emit(model, nodes, &classes, with_types);
    found
}

impl Outliner {
    /// Replaces the calls at this depth whose functions are called at least `least` times.
    fn level(&mut self, items: &mut Vec<Item>, depth: usize, least: usize) {
        let found = groups::find(items, depth, &self.outputs);
        let forms: Vec<FunctionForm> = found.iter().map(|group| self.form(items, group)).collect();
        let mut count: FxHashMap<&[u8], usize> = FxHashMap::default();
        for form in &forms {
            *count.entry(&form.key).or_default() += 1;
        }
        // A function of one node saves nothing; a module is one however small.
        let wanted = |form: &FunctionForm| {
            count.get(form.key.as_slice()).is_some_and(|n| *n >= least) && form.nodes.len() >= least
        };
        let keep: Vec<bool> = forms.iter().map(wanted).collect();
        let mut replaced = Vec::new();
        for ((group, form), keep) in found.into_iter().zip(forms).zip(keep) {
            if keep && let Some(call) = items.get(group.first()).and_then(|item| item.calls.get(depth - 1)).cloned() {
                let node = self.call(&call, form);
                replaced.push((group, node));
            }
        }
        groups::replace(items, replaced, depth);
    }

    fn form(&self, items: &[Item], group: &groups::Group) -> FunctionForm {
        let nodes = group.members.iter().filter_map(|at| items.get(*at)).map(|item| &item.node);
        FunctionForm::of(nodes, &group.outputs, &self.constants, &self.weights)
    }

    /// The call of the function with this form, which is made if there is none.
    fn call(&mut self, call: &ClassCall, form: FunctionForm) -> NodeProto {
        let index = match self.by_key.get(&form.key) {
            Some(index) => *index,
            None => self.add(call, &form),
        };
        let class = &mut self.classes[index];
        class.calls += 1;
        let attribute = form.slots(&class.slots);
        let FunctionForm { inputs, weights, constants, outputs, inside, .. } = form;
        class.inside.push(inside);
        NodeProto {
            input: [inputs, weights, constants].concat(),
            output: outputs,
            name: Some(call.id.clone()),
            op_type: Some(class.name.clone()),
            domain: Some(class.domain.clone()),
            attribute,
            ..NodeProto::default()
        }
    }

    fn add(&mut self, call: &ClassCall, form: &FunctionForm) -> usize {
        let (domain, class) = call.class.rsplit_once('.').unwrap_or(("modules", &call.class));
        let (domain, class) = (sanitized(domain), sanitized(class));
        let mut name = class.clone();
        let mut number = 2;
        while !self.names.insert((domain.clone(), name.clone())) {
            name = format!("{class}_{number}");
            number += 1;
        }
        let index = self.classes.len();
        self.by_key.insert(form.key.clone(), index);
        self.classes.push(Class {
            name,
            domain,
            slots: form.slot_names(),
            form: form.clone(),
            calls: 0,
            inside: Vec::new(),
            embedded: BTreeMap::new(),
            given: Vec::new(),
            prefix: format!("{}.", call.path()),
        });
        index
    }
}

/// A name of letters, digits, dots and underscores: classes may be local (`make.<locals>.Net`).
fn sanitized(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || c == '.' || c == '_' { c } else { '_' };
    Some(name.chars().map(fits).collect())
        .filter(|name: &String| !name.is_empty())
        .unwrap_or_else(|| "modules".to_owned())
}

/// Calls `f` with each name that a node reads, those in its subgraphs too.
fn visit_reads(node: &NodeProto, f: &mut dyn FnMut(&str)) {
    node.input.iter().filter(|name| !name.is_empty()).for_each(|name| f(name));
    for graph in node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
        graph.node.iter().for_each(|node| visit_reads(node, f));
        graph.output.iter().for_each(|value| f(value.name()));
    }
}
