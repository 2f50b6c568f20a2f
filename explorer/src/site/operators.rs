//! A page for each ONNX operator: its versions, its lowerings and raises, and who calls it.

use std::collections::BTreeSet;

use aten2onnx_core::error::Result;
use aten2onnx_opmap::tree::{AVOIDED, Lower, Target};
use aten2onnx_schemas::onnx::{Change, Version};
use aten2onnx_schemas::{onnx_diff, short_types};
use serde::Serialize;

use super::parts::{self, Source};
use super::{Head, Site, graphs, urls};
use crate::facts::{self, Facts, Level, State};

#[derive(Debug, Serialize)]
struct VersionShown {
    since: u32,
    deprecated: bool,
    /// ONNX defines it with a function body.
    function: bool,
    change: &'static str,
    differences: Vec<String>,
    text: String,
}

#[derive(Debug, Serialize)]
struct Rule {
    title: String,
    anchor: String,
    source: Option<Source>,
}

#[derive(Debug, Serialize)]
struct Lacking {
    name: String,
    url: String,
    what: String,
}

/// Adds all of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    for name in facts.checked().schemas.onnx.ops.keys() {
        add_operator(site, facts, name)?;
    }
    Ok(())
}

fn add_operator(site: &mut Site<'_>, facts: &Facts, name: &str) -> Result<()> {
    let path = urls::operator(name);
    let root = urls::root_of(&path);
    let checked = facts.checked();
    let program = &checked.program;
    let versions = checked.schemas.onnx.versions(name);
    let of = |rules: &[Lower], word: &str| -> Vec<Rule> {
        let own = rules.iter().filter(|lower| lower.op == name);
        own.map(|lower| rule(facts, lower, word, &root)).collect()
    };
    let sames: Vec<Source> = program
        .sames
        .iter()
        .filter(|same| same.op == name)
        .filter_map(|same| parts::source(facts, same.span, &root))
        .collect();
    let callers: Vec<_> =
        facts.calls.by.get(name).into_iter().flatten().map(|rule| parts::rule_link(facts, rule)).collect();
    let through: Vec<_> =
        facts.calls.through.get(name).into_iter().flatten().map(|rule| parts::rule_link(facts, rule)).collect();
    let opsets = facts.opsets();
    let levels = levels(facts, name);
    let strip = parts::strip(&levels, &opsets);
    let cells: Vec<_> = opsets.iter().zip(&levels).map(|(opset, level)| {
        let version = checked.schemas.onnx.at(name, *opset).filter(|version| !version.deprecated);
        context! { opset, class => level.letter(), sign => level.sign(), word => level.word(), version => version.map(|v| v.since) }
    }).collect();
    let own = context! {
        name,
        strip => &strip,
        cells,
        domain => name.split_once("::").map(|(domain, _)| domain),
        versions => shown(versions),
        lowers => of(&program.lowers, "lower"),
        raises => of(&program.raises, "raise"),
        sames,
        callers,
        through,
        examples => graphs::shown(facts, name, &root),
        lacking => lacking(name),
        verified => facts.verified.get(name),
        verified_level => facts.verified.get(name).map(|verified| verified.level()),
    };
    let description = format!(
        "The ONNX operator {name}: versions, lowerings to older opsets, and the PyTorch operators that use it."
    );
    site.page(&path, "operator.html", &Head { title: name, description: &description, nav: "onnx" }, own)
}

fn rule(facts: &Facts, lower: &Lower, word: &str, root: &str) -> Rule {
    let title = match (word, lower.before) {
        ("lower", AVOIDED) => format!("{} where a runtime gets it wrong", lower.op),
        ("lower", before) => format!("{} before opset {before}", lower.op),
        (_, from) => format!("{} from opset {from}", lower.op),
    };
    let number = if lower.before == AVOIDED { "avoided".to_owned() } else { lower.before.to_string() };
    Rule { title, anchor: format!("{word}-{number}"), source: parts::source(facts, lower.function.span, root) }
}

