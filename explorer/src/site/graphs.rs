//! The examples of a page: which graphs they become, drawn and as text, and what differs between two.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::coverage::ranges;
use aten2onnx_opmap::tree::Example;
use serde::Serialize;

use super::highlight::Highlighter;
use super::packed::packed;
use crate::draw;
use crate::facts::{Facts, Run, State};

/// Larger graphs are packed: a page has the beginning of their text, and the rest for scripts.
const MAX_PLAIN: usize = 12;

/// The lines of the beginning.
const MAX_LINES: usize = 12;

/// Of larger graphs there is no drawing, which nobody could read.
const MAX_DRAWN: usize = 150;

/// Longer lists of differences are packed.
const MAX_DIFFERENCES: usize = 600;

/// An example as templates show it.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// Its number on the page, from 1.
    pub number: usize,
    /// As highlighted opmap.
    pub html: String,
    /// `works at every opset`, `opset 9 to 19: refused`.
    pub summary: String,
    /// A letter for each opset: of the graph (`a`, `b`, ...), or `x` if it is refused, for the strip.
    pub cells: Vec<Cell>,
    /// The graphs that differ.
    pub graphs: Vec<Drawn>,
    /// Why it is refused, and where.
    pub refusals: Vec<Refusal>,
    /// The nodes that differ between two graphs, for each pair.
    pub differences: String,
    /// What scripts show of large graphs, packed together because graphs of several opsets are alike: many differences, the places of the
    /// graphs, and their drawings, texts and paths, separated by zeros.
    pub packed: Option<String>,
    /// The number of an example with the same nodes, which is drawn.
    pub same_as: Option<usize>,
}

/// An opset of an example.
#[derive(Debug, Serialize)]
pub struct Cell {
    /// The opset.
    pub opset: u32,
    /// The graph.
    pub graph: Option<usize>,
}

/// A graph.
#[derive(Debug, Serialize)]
pub struct Drawn {
    /// `opset 9 to 12`
    pub opsets: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The drawing, unless it is packed or there is none.
    pub svg: Option<String>,
    /// Whether there is a drawing.
    pub is_drawn: bool,
    /// The text, or its beginning.
    pub text: String,
    /// The path of the node of each line, `-` for lines without one.
    pub paths: String,
}

/// A refusal.
#[derive(Debug, Serialize)]
pub struct Refusal {
    /// `9 to 12`
    pub opsets: String,
    /// Why.
    pub reason: String,
}

/// The examples of a page. `root` leads to the root of the site.
pub fn shown(facts: &Facts, name: &str, root: &str) -> Vec<Shown> {
    let mut drawn: BTreeMap<String, usize> = BTreeMap::new();
    let examples = facts.examples(name);
    let show = |(number, (example, run)): (usize, (&Example, &Run))| {
        let key = shape(run);
        let same_as = drawn.get(&key).copied();
        if same_as.is_none() && run.is_known() {
            drawn.insert(key, number + 1);
        }
        one(facts, name, root, number + 1, example, run, same_as)
    };
    examples.into_iter().enumerate().map(show).collect()
}

/// The large graphs of an example.
#[derive(Default)]
struct Large {
    places: Vec<String>,
    drawings: Vec<String>,
    texts: Vec<String>,
    paths: Vec<String>,
}

impl Large {
    fn add(&mut self, place: usize, drawing: Option<String>, (text, paths): (String, String)) {
        self.places.push(place.to_string());
        self.drawings.push(drawing.unwrap_or_default());
        self.texts.push(text);
        self.paths.push(paths);
    }

    /// Everything, like beside like.
    fn packed(self, differences: &str) -> Option<String> {
        if self.places.is_empty() && differences.is_empty() {
            return None;
        }
        let head = vec![differences.to_owned(), self.places.join(" ")];
        Some(packed(&[head, self.drawings, self.texts, self.paths].concat().join("\0")))
    }
}

