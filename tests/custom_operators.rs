//! docs/custom-operators.md does what it says: its files are written, its commands are run, and print what stands there.
#![cfg(feature = "mappings")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../docs/custom-operators.md");

/// The files of the example crate that the page shows, as they stand there.
const SHOWN: [&str; 7] = [
    "my_ops.py",
    "mappings/my_ops.opmap",
    "run.py",
    "build.rs",
    "src/main.rs",
    "mappings/fade.opmap",
    "src/externs.rs",
];

#[test]
fn the_page_on_custom_operators_is_true() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("custom-operators");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut commands = 0;
    for (head, text) in blocks(PAGE) {
        match head.split_once(' ') {
            Some(("python" | "opmap", name)) if !name.contains('/') => std::fs::write(folder.join(name), text).unwrap(),
            None if head == "console" => commands += console(&folder, text),
            _ => {}
        }
    }
    assert_eq!(commands, 6, "the page has lost commands");
}

#[test]
fn the_page_shows_the_example_crate() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/custom-operators");
    for name in SHOWN {
        let text = std::fs::read_to_string(example.join(name)).unwrap();
        assert!(PAGE.contains(&format!("\n{text}```")), "the page shows another {name}");
    }
}

/// The fenced blocks of a page: what stands after the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = page.split("```").collect();
    parts.chunks(2).filter_map(|pair| pair.get(1)?.split_once('\n')).collect()
}

/// Runs the commands of a block; each line below one must be found in what it prints.
fn console(folder: &Path, text: &str) -> usize {
    let mut printed = String::new();
    let mut count = 0;
    for line in text.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                printed = run(folder, command);
                count += 1;
            }
            None => assert!(printed.contains(line), "`{line}` is not in\n{printed}"),
        }
    }
    count
}

fn run(folder: &Path, command: &str) -> String {
    let (command, fails) = command.split_once("  # fails").map_or((command, false), |(command, _)| (command, true));
    let mut words = command.split(' ');
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let local = root.join(".venv/bin/python");
    let python = std::env::var_os("ATEN2ONNX_PYTHON").map_or(local, PathBuf::from);
    let program = match words.next().unwrap() {
        "python" => python.clone(),
        "aten2onnx" => PathBuf::from(env!("CARGO_BIN_EXE_aten2onnx")),
        other => panic!("the page runs `{other}`"),
    };
    let output =
        Command::new(program).args(words).current_dir(folder).env("ATEN2ONNX_PYTHON", python).output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.success(), !fails, "{command}\n{printed}");
    printed
}
