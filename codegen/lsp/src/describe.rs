//! Operators, rules and helpers in words: what hover shows, and what stands beside a completion.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use aten2onnx_opmap::coverage::by_dtype::{Level, by_dtype_of};
use aten2onnx_opmap::coverage::{Status, ranges};
use aten2onnx_opmap::tree::{Function, Param, short_name};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::vocabulary::{attribute_suffix, operator_params};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::onnx::{Attribute, Version};
use aten2onnx_schemas::operators::Values;

use crate::analysis::Analysis;

/// Text in the language of the rules.
pub fn code_block(text: &str) -> String {
    format!("```opmap\n{text}\n```\n")
}

/// `Scalar alpha=1`
pub fn param_text(param: &Param, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("{} {}={default}", param.ty, param.name),
        None => format!("{} {}", param.ty, param.name),
    }
}

/// The header of a function, without its default values, which the checked tree has as values.
pub fn header(function: &Function) -> String {
    let params: Vec<String> = function.params.iter().map(|param| param_text(param, None)).collect();
    format!("{}({}) -> {}", short_name(&function.name), params.join(", "), function.returns)
}

/// A helper: its header, where it is, and its documentation.
pub fn helper(analysis: &Analysis, function: &Function) -> String {
    let is_extern = analysis.checked.program.external(&function.name).is_some();
    let keyword = if is_extern { "extern fn" } else { "fn" };
    let place = analysis.checked.sources.files.get(function.span.file.0 as usize).map_or("", |file| file.path.as_str());
    let mut text = code_block(&format!("{keyword} {}", header(function)));
    let _ = write!(text, "\n{}\n\n*{place}*", function.docs.join("\n"));
    if let Some(emits) = analysis.checked.program.emits.get(&function.name).filter(|emits| !emits.because.is_empty()) {
        let _ = write!(text, "\n\nMakes nodes in Rust because {}.", emits.because);
    }
    text
}

/// An overload: PyTorch's schema, the documentation of its rule, and what the rule is at each opset and dtype.
pub fn overload(schemas: &Schemas, analysis: Option<&Analysis>, name: &str) -> Option<String> {
    let schema =
        schemas.aten.get(name.strip_prefix("complex::").map_or(name.to_owned(), |op| format!("aten::{op}")).as_str());
    let rule = analysis.and_then(|analysis| Some((analysis, analysis.checked.program.map(name)?)));
    let refused = analysis.and_then(|a| a.checked.program.unsupported.iter().find(|one| one.name == name));
    let mut text = match (schema, rule) {
        (Some(schema), _) => code_block(&schema.to_string()),
        (None, Some((_, map))) => {
            let params: Vec<String> = map.function.params.iter().map(|param| param_text(param, None)).collect();
            code_block(&format!("{name}({}) -> {}", params.join(", "), map.function.returns))
        }
        (None, None) => return None,
    };
    match (rule, refused) {
        (Some((analysis, map)), _) => {
            let _ = write!(text, "\n{}\n", map.function.docs.join("\n"));
            text += &by_opset(analysis, name);
            text += &by_dtype(analysis, name);
        }
        (None, Some(refused)) => {
            let _ = write!(text, "\nUnsupported: {}", refused.reason);
        }
        (None, None) => text += "\nThere is no rule for it.",
    }
    Some(text)
}

/// The opsets at which a rule works, and why it does not at others.
fn by_opset(analysis: &Analysis, name: &str) -> String {
    let matrix = &analysis.checked.matrix;
    let Some(row) = matrix.rows.get(name) else { return String::new() };
    let mut groups: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (opset, status) in (matrix.oldest..).zip(row) {
        let text = match status {
            Status::Full => "every call works".to_owned(),
            Status::Partial(reasons) => format!("some calls are refused: {}", listed(reasons.iter())),
            Status::No(reasons) => format!("refused: {}", listed(reasons.iter().map(String::as_str))),
        };
        groups.entry(text).or_default().insert(opset);
    }
    let mut lines: Vec<(u32, String)> = Vec::new();
    for (text, opsets) in groups {
        let newest = opsets.last().copied().unwrap_or(0);
        lines.push((newest, format!("- opset {}: {text}\n", ranges(&opsets))));
    }
    lines.sort_by(|a, b| b.cmp(a));
    format!("\n{}", lines.into_iter().map(|(_, line)| line).collect::<String>())
}

/// The most reasons that are listed.
const MOST_REASONS: usize = 4;

fn listed<'r>(reasons: impl Iterator<Item = &'r str>) -> String {
    let all: Vec<&str> = reasons.collect();
    let shown = all.iter().take(MOST_REASONS).copied().collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(MOST_REASONS) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Which dtypes of the first tensor are written natively, lowered or refused, by opset.
fn by_dtype(analysis: &Analysis, name: &str) -> String {
    let checked = &analysis.checked;
    let mut all = by_dtype_of(&checked.program, &checked.schemas, &|own| own == name);
    let Some(table) = all.remove(name).filter(|table| table.rows.iter().any(|(dtype, _)| !dtype.is_empty())) else {
        return String::new();
    };
    let mut groups: BTreeMap<Vec<(Level, String)>, Vec<&str>> = BTreeMap::new();
    for (dtype, _) in &table.rows {
        let mut levels: BTreeMap<Level, BTreeSet<u32>> = BTreeMap::new();
        for opset in checked.schemas.opsets.range() {
            levels.entry(table.level(dtype, opset)).or_default().insert(opset);
        }
        let levels = levels.into_iter().map(|(level, opsets)| (level, ranges(&opsets))).collect();
        groups.entry(levels).or_default().push(dtype);
    }
    let mut text = String::from("\n");
    for (levels, dtypes) in groups {
        let levels: Vec<String> =
            levels.into_iter().map(|(level, opsets)| format!("{} at {opsets}", level_word(level))).collect();
        let _ = writeln!(text, "- {}: {}", dtypes.join(", "), levels.join(", "));
    }
    text
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::Native => "native",
        Level::Lowered => "lowered",
        Level::Partial => "partly refused",
        Level::Refused => "refused",
        Level::Absent => "no such dtype",
    }
}

