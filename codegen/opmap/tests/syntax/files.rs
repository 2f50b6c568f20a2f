//! The project's own mapping files, and the language reference.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aten2onnx_opmap::source::{SourceFile, Sources};

use crate::{parse, round_trip};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All mapping files, and the samples of these tests.
fn files() -> Vec<SourceFile> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syntax/samples");
    let mut files = Sources::read_dir(&root().join("mappings")).unwrap().files;
    files.extend(Sources::read_dir(&samples).unwrap().files);
    assert!(files.len() > 90, "only {} files", files.len());
    files
}

/// Texts to damage.
pub static SAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| files().into_iter().map(|file| file.text).collect());

#[test]
fn files_parse_and_print() {
    for SourceFile { path, text } in files() {
        let (file, errors) = parse(&text);
        assert!(errors.is_empty(), "{path}: {errors:#?}");
        round_trip::check(&file);
    }
}

/// `Ident { text: "x", span: Span { file: FileId(0), start: 3, end: 4 } }`: the text is that of the span.
#[test]
fn spans_of_names_cover_their_text() {
    for SourceFile { path, text } in files() {
        let tree = format!("{:?}", parse(&text).0);
        for ident in tree.split("Ident { text: \"").skip(1) {
            let (name, rest) = ident.split_once("\", span: Span { file: FileId(0), start: ").unwrap();
            let (start, rest) = rest.split_once(", end: ").unwrap();
            let (end, _) = rest.split_once(" }").unwrap();
            let found = &text[start.parse().unwrap()..end.parse().unwrap()];
            assert_eq!(found, name.replace("\\\"", "\""), "{path}");
        }
    }
}

#[test]
fn reference_examples_parse() {
    let reference = fs::read_to_string(root().join("docs/opmap.md")).unwrap();
    let blocks: Vec<&str> = reference.split("```opmap\n").skip(1).collect();
    assert!(blocks.len() >= 5, "only {} blocks of rules", blocks.len());
    for block in blocks {
        let block = block.split("```").next().unwrap();
        let (_, errors) = parse(block);
        assert!(errors.is_empty(), "{errors:#?}\n{block}");
    }
}

/// Headers use PyTorch's notation: every schema of the snapshots is a valid header.
#[test]
fn schemas_parse_as_headers() {
    let mut count = 0;
    for name in ["aten", "prims", "quantized_decomposed", "torchvision"] {
        let text = fs::read_to_string(root().join(format!("mappings/schemas/{name}.txt"))).unwrap();
        let schemas: Vec<&str> = text.lines().filter(|line| line.contains("::") && !line.starts_with('#')).collect();
        // Only `...`, any number of arguments, is not supported.
        let schemas: Vec<&str> = schemas.into_iter().filter(|schema| !schema.contains("...")).collect();
        count += schemas.len();
        let items: String = schemas.iter().map(|schema| format!("map {schema} = f()\n")).collect();
        let (file, errors) = parse(&items);
        assert!(errors.is_empty(), "{:#?}", &errors[..errors.len().min(3)]);
        assert_eq!(file.items.len(), schemas.len());
    }
    assert!(count > 1000, "{count}");
}
