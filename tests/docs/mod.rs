//! The code blocks of the documentation are tested: commands are run, and files are compared with the ones they show.
//! CONTRIBUTING.md lists the kinds of blocks. `python` and `toml` are tested by python/tests/test_docs.py, `opmap` by
//! codegen/opmap/tests/docs.rs.

pub mod blocks;
mod links;
pub mod run;

use crate::common;

use std::collections::BTreeSet;
use std::process::Command;

use blocks::{Block, pages};
use run::Folder;

#[test]
fn every_block_has_a_known_language() {
    let mut unknown = Vec::new();
    for block in pages(common::root()).iter().flat_map(|page| &page.blocks) {
        let is_known = match (block.language.as_str(), block.rest.as_str()) {
            ("sh", rest) => {
                rest.is_empty()
                    || rest == "walk"
                    || rest == "walk 3"
                    || rest.strip_prefix("no-run: ").is_some_and(|reason| !reason.is_empty())
            }
            // `xtask layers --check` compares the diagram with the imports.
            ("console", "walk") => true,
            ("console" | "toml" | "mermaid", rest) => rest.is_empty(),
            ("python" | "opmap", _) => true,
            ("rust" | "text", rest) => !rest.is_empty(),
            _ => false,
        };
        if !is_known {
            unknown.push(format!("{}: `{} {}`", block.at, block.language, block.rest));
        }
    }
    assert!(unknown.is_empty(), "see CONTRIBUTING.md for the languages of code blocks:\n{}", unknown.join("\n"));
}

#[test]
fn files_are_shown_as_they_are() {
    let mut languages = Vec::new();
    for block in pages(common::root()).iter().flat_map(|page| &page.blocks) {
        let is_of_file = ["rust", "python", "opmap"].contains(&block.language.as_str()) && !block.rest.is_empty();
        if !is_of_file || block.rest.starts_with("walk ") {
            continue;
        }
        // What is under `examples` and `mappings` is compiled or run by other tests.
        let is_tested = ["examples/", "mappings/"].iter().any(|folder| block.rest.starts_with(folder));
        assert!(is_tested, "{}: `{}` is no example and no rule", block.at, block.rest);
        let file = std::fs::read_to_string(common::root().join(&block.rest)).unwrap();
        let is_shown = file.starts_with(&block.text) || file.contains(&format!("\n{}", block.text));
        assert!(is_shown, "{}: {} has other lines", block.at, block.rest);
        languages.push(block.language.clone());
    }
    for language in ["rust", "python", "opmap"] {
        assert!(languages.iter().any(|found| found == language), "no block shows a file in {language}");
    }
}

#[test]
fn links_lead_somewhere() {
    let (mut count, mut dead) = (0, Vec::new());
    for page in pages(common::root()) {
        let path = common::root().join(&page.name);
        let text = std::fs::read_to_string(&path).unwrap();
        for link in links::links(&text) {
            count += 1;
            let (file, heading) = links::place(&path, &link.target);
            let has_heading = |heading: &String| {
                std::fs::read_to_string(&file).is_ok_and(|text| links::anchors(&text).contains(heading))
            };
            if !file.exists() || !heading.as_ref().is_none_or(has_heading) {
                dead.push(format!("{}:{}: {}", page.name, link.line, link.target));
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere:\n{}", dead.join("\n"));
    assert!(count >= 100, "only {count} links");
}

#[test]
fn the_map_has_every_folder() {
    let root = common::root();
    // Other folders may lie here: environments, caches, what editors keep.
    let output = Command::new("git").arg("ls-files").current_dir(root).output().unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<&str> = files.lines().filter_map(|file| Some(file.split_once('/')?.0)).collect();
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let (_, map) = page.split_once("\n## The folders\n").unwrap();
    let map = map.split("\n## ").next().unwrap();
    let unnamed: Vec<_> = names.iter().filter(|name| !map.contains(&format!("`{name}/`"))).collect();
    assert!(unnamed.is_empty() && names.len() >= 10, "docs/architecture.md does not say what is in {unnamed:?}");
}

/// The examples of the package that the pages show.
#[test]
fn the_rust_examples_run() {
    let folder = tempfile::tempdir().unwrap();
    let data = common::root().join("tests/data");
    std::fs::copy(data.join("models/mobilenet_like.pt2"), folder.path().join("model.pt2")).unwrap();
    let run = |name: &str| {
        let output = Command::new(example(name)).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run("minimal").contains(" nodes in "));
    run("convert");
    let sizes = ["model.onnx", "edge.onnx"].map(|name| folder.path().join(name).metadata().unwrap().len());
    assert!(sizes.iter().all(|size| *size > 1000), "{sizes:?}");
}

/// Builds an example, with the features of the whole workspace as the tests are, and returns its program.
fn example(name: &str) -> String {
    let mut build = common::cargo();
    let output = build.args(["build", "--workspace", "--example", name, "--message-format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8(output.stdout).unwrap();
    let programs = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let found = programs.filter(|message| message["target"]["name"] == name);
    found.filter_map(|message| message["executable"].as_str().map(str::to_owned)).next().unwrap()
}

/// The commands run Python too.
mod python {
    use super::*;

    #[test]
    fn commands_run() {
        let (mut scripts, mut commands) = (0, 0);
        for page in pages(common::root()) {
            let is_run = |block: &&Block| block.rest.is_empty() && ["sh", "console"].contains(&block.language.as_str());
            let to_run: Vec<&Block> = page.blocks.iter().filter(is_run).collect();
            if to_run.is_empty() {
                continue;
            }
            let folder = Folder::new(&page, "commands");
            for block in to_run {
                if block.language == "sh" {
                    folder.script(block);
                    scripts += 1;
                } else {
                    commands += folder.transcript(block);
                }
            }
        }
        assert!(scripts >= 4 && commands >= 6, "{scripts} scripts and {commands} commands: some are missing");
    }
}
