//! A page for each overload.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_core::error::Result;
use aten2onnx_opmap::coverage::ranges;
use aten2onnx_opmap::tree::Map;
use minijinja::Value;
use serde::Serialize;

use super::highlight::escaped;
use super::parts::{self, Link};
use super::{Head, Site, graphs, markdown, urls};
use crate::facts::{Facts, Level, OfDtype, Use};

/// Dtypes with the same levels.
#[derive(Debug, Serialize)]
pub struct Row {
    dtypes: Vec<&'static str>,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize)]
struct Cell {
    class: char,
    sign: &'static str,
}

/// Why calls are refused, with opsets and dtypes.
#[derive(Debug, Serialize)]
pub struct Reason {
    opsets: String,
    dtypes: Vec<&'static str>,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Arm {
    text: String,
    line: usize,
    refuses: bool,
    /// Whether the examples were run.
    is_known: bool,
    examples: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct Runtime {
    name: String,
    what: &'static str,
    url: String,
    opset: u32,
    newest_opset: u32,
    measured: bool,
    verdict: &'static str,
    class: char,
    plain: usize,
    replaced: usize,
    refused: usize,
    what_replaced: Vec<String>,
    reasons: Vec<String>,
}

/// Adds all of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let program = &facts.checked().program;
    for map in &program.maps {
        add_map(site, facts, map)?;
    }
    for unsupported in &program.unsupported {
        let name = unsupported.name.as_str();
        let path = urls::operator(name);
        let root = urls::root_of(&path);
        let source = parts::source(facts, unsupported.span, &root);
        let own = context! {
            name,
            schema => schema(facts, name),
            reason => &unsupported.reason,
            source,
            models => facts.models.using(name),
            related => related(facts, name),
            supported => false,
        };
        let description = format!("{name} cannot be expressed in ONNX: {}", unsupported.reason);
        site.page(&path, "overload.html", &Head { title: name, description: &description, nav: "operators" }, own)?;
    }
    Ok(())
}

fn add_map(site: &mut Site<'_>, facts: &Facts, map: &Map) -> Result<()> {
    let name = map.function.name.as_str();
    let path = urls::operator(name);
    let root = urls::root_of(&path);
    let opsets = facts.opsets();
    let levels = facts.levels(name);
    let strip = parts::strip(&levels, &opsets);
    let examples = graphs::shown(facts, name, &root);
    let named = facts.calls.of.get(name).cloned().unwrap_or_default();
    let links = |names: &BTreeSet<String>| names.iter().map(|name| parts::rule_link(facts, name)).collect::<Vec<_>>();
    let callers = facts.calls.by.get(name).map(&links).unwrap_or_default();
    let (rows, reasons) = matrix(facts.by_dtype.get(name).map_or(&[], Vec::as_slice));
    let runtimes: Vec<Runtime> = facts.uses.get(name).into_iter().flatten().map(runtime).collect();
    let own = context! {
        name,
        schema => schema(facts, name),
        docs => Value::from_safe_string(docs(facts, &map.function.docs, &root)),
        verdict => verdict(&levels, &opsets, &strip.words),
        strip => &strip,
        rows,
        reasons,
        runtimes => runtimes.iter().filter(|runtime| runtime.class != 'a').collect::<Vec<_>>(),
        unknown => runtimes.iter().filter(|runtime| runtime.class == 'a').collect::<Vec<_>>(),
        source => parts::source(facts, map.function.span, &root),
        arms => arms(facts, name),
        examples,
        verified => facts.verified.get(name),
        verified_level => facts.verified.get(name).map(|verified| verified.level()),
        models => facts.models.using(name),
        callers,
        ops => links(&named.ops),
        maps => links(&named.maps),
        helpers => links(&named.helpers),
        related => related(facts, name),
        supported => true,
    };
    let description = format!("{name} in ONNX: {}.", strip.words);
    site.page(&path, "overload.html", &Head { title: name, description: &description, nav: "operators" }, own)
}

/// PyTorch's schema; None for operators that no snapshot has.
fn schema(facts: &Facts, name: &str) -> Option<String> {
    facts.checked().schemas.aten.get(name).map(ToString::to_string)
}

/// Documentation lines as HTML.
pub fn docs(facts: &Facts, lines: &[String], root: &str) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let place = markdown::PagePlace { facts, root, folder: "", documents: &[] };
    markdown::render(&lines.join("\n"), place).html
}

