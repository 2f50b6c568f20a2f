//! What the README tells users of the shell and of Rust to write works as it stands.

#![allow(clippy::unwrap_used)]

mod common;

use std::process::Command;

const README: &str = include_str!("../README.md");
const DOCTEST: &str = include_str!("../src/lib.rs");

/// The fenced blocks in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = README.split("```").collect();
    let fenced = parts.chunks(2).filter_map(|pair| pair.get(1)?.split_once('\n'));
    fenced.filter(|(head, _)| *head == language).map(|(_, text)| text).collect()
}

#[test]
fn the_lines_of_rust_are_a_doctest() {
    for block in blocks("rust") {
        let commented: String = block.lines().map(|line| format!("//! {line}").trim_end().to_owned() + "\n").collect();
        assert!(DOCTEST.contains(&commented), "the documentation of the crate has other lines than\n{block}");
    }
}

#[test]
fn the_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(common::root().join("tests/data/models/mobilenet_like.pt2"), folder.path().join("model.pt2"))
        .unwrap();
    let commands: Vec<&str> =
        blocks("sh").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("aten2onnx ")).collect();
    assert_eq!(commands.len(), 3, "the README has lost commands");
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_aten2onnx"))
            .args(command.split(' '))
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
