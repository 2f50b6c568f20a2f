//! The checked examples as JSON, one object a line, for test runners in other languages.
//!
//! A value is an object whose only key is its kind: `{"tensor": {"dtype": "f32", "sizes": [2, "n"], "range": null}}`,
//! `{"literal": {"dtype": "i64", "sizes": [2], "elements": [0, 1]}}`, `{"list": [..]}`, `{"int": 3}`, `{"float": 0.5}`,
//! `{"bool": true}`, `{"str": "mean"}`, `{"name": "float16"}`, `{"graph": "|i| .."}`, or `{"none": null}`.

use serde_json::{Map, Value, json};

use crate::checked::Checked;
use crate::syntax::ast::{ExampleArg, ExampleSize, ExampleValue};
use crate::tree::{Example, Target};

/// All examples, in the order of the files.
pub fn json_lines(checked: &Checked) -> String {
    checked.program.examples.iter().map(|example| format!("{}\n", object(example, checked))).collect()
}

fn object(example: &Example, checked: &Checked) -> Value {
    let (kind, op, from) = match &example.target {
        Target::Map(name) => ("map", name, None),
        Target::Lower(name) => ("lower", name, None),
        Target::Raise(name, from) => ("raise", name, Some(from)),
    };
    let with: Map<String, Value> = example.with.iter().map(|(name, size)| (name.clone(), json!(size))).collect();
    let args: Vec<Value> =
        example.args.iter().map(|(name, value)| json!({"name": name, "value": argument(value, checked)})).collect();
    json!({
        "kind": kind,
        "op": op,
        "from": from,
        "args": args,
        "with": with,
        "text": example.text,
        "path": checked.sources.file(example.span.file).path,
        "line": checked.sources.line(example.span),
    })
}

fn argument(value: &ExampleValue, checked: &Checked) -> Value {
    match value {
        ExampleValue::Tensor { dtype, sizes, range } => {
            let sizes: Vec<Value> = sizes.iter().map(size).collect();
            let range = range.map(|(low, high)| vec![number(low), number(high)]);
            json!({"tensor": {"dtype": dtype, "sizes": sizes, "range": range}})
        }
        ExampleValue::Literal { dtype, sizes, elements } => {
            let elements: Vec<Value> = elements.iter().map(|x| number(*x)).collect();
            json!({"literal": {"dtype": dtype, "sizes": sizes, "elements": elements}})
        }
        ExampleValue::List(items) => json!({"list": items.iter().map(|i| argument(i, checked)).collect::<Vec<_>>()}),
        ExampleValue::Int(i) => json!({"int": i}),
        ExampleValue::Float(x) => json!({"float": number(*x)}),
        ExampleValue::Bool(b) => json!({"bool": b}),
        ExampleValue::Str(text) => json!({"str": text}),
        ExampleValue::None => json!({"none": null}),
        ExampleValue::Name(name) => json!({"name": name}),
        ExampleValue::Node(op, args) => {
            let named = |arg: &ExampleArg| {
                let name = arg.name.as_ref().map_or("", |name| name.text.as_str());
                json!({"name": name, "value": argument(&arg.value, checked)})
            };
            json!({"node": {"op": op.text, "args": args.iter().map(named).collect::<Vec<_>>()}})
        }
        ExampleValue::Graph(closure) => json!({"graph": checked.sources.text(closure.span)}),
    }
}

fn size(size: &ExampleSize) -> Value {
    match size {
        ExampleSize::Known(n) => json!(n),
        ExampleSize::Symbolic(name) => json!(name),
    }
}

/// JSON has no infinities and no NaN: these are strings that Python's `float` reads.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}
