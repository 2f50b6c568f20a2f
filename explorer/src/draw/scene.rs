//! What is drawn of a body: a box for each node with its attributes and constants, a rounded end for each input and output, and
//! the values that lead from one to another.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Body, Graph, Node, Source, Type, Value};
use aten2onnx_onnx::schema;

use super::layout::{self, Extent, Net, Placed, Port};

/// The width of a character of each size of text.
const TITLE: f64 = 7.3;
const SMALL: f64 = 6.1;
/// The height of a line.
pub const LINE: f64 = 14.0;
/// The height of the operator's name.
pub const HEAD: f64 = 22.0;
const PADDING: f64 = 8.0;
/// Longer texts are cut.
const LONGEST: usize = 30;
/// The number of lines in a box.
const LINES: usize = 5;
/// The elements of a constant that are shown.
const ELEMENTS: usize = 6;
/// Subgraphs deeper than this are only counted.
const DEEPEST: usize = 6;

/// A body, laid out.
pub struct Scene<'a> {
    /// In the order of [`Placed::corners`].
    pub items: Vec<Item<'a>>,
    /// Where they are.
    pub placed: Placed,
}

/// A box.
pub struct Item<'a> {
    /// What it is.
    pub what: What<'a>,
    /// The first line.
    pub title: String,
    /// The size of the box.
    pub width: f64,
    /// The size of the box.
    pub height: f64,
    /// The other lines.
    pub lines: Vec<String>,
    /// The types at its outputs: offsets from the middle, and texts.
    pub types: Vec<(f64, String)>,
    /// The subgraphs, with the names of their attributes.
    pub bodies: Vec<Inner<'a>>,
}

/// A subgraph in the box of its node.
pub struct Inner<'a> {
    /// `then_branch`
    pub name: &'static str,
    /// The corner inside the box.
    pub at: (f64, f64),
    /// What is drawn.
    pub scene: Scene<'a>,
}

/// What a box is.
pub enum What<'a> {
    /// An input of the body.
    Input(Value),
    /// A value of a body around this one.
    Outer(Value),
    /// A node, with its position in the body.
    Node(usize, &'a Node),
    /// An output of the body.
    Output(Value),
}

/// Lays out a graph.
pub fn scene(graph: &Graph) -> Scene<'_> {
    body(graph, &graph.body, 0)
}

fn body<'a>(graph: &'a Graph, body: &'a Body, depth: usize) -> Scene<'a> {
    let mut items: Vec<Item<'a>> = body.inputs.iter().map(|v| end(graph, What::Input(*v), *v)).collect();
    if depth > 0 {
        items.extend(outer(graph, body).into_iter().map(|v| end(graph, What::Outer(v), v)));
    }
    items.extend(body.nodes.iter().enumerate().map(|(i, node)| boxed(graph, i, node, depth)));
    items.extend(body.outputs.iter().map(|v| end(graph, What::Output(*v), *v)));
    for item in &mut items {
        (item.width, item.height) = item.size();
        item.set_types(graph);
    }
    let extent = |item: &Item<'_>| {
        let right = item.overhang().max(item.width / 2.0);
        Extent { width: item.width, height: item.height, right }
    };
    let placed = layout::place(items.iter().map(extent).collect(), nets(graph, &items));
    Scene { items, placed }
}

/// The values that a body takes from around it, in the order of use.
fn outer(graph: &Graph, body: &Body) -> Vec<Value> {
    let (mut made, mut used) = (BTreeSet::new(), Vec::new());
    collect(body, &mut made, &mut used);
    let mut seen = BTreeSet::new();
    used.retain(|value| !made.contains(value) && !is_stored(graph, *value) && seen.insert(*value));
    used
}

/// What the body and its subgraphs make and use.
fn collect(body: &Body, made: &mut BTreeSet<Value>, used: &mut Vec<Value>) {
    made.extend(&body.inputs);
    for node in &body.nodes {
        used.extend(node.inputs.iter().flatten());
        node.bodies().for_each(|inner| collect(inner, made, used));
        made.extend(node.outputs.iter().flatten());
    }
    used.extend(&body.outputs);
}

