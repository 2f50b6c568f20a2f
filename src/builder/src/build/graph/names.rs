//! Assigns names: weights keep theirs, results are named after the PyTorch node, nodes after the module that called
//! them.

use std::sync::{Arc, LazyLock};

use rustc_hash::{FxHashMap, FxHashSet};

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
        names.keep(*value, "input");
    }
    for (value, (name, _)) in body.outputs.iter().zip(outputs) {
        names.set(*value, |pool| pool.given(name));
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
    fn set(&mut self, value: Value, name: impl FnOnce(&mut Pool) -> String) {
        if let Some(info) = self.graph.values.get_mut(value.index())
            && info.name.is_empty()
        {
            info.name = name(&mut self.values);
        }
    }

    fn hint(&self, value: Value) -> Option<Arc<str>> {
        self.hints.get(value.index()).and_then(|h| h.name.clone()).filter(|name| !name.is_empty())
    }

    /// Names a value after its hint, which may change.
    fn suggest(&mut self, value: Value, fallback: &str) {
        let hint = self.hint(value);
        self.set(value, |pool| pool.unique(hint.as_deref().unwrap_or(fallback)));
    }

    /// The same for a value whose name people know.
    fn keep(&mut self, value: Value, fallback: &str) {
        let hint = self.hint(value);
        self.set(value, |pool| pool.given(hint.as_deref().unwrap_or(fallback)));
    }

    /// Weights keep their names; small constants are named after their elements, other constants after their users'
    /// module.
    fn initializer(&mut self, value: Value) {
        let fallback = match &self.graph.info(value).source {
            Source::Constant(constant) => contents(constant),
            _ => return self.keep(value, "weight"),
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
            node.name = self.nodes.given(&name);
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
    /// The names as they are.
    exact: FxHashSet<String>,
    /// The [`identifier`] of each with the number to try next as a suffix.
    taken: FxHashMap<String, u32>,
}

impl Pool {
    /// The name as it is, unless it is taken. Names that people gave stay, even if they differ by a dot alone.
    fn given(&mut self, name: &str) -> String {
        if self.exact.contains(name) {
            return self.unique(name);
        }
        self.taken.entry(identifier(name)).or_insert(1);
        self.exact.insert(name.to_owned());
        name.to_owned()
    }

    /// The name, with a numeric suffix if a tool might take it for another one.
    fn unique(&mut self, name: &str) -> String {
        let Some(count) = self.taken.get(&identifier(name)) else { return self.given(name) };
        let mut next = *count;
        loop {
            let candidate = format!("{name}_{next}");
            next = next.saturating_add(1);
            if !self.taken.contains_key(&identifier(&candidate)) {
                self.taken.insert(identifier(name), next);
                return self.given(&candidate);
            }
        }
    }
}

/// What tools that write code make of a name, such as burn-onnx 0.22: `relu_`, `Relu` and `relu` are one, and so are `relu__1` and `relu.1`.
fn identifier(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => text.push(c.to_ascii_lowercase()),
            _ if text.ends_with('_') => {}
            _ => text.push('_'),
        }
    }
    text.truncate(text.trim_end_matches('_').len());
    text
}

#[test]
fn names_that_tools_take_for_one_another_are_told_apart() {
    let mut pool = Pool::default();
    assert_eq!(pool.given("relu"), "relu");
    assert_eq!(pool.unique("relu_"), "relu__1");
    assert_eq!(pool.unique("Relu_1"), "Relu_1_1");
    assert_eq!(pool.unique("relu"), "relu_2");
    assert_eq!((pool.given("a.b"), pool.given("a_b")), ("a.b".to_owned(), "a_b".to_owned()), "names that people gave");
    assert_eq!(pool.given("a.b"), "a.b_1");
}
