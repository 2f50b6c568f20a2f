//! The parsers of the schema snapshots, on the real files and on broken ones.
#![allow(clippy::unwrap_used, clippy::panic)]

use aten2onnx_codegen::schema::aten::{AtenSchemas, Value, default_value, parse_schema};
use aten2onnx_codegen::schema::onnx::{Change, OnnxSchemas};
use std::path::PathBuf;

fn snapshot(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mappings/schemas").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with(['#', '@'])).map(|l| format!("{l}\n")).collect()
}

/// As `assert_eq`, but with the first line that differs and not the whole files.
fn assert_same(left: &str, right: &str) {
    for (i, (l, r)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(l, r, "line {}", i + 1);
    }
    assert_eq!(left.len(), right.len());
}

#[test]
fn onnx_txt_survives_parsing_and_printing() {
    let text = snapshot("onnx.txt");
    let schemas = OnnxSchemas::parse(&text).unwrap();
    assert_eq!(schemas.ops.values().map(Vec::len).sum::<usize>(), 629);
    let printed: Vec<String> = schemas.ops.values().flatten().map(ToString::to_string).collect();
    assert_same(&printed.join("\n"), without_comments(&text).trim_start());
}

#[test]
fn aten_txt_and_its_neighbours_survive_parsing_and_printing() {
    for (name, count) in
        [("aten.txt", 3754), ("prims.txt", 126), ("quantized_decomposed.txt", 19), ("torchvision.txt", 15)]
    {
        let text = snapshot(name);
        let schemas = AtenSchemas::parse(&text).unwrap();
        assert_eq!(schemas.iter().count(), count);
        let printed: String = schemas.iter().map(|s| format!("{s}\n")).collect();
        assert_same(&printed, &without_comments(&text));
    }
}
#[test]
fn timing() {
    let (a, o) = (snapshot("aten.txt"), snapshot("onnx.txt"));
    for _ in 0..3 {
        let t = std::time::Instant::now();
        AtenSchemas::index([a.as_str()]).unwrap();
        let u = std::time::Instant::now();
        OnnxSchemas::parse(&o).unwrap();
        eprintln!("aten {:?} onnx {:?}", u - t, u.elapsed());
    }
    let _ = (Change::Shape, default_value("int", "1") == Some(Value::Int(1)), parse_schema(""));
}