/// Whether a value is shown inside the nodes that use it.
fn is_stored(graph: &Graph, value: Value) -> bool {
    matches!(graph.info(value).source, Source::Constant(_) | Source::Weight(_))
}

/// The values that a node uses: its inputs, and what its subgraphs take from around them.
fn uses(graph: &Graph, node: &Node) -> Vec<Value> {
    let mut used: Vec<Value> = node.inputs.iter().flatten().copied().filter(|v| !is_stored(graph, *v)).collect();
    for body in node.bodies() {
        for value in outer(graph, body) {
            if !used.contains(&value) {
                used.push(value);
            }
        }
    }
    used
}

/// An input or output.
fn end<'a>(graph: &Graph, what: What<'a>, value: Value) -> Item<'a> {
    let lines = match &graph.info(value).source {
        Source::Constant(_) | Source::Weight(_) => vec![cut(&stored(graph, value))],
        _ => vec![cut(&type_text(graph.ty(value)))],
    };
    Item::new(what, cut(graph.name(value)), lines, Vec::new())
}

fn boxed<'a>(graph: &'a Graph, at: usize, node: &'a Node, depth: usize) -> Item<'a> {
    let attributes = node.attrs.iter().filter_map(|(name, attr)| {
        let dtype = match attr {
            // Element types have names.
            Attr::Int(number) if *name == "to" || *name == "dtype" => {
                i32::try_from(*number).ok().and_then(Dtype::from_onnx).map(|dtype| dtype.to_string())
            }
            _ => None,
        };
        Some(attribute(name, &dtype.map_or_else(|| graph.attr_text(attr), Some)?))
    });
    let version = schema::find(node.op).and_then(|op| op.at(graph.version_of(node.domain_and_type().0)));
    let constants = node.inputs.iter().enumerate().filter_map(|(i, value)| {
        let value = (*value).filter(|value| is_stored(graph, *value))?;
        let port = version.and_then(|version| version.input_port(i)).map_or("", |port| port.name);
        Some(attribute(port, &stored(graph, value)))
    });
    let mut lines: Vec<String> = attributes.chain(constants).collect();
    if lines.len() > LINES {
        let more = lines.len() - (LINES - 1);
        lines.truncate(LINES - 1);
        lines.push(format!("and {more} more"));
    }
    let named = node.attrs.iter().flat_map(|(name, attr)| attr.bodies().iter().map(move |body| (*name, body)));
    let mut bodies = Vec::new();
    if depth < DEEPEST {
        let mut left = PADDING;
        let top = HEAD + LINE * lines.len() as f64 + LINE + 2.0;
        for (name, inner) in named {
            let scene = body(graph, inner, depth + 1);
            let width = scene.placed.width.max(name.len() as f64 * SMALL);
            bodies.push(Inner { name, at: (left, top), scene });
            left += width + PADDING;
        }
    } else {
        lines.extend(named.map(|(name, body)| format!("{name}: {} nodes", body.nodes.len())));
    }
    Item::new(What::Node(at, node), node.op.to_owned(), lines, bodies)
}

/// A constant by its elements if they are few, else by its type.
fn stored(graph: &Graph, value: Value) -> String {
    let ty = type_text(graph.ty(value));
    match graph.constant(value) {
        Some(constant) if constant.len() <= ELEMENTS => {
            let text = constant.text(ELEMENTS);
            let elements = text.trim_start_matches('{').trim_end_matches('}');
            if constant.sizes.is_empty() { elements.to_owned() } else { format!("[{elements}]") }
        }
        _ => ty,
    }
}

fn attribute(name: &str, value: &str) -> String {
    if name.is_empty() { cut(value) } else { cut(&format!("{name} = {value}")) }
}

