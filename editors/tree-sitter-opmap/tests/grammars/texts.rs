//! Texts that the compiler parses: the mapping files, and the `opmap` blocks of the documentation and of the pages of error codes.

use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::syntax::ast::File;
use aten2onnx_opmap::syntax::parse_file;

/// A text and where it is from.
pub struct Text {
    pub place: String,
    pub text: String,
    pub file: File,
    /// Whether the compiler parses it.
    pub parses: bool,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Text {
    pub fn new(place: String, text: String) -> Text {
        let mut sources = Sources::default();
        let id: FileId = sources.add(place.clone(), text.clone());
        let mut errors = Vec::new();
        let file = parse_file(&sources, id, &mut errors);
        Text { place, text, file, parses: errors.is_empty() }
    }
}

/// All texts that the compiler parses.
pub fn all() -> Vec<Text> {
    let mut all = Vec::new();
    for path in Sources::paths(&root().join("mappings")).unwrap() {
        all.push(Text::new(path.display().to_string(), fs::read_to_string(&path).unwrap()));
    }
    let files = all.len();
    assert!(files > 130, "only {files} mapping files");
    for folder in ["docs", "codegen/opmap/src/errors", "codegen/opmap/tests/diagnostics", "."] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                all.extend(blocks(&path));
            }
        }
    }
    all.retain(|text| text.parses);
    assert!(all.len() > files + 90, "only {} blocks of the documentation", all.len() - files);
    all
}

/// The `opmap` blocks of a page.
fn blocks(path: &Path) -> Vec<Text> {
    let page = fs::read_to_string(path).unwrap();
    let parts = page.split("\n```opmap").skip(1);
    let texts = parts.filter_map(|part| Some(part.split_once('\n')?.1.split("\n```").next()?.to_owned() + "\n"));
    texts.enumerate().map(|(i, text)| Text::new(format!("{} block {}", path.display(), i + 1), text)).collect()
}
