//! What differs between two graphs. Nodes are matched in their order: as many as possible by operator, equal ones first.

use aten2onnx_onnx::graph::{Body, Graph, Node, Source, Value};

use super::{Mark, Marks};

/// What differs in longer bodies counts as removed and added, because the time of matching grows with the square.
const LONGEST: usize = 3000;

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Marks on the older graph: removed and changed nodes.
    pub old: Marks,
    /// Marks on the newer graph: added and changed nodes.
    pub new: Marks,
    /// The number of added nodes, with those of their subgraphs.
    pub added: usize,
    /// The number of removed nodes, with those of their subgraphs.
    pub removed: usize,
    /// The number of changed nodes.
    pub changed: usize,
}

impl Diff {
    /// Whether all nodes are the same.
    pub fn is_same(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// Compares two graphs.
pub fn diff(old: &Graph, new: &Graph) -> Diff {
    let mut compared = Compared { old, new, diff: Diff::default() };
    compared.bodies(&old.body, &new.body, "", "");
    compared.diff
}

struct Compared<'a> {
    old: &'a Graph,
    new: &'a Graph,
    diff: Diff,
}

/// A node with what tells whether it equals another.
struct Facts<'a> {
    node: &'a Node,
    /// All that is shown of it, without the names of values.
    own: String,
    /// The operators that make its inputs.
    makers: Vec<&'static str>,
}

/// A node of one body or of both.
enum Pair {
    Old(usize),
    New(usize),
    Both(usize, usize),
}

impl Compared<'_> {
    fn bodies(&mut self, old: &Body, new: &Body, old_path: &str, new_path: &str) {
        let (before, after) = (facts(self.old, old), facts(self.new, new));
        for pair in pairs(&before, &after) {
            match pair {
                Pair::Old(i) => self.removed(old.nodes.get(i), &join(old_path, i)),
                Pair::New(i) => self.added(new.nodes.get(i), &join(new_path, i)),
                Pair::Both(i, j) => {
                    if let (Some(a), Some(b)) = (before.get(i), after.get(j)) {
                        self.matched(a, b, &join(old_path, i), &join(new_path, j));
                    }
                }
            }
        }
    }

    fn matched(&mut self, old: &Facts<'_>, new: &Facts<'_>, old_path: &str, new_path: &str) {
        if old.own != new.own {
            self.diff.changed += 1;
            self.diff.old.insert(old_path.to_owned(), Mark::Changed);
            self.diff.new.insert(new_path.to_owned(), Mark::Changed);
        }
        // Nodes match only if they have as many subgraphs.
        for (i, (a, b)) in old.node.bodies().zip(new.node.bodies()).enumerate() {
            self.bodies(a, b, &join(old_path, i), &join(new_path, i));
        }
    }

    fn removed(&mut self, node: Option<&Node>, path: &str) {
        let marked = mark_all(node, path, Mark::Removed, &mut self.diff.old);
        self.diff.removed += marked;
    }

    fn added(&mut self, node: Option<&Node>, path: &str) {
        let marked = mark_all(node, path, Mark::Added, &mut self.diff.new);
        self.diff.added += marked;
    }
}

fn join(path: &str, i: usize) -> String {
    if path.is_empty() { i.to_string() } else { format!("{path}.{i}") }
}

/// Marks a node and those of its subgraphs; returns their number.
fn mark_all(node: Option<&Node>, path: &str, mark: Mark, marks: &mut Marks) -> usize {
    let Some(node) = node else { return 0 };
    marks.insert(path.to_owned(), mark);
    let mut count = 1;
    for (i, body) in node.bodies().enumerate() {
        for (j, inner) in body.nodes.iter().enumerate() {
            count += mark_all(Some(inner), &format!("{path}.{i}.{j}"), mark, marks);
        }
    }
    count
}

fn facts<'a>(graph: &Graph, body: &'a Body) -> Vec<Facts<'a>> {
    let mut maker = std::collections::BTreeMap::new();
    let mut all = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let makers = node.inputs.iter().flatten().map(|value| maker.get(value).copied().unwrap_or("")).collect();
        node.outputs.iter().flatten().for_each(|value| {
            maker.insert(*value, node.op);
        });
        all.push(Facts { node, own: own(graph, node), makers });
    }
    all
}

