//! The server survives any text and any place: random edits of rules, and all requests at random places, also those outside of the text.
#![allow(clippy::unwrap_used)]

mod common;

use common::Editor;
use serde_json::{Value, json};

const RULES: &str = r#"//! Activation functions.

/// Exponential linear unit.
map aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor {
    if scale == 1 && input_scale == 1 {
        Elu(self, alpha_f = alpha)
    } else {
        let below = times(Exp(self * input_scale) - 1, alpha);
        Where(self > 0, self, below) * scale
    }
}
example aten::elu(f32[2, 3], alpha = 0.5, scale = 1.2)

map aten::{name}(Tensor self) -> Tensor = {Op}(self) for { relu => Relu, tanh => Tanh, }
example aten::{name}(f32[2, 3])

/// A product.
fn times(Tensor x, Scalar factor) -> Tensor { if factor == 1 { x } else { x * factor } }
lower Gelu before 20 (X, approximate_s) = 0.5 * X * (1 + Erf(X * 0.7071067811865476))
view aten::select.int = aten::select_scatter(self, src, dim, index)
same Abs 6 as 13 "types"
unsupported aten::nonzero_static "why"
"#;

/// What is written between other characters.
const PIECES: [&str; 20] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "\"",
    "::",
    ".",
    "..",
    ",",
    "\n",
    "\r",
    "\t",
    "𝄞",
    "é",
    "\u{feff}",
    "map ",
    "lower Gelu before ",
    " = ",
    "//",
];

/// The number of edits.
const EDITS: usize = 150;

#[test]
fn the_server_survives_any_edit_and_any_place() {
    let files = [("aten/rules.opmap".to_owned(), RULES.to_owned())];
    let folder = common::folder(&files);
    let mut editor = Editor::new(folder.path(), None);
    editor.open("aten/rules.opmap", RULES);
    let mut random = fastrand::Rng::with_seed(7);
    let (mut answers, mut wrong) = (0, 0);
    for _ in 0..EDITS {
        edit(&mut editor, &mut random);
        let text = &editor.open["aten/rules.opmap"].0;
        let lines = text.lines().count() + 2;
        let place = json!({"line": random.usize(0..lines), "character": random.u32(0..90)});
        let other = json!({"line": random.usize(0..lines), "character": random.u32(..)});
        let document = json!({"uri": editor.uri("aten/rules.opmap")});
        let at = json!({"textDocument": document, "position": place, "context": {"includeDeclaration": true}, "newName": "other"});
        let range =
            json!({"textDocument": document, "range": {"start": place, "end": other}, "context": {"diagnostics": []}});
        let whole = json!({"textDocument": document, "options": {"tabSize": 4, "insertSpaces": true}});
        for method in ["hover", "signatureHelp", "definition", "references", "prepareRename", "rename"] {
            answers += usize::from(editor.ask(&format!("textDocument/{method}"), at.clone()).is_ok());
        }
        let completion = json!({"textDocument": document, "position": place});
        answers += usize::from(editor.ask("textDocument/completion", completion).is_ok());
        for method in ["inlayHint", "codeAction"] {
            assert!(editor.ask(&format!("textDocument/{method}"), range.clone()).is_ok());
        }
        for method in ["documentSymbol", "formatting", "foldingRange", "semanticTokens/full", "codeLens"] {
            assert!(editor.ask(&format!("textDocument/{method}"), whole.clone()).is_ok(), "{method}");
        }
        wrong += usize::from(editor.shown.values().any(|shown| shown.as_array().is_some_and(|all| !all.is_empty())));
    }
    editor.wait_for_check();
    assert!(answers > EDITS * 3 && wrong > EDITS / 2, "only {answers} answers, and {wrong} texts with errors");
    assert_eq!(
        editor.ask(
            "textDocument/hover",
            json!({"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}})
        ),
        Err("file:///none is not open".to_owned())
    );
    let _: Value = editor.ask("workspace/symbol", json!({"query": "𝄞"})).unwrap();
    editor.quit();
}

/// Deletes, inserts or restores a part.
fn edit(editor: &mut Editor, random: &mut fastrand::Rng) {
    let text = editor.open["aten/rules.opmap"].0.clone();
    if text.len() < 200 || random.u8(0..12) == 0 {
        return editor.change("aten/rules.opmap", 0..text.len(), RULES);
    }
    let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let start = random.usize(0..places.len());
    let end = if random.bool() { start } else { (start + random.usize(0..30)).min(places.len() - 1) };
    let piece = random.choice(PIECES).unwrap();
    editor.change("aten/rules.opmap", places[start]..places[end], piece);
}
