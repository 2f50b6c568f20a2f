//! Applies `fuse` rules: where the pattern of one ends with a node, and the opset and the runtime have the replacement, that takes its place.
//!
//! It must not replace what something else reads, unless the pattern says `shared`, nor a node of a version whose calls mean something else than those
//! of the newest one, in which patterns are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use aten2onnx_core::error::{Error, Result};
use rustc_hash::FxHashMap;
use wildmatch::WildMatch;

use super::Passes;
use super::patterns::Search;
use super::rewriter::Rewriter;
use crate::build::{Args, Builder, Lowerings};
use aten2onnx_onnx::graph::{Node, Value};
use aten2onnx_onnx::schema::pattern::{Fusion, Pattern};
use aten2onnx_onnx::schema::plan::Difference;
use aten2onnx_onnx::schema::{self, Attribute, Function, Port, PortKind, Version};

pub(super) fn apply_fusions(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let fusions = Arc::clone(&cx.fusions);
    let before = cx.builder.nodes_mut().len();
    fusions.of_node(node).find_map(|(fusion, table)| {
        let args = Args::new(Search::new(cx, fusion).arguments(node)?);
        let value = cx.builder.fused(table.as_ref(), &fusion.rule, &args);
        if value.is_none() {
            cx.builder.truncate_nodes(before);
        }
        value
    })
}

/// Fusions that are no rules.
pub(super) const ATTENTION: &str = "attention";
/// Shapes of heads before and after attention.
pub(super) const HEADS: &str = "heads";
/// Rotations of pairs of features.
pub(super) const ROTARY_EMBEDDING: &str = "rotary_embedding";

impl Passes {
    /// Leaves out fusions whose name has one of these patterns, with `*` and `?`.
    ///
    /// # Errors
    /// A pattern that names none.
    pub fn leave_unfused(self, builder: &mut Builder, patterns: &[String]) -> Result<()> {
        let own = [ATTENTION, HEADS, ROTARY_EMBEDDING].map(str::to_owned);
        let rules = builder
            .rule_tables()
            .flat_map(|table| table.fusions().iter().map(|fusion| plain_name(&fusion.rule).to_owned()));
        let known: BTreeSet<String> = rules.chain(own).collect();
        for pattern in patterns {
            if !known.iter().any(|name| is_left_out(std::slice::from_ref(pattern), name)) {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(Error::unsupported(format!("no fusion is named `{pattern}`"))
                    .help(format!("they are {}", names.join(", "))));
            }
        }
        builder.unfused = patterns.to_vec();
        Ok(())
    }
}

/// `gelu` of `fuse::gelu`.
fn plain_name(rule: &str) -> &str {
    rule.strip_prefix("fuse::").unwrap_or(rule)
}

fn is_left_out(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| WildMatch::new(plain_name(pattern)).matches(name))
}

/// The rules that an opset can have, by the operator that their pattern ends with.
#[derive(Debug, Default)]
pub(super) struct Fusions {
    /// Those with the largest pattern first.
    all: Vec<(Fusion, Arc<dyn Lowerings>)>,
    nodes: FxHashMap<String, Vec<usize>>,
    products: Vec<usize>,
    sums: Vec<usize>,
    /// Patterns of fusions that are not applied.
    unfused: Vec<String>,
}

impl Fusions {
    /// The rules of a builder.
    pub(super) fn of(builder: &Builder) -> Fusions {
        let mut all: Vec<(Fusion, Arc<dyn Lowerings>)> = Vec::new();
        for table in builder.rule_tables() {
            for fusion in table.fusions() {
                let is_new = !all.iter().any(|(other, _)| other.rule == fusion.rule);
                let is_wanted = !is_left_out(&builder.unfused, plain_name(&fusion.rule));
                if is_new && is_wanted && is_possible(builder, &fusion.pattern) {
                    all.push((fusion.clone(), Arc::clone(table)));
                }
            }
        }
        all.sort_by_key(|(fusion, _)| std::cmp::Reverse(fusion.pattern.size()));
        let mut fusions = Fusions { all, unfused: builder.unfused.clone(), ..Fusions::default() };
        for (at, (fusion, _)) in fusions.all.iter().enumerate() {
            match &fusion.pattern {
                Pattern::Node(node) => fusions.nodes.entry(node.op.clone()).or_default().push(at),
                Pattern::Product(_) => fusions.products.push(at),
                Pattern::Sum(_) => fusions.sums.push(at),
                _ => {}
            }
        }
        fusions
    }

    /// Whether a fusion that is no rule is applied.
    pub(super) fn has(&self, name: &str) -> bool {
        !is_left_out(&self.unfused, name)
    }

    /// The rules whose pattern may end with a node.
    fn of_node(&self, node: &Node) -> impl Iterator<Item = (&Fusion, &Arc<dyn Lowerings>)> {
        let nodes = self.nodes.get(node.op).map_or(&[][..], Vec::as_slice);
        let terms = match schema::facts(node.op).computes {
            Some(Function::Mul | Function::Div | Function::Pow) => &self.products[..],
            Some(Function::Add | Function::Sub) => &self.sums[..],
            _ => &[],
        };
        let (mut nodes, mut terms) = (nodes.iter().copied().peekable(), terms.iter().copied().peekable());
        // Both are sorted, and so is what they are merged to.
        let merged = std::iter::from_fn(move || match (nodes.peek(), terms.peek()) {
            (Some(a), Some(b)) if b < a => terms.next(),
            (Some(_), _) => nodes.next(),
            (None, _) => terms.next(),
        });
        merged.filter_map(|at| self.all.get(at)).map(|(fusion, table)| (fusion, table))
    }
}

/// Whether the graph of a builder can have what a pattern looks for: each operator in a version whose calls mean what those of the newest one do.
fn is_possible(builder: &Builder, pattern: &Pattern) -> bool {
    let opset = u32::try_from(builder.opset()).unwrap_or(0);
    let mut is_possible = true;
    pattern.each_operator(&mut |name| {
        let op = schema::find(name);
        let means_the_same = op.is_some_and(|op| {
            let steps = op.versions.windows(2).filter_map(|pair| pair.first_chunk::<2>());
            let mut newer = steps.filter(|[_, newer]| newer.since > opset);
            op.at(opset).is_some_and(|version| !version.deprecated)
                && newer.all(|[older, newer]| {
                    let difference = builder.difference(op.name, newer);
                    newer.extends
                        || matches!(difference, Difference::Same | Difference::Types)
                        || moves_attributes(older, newer)
                })
        });
        is_possible &= means_the_same;
    });
    is_possible
}

/// Whether a version differs from the one before in that attributes became inputs, and in nothing that a call without new inputs has.
fn moves_attributes(older: &Version, newer: &Version) -> bool {
    let was_attribute = |port: &Port| older.attribute(port.name).is_some();
    let had_input = |port: &Port| older.inputs.iter().any(|own| own.name == port.name);
    let keeps = |attribute: &Attribute| {
        newer.attribute(attribute.name).is_some() || newer.inputs.iter().any(|port| port.name == attribute.name)
    };
    let is_new_or_known = |attribute: &Attribute| older.attribute(attribute.name).is_some() || !attribute.required;
    newer.inputs.iter().any(was_attribute)
        && newer.inputs.iter().all(|port| had_input(port) || was_attribute(port) || port.kind == PortKind::Optional)
        && older.attributes.iter().all(keeps)
        && newer.attributes.iter().all(is_new_or_known)
}
