//! The examples of a page: which graphs they become, drawn and as text, and what differs between two.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::coverage::ranges;
use aten2onnx_opmap::tree::Example;
use serde::Serialize;

use super::highlight::Highlighter;
use crate::draw;
use crate::facts::{Facts, Run, State};

/// Larger graphs are shown as text only.
const MAX_DRAWN: usize = 24;

/// Of larger graphs, the beginning is shown.
const MAX_LINES: usize = 30;

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
    /// The drawing, unless it is too large or that of another example.
    pub svg: Option<String>,
    /// The text.
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
        if same_as.is_none() {
            drawn.insert(key, number + 1);
        }
        one(facts, name, root, number + 1, example, run, same_as)
    };
    examples.into_iter().enumerate().map(show).collect()
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
    let graphs = own.iter().enumerate().map(|(index, graph)| {
        let opsets = ranges(&run.opsets_of(index));
        let nodes = draw::count(graph);
        let label = format!("{name}, example {number}, opset {opsets}");
        let frame = draw::Frame { label: &label, ..draw::Frame::default() };
        let svg = (nodes <= MAX_DRAWN).then(|| draw::svg(graph, &frame));
        let (text, paths) = text(graph);
        Drawn { opsets, nodes, svg, text, paths }
    });
    let refusals: Vec<Refusal> = run
        .refusals()
        .into_iter()
        .map(|(reason, opsets)| Refusal { opsets: ranges(&opsets), reason: reason.to_owned() })
        .collect();
    let cells = run.states.iter().map(|(opset, state)| Cell {
        opset: *opset,
        graph: if let State::Graph(index) = state { Some(*index) } else { None },
    });
    let source = example.text.strip_prefix("example ").unwrap_or(&example.text);
    Shown {
        number,
        html: Highlighter::new(facts, root, None).without_links().html(source),
        summary: summary(run),
        cells: cells.collect(),
        graphs: graphs.collect(),
        differences: if draws { differences(run) } else { String::new() },
        refusals,
        same_as,
    }
}

fn summary(run: &Run) -> String {
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

/// The text of a graph, and the path of the node of each line.
fn text(graph: &Graph) -> (String, String) {
    let lines = graph.lines();
    let (mut text, mut paths) = (String::new(), String::new());
    // The opset is said in the heading, because equal graphs of several opsets are shown once.
    for line in lines.iter().skip(1).take(MAX_LINES) {
        text.push_str(&format!("{:1$}{2}\n", "", line.depth * 2, line.text));
        paths.push_str(if line.path.is_empty() { "-" } else { &line.path });
        paths.push(' ');
    }
    if lines.len() > MAX_LINES + 1 {
        text.push_str(&format!("... {} more lines\n", lines.len() - MAX_LINES - 1));
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
            if draw::count(old).max(draw::count(new)) <= MAX_LINES {
                let diff = draw::diff(old, new);
                all.push_str(&format!("{i}-{j}:{}|{};", classes(&diff.old), classes(&diff.new)));
            }
        }
    }
    all
}