/// The versions, the newest first.
fn shown(versions: &[Version]) -> Vec<VersionShown> {
    let mut all: Vec<VersionShown> = versions
        .iter()
        .enumerate()
        .map(|(i, version)| {
            let before = i.checked_sub(1).and_then(|i| versions.get(i));
            let (change, differences) = match before {
                None => ("first version", Vec::new()),
                Some(before) => match version.change_from(before) {
                    Change::Shape => ("inputs, outputs or attributes changed", changes(before, version)),
                    _ => ("types or descriptions changed", changes(before, version)),
                },
            };
            VersionShown {
                since: version.since,
                deprecated: version.deprecated,
                function: version.function,
                change,
                differences,
                text: version.to_string(),
            }
        })
        .collect();
    all.reverse();
    all
}

/// The differences of two versions, with those of types.
fn changes(before: &Version, after: &Version) -> Vec<String> {
    let mut lines = onnx_diff::shape_differences(before, after);
    for variable in &after.types {
        let Some(old) = before.types.iter().find(|old| old.name == variable.name) else { continue };
        let is_new = |of: &[String], other: &[String]| -> Vec<String> {
            of.iter().filter(|ty| !other.contains(ty)).cloned().collect()
        };
        let (added, removed) = (is_new(&variable.allowed, &old.allowed), is_new(&old.allowed, &variable.allowed));
        if !added.is_empty() {
            lines.push(format!("type {} also takes {}", variable.name, short_types(&added).join(", ")));
        }
        if !removed.is_empty() {
            lines.push(format!("type {} no longer takes {}", variable.name, short_types(&removed).join(", ")));
        }
    }
    if after.deprecated && !before.deprecated {
        lines.push("deprecated".to_owned());
    }
    lines
}

/// The level at each opset of calls in the newest form: by its examples, and without any by its versions.
pub fn levels(facts: &Facts, name: &str) -> Vec<Level> {
    let examples: Vec<_> =
        facts.examples(name).into_iter().filter(|(example, _)| matches!(example.target, Target::Lower(_))).collect();
    let schemas = &facts.checked().schemas.onnx;
    let newest = schemas.versions(name).last();
    let by_versions = |opset: u32| match schemas.at(name, opset) {
        Some(version) if version.deprecated => Level::Refused,
        Some(version) => match newest {
            Some(newest) if newest.change_from(version) == Change::Shape => Level::Lowered,
            _ => Level::Native,
        },
        None => Level::Refused,
    };
    let at = |opset: u32| {
        let states =
            || examples.iter().filter_map(|(_, run)| Some((run, run.states.iter().find(|row| row.0 == opset)?)));
        if states().next().is_none() {
            return by_versions(opset);
        }
        let refused = states().filter(|(_, row)| matches!(row.1, State::Refused(_))).count();
        let is_itself = |run: &facts::Run, state: &State| match state {
            State::Graph(index) => run
                .graphs
                .get(*index)
                .is_some_and(|graph| matches!(graph.body.nodes.as_slice(), [node] if node.op == name)),
            State::Refused(_) => false,
        };
        match (refused, states().all(|(run, row)| is_itself(run, &row.1))) {
            (0, true) => Level::Native,
            (0, false) => match by_versions(opset) {
                // Examples may show what the builder adds for kernels that ONNX Runtime lacks.
                Level::Native => Level::Native,
                _ => Level::Lowered,
            },
            (count, _) if count == states().count() => Level::Refused,
            _ => Level::Partial,
        }
    };
    facts.opsets().into_iter().map(at).collect()
}

/// The runtimes that lack the operator or some of its dtypes.
fn lacking(name: &str) -> Vec<Lacking> {
    let mut all = Vec::new();
    for target in facts::newest() {
        let mut what = Vec::new();
        if target.lacks.contains(&name) {
            what.push("the operator".to_owned());
        }
        let mut reasons: BTreeSet<String> = BTreeSet::new();
        for missing in target.avoids.iter().filter(|missing| missing.op == name) {
            let dtypes: Vec<String> = missing.dtypes.iter().map(ToString::to_string).collect();
            reasons.insert(format!("{} (version {})", dtypes.join(", "), missing.since));
        }
        what.extend(reasons);
        for form in target.forms.iter().filter(|form| form.op == name) {
            what.push(if form.when.is_empty() {
                form.reason.to_owned()
            } else {
                format!("when {}", form.when.join(" and "))
            });
        }
        if !what.is_empty() {
            all.push(Lacking {
                name: format!("{} {}", target.what, target.release),
                url: urls::runtime(target.runtime),
                what: what.join("; "),
            });
        }
    }
    all
}
