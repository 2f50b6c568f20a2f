//! Lists everything that the program needs and the target lacks, before any rule runs.

use std::collections::{BTreeMap, BTreeSet};

use super::fallback::DOMAIN;
use super::numbers::is_recorded;
use super::symbolic::is_symbolic;
use aten2onnx_core::error::{Call, Error};
use aten2onnx_onnx::facts::MAX_OPSET;
use aten2onnx_options::{Fallback, Options};
use aten2onnx_program::{Arg, Graph, Node, Program, is_python};
use aten2onnx_rules::{Rules, Support};

/// An operator that cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// The overload.
    pub target: String,
    /// The reason.
    pub reason: String,
    /// The first node that needs it.
    pub node: String,
    /// That node's source line.
    pub source_line: Option<String>,
    /// How many nodes need it.
    pub count: usize,
    /// The lowest opset above the target that would work.
    pub needs_opset: Option<u32>,
}

impl Blocker {
    /// Whether the operator has no rule and may be kept.
    pub fn can_be_kept(&self, options: &Options) -> bool {
        options.fallback == Fallback::Aten
            && !self.target.starts_with("higher_order::")
            && !is_python(&self.target)
            && options.output.rules.rule_for(&self.target).is_none()
    }
}

/// The note for the user about operators that are kept because they have no rule.
pub fn fallback_note(program: &Program, options: &Options, opset: u32) -> Option<String> {
    if options.fallback == Fallback::None {
        return None;
    }
    let blockers = preflight(program, &options.output.rules, opset);
    let kept: Vec<String> = (blockers.iter().filter(|blocker| blocker.can_be_kept(options)))
        .map(|b| format!("`{}` at {} node{}", b.target, b.count, if b.count == 1 { "" } else { "s" }))
        .collect();
    let text = || format!("kept as nodes of the domain {DOMAIN}, which need custom kernels: {}", kept.join(", "));
    (!kept.is_empty()).then(text)
}

/// Lists the operators that have no rule at all, or none at this opset.
pub fn preflight(program: &Program, rules: &Rules, opset: u32) -> Vec<Blocker> {
    let mut found = BTreeMap::new();
    graph(&program.graph, rules, opset, &mut found);
    found.into_values().collect()
}

fn graph(graph: &Graph, rules: &Rules, opset: u32, found: &mut BTreeMap<String, Blocker>) {
    for node in &graph.nodes {
        for (_, arg) in &node.args {
            if let Arg::Graph(inner) = arg {
                self::graph(inner, rules, opset, found);
            }
        }
        let Some((reason, needs_opset)) = blocked(node, graph, rules, opset) else { continue };
        let entry = found.entry(node.target.clone()).or_insert_with(|| Blocker {
            target: node.target.clone(),
            reason,
            node: node.name.clone(),
            source_line: node.source_line.clone(),
            count: 0,
            needs_opset,
        });
        entry.count += 1;
    }
}

/// The overloads whose rules a program calls.
pub fn called(program: &Program, rules: &Rules) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    called_in(&program.graph, rules, &mut found);
    found
}

fn called_in(graph: &Graph, rules: &Rules, found: &mut BTreeSet<String>) {
    for node in &graph.nodes {
        for (_, arg) in &node.args {
            if let Arg::Graph(inner) = arg {
                called_in(inner, rules, found);
            }
        }
        let complex = has_complex(node, graph).then(|| rules.complex_rule_for(&node.target)).flatten();
        let rule = complex.or_else(|| rules.rule_for(&node.target));
        found.extend(rule.map(|rule| rule.name().to_owned()));
    }
}

/// Whether PyTorch recorded complex numbers among the arguments.
fn has_complex(node: &Node, graph: &Graph) -> bool {
    let recorded = |name: &String| graph.tensors.get(name).is_some_and(|meta| meta.dtype.is_complex());
    node.args.iter().any(|(_, arg)| match arg {
        Arg::Tensor(name) => recorded(name),
        Arg::Tensors(names) => names.iter().flatten().any(recorded),
        Arg::Complex(..) => true,
        _ => false,
    })
}