/// The sentence below the name: `Works at every opset.`
fn verdict(levels: &[Level], opsets: &[u32], words: &str) -> String {
    let works = |level: &Level| matches!(level, Level::Native | Level::Lowered);
    if levels.iter().all(works) {
        return "Works at every opset".to_owned();
    }
    let first = levels.iter().rposition(|level| !works(level)).map(|at| at + 1);
    match first.and_then(|at| opsets.get(at)) {
        Some(opset) => format!("Works from opset {opset}"),
        None if levels.iter().all(|level| *level == Level::Partial) => {
            "Works for some arguments, at every opset".to_owned()
        }
        None if levels.iter().all(|level| *level == Level::Refused) => "Refused at every opset".to_owned(),
        None => {
            let mut text = words.to_owned();
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            text
        }
    }
}

/// The levels by dtype, and the reasons for refusals.
pub fn matrix(all: &[OfDtype]) -> (Vec<Row>, Vec<Reason>) {
    let mut rows: Vec<(Vec<&'static str>, &[Level])> = Vec::new();
    let mut reasons: BTreeMap<(String, &str), Vec<&'static str>> = BTreeMap::new();
    for own in all {
        match rows.iter_mut().find(|(_, known)| *known == own.levels) {
            Some((dtypes, _)) => dtypes.push(own.dtype),
            None => rows.push((vec![own.dtype], &own.levels)),
        }
        for (at, reason) in &own.refusals {
            reasons.entry((ranges(at), reason)).or_default().push(own.dtype);
        }
    }
    let cell = |level: &Level| Cell { class: level.letter(), sign: level.sign() };
    let rows = rows.into_iter().map(|(dtypes, levels)| Row { dtypes, cells: levels.iter().map(cell).collect() });
    let reasons = reasons.into_iter().map(|((opsets, reason), dtypes)| {
        let dtypes = if dtypes.len() == all.len() { Vec::new() } else { dtypes };
        Reason { opsets, dtypes, reason: reason.to_owned() }
    });
    (rows.collect(), reasons.collect())
}

fn runtime(use_: &Use) -> Runtime {
    let (verdict, class) = match (use_.plain, use_.replaced, use_.refused) {
        (0, 0, _) => ("refused", 'x'),
        (_, _, 1..) => ("partly", 'p'),
        (_, 1.., _) => ("in another form", 'l'),
        _ if use_.is_known() => ("as written", 'n'),
        _ => ("nothing known against it", 'a'),
    };
    Runtime {
        name: format!("{} {}", use_.target.what, use_.target.release),
        what: use_.target.what,
        url: urls::runtime(use_.target.runtime),
        opset: use_.opset,
        newest_opset: use_.target.newest_opset,
        measured: use_.target.source.starts_with("measured"),
        verdict,
        class,
        plain: use_.plain,
        replaced: use_.replaced,
        refused: use_.refused,
        what_replaced: use_.what.iter().cloned().collect(),
        reasons: use_.reasons.iter().cloned().collect(),
    }
}

/// The branches of a rule, with the numbers of the examples that reach each.
fn arms(facts: &Facts, name: &str) -> Vec<Arm> {
    let checked = facts.checked();
    let examples = facts.examples(name);
    let own = checked.program.arms.iter().enumerate().filter(|(_, arm)| arm.rule == name);
    let arm = |(index, arm): (usize, &aten2onnx_opmap::tree::Arm)| {
        let reached = examples.iter().enumerate().filter(|(_, (_, run))| run.arms.contains(&index));
        Arm {
            text: arm.text.clone(),
            line: checked.sources.line(arm.span),
            refuses: arm.refuses,
            is_known: examples.iter().all(|(_, run)| run.is_known()),
            examples: reached.map(|(number, _)| number + 1).collect(),
        }
    };
    own.map(arm).collect()
}

/// The other overloads of the operator.
fn related(facts: &Facts, name: &str) -> Vec<Link> {
    let (namespace, rest) = name.split_once("::").unwrap_or(("", name));
    let op = rest.split_once('.').map_or(rest, |(op, _)| op);
    let op = format!("{namespace}::{op}");
    let program = &facts.checked().program;
    let all = program.maps.iter().map(|map| map.function.name.as_str());
    let mut all: Vec<&str> =
        all.chain(program.unsupported.iter().map(|unsupported| unsupported.name.as_str())).collect();
    all.sort_unstable();
    let is_same = |other: &&str| other.strip_prefix(&op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    all.into_iter()
        .filter(|other| *other != name && is_same(other))
        .map(|other| Link { name: escaped(other), url: urls::operator(other) })
        .collect()
}
