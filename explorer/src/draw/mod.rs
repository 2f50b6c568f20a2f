//! The drawing of an ONNX graph as SVG, and what differs between two graphs.
//!
//! [`scene`] decides what each box shows, [`layout`] places the boxes of a body in layers and leads the edges between them, and
//! [`svg`](mod@svg) writes both. A subgraph is laid out like a graph and drawn inside the box of its node.

mod diff;
mod layout;
mod scene;
mod svg;

use std::collections::BTreeMap;

use aten2onnx_onnx::graph::Graph;

pub use diff::{Diff, diff};
pub use svg::svg;

/// The style sheet of the drawings. Its colours are custom properties, `--g-*`, with a value for a light and one for a dark page.
pub const STYLE: &str = include_str!("draw.css");

/// What is said around a graph.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame<'a> {
    /// The accessible name: `aten::gelu at opset 13`.
    pub label: &'a str,
    /// Marks on nodes.
    pub marks: Option<&'a Marks>,
    /// Whether nodes have the names and types of their results as titles, which appear under the pointer.
    pub titles: bool,
}

/// Marks by the paths of nodes, which are those of [`aten2onnx_onnx::graph::Line::path`].
pub type Marks = BTreeMap<String, Mark>;

/// How a node differs from the other graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Only this graph, the newer, has it.
    Added,
    /// Only this graph, the older, has it.
    Removed,
    /// Attributes, constants, types or the number of inputs differ.
    Changed,
}

impl Mark {
    /// The class of the node in the drawing, and of its line in the text.
    pub fn class(self) -> &'static str {
        match self {
            Mark::Added => "added",
            Mark::Removed => "removed",
            Mark::Changed => "changed",
        }
    }

    /// The first character of the line.
    pub fn sign(self) -> char {
        match self {
            Mark::Added => '+',
            Mark::Removed => '-',
            Mark::Changed => '~',
        }
    }
}

/// The number of nodes, including those of subgraphs.
pub fn count(graph: &Graph) -> usize {
    let mut count = 0;
    graph.body.visit(&mut |_| count += 1);
    count
}

/// The text of a graph, with the sign of a mark before each line.
pub fn marked_text(graph: &Graph, marks: &Marks) -> String {
    let line = |line: &aten2onnx_onnx::graph::Line| {
        let sign = marks.get(&line.path).map_or(' ', |mark| mark.sign());
        format!("{sign} {:2$}{}\n", "", line.text, line.depth * 4)
    };
    graph.lines().iter().map(line).collect()
}
