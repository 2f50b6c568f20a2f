//! Exports the sample archives as their cases ask for: cases of one structure share one file, with symbolic sizes where
//! they differ; if that is refused, each case is exported with its own sizes.

use std::path::{Path, PathBuf};

use aten2onnx::Exporter;
use serde_json::{Value, json};

/// The samples: `tests/data/torchscript`, or `TORCHSCRIPT_SAMPLES`.
pub fn folder() -> PathBuf {
    let default = || crate::common::root().join("tests/data/torchscript");
    std::env::var_os("TORCHSCRIPT_SAMPLES").map_or_else(default, PathBuf::from)
}

/// Exports the chosen samples, or all, to a folder; `jobs.json` there says what came out.
pub fn export(names: &[&str], opsets: &[u32], out: &Path) {
    let index: Value = serde_json::from_slice(&std::fs::read(folder().join("index.json")).unwrap()).unwrap();
    let mut jobs = Vec::new();
    for (name, entry) in index.as_object().unwrap() {
        if !names.is_empty() && !names.contains(&name.as_str()) {
            continue;
        }
        for opset in opsets {
            jobs.extend(sample(name, entry, *opset, out));
        }
    }
    std::fs::write(out.join("jobs.json"), serde_json::to_vec(&jobs).unwrap()).unwrap();
}

fn sample(name: &str, entry: &Value, opset: u32, out: &Path) -> Vec<Value> {
    let file = folder().join(entry["file"].as_str().unwrap());
    let cases = entry["cases"].as_array().unwrap();
    if cases.is_empty() {
        return vec![one(name, &file, "forward", &[], opset, out, 0, true)];
    }
    let mut groups: Vec<(String, Vec<&Value>)> = Vec::new();
    for case in cases {
        let inputs: Vec<String> = case["inputs"].as_array().unwrap().iter().map(structure).collect();
        let key = format!("{} {}", case["method"], inputs.join(" "));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((key, vec![case])),
        }
    }
    let mut jobs = Vec::new();
    for (number, (_, cases)) in groups.iter().enumerate() {
        let method = cases[0]["method"].as_str().unwrap();
        let shared = one(name, &file, method, cases, opset, out, number * 100, false);
        if shared["error"].is_null() {
            jobs.push(shared);
            continue;
        }
        for (index, case) in cases.iter().enumerate() {
            let mut job = one(name, &file, method, &[case], opset, out, number * 100 + index + 1, true);
            job["shared_error"] = shared["error"].clone();
            jobs.push(job);
        }
    }
    jobs
}

#[allow(clippy::too_many_arguments)]
fn one(
    name: &str,
    file: &Path,
    method: &str,
    cases: &[&Value],
    opset: u32,
    out: &Path,
    number: usize,
    literal: bool,
) -> Value {
    let model = out.join(format!("{name}_{opset}_{number}.onnx"));
    let mut exporter = Exporter::new().opset(opset).method(method);
    let specs = specs(cases, literal);
    for spec in &specs {
        exporter = exporter.input(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    }
    let job = json!({
        "name": name, "opset": opset, "model": model, "cases": cases, "literal": literal, "specs": specs,
    });
    let mut job = job;
    match exporter.export(file, &model) {
        Ok(summary) => job["notes"] = json!(summary.notes),
        Err(error) => {
            let text = error.to_string().replace(&format!("{}/", folder().display()), "");
            job["error"] = json!(format!(
                "{:?}: {text}{}",
                error.kind,
                error.help.clone().map(|help| format!(" ({help})")).unwrap_or_default()
            ));
        }
    }
    job
}

/// What is the same for all cases that share a file.
fn structure(value: &Value) -> String {
    let Some(object) = value.as_object() else { return "none".to_owned() };
    if object.contains_key("t") {
        return format!("t{}{}", object["dtype"], object["shape"].as_array().unwrap().len());
    }
    let (kind, inner) = object.iter().next().unwrap();
    let all = |items: &Value| items.as_array().unwrap().iter().map(structure).collect::<Vec<_>>().join(",");
    match kind.as_str() {
        "list" | "tuple" => format!("{kind}({})", all(inner)),
        "dict" => {
            let entries = inner.as_array().unwrap().iter().map(|pair| format!("{}:{}", pair[0], structure(&pair[1])));
            format!("dict({})", entries.collect::<Vec<_>>().join(","))
        }
        "str" => inner.to_string(),
        kind => kind.to_owned(),
    }
}

/// The descriptions of the inputs.
fn specs(cases: &[&Value], literal: bool) -> Vec<String> {
    let Some(first) = cases.first() else { return Vec::new() };
    let inputs = first["inputs"].as_array().unwrap();
    let names = first["names"].as_array().unwrap();
    let spec = |(index, name): (usize, &Value)| {
        let name = name.as_str().unwrap();
        let values: Vec<&Value> = cases.iter().map(|case| &case["inputs"][index]).collect();
        let text = spec(&values, &index.to_string(), literal);
        let is_constant = match values[0].as_object() {
            None => true,
            Some(object) => {
                object.contains_key("str")
                    || (literal && ["int", "float", "bool"].iter().any(|kind| object.contains_key(*kind)))
            }
        };
        format!("{name}{}{text}", if is_constant { "=" } else { ":" })
    };
    names.iter().take(inputs.len()).enumerate().map(spec).collect()
}

fn spec(values: &[&Value], place: &str, literal: bool) -> String {
    let Some(object) = values[0].as_object() else { return "none".to_owned() };
    if let Some(shape) = object.get("shape") {
        let sizes = shape.as_array().unwrap().iter().enumerate().map(|(axis, size)| {
            let differs = values.iter().any(|other| other["shape"][axis] != *size);
            if differs { format!("d_{place}_{axis}") } else { size.to_string() }
        });
        return format!("{}[{}]", object["dtype"].as_str().unwrap(), sizes.collect::<Vec<_>>().join(","));
    }
    let (kind, inner) = object.iter().next().unwrap();
    match kind.as_str() {
        "list" | "tuple" => {
            let items = (0..inner.as_array().unwrap().len()).map(|index| {
                let values: Vec<&Value> = values.iter().map(|value| &value[kind][index]).collect();
                spec(&values, &format!("{place}_{index}"), literal)
            });
            let items = items.collect::<Vec<_>>().join(",");
            if kind == "list" { format!("[{items}]") } else { format!("({items})") }
        }
        "dict" => {
            let items = inner.as_array().unwrap().iter().enumerate().map(|(index, pair)| {
                let values: Vec<&Value> = values.iter().map(|value| &value[kind][index][1]).collect();
                let key = pair[0].as_str().map_or_else(|| pair[0].to_string(), str::to_owned);
                format!("{key}:{}", spec(&values, &format!("{place}_{index}"), literal))
            });
            format!("{{{}}}", items.collect::<Vec<_>>().join(","))
        }
        "str" => inner.to_string(),
        kind if literal => {
            let _ = kind;
            inner.to_string()
        }
        kind => kind.to_owned(),
    }
}
