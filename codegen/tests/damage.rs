//! No text makes the compiler panic: the project's own rules with tokens deleted, doubled and replaced.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aten2onnx_build::generate;
use aten2onnx_codegen::expand::Expander;
use aten2onnx_opmap::check_sources;
use aten2onnx_opmap::render::{render, render_json};
use aten2onnx_opmap::source::Sources;
use aten2onnx_schemas::Schemas;
use proptest::prelude::*;
use proptest::sample::Index;

fn mappings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings")
}

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| Schemas::load(&mappings()).unwrap());
static RULES: LazyLock<Sources> = LazyLock::new(|| Sources::read_dir(&mappings()).unwrap());

/// Replacements for tokens.
const PIECES: &[&str] = &[
    "Relu",
    "TopK",
    "Loop",
    "Split",
    "aten::add.Tensor",
    "x",
    "self",
    "outputs",
    "opset",
    "None",
    "True",
    "float32",
    "0",
    "1",
    "-1",
    "0.5",
    "9223372036854775807",
    "\"text\"",
    "Tensor",
    "Tensor?",
    "Tensor[]",
    "int",
    "int[]",
    "SymInt",
    "SymInt[]",
    "Scalar",
    "str",
    "f32[2]",
    "[]",
    "[1, 2]",
    "(1, 2)",
    "{",
    "}",
    "(",
    ")",
    "|i| i",
    "??",
    "==",
    "<",
    "+",
    "-",
    "*",
    "/",
    "**",
    "in",
    "=>",
    "=",
    ",",
    ";",
    "..",
    "_",
    "{name}",
    "{Op}",
    "since 12 \"why\"",
    "fail \"why {x}\"",
    "ignore(x) \"why\";",
    "outputs = 2",
    "axis_i = 1",
    "body_g = |i, go| i",
    "before 13",
    "before 20",
    "with n = 4",
];

/// The places of the tokens of a text: words, and single characters.
fn tokens(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut tokens: Vec<std::ops::Range<usize>> = Vec::new();
    let mut word = false;
    for (at, c) in text.char_indices() {
        let in_word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word && in_word => last.end = at + c.len_utf8(),
            _ if c.is_whitespace() => {}
            _ => tokens.push(at..at + c.len_utf8()),
        }
        word = in_word;
    }
    tokens
}

/// A change of one token.
#[derive(Debug, Clone)]
enum Change {
    Delete,
    Double,
    Replace(&'static str),
    /// By the token at another place.
    Copy(Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Delete),
        Just(Change::Double),
        proptest::sample::select(PIECES).prop_map(Change::Replace),
        any::<Index>().prop_map(Change::Copy),
    ]
}

fn damaged(text: &str, changes: &[(Index, Change)]) -> String {
    let mut text = text.to_owned();
    for (at, change) in changes {
        let tokens = tokens(&text);
        if tokens.is_empty() {
            break;
        }
        let place = tokens[at.index(tokens.len())].clone();
        let piece = match change {
            Change::Delete => String::new(),
            Change::Double => format!("{0} {0}", &text[place.clone()]),
            Change::Replace(piece) => (*piece).to_owned(),
            Change::Copy(from) => text[tokens[from.index(tokens.len())].clone()].to_owned(),
        };
        text.replace_range(place, &piece);
    }
    text
}

/// Checks and renders, and generates the Rust if there are no errors.
fn survives(sources: Sources) {
    let checked = check_sources(sources, SCHEMAS.clone());
    let errors = &checked.diagnostics;
    assert_eq!(render(&checked.sources, errors, true).is_empty(), errors.is_empty());
    assert_eq!(render_json(&checked.sources, errors).is_empty(), errors.is_empty());
    if errors.is_empty() {
        generate(&checked).unwrap();
        let expander = Expander::new(&checked);
        for map in &checked.program.maps {
            expander.expand(&map.function.name, 9).unwrap();
        }
    }
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        /// A damaged file with the prelude and an undamaged one.
        #[test]
        fn damaged_rules(
            file in any::<Index>(),
            beside in any::<Index>(),
            changes in proptest::collection::vec((any::<Index>(), change()), 1..8),
        ) {
            let files = &RULES.files;
            let mut sources = Sources::default();
            let file = file.index(files.len());
            sources.add(files[file].path.clone(), damaged(&files[file].text, &changes));
            for whole in [beside.index(files.len()), files.iter().position(|f| f.path.ends_with("prelude.opmap")).unwrap()] {
                if whole != file {
                    sources.add(files[whole].path.clone(), files[whole].text.clone());
                }
            }
            survives(sources);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// Heavily damaged parts of files.
        #[test]
        fn damaged_pieces(
            file in any::<Index>(),
            first in any::<Index>(),
            count in 1usize..25,
            changes in proptest::collection::vec((any::<Index>(), change()), 1..12),
        ) {
            let text = &RULES.files[file.index(RULES.files.len())].text;
            let lines: Vec<&str> = text.lines().collect();
            let first = first.index(lines.len());
            let piece = lines[first..(first + count).min(lines.len())].join("\n");
            let mut sources = Sources::default();
            sources.add("mappings/test.opmap", damaged(&piece, &changes));
            survives(sources);
        }
    }

    #[test]
    fn the_rules_themselves() {
        let checked = check_sources(RULES.clone(), SCHEMAS.clone());
        assert!(checked.diagnostics.is_empty(), "{}", render(&checked.sources, &checked.diagnostics, false));
        let expander = Expander::new(&checked);
        let opsets = [checked.schemas.opsets.min, 13, checked.schemas.opsets.max];
        for map in &checked.program.maps {
            for opset in opsets {
                expander.expand(&map.function.name, opset).unwrap();
            }
        }
        for op in checked.schemas.onnx.ops.keys() {
            expander.expand(op, opsets[0]).unwrap();
        }
    }
}
