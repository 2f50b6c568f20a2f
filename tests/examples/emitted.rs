//! What a few rules emit, as text, at each run of opsets where it is the same: blessed by `INSTA_UPDATE=always cargo test`.

use std::fmt::Write as _;

use aten2onnx_examples::{self as examples, target};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_opmap::tree::Example;
use aten2onnx_opmap::{Checked, check_dir};

/// A plain operator, one that became an operator late, one with a choice, several outputs, a size that is not known.
const SHOWN: [&str; 6] = [
    "aten::elu",
    "aten::gelu",
    "aten::hardswish",
    "aten::layer_norm",
    "aten::topk",
    "aten::scaled_dot_product_attention",
];

#[test]
fn a_few_rules_emit_what_was_blessed() {
    let checked = check_dir(&crate::common::root().join("mappings")).unwrap();
    for rule in SHOWN {
        let name = rule.replace("::", "_");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, emitted(rule, &checked));
        });
    }
}

/// The first two examples of a rule, at all opsets.
fn emitted(rule: &str, checked: &Checked) -> String {
    let mut text = String::new();
    let examples = checked.program.examples.iter().filter(|e| target(e) == rule);
    for example in examples.take(2) {
        writeln!(text, "{}", examples::text(example)).unwrap();
        let graphs = (MIN_OPSET..=MAX_OPSET).map(|opset| (opset, at(example, checked, opset)));
        for (first, last, graph) in runs(graphs) {
            writeln!(text, "\nopset {first} to {last}:\n{}", graph.trim_end()).unwrap();
        }
    }
    text
}

/// The graph without its opset, or why there is none.
fn at(example: &Example, checked: &Checked, opset: u32) -> String {
    match examples::graph(example, checked, &aten2onnx::rules(), opset) {
        Ok(graph) => graph.to_string().split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned()),
        Err(error) => format!("{error}\n"),
    }
}

/// Equal neighbours as one: first opset, last opset, text.
fn runs(graphs: impl Iterator<Item = (u32, String)>) -> Vec<(u32, u32, String)> {
    let mut runs: Vec<(u32, u32, String)> = Vec::new();
    for (opset, graph) in graphs {
        match runs.last_mut() {
            Some(run) if run.2 == graph => run.1 = opset,
            _ => runs.push((opset, opset, graph)),
        }
    }
    runs
}
