//! No text makes the parser or the renderer panic, and text without errors can be printed.

use aten2onnx_opmap::render::{render, render_json};
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::parse_file;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::{files, round_trip};

/// Parses and renders, and prints if there are no errors.
fn survives(text: &str) {
    let mut sources = Sources::default();
    let id = sources.add("mappings/test.opmap", text);
    let mut out = Vec::new();
    let file = parse_file(&sources, id, &mut out);
    let rendered = render(&sources, &out, false);
    assert_eq!(rendered.is_empty(), out.is_empty());
    assert_eq!(render_json(&sources, &out).is_empty(), out.is_empty());
    for diagnostic in &out {
        let places = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
        for (span, _) in places {
            assert!(text.get(span.range()).is_some(), "{diagnostic:?}");
        }
    }
    if out.is_empty() {
        round_trip::check(&file);
    }
}

/// Parts of valid files.
const PIECES: &[&str] = &[
    "map ",
    "lower ",
    "same ",
    "fn ",
    "extern fn ",
    "unsupported ",
    "view ",
    "rewrite ",
    "fact ",
    "example ",
    "for ",
    "in ",
    "if ",
    "if let ",
    "else ",
    "let ",
    "match ",
    "fail ",
    "since ",
    "ignore",
    "before ",
    "as ",
    "with ",
    "aten::add.Tensor",
    "Elu",
    "x",
    "_",
    "{x}",
    "{Op}",
    "com.microsoft::Gelu",
    "Tensor",
    "int[2]",
    "?",
    "[]",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "=",
    "==",
    "=>",
    "->",
    "-",
    "+",
    "*",
    "**",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "|",
    "??",
    "<",
    "..",
    ".",
    "\"",
    "\"a {x}\"",
    "'",
    "\\",
    "//",
    "///",
    "//!",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\t",
    "0",
    "12",
    "1.5",
    "1e-5",
    "1e999",
    "99999999999999999999",
    "f32",
    "f32[2]",
    "i64{1, 2}",
    "None",
    "é",
    "\u{feff}",
    "\u{a0}",
    "\0",
];

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap()
}

fn cut_lines(text: &str, first: Index, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let first = first.index(lines.len());
    lines[first..(first + count).min(lines.len())].join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60)) {
        survives(&pieces.concat());
    }

    #[test]
    fn pieces_in_a_body(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..12)) {
        survives(&format!("map aten::f(Tensor x) -> Tensor {{ {} }}", pieces.concat()));
    }

    #[test]
    fn damaged_files(
        file in any::<Index>(),
        first in any::<Index>(),
        count in 1usize..30,
        changes in proptest::collection::vec((any::<Index>(), 0usize..6, proptest::sample::select(PIECES)), 1..5),
    ) {
        let sample: &String = file.get(&files::SAMPLES);
        let mut text = cut_lines(sample, first, count);
        for (at, length, piece) in changes {
            let start = boundary(&text, at.index(text.len() + 1));
            let end = boundary(&text, start + length);
            text.replace_range(start..end, piece);
        }
        survives(&text);
    }
}

/// Deep nesting of any kind is an error, which takes little time and stack.
#[test]
fn nesting_is_bounded() {
    let wrap = |open: &str, inner: &str, close: &str, n: usize| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    for n in [40, 100, 20_000] {
        let expressions = [
            wrap("(", "x", ")", n),
            wrap("[", "x", "]", n),
            wrap("f(", "x", ")", n),
            wrap("f(a = ", "x", ")", n),
            wrap("aten::f(1, ", "x", ")", n),
            wrap("{ ", "x", " }", n),
            wrap("{ let x = ", "x", "; x }", n),
            wrap("if x { ", "x", " }", n),
            wrap("if ", "x", " { x }", n),
            format!("if x {{ x }} {}", "else if x { x }".repeat(n)),
            wrap("match x { x => ", "x", " }", n),
            wrap("match ", "x", " {}", n),
            format!("match x {{ {} => x }}", wrap("(", "x", ")", n)),
            wrap("-", "x", "", n),
            wrap("!", "x", "", n),
            wrap("x ** ", "x", "", n),
            wrap("x + ", "x", "", n),
            wrap("x ?? ", "x", "", n),
            wrap("{ x } in ", "x", "", n),
            wrap("|x| ", "x", "", n),
            wrap("|| ", "x", "", n),
            wrap("x[", "x", "]", n),
            wrap("", "x", "[0]", n),
            wrap("[x for x in ", "x", "]", n),
            format!("fail \"{{{}}}\"", wrap("(", "x", ")", n)),
            wrap("f({ |x| [", "x y", "]})", n),
        ];
        for expression in expressions {
            survives(&format!("map aten::f(Tensor x) -> Tensor = {expression}"));
        }
        survives(&format!("fn f({} x) -> int = 1", wrap("(", "int", ")", n)));
        survives(&format!("fn f(int{} x) -> int = 1", "[]?".repeat(n)));
        survives(&format!("fn f(int x={}) -> int = 1", wrap("[", "", "]", n)));
        survives(&format!("example aten::f({})", wrap("[", "", "]", n)));
        survives(&format!("example aten::f(f32{})", wrap("{", "", "}", n)));
    }
}
