//! The data exchanged between a run of examples and `judge.py`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::syntax::ast::{ExampleSize, ExampleValue};
use aten2onnx_opmap::tree::{Example, Target};

use super::build::Built;
use super::call::{is_dtype, lone_symbols, params};

/// An example with its models.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Record {
    pub id: usize,
    pub text: String,
    pub op: String,
    pub args: Vec<(String, Json)>,
    pub inputs: Vec<Json>,
    pub models: Vec<Json>,
    pub native: Option<Json>,
    /// Whether the elements of each input all differ, as far as the dtype has so many values; results are then compared exactly.
    pub distinct: bool,
    /// Whether results must agree to the level of rounding.
    pub precise: bool,
    /// Whether differences that `differences.toml` lists are accepted.
    pub excused: bool,
    /// Whether PyTorch gets tensors whose elements do not lie side by side.
    pub strided: bool,
}

/// The result of the judge.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Verdict {
    pub id: usize,
    pub failures: Vec<Failure>,
    /// The entries of `differences.toml` by which differences were accepted.
    #[serde(default)]
    pub accepted: Vec<String>,
    /// How many models ran, by what ran them: `runtime` is ONNX Runtime, `reference` onnx's reference evaluator.
    #[serde(default)]
    pub engines: BTreeMap<String, usize>,
}

/// A wrong model.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Failure {
    pub opset: u32,
    pub what: String,
    /// Whether the model contradicts the schemas, whatever its inputs are.
    #[serde(default)]
    pub invalid: bool,
}

/// The data for the judge.
pub fn record(
    id: usize,
    example: &Example,
    checked: &Checked,
    models: Vec<Built>,
    native: Option<(u32, Vec<u8>)>,
) -> Record {
    let mut inputs = Vec::new();
    let args = example.args.iter().map(|(name, value)| (name.clone(), argument(value, example, &mut inputs))).collect();
    add_symbolic(example, checked, &mut inputs);
    let op = match &example.target {
        Target::Map(name) | Target::Lower(name) | Target::Raise(name, _) => name.clone(),
    };
    Record {
        id,
        text: super::text(example),
        op,
        args,
        inputs,
        models: models.iter().map(|m| model(m.opset, &m.bytes)).collect(),
        native: native.map(|(opset, bytes)| model(opset, &bytes)),
        distinct: false,
        precise: false,
        excused: false,
        strided: false,
    }
}

/// Sizes that are not dimensions of an input become separate inputs, after the others.
fn add_symbolic(example: &Example, checked: &Checked, inputs: &mut Vec<Json>) {
    for name in lone_symbols(example, &params(example, checked)) {
        let size = example.with.iter().find(|w| w.0 == name).map_or(0, |w| w.1);
        inputs.push(json!({"dtype": "i64", "sizes": [], "elements": [size], "range": null}));
    }
}

fn model(opset: u32, bytes: &[u8]) -> Json {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!({"opset": opset, "hex": hex})
}

/// Tensors become inputs in the order of occurrence, as in `build`.
fn argument(value: &ExampleValue, example: &Example, inputs: &mut Vec<Json>) -> Json {
    match value {
        ExampleValue::Tensor { dtype, sizes, range } => {
            let sizes: Vec<i64> = sizes
                .iter()
                .map(|s| match s {
                    ExampleSize::Known(n) => *n,
                    ExampleSize::Symbolic(name) => example.with.iter().find(|w| w.0 == *name).map_or(0, |w| w.1),
                })
                .collect();
            inputs.push(json!({"dtype": dtype, "sizes": sizes, "range": range.map(|r| vec![r.0, r.1])}));
            json!({"tensor": inputs.len() - 1})
        }
        ExampleValue::Literal { dtype, sizes, elements } => {
            inputs.push(json!({"dtype": dtype, "sizes": sizes, "elements": elements.iter().map(|x| number(*x)).collect::<Vec<_>>(), "range": null}));
            json!({"tensor": inputs.len() - 1})
        }
        ExampleValue::List(items) => {
            json!({"list": items.iter().map(|i| argument(i, example, inputs)).collect::<Vec<_>>()})
        }
        ExampleValue::Int(i) => json!({"int": i}),
        ExampleValue::Float(f) => json!({"float": number(*f)}),
        ExampleValue::Bool(b) => json!({"bool": b}),
        ExampleValue::Str(s) => json!({"str": s}),
        ExampleValue::None => json!({"none": null}),
        ExampleValue::Name(name) if is_dtype(name) => json!({"dtype": name}),
        ExampleValue::Name(name) => match example.with.iter().find(|w| w.0 == *name) {
            Some((_, size)) => json!({"int": size}),
            None => json!({"name": name}),
        },
        ExampleValue::Node(_, args) => {
            json!({"list": args.iter().map(|arg| argument(&arg.value, example, inputs)).collect::<Vec<_>>()})
        }
        ExampleValue::Graph(_) => json!({"none": null}),
    }
}

/// JSON has no infinities; Python parses them from strings.
fn number(x: f64) -> Json {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}