fn blocked(node: &Node, graph: &Graph, rules: &Rules, opset: u32) -> Option<(String, Option<u32>)> {
    if is_symbolic(&node.target) || is_recorded(node, graph) {
        return None;
    }
    if let Some(operator) = node.target.strip_prefix("higher_order::") {
        return (!super::control::is_known(operator)).then(|| (no_rule(rules, &node.target).message.clone(), None));
    }
    let rule = match has_complex(node, graph) {
        true => rules.complex_rule_for(&node.target).ok_or_else(|| no_complex_rule(rules, &node.target)),
        false => rules.rule_for(&node.target).ok_or_else(|| no_rule(rules, &node.target)),
    };
    let rule = match rule {
        Ok(rule) => rule,
        Err(error) => return Some((error.message.clone(), None)),
    };
    if rule.support(opset) != Support::No {
        return None;
    }
    let needs = (opset..=MAX_OPSET).find(|o| rule.support(*o) != Support::No);
    Some((rule.reasons(opset).join("; "), needs))
}

/// The error for a missing rule, with advice.
pub(super) fn no_rule(rules: &Rules, target: &str) -> Error {
    if let Some(reason) = rules.unsupported(target) {
        return Error::unsupported(format!("`{target}` cannot be exported: {reason}"));
    }
    let (op, _) = target.split_once('.').unwrap_or((target, ""));
    let siblings = rules.overloads(op);
    let error = match siblings.is_empty() {
        true => Error::unsupported(format!("there is no rule for `{target}`")),
        false => Error::unsupported(format!("there is no rule for `{target}`, only for {}", siblings.join(", "))),
    };
    error.help(advice([target].into_iter()))
}

/// Advice for operators without a rule: PyTorch may decompose its own; custom ones need rules.
fn advice<'t>(mut targets: impl Iterator<Item = &'t str>) -> &'static str {
    const OURS: [&str; 5] = ["aten", "prims", "quantized_decomposed", "torchvision", "higher_order"];
    let is_ours = |target: &str| {
        is_python(target) || target.split_once("::").is_some_and(|(namespace, _)| OURS.contains(&namespace))
    };
    match targets.all(is_ours) {
        true => {
            "`ep.run_decompositions()` before torch.export.save may replace these operators by others that have rules"
        }
        false => {
            "write a rule for a custom operator in a file: `--mappings my_ops.opmap`; or keep it as a node, if you have a \
             kernel: `--fallback aten`"
        }
    }
}

/// The error for a missing rule for complex numbers, with advice.
pub(super) fn no_complex_rule(rules: &Rules, target: &str) -> Error {
    let on_complex = target.replacen("aten::", "complex::", 1);
    if rules.rule_for(target).is_none() && rules.unsupported(&on_complex).is_none() {
        return no_rule(rules, target);
    }
    let reason = rules.unsupported(&on_complex).unwrap_or("no rule supports them");
    Error::unsupported(format!("`{target}` cannot be exported for complex numbers: {reason}"))
        .help("`torch.view_as_real` returns the parts as real numbers")
}

/// All blockers in one error.
pub(super) fn report(blockers: &[Blocker], opset: u32) -> Error {
    let lines: Vec<String> = blockers
        .iter()
        .map(|b| {
            let mut line =
                format!("`{}` at {} node{}: {}", b.target, b.count, if b.count == 1 { "" } else { "s" }, b.reason);
            if let Some(needs) = b.needs_opset {
                line.push_str(&format!(" (needs opset {needs})"));
            }
            line.push_str(&format!("\n      first at `{}`", b.node));
            if let Some(source) = &b.source_line {
                line.push_str(&format!(", {source}"));
            }
            line
        })
        .collect();
    let all = blockers.iter().map(|b| b.needs_opset).collect::<Option<Vec<_>>>().and_then(|n| n.into_iter().max());
    let message = format!("this model cannot be exported to opset {opset}:\n    {}", lines.join("\n    "));
    let first = blockers.first().map(|b| Call {
        operator: b.target.clone(),
        node: b.node.clone(),
        source_line: b.source_line.clone(),
    });
    let mut error = Error::refused(message, all);
    error.call = first.map(Box::new);
    match all {
        Some(needs) => error.help(format!("use `--opset {needs}`")),
        None => error.help(advice(blockers.iter().map(|b| b.target.as_str()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rules_are_reported_with_advice() {
        let rules = Rules::interpreted();
        let help = |target: &str| no_rule(&rules, target).help.clone().unwrap_or_default();
        assert!(help("aten::made_of_others").contains("`ep.run_decompositions()` before torch.export.save"));
        assert!(help("mine::made_of_others").contains("--mappings"));
        let other_overload = no_rule(&rules, "aten::add.NoSuch").message.clone();
        assert!(other_overload.contains("only for aten::add.Scalar, aten::add.Tensor"), "{other_overload}");
    }
}