fn one(
    facts: &Facts,
    name: &str,
    root: &str,
    number: usize,
    example: &Example,
    run: &Run,
    same_as: Option<usize>,
) -> Shown {
    let draws = same_as.is_none();
    // Graphs with the nodes of another example differ from its graphs in types and numbers alone.
    let own = if draws { run.graphs.as_slice() } else { &[] };
    let mut large = Large::default();
    let graphs: Vec<Drawn> = own
        .iter()
        .enumerate()
        .map(|(index, graph)| {
            let opsets = ranges(&run.opsets_of(index));
            let nodes = draw::count(graph);
            let label = format!("{name}, example {number}, opset {opsets}");
            let frame = draw::Frame { label: &label, ..draw::Frame::default() };
            let svg = (nodes <= MAX_DRAWN).then(|| draw::svg(graph, &frame));
            let is_drawn = svg.is_some();
            if nodes <= MAX_PLAIN {
                let (text, paths) = text(graph, usize::MAX);
                return Drawn { opsets, nodes, svg, is_drawn, text, paths };
            }
            large.add(index, svg, text(graph, usize::MAX));
            let (text, paths) = text(graph, MAX_LINES);
            Drawn { opsets, nodes, svg: None, is_drawn, text, paths }
        })
        .collect();
    let refusals: Vec<Refusal> = run
        .refusals()
        .into_iter()
        .map(|(reason, opsets)| Refusal { opsets: ranges(&opsets), reason: reason.to_owned() })
        .collect();
    let cells = run.states.iter().map(|(opset, state)| Cell {
        opset: *opset,
        graph: if let State::Graph(index) = state { Some(*index) } else { None },
    });
    let differences = if draws { differences(run) } else { String::new() };
    let are_many = differences.len() > MAX_DIFFERENCES;
    let packed = large.packed(if are_many { &differences } else { "" });
    let source = example.text.strip_prefix("example ").unwrap_or(&example.text);
    Shown {
        number,
        html: Highlighter::new(facts, root, None).without_links().html(source),
        summary: summary(run),
        cells: cells.collect(),
        graphs,
        packed,
        differences: if are_many { String::new() } else { differences },
        refusals,
        same_as,
    }
}

fn summary(run: &Run) -> String {
    if !run.is_known() {
        return "not drawn: only other operators were asked for".to_owned();
    }
    let refused: BTreeSet<u32> =
        run.states.iter().filter(|(_, state)| matches!(state, State::Refused(_))).map(|(opset, _)| *opset).collect();
    match (run.graphs.len(), refused.is_empty()) {
        (0, _) => "refused at every opset".to_owned(),
        (1, true) => "one form at every opset".to_owned(),
        (count, true) => format!("{count} forms"),
        (1, false) => format!("one form; refused at {}", ranges(&refused)),
        (count, false) => format!("{count} forms; refused at {}", ranges(&refused)),
    }
}

/// The operators and connections of all graphs, without dtypes and numbers.
fn shape(run: &Run) -> String {
    let mut text = String::new();
    for (opset, state) in &run.states {
        let _ = opset;
        match state {
            State::Graph(index) => text.push_str(&format!("{index};")),
            State::Refused(_) => text.push_str("x;"),
        }
    }
    for graph in &run.graphs {
        text.push('|');
        graph.body.visit(&mut |node| {
            text.push_str(node.op);
            text.push('(');
            for input in node.inputs.iter().flatten() {
                text.push_str(if graph.constant(*input).is_some() { "c" } else { graph.name(*input) });
                text.push(',');
            }
            text.push(')');
        });
    }
    text
}

/// The text of a graph up to a number of lines, and the path of the node of each line.
fn text(graph: &Graph, most: usize) -> (String, String) {
    let lines = graph.lines();
    let (mut text, mut paths) = (String::new(), String::new());
    // The opset is said in the heading, because equal graphs of several opsets are shown once.
    for line in lines.iter().skip(1).take(most) {
        text.push_str(&format!("{:1$}{2}\n", "", line.depth * 2, line.text));
        paths.push_str(if line.path.is_empty() { "-" } else { &line.path });
        paths.push(' ');
    }
    let rest = lines.len().saturating_sub(1).saturating_sub(most);
    if rest > 0 {
        text.push_str(&format!("... {rest} more lines\n"));
    }
    paths.truncate(paths.trim_end_matches([' ', '-']).len());
    (text, paths)
}

/// By a pair of graphs, the paths of nodes that differ in the older and in the newer one: `0-1:3c 5c|5c 7a;`, where a letter is the first one
/// of the class.
fn differences(run: &Run) -> String {
    let mut all = String::new();
    let classes = |marks: &draw::Marks| {
        let mark =
            |(path, mark): (&String, &draw::Mark)| format!("{path}{}", mark.class().get(..1).unwrap_or_default());
        marks.iter().map(mark).collect::<Vec<_>>().join(" ")
    };
    for (i, old) in run.graphs.iter().enumerate() {
        for (j, new) in run.graphs.iter().enumerate().skip(i + 1) {
            if draw::count(old).max(draw::count(new)) <= MAX_DRAWN {
                let diff = draw::diff(old, new);
                all.push_str(&format!("{i}-{j}:{}|{};", classes(&diff.old), classes(&diff.new)));
            }
        }
    }
    all
}
