//! Collects all problems of a conversion.

use std::collections::{BTreeMap, HashMap};

use aten2onnx_core::error::{Error, Kind, Result};

/// Nodes of the same operator and reason.
#[derive(Debug, Clone)]
struct Problem {
    op: String,
    reason: Error,
    /// The first node.
    node: String,
    count: usize,
}

/// The maximal number of problems to list.
const MAX_LISTED: usize = 50;

/// All nodes that cannot be converted.
#[derive(Debug, Default, Clone)]
pub struct Problems {
    all: Vec<Problem>,
    /// The index of each problem, by operator and reason.
    known: HashMap<(String, String), usize>,
    /// The number of the node of the main graph that is converted.
    at: Option<usize>,
    /// The nodes of the main graph that have a problem, or something in them, with the first reason of each.
    refused: BTreeMap<usize, String>,
}

impl Problems {
    /// What is added from now on is of this node of the main graph.
    pub fn begin(&mut self, node: usize) {
        self.at = Some(node);
    }

    /// Notes that a node cannot be converted, because of another one that is listed.
    pub fn follow(&mut self, op: &str) {
        self.refuse(format!("`{op}` reads a value whose type is not known"));
    }

    fn refuse(&mut self, reason: String) {
        if let Some(at) = self.at {
            self.refused.entry(at).or_insert(reason);
        }
    }

    /// The nodes of the main graph that cannot be converted, with the reason of each.
    pub fn refused(self) -> BTreeMap<usize, String> {
        self.refused
    }

    /// Adds a problem.
    pub fn add(&mut self, op: &str, node: &str, reason: Error) {
        self.refuse(format!("`{op}`: {}", reason.message));
        let key = (op.to_owned(), reason.to_string());
        match self.known.get(&key).and_then(|at| self.all.get_mut(*at)) {
            Some(problem) => problem.count += 1,
            None => {
                self.known.insert(key, self.all.len());
                self.all.push(Problem { op: op.to_owned(), reason, node: node.to_owned(), count: 1 });
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns an error that lists all problems, if there are any.
    pub fn report(&self, opset: u32) -> Result<()> {
        self.listed(opset).map_err(|error| match error.kind {
            Kind::Internal | Kind::Input if error.help.is_none() => {
                error.help("`onnx.checker.check_model(.., full_check=True)` checks whether the model itself is valid")
            }
            _ => error,
        })
    }

    fn listed(&self, opset: u32) -> Result<()> {
        if let [only] = self.all.as_slice() {
            let at = if only.count == 1 { String::new() } else { format!(" and {} more nodes", only.count - 1) };
            let error = only.reason.clone().at(format!("node `{}` ({}){at}", only.node, only.op));
            return Err(error.with_message(format!("{} at opset {opset}: {}", cannot(&only.op), only.reason.message)));
        }
        if self.all.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = self.all.iter().take(MAX_LISTED).map(Problem::line).collect();
        if self.all.len() > MAX_LISTED {
            lines.push(format!("and {} more", self.all.len() - MAX_LISTED));
        }
        let needs = self.all.iter().map(|p| p.reason.needs_opset).collect::<Option<Vec<_>>>();
        let message = format!("this model cannot be converted to opset {opset}:\n    {}", lines.join("\n    "));
        let worst = |kind| self.all.iter().any(|p| p.reason.kind == kind).then_some(kind);
        let kind = worst(Kind::Internal).or(worst(Kind::Input)).unwrap_or(Kind::Unsupported);
        Err(Error::refused(message, needs.and_then(|n| n.into_iter().max())).of_kind(kind))
    }
}

impl Problem {
    fn line(&self) -> String {
        let plural = if self.count == 1 { "" } else { "s" };
        let mut line = format!("`{}` at {} node{plural}: {}", self.op, self.count, self.reason);
        if let Some(needs) = self.reason.needs_opset {
            line.push_str(&format!(" (needs opset {needs})"));
        }
        line.push_str(&format!("\n      first at `{}`", self.node));
        line
    }
}

fn cannot(op: &str) -> String {
    format!("`{op}` cannot be expressed")
}
