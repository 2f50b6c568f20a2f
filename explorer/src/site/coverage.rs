//! Coverage: by opset, by namespace, and what changes from one opset to the next.

use std::collections::BTreeMap;

use aten2onnx_core::error::Result;
use aten2onnx_opmap::coverage::Status;
use minijinja::Value;

use super::parts::{self, Strip};
use super::{Head, Site, operators, urls};
use crate::facts::{Facts, Level};
use aten2onnx_onnx::schema::pattern::is_fusion;

/// Adds all of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let opsets = facts.opsets();
    let row = |name: &String| (name.clone(), facts.levels(name));
    let all: Vec<(String, Vec<Level>)> =
        facts.checked().program.maps.iter().map(|map| row(&map.function.name)).collect();
    // Rewrites have pages, but they are no operators to be counted.
    let rows: Vec<(String, Vec<Level>)> = all.iter().filter(|(name, _)| !is_fusion(name)).cloned().collect();
    overview(site, &rows, &opsets)?;
    namespaces(site, &all, &opsets)?;
    onnx(site, &opsets)?;
    for (index, opset) in opsets.iter().enumerate() {
        at_opset(site, &rows, index, *opset)?;
    }
    Ok(())
}

fn overview(site: &mut Site<'_>, rows: &[(String, Vec<Level>)], opsets: &[u32]) -> Result<()> {
    let total = rows.len();
    let by_opset: Vec<Value> = opsets
        .iter()
        .enumerate()
        .map(|(index, opset)| {
            let count = |level: Level| rows.iter().filter(|(_, levels)| levels.get(index) == Some(&level)).count();
            let counts: Vec<Value> = Level::ALL.into_iter().map(|level| {
            let count = count(level);
            let percent = 100.0 * count as f64 / total.max(1) as f64;
            context! { class => level.letter(), word => level.word(), count, percent => format!("{percent:.2}") }
        }).collect();
            let release = site.facts.checked().schemas.opsets.opsets.get(opset).map(|release| release.onnx.clone());
            context! { opset, release, url => urls::opset(*opset), counts }
        })
        .collect();
    let mut spaces: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in rows {
        *spaces.entry(name.split_once("::").map_or("", |(namespace, _)| namespace)).or_default() += 1;
    }
    let spaces: Vec<Value> =
        spaces.into_iter().map(|(name, count)| context! { name, count, url => urls::namespace(name) }).collect();
    let own = context! { by_opset, spaces, total, unsupported => site.facts.checked().program.unsupported.len() };
    let head = Head {
        title: "Coverage",
        description: "How many PyTorch operators each ONNX opset expresses.",
        nav: "coverage",
    };
    site.page("coverage/index.html", "coverage.html", &head, own)
}

fn grid_row(facts: &Facts, name: &str, levels: &[Level], opsets: &[u32]) -> Value {
    let strip = parts::strip(levels, opsets);
    let docs = facts.checked().program.map(name).map(|map| parts::first_sentence(&map.function.docs));
    context! { name, url => urls::operator(name), strip, text => docs.unwrap_or_default() }
}

fn namespaces(site: &mut Site<'_>, rows: &[(String, Vec<Level>)], opsets: &[u32]) -> Result<()> {
    let facts = site.facts;
    let mut spaces: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, levels) in rows {
        let space = name.split_once("::").map_or("", |(namespace, _)| namespace);
        spaces.entry(space).or_default().push(grid_row(facts, name, levels, opsets));
    }
    for unsupported in &facts.checked().program.unsupported {
        let name = unsupported.name.as_str();
        let space = name.split_once("::").map_or("", |(namespace, _)| namespace);
        let words = format!("not in ONNX: {}", unsupported.reason);
        let strip = Strip { letters: "x".repeat(opsets.len()), words: words.clone() };
        let row = context! { name, url => urls::operator(name), strip, text => words };
        spaces.entry(space).or_default().push(row);
    }
    for (space, rows) in spaces {
        let title = format!("{space}::");
        let description = format!("{} overloads of {space} at each ONNX opset.", rows.len());
        let nav = if space == "aten" { "operators" } else { "coverage" };
        let own = context! { rows, intro => &description };
        site.page(&urls::namespace(space), "grid.html", &Head { title: &title, description: &description, nav }, own)?;
    }
    Ok(())
}

fn onnx(site: &mut Site<'_>, opsets: &[u32]) -> Result<()> {
    let facts = site.facts;
    let schemas = &facts.checked().schemas.onnx;
    let rows: Vec<Value> = schemas
        .ops
        .keys()
        .map(|name| {
            let strip = parts::strip(&operators::levels(facts, name), opsets);
            let versions: Vec<String> =
                schemas.versions(name).iter().map(|version| version.since.to_string()).collect();
            context! { name, url => urls::operator(name), strip, text => format!("versions {}", versions.join(", ")) }
        })
        .collect();
    let intro = "ONNX operators in their newest form: at each opset native, lowered to other operators, or refused.";
    let head = Head { title: "ONNX operators", description: intro, nav: "onnx" };
    site.page("onnx/index.html", "grid.html", &head, context! { rows, intro })
}

/// What an opset does not express, and what it expresses better or worse than the one before.
fn at_opset(site: &mut Site<'_>, rows: &[(String, Vec<Level>)], index: usize, opset: u32) -> Result<()> {
    let facts = site.facts;
    let matrix = &facts.checked().matrix;
    let reasons = |name: &str| match matrix.rows.get(name).and_then(|row| row.get(index)) {
        Some(Status::Partial(reasons)) => reasons.iter().collect::<Vec<_>>().join("; "),
        Some(Status::No(reasons)) => reasons.join("; "),
        _ => String::new(),
    };
    let list = |keep: &dyn Fn(&[Level]) -> bool| -> Vec<Value> {
        let kept = rows.iter().filter(|(_, levels)| keep(levels));
        kept.map(|(name, _)| context! { name, url => urls::operator(name), reason => reasons(name) }).collect()
    };
    let at = |levels: &[Level], index: usize| levels.get(index).copied();
    let is = |level: Level| move |levels: &[Level]| at(levels, index) == Some(level);
    let changed = |better: bool| {
        list(&|levels: &[Level]| {
            let before = index.checked_sub(1).and_then(|before| at(levels, before));
            matches!((before, at(levels, index)), (Some(before), Some(now)) if if better { now < before } else { now > before })
        })
    };
    let own = context! {
        opset,
        refused => list(&is(Level::Refused)),
        partial => list(&is(Level::Partial)),
        better => changed(true),
        worse => changed(false),
    };
    let title = format!("Opset {opset}");
    let description = format!("What PyTorch operators become at ONNX opset {opset}, and what it cannot express.");
    site.page(
        &urls::opset(opset),
        "opset.html",
        &Head { title: &title, description: &description, nav: "coverage" },
        own,
    )
}