/// Attributes, constants and types.
fn own(graph: &Graph, node: &Node) -> String {
    let input = |value: &Option<Value>| match value {
        None => "none".to_owned(),
        Some(value) => match &graph.info(*value).source {
            Source::Constant(constant) => format!("{} {}", graph.ty(*value), constant.text(64)),
            Source::Weight(weight) => format!("{} {}", graph.ty(*value), weight.name),
            Source::Input | Source::Node => "value".to_owned(),
        },
    };
    let inputs: Vec<String> = node.inputs.iter().map(input).collect();
    let outputs = node.outputs.iter().map(|value| value.map_or("none".to_owned(), |v| graph.ty(v).to_string()));
    let attrs = node.attrs.iter().filter_map(|(name, attr)| Some(format!("{name}={}", graph.attr_text(attr)?)));
    let outputs: Vec<String> = outputs.collect();
    format!("{}({}) {}", outputs.join(","), inputs.join(","), attrs.collect::<Vec<_>>().join(","))
}

/// How well two nodes match; 0 if they do not.
fn score(old: &Facts<'_>, new: &Facts<'_>) -> u32 {
    if old.node.op != new.node.op || old.node.bodies().count() != new.node.bodies().count() {
        return 0;
    }
    4 + 2 * u32::from(old.own == new.own) + u32::from(old.makers == new.makers)
}

/// Matches two sequences so that the sum of the scores is the largest.
fn pairs(old: &[Facts<'_>], new: &[Facts<'_>]) -> Vec<Pair> {
    let equal = |(a, b): &(&Facts<'_>, &Facts<'_>)| score(a, b) == 7;
    let head = old.iter().zip(new).take_while(equal).count();
    let left = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(left).take_while(equal).count();
    let (rows, columns) = (old.len() - head - tail, new.len() - head - tail);
    let mut pairs: Vec<Pair> = (0..head).map(|i| Pair::Both(i, i)).collect();
    if rows.saturating_mul(columns) > LONGEST * LONGEST {
        pairs.extend((head..head + rows).map(Pair::Old));
        pairs.extend((head..head + columns).map(Pair::New));
    } else {
        let score = |i: usize, j: usize| match (old.get(head + i), new.get(head + j)) {
            (Some(a), Some(b)) => score(a, b),
            _ => 0,
        };
        pairs.extend(aligned(rows, columns, &score).into_iter().map(|pair| match pair {
            Pair::Old(i) => Pair::Old(head + i),
            Pair::New(j) => Pair::New(head + j),
            Pair::Both(i, j) => Pair::Both(head + i, head + j),
        }));
    }
    pairs.extend((0..tail).map(|i| Pair::Both(head + rows + i, head + columns + i)));
    pairs
}

/// The best alignment, by the table of the best sums of all suffixes.
fn aligned(rows: usize, columns: usize, score: &dyn Fn(usize, usize) -> u32) -> Vec<Pair> {
    let width = columns + 1;
    let mut best = vec![0u32; (rows + 1) * width];
    let at = |best: &[u32], i: usize, j: usize| best.get(i * width + j).copied().unwrap_or(0);
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let own = score(i, j);
            let both = if own > 0 { own + at(&best, i + 1, j + 1) } else { 0 };
            let value = both.max(at(&best, i + 1, j)).max(at(&best, i, j + 1));
            if let Some(cell) = best.get_mut(i * width + j) {
                *cell = value;
            }
        }
    }
    let mut pairs = Vec::with_capacity(rows.max(columns));
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let (own, value) = (score(i, j), at(&best, i, j));
        if own > 0 && value == own + at(&best, i + 1, j + 1) {
            pairs.push(Pair::Both(i, j));
            (i, j) = (i + 1, j + 1);
        } else if value == at(&best, i + 1, j) {
            pairs.push(Pair::Old(i));
            i += 1;
        } else {
            pairs.push(Pair::New(j));
            j += 1;
        }
    }
    pairs.extend((i..rows).map(Pair::Old));
    pairs.extend((j..columns).map(Pair::New));
    pairs
}
