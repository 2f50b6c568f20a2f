//! The modules of crates and what they import, as a Mermaid diagram.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Crate;

/// What each node imports.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// A diagram of the top modules of crates. An arrow leads from what imports to what is imported; those that follow from
/// others are left out. Arrows between crates join their boxes.
pub fn mermaid(crates: &[Crate]) -> String {
    let mut text = String::from("flowchart TD\n");
    for krate in crates {
        let _ = writeln!(text, "    subgraph {}", krate.name);
        let edges = module_edges(krate);
        for module in edges.keys() {
            let _ = writeln!(text, "        {}[{module}]", id(krate, module));
        }
        for (from, to) in arrows(&edges) {
            let _ = writeln!(text, "        {} --> {}", id(krate, &from), id(krate, &to));
        }
        text.push_str("    end\n");
    }
    for (from, to) in arrows(&crate_edges(crates)) {
        let _ = writeln!(text, "    {from} --> {to}");
    }
    text
}

/// Names of modules are not unique between crates, and `end` is a word of Mermaid.
fn id(krate: &Crate, module: &str) -> String {
    format!("{}_{module}", krate.name)
}

/// Between the top modules of a crate. The roots are left out: they import what they please.
fn module_edges(krate: &Crate) -> Edges {
    let is_root = |module: &str| matches!(module, "lib" | "main");
    let mut edges = Edges::new();
    for module in krate.modules.iter().map(|module| top(&module.path)).filter(|module| !is_root(module)) {
        edges.entry(module.to_owned()).or_default();
    }
    for import in &krate.imports {
        let (from, to) = (top(&import.from), top(&import.to));
        if from != to && !is_root(from) && !is_root(to) {
            edges.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
    }
    edges
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn crate_edges(crates: &[Crate]) -> Edges {
    let known: BTreeSet<&String> = crates.iter().map(|krate| &krate.name).collect();
    let used = |krate: &Crate| krate.crates.iter().filter(|name| known.contains(name)).cloned().collect();
    crates.iter().map(|krate| (krate.name.clone(), used(krate))).collect()
}

/// The edges that do not follow from others.
fn arrows(edges: &Edges) -> Vec<(String, String)> {
    let mut arrows = Vec::new();
    for (from, targets) in edges {
        for to in targets {
            let others = targets.iter().filter(|other| *other != to);
            if !others.into_iter().any(|other| reaches(edges, other, to, from)) {
                arrows.push((from.clone(), to.clone()));
            }
        }
    }
    arrows
}

/// Does a way lead from one node to another that does not pass `without`? In a circle every arrow is shown.
fn reaches(edges: &Edges, from: &str, to: &str, without: &str) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop() {
        if node == to {
            return true;
        }
        if node != without && seen.insert(node) {
            open.extend(edges.get(node).into_iter().flatten().map(String::as_str));
        }
    }
    false
}
