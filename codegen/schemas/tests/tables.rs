//! The static tables of the exporter: their text for small snapshots, and that the real ones are valid Rust.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::emit::{facts, schema_table};
use aten2onnx_schemas::facts::{Dtypes, Opsets, Promotion};
use aten2onnx_schemas::onnx::OnnxSchemas;

const ONNX: &str = "\
@floats = float16 float double

Gelu 20 function
  in X: T
  out Y: T
  attr approximate: STRING = \"none\"
  type T = @floats

New 12
  in X: T
  out Y: T
  type T = float

Old 1
  in X: T
  out Y: T
  attr consumed_inputs: INTS
  type T = float

Old 6
  in X: T
  out Y: T
  type T = float

Old 11 deprecated
  in X: T
  out Y: T
  type T = @floats

Softmax 1
  in input: T
  out output: T
  attr axis: INT = 1
  type T = @floats

Softmax 13
  in input: T
  out output: T
  attr axis: INT = 1
  type T = @floats float6e2m3

Split 2
  in input: T
  in split: tensor(int64) optional
  out outputs: T variadic 1
  out rest: V variadic 0 mixed
  attr axis: INT required
  attr alpha: FLOATS = [1.0, -3.4028235e38]
  type T = float
  type V = float
  type V = seq(float)

Split 11
  in input: T
  out outputs: T variadic 1
  attr axis: INT required
  type T = float
";

const OPSETS: &str = "\
min = 9
max = 13
default = 13
[opsets]
9 = { onnx = \"1.4.1\", ir = 4 }
10 = { onnx = \"1.5.0\", ir = 5 }
11 = { onnx = \"1.6.0\", ir = 6 }
12 = { onnx = \"1.7.0\", ir = 7 }
13 = { onnx = \"1.8.0\", ir = 7 }
[[change]]
op = \"Softmax\"
since = 13
kind = \"meaning\"
why = \"it is another axis\"
[[negative_axes]]
since = 11
attribute = \"axis\"
ops = [\"Split\", \"Softmax\"]
";

fn small() -> Schemas {
    Schemas {
        onnx: OnnxSchemas::parse(ONNX).unwrap(),
        opsets: Opsets::parse(OPSETS).unwrap(),
        dtypes: Dtypes::parse("[wider]\nbool = [\"uint8\", \"int32\"]\n").unwrap(),
        promotion: Promotion::parse("promote bool uint8 -> uint8\ncombine int8 int64 -> int8\nnumber int -> int64\n")
            .unwrap(),
        ..Schemas::default()
    }
}

/// Without the helpers at the head of the module.
fn tables(schemas: &Schemas) -> String {
    let text = schema_table::emit(schemas);
    text.split_once("others: true }\n    }\n\n").unwrap().1.to_string()
}

#[test]
fn a_small_snapshot() {
    insta::assert_snapshot!(tables(&small()));
}

#[test]
fn small_facts() {
    let text = facts::emit(&small()) + &facts::emit_promotion(&small());
    let is_empty_row = |line: &&str| line.ends_with(", &[]),") || line.contains("[N") && !line.contains("s(");
    let shown: Vec<&str> = text.lines().filter(|line| !is_empty_row(line)).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_real_tables_are_rust() {
    let mappings = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../mappings");
    let schemas = Schemas::load(&mappings).unwrap();
    let text = schema_table::emit(&schemas) + &facts::emit(&schemas) + &facts::emit_promotion(&schemas);
    syn::parse_file(&text).unwrap();
    assert!(text.len() < 210_000, "{} bytes are compiled in every build", text.len());
}
