//! A graph as text, for snapshots and pages: one node per line.

use std::fmt;

use super::{Attr, Body, Constant, Data, Graph, Node, Source, Value};
use aten2onnx_core::dtype::Dtype;

/// Larger constants are printed by type only.
const MAX_SHOWN: usize = 16;

/// A line of a graph's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The node that the line is: its position, `3`, or `5.0.2` for the third node of the first subgraph of the sixth. Empty for
    /// other lines.
    pub path: String,
    /// The steps of indentation.
    pub depth: usize,
    /// The text without its indentation.
    pub text: String,
    /// The operator that the node calls.
    pub op: Option<&'static str>,
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{:2$}{}", "", line.text, line.depth * 4))
    }
}

impl Graph {
    /// The text, line by line.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Lines { graph: self, lines: Vec::new() };
        lines.add(0, format!("opset {}", self.opset));
        for value in &self.initializers {
            let info = self.info(*value);
            let contents = match &info.source {
                Source::Constant(constant) => format!(" = {}", constant.text(MAX_SHOWN)),
                _ => String::new(),
            };
            lines.add(0, format!("{} {}{contents}", info.ty, info.name));
        }
        lines.body(&self.body, "", 0, "");
        lines.lines
    }

    /// The value of an attribute as text; None for subgraphs.
    pub fn attr_text(&self, attr: &Attr) -> Option<String> {
        Some(match attr {
            Attr::Float(v) => format!("{v:?}"),
            Attr::Int(v) => v.to_string(),
            Attr::Str(v) => format!("{v:?}"),
            Attr::Floats(v) => format!("{v:?}"),
            Attr::Ints(v) => format!("{v:?}"),
            Attr::Strs(v) => format!("{v:?}"),
            Attr::Tensor(v) => match self.constant(*v) {
                Some(constant) => format!("{} {}", self.ty(*v), constant.text(MAX_SHOWN)),
                None => self.ty(*v).to_string(),
            },
            Attr::Graph(_) | Attr::Graphs(_) => return None,
            Attr::Message(_) => "...".to_owned(),
        })
    }

    fn node_text(&self, node: &Node) -> String {
        let name = |v: &Option<Value>| v.map_or_else(String::new, |v| self.name(v).to_owned());
        let outputs: Vec<String> = node.outputs.iter().map(name).collect();
        let inputs: Vec<String> = node.inputs.iter().map(name).collect();
        let attrs: Vec<String> =
            node.attrs.iter().filter_map(|(name, attr)| Some(format!("{name} = {}", self.attr_text(attr)?))).collect();
        let attrs = if attrs.is_empty() { String::new() } else { format!(" <{}>", attrs.join(", ")) };
        format!("{} = {}{attrs}({})", outputs.join(", "), node.op, inputs.join(", "))
    }
}

struct Lines<'a> {
    graph: &'a Graph,
    lines: Vec<Line>,
}

impl Lines<'_> {
    fn add(&mut self, depth: usize, text: String) {
        self.lines.push(Line { path: String::new(), depth, text, op: None });
    }

    /// A body, whose first line starts with `title`; `within` is the path of the body.
    fn body(&mut self, body: &Body, title: &str, depth: usize, within: &str) {
        let typed = |v: &Value| format!("{} {}", self.graph.ty(*v), self.graph.name(*v));
        let inputs: Vec<String> = body.inputs.iter().map(typed).collect();
        let outputs: Vec<String> = body.outputs.iter().map(typed).collect();
        self.add(depth, format!("{title}({}) -> ({}) {{", inputs.join(", "), outputs.join(", ")));
        for (i, node) in body.nodes.iter().enumerate() {
            let path = if within.is_empty() { i.to_string() } else { format!("{within}.{i}") };
            let text = self.graph.node_text(node);
            self.lines.push(Line { path: path.clone(), depth: depth + 1, text, op: Some(node.op) });
            let bodies = node.attrs.iter().flat_map(|(name, attr)| attr.bodies().iter().map(move |body| (name, body)));
            for (i, (name, body)) in bodies.enumerate() {
                self.body(body, &format!("{name} = "), depth + 2, &format!("{path}.{i}"));
            }
        }
        self.add(depth, "}".to_owned());
    }
}

impl Constant {
    /// The elements, `{1, 2}`; `...` if there are more than `most`.
    pub fn text(&self, most: usize) -> String {
        if self.len() > most {
            return "...".to_owned();
        }
        let elements: Vec<String> = match &self.data {
            Data::Strings(strings) => strings.iter().map(|s| format!("{s:?}")).collect(),
            Data::Bytes(bytes) => elements(self.dtype, bytes),
        };
        format!("{{{}}}", elements.join(", "))
    }
}

fn elements(dtype: Dtype, bytes: &[u8]) -> Vec<String> {
    macro_rules! read {
        ($t:ty, $size:literal) => {
            bytes.as_chunks::<$size>().0.iter().map(|b| <$t>::from_le_bytes(*b).to_string()).collect()
        };
    }
    match dtype {
        Dtype::Float32 => read!(f32, 4),
        Dtype::Float64 => read!(f64, 8),
        Dtype::Float16 => read!(half::f16, 2),
        Dtype::Bfloat16 => read!(half::bf16, 2),
        Dtype::Int8 => read!(i8, 1),
        Dtype::Int16 => read!(i16, 2),
        Dtype::Int32 => read!(i32, 4),
        Dtype::Int64 => read!(i64, 8),
        Dtype::Uint8 => read!(u8, 1),
        Dtype::Uint16 => read!(u16, 2),
        Dtype::Uint32 => read!(u32, 4),
        Dtype::Uint64 => read!(u64, 8),
        Dtype::Bool => bytes.iter().map(|b| (*b != 0).to_string()).collect(),
        _ => bytes.iter().map(|b| format!("{b:#04x}")).collect(),
    }
}