/// `Gelu(X, approximate_s = "none") -> Y`
pub fn operator_header(version: &Version) -> String {
    let mut params: Vec<String> = version.inputs.iter().map(|port| port_text(version, &port.name)).collect();
    params.extend(version.attributes.iter().filter_map(attribute_text));
    let outputs: Vec<&str> = version.outputs.iter().map(|port| port.name.as_str()).collect();
    let results = if outputs.len() == 1 { outputs.join("") } else { format!("({})", outputs.join(", ")) };
    format!("{}({}) -> {results}", version.name, params.join(", "))
}

/// `Tensor? bias`
pub fn port_text(version: &Version, name: &str) -> String {
    let ty = operator_params(version).into_iter().find(|(own, _)| own == name).map_or(Ty::Tensor, |(_, ty)| ty);
    format!("{ty} {name}")
}

/// `alpha_f`, if rules can give the attribute.
pub fn attribute_word(attribute: &Attribute) -> Option<String> {
    Some(format!("{}_{}", attribute.name, attribute_suffix(attribute.kind)?))
}

/// `alpha_f = 1.0`
pub fn attribute_text(attribute: &Attribute) -> Option<String> {
    let name = attribute_word(attribute)?;
    Some(match &attribute.default {
        Some(default) => format!("{name} = {default}"),
        None if attribute.required => name,
        None => format!("{name} = None"),
    })
}

/// An ONNX operator in a version: its header, its types, its versions, and the rules about it.
pub fn operator(schemas: &Schemas, analysis: Option<&Analysis>, version: &Version, op: &str) -> String {
    let mut text = code_block(&operator_header(version));
    for var in &version.types {
        let shown = aten2onnx_schemas::short_types(&var.allowed).join(", ");
        let _ = writeln!(text, "\n{}: {shown}", var.name);
    }
    let versions: Vec<String> = schemas.onnx.versions(op).iter().map(|version| version.since.to_string()).collect();
    let _ = write!(text, "\nThis is the form of opset {}. It changed at {}.", version.since, versions.join(", "));
    if version.deprecated {
        text += " It is deprecated.";
    }
    if let Some(analysis) = analysis {
        let program = &analysis.checked.program;
        let rules = program.lowers.iter().chain(&program.raises).filter(|rule| rule.op == op);
        let names: Vec<String> = rules.map(|rule| format!("`{}`", rule.function.name)).collect();
        if !names.is_empty() {
            let _ = write!(text, "\n\nRules: {}", names.join(", "));
        }
    }
    if !op.contains("::") {
        let _ = write!(text, "\n\n[onnx.ai](https://onnx.ai/onnx/operators/onnx__{op}.html)");
    }
    text
}

/// An attribute of an operator: its type, its default and its values.
pub fn attribute(schemas: &Schemas, version: &Version, attribute: &Attribute, op: &str) -> String {
    let written = attribute_text(attribute).unwrap_or_else(|| attribute.name.clone());
    let mut text = code_block(&written);
    let need = match (attribute.required, &attribute.default) {
        (true, _) => "required".to_owned(),
        (false, Some(default)) => format!("default {default}"),
        (false, None) => "optional".to_owned(),
    };
    let _ = write!(text, "\n{} of `{op}` (opset {}), {need}", attribute.kind.name(), version.since);
    match schemas.operators.get(op).and_then(|entry| entry.values.get(&attribute.name)) {
        Some(Values::Words(words)) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            let _ = write!(text, "\n\nOne of {}", quoted.join(", "));
        }
        Some(Values::Integers(limits)) => {
            let _ = write!(text, "\n\n{limits}");
        }
        None => {}
    }
    text
}

/// The opsets of a rule in a few words: `opsets 9-28`, `opsets 11-28, some calls at 9-10`.
pub fn opset_summary(analysis: &Analysis, name: &str) -> Option<String> {
    let matrix = &analysis.checked.matrix;
    let row = matrix.rows.get(name)?;
    let at = |wanted: fn(&Status) -> bool| -> BTreeSet<u32> {
        (matrix.oldest..).zip(row).filter(|(_, status)| wanted(status)).map(|(opset, _)| opset).collect()
    };
    let full = at(|status| matches!(status, Status::Full));
    let partial = at(|status| matches!(status, Status::Partial(_)));
    Some(match (full.is_empty(), partial.is_empty()) {
        (false, true) => format!("opsets {}", ranges(&full)),
        (false, false) => format!("opsets {}, some calls at {}", ranges(&full), ranges(&partial)),
        (true, false) => format!("some calls at opsets {}", ranges(&partial)),
        (true, true) => "no opset".to_owned(),
    })
}
