//! Assigns names: weights keep theirs, results are named after the PyTorch node, nodes after the module that called
//! them.

use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Body, Constant, Graph, Node, Origin, Source, Value};
use aten2onnx_onnx::schema;

/// The data that a value is named after.
pub(crate) struct Hint {
    /// The suggested name.
    pub(crate) name: Option<Arc<str>>,
    /// The origin of the node, as an index into the provenance table.
    pub(crate) origin: u32,
}

/// Lists with more elements are not spelled out in a name.
const MAX_SPELLED: usize = 6;

/// Names every value and node of a graph; `hints` are indexed by value, `outputs` are the names of the graph's outputs.
pub(crate) fn assign(graph: &mut Graph, hints: &[Hint], outputs: &[(Arc<str>, Value)]) {
    let mut body = std::mem::take(&mut graph.body);
    let provenance = std::mem::take(&mut graph.provenance);
    let initializers = std::mem::take(&mut graph.initializers);
    let mut names = Names { graph, hints, provenance: &provenance, values: Pool::default(), nodes: Pool::default() };
    for value in &body.inputs {
        names.suggest(*value, "input");
    }
    for (value, (name, _)) in body.outputs.iter().zip(outputs) {
        names.set(*value, name);
    }
    for value in &initializers {
        names.initializer(*value);
    }
    names.body(&mut body);
    graph.body = body;
    graph.provenance = provenance;
    graph.initializers = initializers;
}

struct Names<'a> {
    graph: &'a mut Graph,
    hints: &'a [Hint],
    provenance: &'a [Origin],
    values: Pool,
    nodes: Pool,
}

impl Names<'_> {
    fn set(&mut self, value: Value, name: &str) {
        if let Some(info) = self.graph.values.get_mut(value.index())
            && info.name.is_empty()
        {
            info.name = self.values.unique(name);
        }
    }

    fn suggest(&mut self, value: Value, fallback: &str) {
        let hint = self.hints.get(value.index()).and_then(|h| h.name.clone());
        match hint.filter(|name| !name.is_empty()) {
            Some(name) => self.set(value, &name),
            None => self.set(value, fallback),
        }
    }

    /// Weights keep their names; small constants are named after their elements, other constants after their users'
    /// module.
    fn initializer(&mut self, value: Value) {
        let fallback = match &self.graph.info(value).source {
            Source::Constant(constant) => contents(constant),
            _ => Some("weight".to_owned()),
        };
        match fallback {
            Some(name) => self.suggest(value, &name),
            None => {
                let origin = self.hints.get(value.index()).and_then(|h| self.provenance.get(h.origin as usize));
                let name = origin.map_or("", |o| o.node_name.as_str());
                let name = if name.is_empty() { "constant".to_owned() } else { format!("{name}_constant") };
                self.suggest(value, &name);
            }
        }
    }

    fn body(&mut self, body: &mut Body) {
        for node in &mut body.nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &mut Node) {
        static NOWHERE: LazyLock<Origin> = LazyLock::new(Origin::default);
        let origin = self.provenance.get(node.origin as usize).unwrap_or(&NOWHERE);
        let (_, op) = node.domain_and_type();
        let base = if origin.node_name.is_empty() { op.to_owned() } else { format!("{}_{op}", origin.node_name) };
        let place = origin.module.as_deref().filter(|m| !m.is_empty()).unwrap_or(&origin.node_name);
        let name = if place.is_empty() { op.to_owned() } else { format!("{place}/{op}") };
        if node.name.is_empty() {
            node.name = self.nodes.unique(&name);
        }
        self.results(node, &base);
        for (_, attr) in &mut node.attrs {
            for inner in attr.bodies_mut() {
                for value in &inner.inputs {
                    self.suggest(*value, &format!("{base}_in"));
                }
                self.body(inner);
            }
        }
    }

    fn results(&mut self, node: &Node, base: &str) {
        let several = node.outputs.len() > 1;
        let ports = schema::find(node.op).filter(|_| several).and_then(|s| s.versions.last()).map(|v| v.outputs);
        for (i, output) in node.outputs.iter().enumerate() {
            let Some(value) = output else { continue };
            match ports.filter(|p| p.len() > 1).and_then(|p| p.get(i)) {
                Some(port) => self.suggest(*value, &format!("{base}_{}", port.name)),
                None => self.suggest(*value, base),
            }
        }
    }
}

/// The name of a small constant: `const_3`, `list_0_32`, `const_float32_0.5`; `list_m1` has -1. Tools that make identifiers of names drop
/// a minus (burn-onnx 0.22), and would take -1 for 1.
fn contents(constant: &Constant) -> Option<String> {
    if constant.sizes.len() > 1 || constant.len() > MAX_SPELLED {
        return None;
    }
    let numbers = encode::decode(constant.dtype, constant.bytes())?;
    let mut name = if constant.sizes.is_empty() { "const" } else { "list" }.to_owned();
    if constant.dtype != Dtype::Int64 {
        name = format!("{name}_{}", constant.dtype);
    }
    for number in numbers {
        let text = match number {
            Scalar::Int(n) => n.to_string(),
            Scalar::Bool(b) => b.to_string(),
            Scalar::Float(x) => shortest(x, constant.dtype)?,
            _ => return None,
        };
        name = format!("{name}_{}", text.replace('-', "m"));
    }
    Some(name).filter(|name| name.len() <= 48)
}

/// The shortest text that reads back as the same element.
fn shortest(x: f64, dtype: Dtype) -> Option<String> {
    match dtype {
        Dtype::Float64 => return Some(x.to_string()),
        Dtype::Float32 => return Some((x as f32).to_string()),
        _ => {}
    }
    let bytes = encode::encode_float(x, dtype)?;
    let rounded = (0..6).filter_map(|digits| format!("{x:.digits$e}").parse::<f64>().ok());
    let same = rounded.into_iter().find(|r| encode::encode_float(*r, dtype).as_ref() == Some(&bytes));
    Some(same.unwrap_or(x).to_string())
}

/// Names in use.
#[derive(Default)]
struct Pool {
    /// Each name with the number to try next as its suffix.
    taken: FxHashMap<String, u32>,
}

impl Pool {
    /// The name, with a numeric suffix if it is taken.
    fn unique(&mut self, name: &str) -> String {
        let Some(count) = self.taken.get_mut(name) else {
            self.taken.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        let mut next = *count;
        *count = count.saturating_add(1);
        loop {
            let candidate = format!("{name}_{next}");
            if !self.taken.contains_key(&candidate) {
                self.taken.insert(candidate.clone(), 1);
                if let Some(count) = self.taken.get_mut(name) {
                    *count = next.saturating_add(1);
                }
                return candidate;
            }
            next = next.saturating_add(1);
        }
    }
}
