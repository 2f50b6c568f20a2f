//! The generated Rust of a few rules. `INSTA_UPDATE=always cargo test` accepts changes.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use aten2onnx_build::generate;
use aten2onnx_opmap::check_dir;

/// The file and the function: a choice, a list, several outputs, an optional input, a graph as attribute, a lowering, a fold, closures as
/// argument and as result, an upward rule.
const SHOWN: [(&str, &str); 11] = [
    ("aten_activation", "aten_elu"),
    ("aten_arithmetic", "aten_add_Tensor"),
    ("aten_cumulative", "running_log_sum"),
    ("aten_linear", "aten_linear"),
    ("aten_linear", "chain"),
    ("aten_layer_norm", "aten_layer_norm"),
    ("aten_sorting", "aten_median_dim"),
    ("onnx_activation", "Gelu_before_20"),
    ("onnx_counting", "Range_before_11"),
    ("onnx_older", "MaxPool_from_22"),
    ("onnx_sequence", "wide_body"),
];

#[test]
fn a_few_rules_become_the_rust_that_was_blessed() {
    let mappings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
    let files = generate(&check_dir(&mappings).unwrap()).unwrap();
    for (file, function) in SHOWN {
        let text = &files.iter().find(|(name, _)| *name == format!("{file}.rs")).unwrap().1;
        let found = item(text, function);
        assert!(!found.is_empty(), "{file}.rs has no `{function}`");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(function, without_numbers(&found));
        });
    }
}

/// A function of a generated file, with its documentation.
fn item(text: &str, function: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &str| line.starts_with("pub") && line.contains(&format!(" fn {function}("));
    let Some(head) = lines.iter().position(|line| is_head(line)) else {
        return String::new();
    };
    let start = lines[..head].iter().rposition(|l| !l.starts_with("///")).map_or(0, |at| at + 1);
    let end = lines[head..].iter().position(|l| *l == "}").map_or(lines.len(), |at| head + at + 1);
    lines[start..end].join("\n")
}

/// The text without line numbers and numbers of branches, which change with every edit above.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["branch(", "arm(", ".opmap:"].iter().filter_map(|m| Some(rest.find(m)? + m.len())).min() {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit());
        out.push('_');
    }
    out.push_str(rest);
    out
}
