//! Rules that would take the proof exponential time: it gives up exactness, not the proof.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;

use aten2onnx_opmap::check_sources;
use aten2onnx_opmap::source::Sources;
use aten2onnx_schemas::Schemas;

fn codes(text: &str) -> Vec<&'static str> {
    let mut schemas = Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
    schemas.opsets.complete = false;
    let mut sources = Sources::default();
    sources.add("mappings/test.opmap", text);
    check_sources(sources, schemas).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// `((rank(x) > 0 && rank(x) < 9) || rank(x) > 1) && ..`
fn alternating(levels: usize) -> String {
    (0..levels).fold("rank(self) > 0".to_owned(), |inner, level| match level % 2 {
        0 => format!("({inner} && dim_of(self, 0) != {level})"),
        _ => format!("({inner} || dim_of(self, 0) == {level})"),
    })
}

const PRELUDE: &str = "extern fn rank(Tensor x) -> int\nextern fn dim_of(Tensor x, int d) -> int\n";

#[test]
fn a_condition_of_many_levels_ends() {
    let condition = alternating(40);
    let rule =
        format!("map aten::relu(Tensor self) -> Tensor = if {condition} {{ Relu(self) }} else {{ Neg(self) }}\n");
    let examples = "example aten::relu(f32[2])\nexample aten::relu(f32[])\n";
    assert_eq!(codes(&format!("{PRELUDE}{rule}{examples}")), [""; 0]);
}

#[test]
fn conditions_in_conditions_end() {
    let mut text = PRELUDE.to_owned();
    let mut name = "rank(self) > 0".to_owned();
    for level in 0..22 {
        name = format!("if {name} {{ dim_of(self, 0) > {level} }} else {{ dim_of(self, 1) > {level} }}");
    }
    let _ = writeln!(text, "map aten::relu(Tensor self) -> Tensor = if {name} {{ Relu(self) }} else {{ Neg(self) }}");
    text.push_str("example aten::relu(f32[2])\nexample aten::relu(f32[])\n");
    assert_eq!(codes(&text), [""; 0], "{text}");
}

#[test]
fn conditions_that_name_conditions_end() {
    let mut text = format!("{PRELUDE}map aten::relu(Tensor self) -> Tensor {{\n    let is_0 = rank(self) > 0;\n");
    for level in 1..40 {
        let below = level - 1;
        let _ = writeln!(
            text,
            "    let is_{level} = is_{below} && dim_of(self, 0) != {level} || !is_{below} && dim_of(self, 1) != {level};"
        );
    }
    text.push_str("    if is_39 { Relu(self) } else { Neg(self) }\n}\n");
    text.push_str("example aten::relu(f32[2])\nexample aten::relu(f32[])\n");
    assert_eq!(codes(&text), [""; 0], "{text}");
}