fn cut(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= LONGEST {
        return text.chars().map(clean).collect();
    }
    text.chars().take(LONGEST - 1).map(clean).chain(['…']).collect()
}

/// `float32[2, n]`; empty if nothing is known.
fn type_text(ty: &Type) -> String {
    if ty.is_unknown() { String::new() } else { ty.to_string() }
}

/// The values between boxes. A value that nothing uses has no net.
fn nets(graph: &Graph, items: &[Item<'_>]) -> Vec<Net> {
    let mut of: BTreeMap<Value, usize> = BTreeMap::new();
    let mut nets: Vec<Net> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let made = item.made();
        for (slot, value) in made.iter().enumerate() {
            of.insert(*value, nets.len());
            nets.push(Net { from: Port { item: i, at: spread(slot, made.len(), item.width) }, to: Vec::new() });
        }
    }
    for (i, item) in items.iter().enumerate() {
        let used = item.used(graph);
        for (slot, value) in used.iter().enumerate() {
            if let Some(net) = of.get(value).and_then(|net| nets.get_mut(*net)) {
                net.to.push(Port { item: i, at: spread(slot, used.len(), item.width) });
            }
        }
    }
    nets.retain(|net| !net.to.is_empty());
    nets
}

/// The place of one of `count` ports, from the middle.
fn spread(slot: usize, count: usize, width: f64) -> f64 {
    width * ((slot as f64 + 1.0) / (count as f64 + 1.0) - 0.5)
}

impl<'a> Item<'a> {
    fn new(what: What<'a>, title: String, lines: Vec<String>, bodies: Vec<Inner<'a>>) -> Item<'a> {
        Item { what, title, width: 0.0, height: 0.0, lines, types: Vec::new(), bodies }
    }

    /// The values that it makes and something may use.
    fn made(&self) -> Vec<Value> {
        match &self.what {
            What::Input(value) | What::Outer(value) => vec![*value],
            What::Node(_, node) => node.outputs.iter().flatten().copied().collect(),
            What::Output(_) => Vec::new(),
        }
    }

    fn used(&self, graph: &Graph) -> Vec<Value> {
        match &self.what {
            What::Input(_) | What::Outer(_) => Vec::new(),
            What::Node(_, node) => uses(graph, node),
            What::Output(value) => vec![*value],
        }
    }

    fn size(&self) -> (f64, f64) {
        let title = self.title.chars().count() as f64 * TITLE;
        let lines = self.lines.iter().map(|line| line.chars().count() as f64 * SMALL);
        let text = lines.fold(title, f64::max) + 2.0 * PADDING;
        let inner = self
            .bodies
            .last()
            .map_or(0.0, |last| last.at.0 + last.scene.placed.width.max(last.name.len() as f64 * SMALL) + PADDING);
        let deepest = self.bodies.iter().map(|body| body.at.1 + body.scene.placed.height + PADDING);
        let height = HEAD + LINE * self.lines.len() as f64 + if self.lines.is_empty() { 0.0 } else { 4.0 };
        (text.max(inner).max(44.0).round(), deepest.fold(height, f64::max).round())
    }

    /// Types stand at the outputs of nodes, where there is room.
    fn set_types(&mut self, graph: &Graph) {
        let What::Node(_, node) = &self.what else { return };
        let made: Vec<Value> = node.outputs.iter().flatten().copied().collect();
        let room = if made.len() == 1 { f64::INFINITY } else { self.width / made.len() as f64 };
        let texts = made.iter().map(|value| cut(&type_text(graph.ty(*value))));
        let types = texts.enumerate().map(|(slot, text)| (spread(slot, made.len(), self.width), text));
        self.types =
            types.filter(|(_, text)| !text.is_empty() && text.chars().count() as f64 * SMALL <= room).collect();
    }

    /// The width of the text right of its edge, for the distance to the next box.
    fn overhang(&self) -> f64 {
        self.types.iter().map(|(at, text)| at + 4.0 + text.chars().count() as f64 * SMALL).fold(0.0, f64::max)
    }
}
