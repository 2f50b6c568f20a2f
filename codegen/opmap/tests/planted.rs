//! Rules with planted faults, one folder that is checked in one run: each fault is found at its place with its message, and nothing else is.
//!
//! A line `//~ E0312 message` tells of the line below it. With `BLESS=1` in the environment the messages are written instead of compared; what
//! is not found, or not told of, still fails.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_sources};
use aten2onnx_schemas::Schemas;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted")
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn checked() -> Checked {
    let mut schemas = Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
    schemas.opsets.complete = false;
    let mut sources = Sources::default();
    for file in files() {
        let name = format!("mappings/{}", file.file_name().unwrap().to_string_lossy());
        sources.add(&name, fs::read_to_string(file).unwrap());
    }
    check_sources(sources, schemas)
}

/// `lists.opmap:4: E0316 message`
fn found(checked: &Checked) -> BTreeSet<String> {
    // The rules have no examples, and operators without a lowering are not what is planted.
    let aside = ["E0803", "E0701", "E0702"];
    let errors = checked.diagnostics.iter().filter(|error| !aside.contains(&error.code));
    let line = |error: &aten2onnx_opmap::diagnostic::Diagnostic| {
        let place = error.primary.0;
        let file = checked.sources.file(place.file).path.replace("mappings/", "");
        format!("{file}:{}: {} {}", checked.sources.line(place), error.code, error.message)
    };
    errors.map(line).collect()
}

/// What the files tell of, in the same form.
fn messages_of() -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut waiting = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            match line.trim().strip_prefix("//~ ") {
                Some(message) => waiting.push(message.to_owned()),
                None => told.extend(waiting.drain(..).map(|message| format!("{name}:{number}: {message}"))),
            }
        }
    }
    told
}

/// Writes what was found above its lines.
fn bless(found: &BTreeSet<String>) {
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let mut blessed = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().starts_with("//~ ") {
                continue;
            }
            let here = format!("{name}:{number}: ");
            let indent = &line[..line.len() - line.trim_start().len()];
            for message in found.iter().filter_map(|one| one.strip_prefix(&here)) {
                blessed.push_str(&format!("{indent}//~ {message}\n"));
            }
            blessed.push_str(line);
            blessed.push('\n');
        }
        fs::write(file, blessed).unwrap();
    }
}

#[test]
fn each_planted_fault_is_found_at_its_place() {
    let found = found(&checked());
    if std::env::var_os("BLESS").is_some() {
        return bless(&found);
    }
    let told = messages_of();
    let missed: Vec<&String> = told.difference(&found).collect();
    let untold: Vec<&String> = found.difference(&told).collect();
    assert!(missed.is_empty() && untold.is_empty(), "not found: {missed:#?}\nnot told of: {untold:#?}");
    assert!(told.len() > 50, "{} faults", told.len());
}

/// Each rule of the folder is there for a fault: a rule without one would be a fault that is not found.
#[test]
fn each_planted_rule_has_a_fault() {
    let checked = checked();
    let lines: BTreeSet<String> =
        found(&checked).iter().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    let mut idle = Vec::new();
    for map in &checked.program.maps {
        let place = map.function.span;
        let file = checked.sources.file(place.file).path.replace("mappings/", "");
        let first = checked.sources.line(place);
        let has_fault = (first..first + 6).any(|line| lines.contains(&format!("{file}:{line}")));
        let by_helper = map.function.name.contains("by_helper") || map.function.name.contains("planted::no_step");
        if !has_fault && !by_helper {
            idle.push(map.function.name.clone());
        }
    }
    assert!(idle.is_empty(), "no fault found in {idle:?}");
}
