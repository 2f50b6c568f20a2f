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
fn emitx() {
    let t = std::time::Instant::now();
    let s = aten2onnx_codegen::schema::Schemas::load(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mappings")).unwrap();
    eprintln!("load {:?}", t.elapsed());
    use aten2onnx_codegen::schema::facts::*;
    let rd = |n: &str| std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mappings").join(n)).unwrap();
    for _ in 0..2 {
    let (a, b, c, d) = (rd("opsets.toml"), rd("dtypes.toml"), rd("ignored_arguments.toml"), rd("schemas/promotion.txt"));
    let t = std::time::Instant::now(); Opsets::parse(&a).unwrap(); eprintln!("opsets {:?}", t.elapsed());
    let t = std::time::Instant::now(); Dtypes::parse(&b).unwrap(); eprintln!("dtypes {:?}", t.elapsed());
    let t = std::time::Instant::now(); IgnoredArguments::parse(&c).unwrap(); eprintln!("ign {:?}", t.elapsed());
    let t = std::time::Instant::now(); Promotion::parse(&d).unwrap(); eprintln!("prom {:?}", t.elapsed());
    }
    let t = std::time::Instant::now();
    let x = aten2onnx_codegen::emit::schema_table::emit(&s, &|_, _| None, &|_, _| false);
    let y = aten2onnx_codegen::emit::facts::emit(&s);
    eprintln!("emit {:?} {} {}", t.elapsed(), x.len(), y.len());
    std::fs::write("/tmp/emit/rules.rs", format!("{x}{y}")).unwrap();
    let _ = (Change::Shape, default_value("int", "1") == Some(Value::Int(1)), parse_schema(""));
}
