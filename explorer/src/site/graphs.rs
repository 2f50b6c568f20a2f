//! The examples of a page: which graphs they become, drawn and as text, and what differs between two.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::coverage::ranges;
use aten2onnx_opmap::tree::Example;
use serde::Serialize;

use super::highlight::{Highlighter, escaped};
use super::urls;
use crate::draw;
use crate::facts::{Facts, Run, State};

/// Larger graphs are shown as text only.
const MAX_DRAWN: usize = 60;

/// Of larger graphs, the beginning is shown.
const MAX_LINES: usize = 250;

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
    /// By a pair of graphs (`0-2`): the classes of nodes in each.
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
    /// The text, as HTML.
    pub text: String,
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
    let graphs = run.graphs.iter().enumerate().map(|(index, graph)| {
        let opsets = ranges(&run.opsets_of(index));
        let nodes = draw::count(graph);
        let label = format!("{name}, example {number}, opset {opsets}");
        let frame = draw::Frame { label: &label, marks: None };
        let svg = (draws && nodes <= MAX_DRAWN).then(|| draw::svg(graph, &frame));
        Drawn { opsets, nodes, svg, text: text(facts, graph, root) }
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
        html: Highlighter::new(facts, root, Some(example.span.file)).html(source),
        summary: summary(run),
        cells: cells.collect(),
        graphs: graphs.collect(),
        differences: differences(run),
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

/// The text of a graph; each line of a node has its path, and the operator is a link.
fn text(facts: &Facts, graph: &Graph, root: &str) -> String {
    let mut html = String::new();
    let lines = graph.lines();
    // The opset is said in the heading, because equal graphs of several opsets are shown once.
    for line in lines.iter().skip(1).take(MAX_LINES) {
        let text = format!("{:1$}{2}", "", line.depth * 2, line.text);
        let mut inner = escaped(&text);
        let is_known = |op: &&str| !facts.checked().schemas.onnx.versions(op).is_empty();
        if let Some(op) = line.op.filter(is_known) {
            let link = format!(" = <a class=o href=\"{root}{}\">{}</a>", urls::operator(op), escaped(op));
            inner = inner.replacen(&format!(" = {}", escaped(op)), &link, 1);
        }
        match line.path.is_empty() {
            true => html.push_str(&inner),
            false => html.push_str(&format!("<span data-n=\"{}\">{inner}</span>", line.path)),
        }
        html.push('\n');
    }
    if lines.len() > MAX_LINES + 1 {
        html.push_str(&format!("... {} more lines\n", lines.len() - MAX_LINES - 1));
    }
    html
}

/// By a pair of graphs, the nodes that differ, as JSON: `{"0-1": [{"3": "changed"}, {"5": "changed"}]}`.
fn differences(run: &Run) -> String {
    let mut all: BTreeMap<String, [BTreeMap<String, &'static str>; 2]> = BTreeMap::new();
    let classes = |marks: &draw::Marks| marks.iter().map(|(path, mark)| (path.clone(), mark.class())).collect();
    for (i, old) in run.graphs.iter().enumerate() {
        for (j, new) in run.graphs.iter().enumerate().skip(i + 1) {
            if draw::count(old).max(draw::count(new)) <= MAX_LINES {
                let diff = draw::diff(old, new);
                all.insert(format!("{i}-{j}"), [classes(&diff.old), classes(&diff.new)]);
            }
        }
    }
    serde_json::to_string(&all).unwrap_or_default()
}
