//! Writes the page.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Built, Facts, Verification, Weight};
use super::html::{Html, code, escaped};
use super::links::{EXPLORER, page_of};
use super::made;
use super::modules::{Leaf, Module};
use super::plots;
use aten2onnx_export::inspect::{Described, Operator, Port, Reason, Verdict};

/// Of more weights, only the largest are listed.
const WEIGHTS: usize = 60;
/// Of more calls of an operator, only the first are listed.
const CALLS: usize = 20;

/// The page about a model.
pub fn page(facts: &Facts) -> String {
    let mut html = Html::default();
    let inspection = &facts.inspection;
    let name = inspection.source.rsplit(['/', '\\']).next().unwrap_or_default();
    let writer = match (&inspection.torchscript, &inspection.torch_version) {
        (Some(archive), _) => format!("a TorchScript archive of version {}; ", archive.version),
        (None, Some(version)) => format!("written by torch {version}; "),
        (None, None) => String::new(),
    };
    head(&mut html, name, &writer);
    made::section(&mut html, facts);
    if let Some(error) = &facts.error {
        section(&mut html, "Error", |html| {
            html.element("pre", error);
        });
    }
    ports(&mut html, "Inputs", &inspection.inputs);
    ports(&mut html, "Outputs", &inspection.outputs);
    symbols(&mut html, facts);
    if let Some(described) = &inspection.described {
        descriptions(&mut html, described);
    }
    if !inspection.conditions.is_empty() {
        section(&mut html, "Right only where", |html| conditions(html, &inspection.conditions));
    }
    if !inspection.opsets.is_empty() {
        section(&mut html, "Opsets", |html| opsets(html, &inspection.opsets));
    }
    if let Some(verification) = &facts.verification {
        section(&mut html, "Compared with PyTorch", |html| compared(html, verification));
    }
    if !inspection.operators.is_empty() {
        section(&mut html, "Operators", |html| operators(html, &inspection.operators));
    }
    if facts.modules.count() > 0 {
        section(&mut html, "Modules", |html| {
            html.element("p", "Each module unfolds to its modules and nodes.").markup("<div class=\"tree\">");
            module(html, &facts.modules, true);
            html.markup("</div>\n");
        });
    }
    if inspection.weights.tensors > 0 {
        section(&mut html, "Weights", |html| weights(html, facts));
    }
    if let Some(built) = &facts.built {
        section(&mut html, &format!("The model at opset {}", built.opset), |html| passes(html, built));
    }
    html.markup("</main>\n</body>\n</html>\n");
    html.finish()
}

/// The beginning of a page, up to its contents.
pub fn head(html: &mut Html, title: &str, before: &str) {
    html.markup("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.element("title", &format!("{title}: aten2onnx")).markup("\n<style>\n").markup(include_str!("page.css"));
    html.markup("</style>\n</head>\n<body>\n<header>\n").element("h1", title);
    html.element("p", &format!("{before}page by aten2onnx {}", env!("CARGO_PKG_VERSION")));
    html.markup("</header>\n<main>\n");
}

/// A part of a page with a title.
pub fn section(html: &mut Html, title: &str, contents: impl FnOnce(&mut Html)) {
    html.markup("<section>\n").element("h2", title).markup("\n");
    contents(html);
    html.markup("</section>\n");
}

pub(crate) fn list(html: &mut Html, texts: &[String]) {
    html.markup("<ul>");
    for text in texts {
        html.element("li", text);
    }
    html.markup("</ul>\n");
}

/// A link to the operator in the explorer.
fn operator(name: &str) -> String {
    format!("<a href=\"{EXPLORER}{}\"><code>{}</code></a>", page_of(name), escaped(name))
}

fn ports(html: &mut Html, title: &str, ports: &[Port]) {
    if ports.is_empty() {
        return;
    }
    let row = |port: &Port| {
        let ty = match (&port.dtype, &port.shape) {
            (Some(dtype), Some(shape)) => format!("{dtype}[{}]", shape.join(", ")),
            _ => port.kind.to_owned(),
        };
        vec![code(&port.name), code(&ty), escaped(port.kind)]
    };
    let rows: Vec<Vec<String>> = ports.iter().map(row).collect();
    section(html, title, |html| {
        html.table(&["name", "type", "kind"], &rows, &[]);
    });
}

fn symbols(html: &mut Html, facts: &Facts) {
    let row = |(name, bounds): (&String, &aten2onnx_export::inspect::Bounds)| {
        let bound = |bound: Option<i64>| bound.map_or("any".to_owned(), |bound| bound.to_string());
        vec![code(name), bound(bounds.min), bound(bounds.max)]
    };
    let rows: Vec<Vec<String>> = facts.inspection.symbols.iter().map(row).collect();
    if !rows.is_empty() {
        section(html, "Symbolic dimensions", |html| {
            html.table(&["symbol", "from", "to"], &rows, &[1, 2]);
        });
    }
}

/// What an ONNX model says of itself: who made it, its documentation, its metadata.
fn descriptions(html: &mut Html, described: &Described) {
    let row = |name: &str, text: &str| (!text.is_empty()).then(|| vec![escaped(name), escaped(text)]);
    let producer = format!("{} {}", described.producer_name, described.producer_version);
    let own = [row("producer", producer.trim()), row("documentation", &described.doc_string)];
    let values = described.value_docs.iter().map(|(name, text)| row(name, text));
    let docs: Vec<Vec<String>> = own.into_iter().chain(values).flatten().collect();
    let metadata: Vec<Vec<String>> =
        described.metadata.iter().map(|(key, value)| vec![escaped(key), escaped(value)]).collect();
    for (title, rows) in [("Description", docs), ("Metadata", metadata)] {
        if !rows.is_empty() {
            section(html, title, |html| {
                html.table(&["name", "text"], &rows, &[]);
            });
        }
    }
}

/// Where the model is right.
fn conditions(html: &mut Html, conditions: &[String]) {
    html.element(
        "p",
        "The model was captured with decisions that depend on its sizes. At other sizes it computes something else.",
    );
    html.markup("<ul>");
    for condition in conditions {
        html.markup("<li>").markup(&code(condition)).markup("</li>");
    }
    html.markup("</ul>\n");
}

/// A strip of all opsets, then the reasons against some, grouped.
fn opsets(html: &mut Html, verdicts: &[Verdict]) {
    html.markup("<ol class=\"opsets\">");
    for verdict in verdicts {
        let (class, says) = if verdict.ok { ("yes", "yes") } else { ("no", "no") };
        html.format(format_args!("<li class=\"{class}\">{} <span>{says}</span></li>", verdict.opset));
    }
    html.markup("</ol>\n");
    let mut groups: Vec<(&[Reason], Vec<u32>)> = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.ok) {
        match groups.iter_mut().find(|(reasons, _)| *reasons == verdict.reasons.as_slice()) {
            Some((_, opsets)) => opsets.push(verdict.opset),
            None => groups.push((&verdict.reasons, vec![verdict.opset])),
        }
    }
    for (reasons, opsets) in groups {
        let opsets: Vec<String> = opsets.iter().map(u32::to_string).collect();
        html.markup("<details open><summary>").text(&format!("Why not opset {}", opsets.join(", ")));
        html.markup("</summary><ul>");
        for reason in reasons {
            html.markup("<li>").text(&reason.message);
            reason.place.iter().for_each(|place| {
                html.markup("<br>").markup(&code(place));
            });
            if let Some(opset) = reason.needs_opset {
                html.format(format_args!("<br>Use opset {opset}."));
            }
            if let Some(help) = &reason.help {
                html.markup("<br>").text(help);
            }
            html.markup("</li>");
        }
        html.markup("</ul></details>\n");
    }
}

fn operators(html: &mut Html, operators: &[Operator]) {
    let row = |found: &Operator| {
        let call = |call: &aten2onnx_export::inspect::Place| {
            let module = call.module.as_deref().filter(|module| !module.is_empty());
            let module = module.map(|module| format!(" in {}", code(module))).unwrap_or_default();
            let line = call.source_line.as_deref().map(|line| format!(" ({})", escaped(line))).unwrap_or_default();
            format!("<li>{}{module}{line}</li>", code(&call.node))
        };
        let calls: String = found.calls.iter().take(CALLS).map(call).collect();
        let more = match found.calls.len().saturating_sub(CALLS) {
            0 => String::new(),
            more => format!("<li>and {more} more</li>"),
        };
        let calls = format!("<details><summary>where</summary><ul>{calls}{more}</ul></details>");
        vec![operator(&found.operator), found.count.to_string(), calls]
    };
    let rows: Vec<Vec<String>> = operators.iter().map(row).collect();
    html.table(&["operator", "calls", ""], &rows, &[1]);
}

fn module(html: &mut Html, module: &Module, is_open: bool) {
    for inner in &module.modules {
        let class = inner.class.as_deref().and_then(|class| class.rsplit('.').next()).unwrap_or_default();
        html.markup(if is_open && module.modules.len() == 1 { "<details open>" } else { "<details>" });
        html.markup("<summary>").markup(&code(&inner.name)).text(" ").text(class);
        let count = inner.count();
        html.format(format_args!(" <small>{count} {}</small></summary>", if count == 1 { "node" } else { "nodes" }));
        self::module(html, inner, false);
        html.markup("</details>\n");
    }
    if module.nodes.is_empty() {
        return;
    }
    html.markup("<ul>");
    module.nodes.iter().for_each(|node| leaf(html, node));
    html.markup("</ul>");
}

fn leaf(html: &mut Html, node: &Leaf) {
    html.markup("<li>").markup(&code(&node.name)).text(" ").markup(&operator(&node.operator));
    if !node.became.is_empty() {
        let links: Vec<String> = node.became.iter().map(|op| operator(op)).collect();
        html.text(" → ").markup(&links.join(", "));
    }
    if let Some(line) = &node.source_line {
        html.markup(" <small>").text(line).markup("</small>");
    }
    html.markup("</li>\n");
}

fn weights(html: &mut Html, facts: &Facts) {
    let total = &facts.inspection.weights;
    let (tensors, elements) = (total.tensors, total.elements);
    html.element("p", &format!("{tensors} tensors, {elements} elements, {}", bytes(total.bytes)));
    let mut dtypes: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for weight in &facts.weights {
        let row = dtypes.entry(&weight.dtype).or_default();
        *row = (row.0 + 1, row.1.saturating_add(weight.bytes));
    }
    let most = dtypes.values().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let row = |(dtype, (count, size)): (&&str, &(usize, u64))| {
        vec![code(dtype), count.to_string(), bytes(*size), plots::bar(*size, most)]
    };
    let rows: Vec<Vec<String>> = dtypes.iter().map(row).collect();
    html.table(&["dtype", "tensors", "size", ""], &rows, &[1, 2]);
    let largest = facts.weights.first().map_or(0, |weight| weight.bytes);
    let row = |weight: &Weight| {
        let sizes: Vec<String> = weight.sizes.iter().map(i64::to_string).collect();
        let ty = format!("{}[{}]", weight.dtype, sizes.join(", "));
        vec![code(&weight.name), code(&ty), bytes(weight.bytes), plots::bar(weight.bytes, largest)]
    };
    let rows: Vec<Vec<String>> = facts.weights.iter().take(WEIGHTS).map(row).collect();
    html.table(&["weight", "type", "size", ""], &rows, &[2]);
    let more = facts.weights.len().saturating_sub(WEIGHTS);
    if more > 0 {
        html.element("p", &format!("and {more} more, each of {} or less", bytes(smallest_shown(&facts.weights))));
    }
}

fn smallest_shown(weights: &[Weight]) -> u64 {
    weights.get(WEIGHTS - 1).map_or(0, |weight| weight.bytes)
}

/// `1.2 MB`
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match UNITS.into_iter().find(|(_, size)| count as f64 >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", count as f64 / size),
        None => format!("{count} bytes"),
    }
}

/// The operators before and after the passes.
fn passes(html: &mut Html, built: &Built) {
    let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
    let before = sum(&built.before);
    let Some(after) = &built.after else {
        html.element("p", &format!("{before} nodes. The passes are off."));
        let rows: Vec<Vec<String>> = built.before.iter().map(|(op, n)| vec![operator(op), n.to_string()]).collect();
        html.table(&["operator", "nodes"], &rows, &[1]);
        return;
    };
    html.element("p", &format!("{before} nodes as the rules build it, {} after the passes.", sum(after)));
    let names: BTreeSet<&String> = built.before.keys().chain(after.keys()).collect();
    let row = |op: &&String| {
        let count = |counts: &BTreeMap<String, usize>| counts.get(*op).copied().unwrap_or(0);
        let (old, new) = (count(&built.before), count(after));
        let change = match new as i64 - old as i64 {
            0 => String::new(),
            change => format!("{change:+}"),
        };
        vec![operator(op), old.to_string(), new.to_string(), change]
    };
    let rows: Vec<Vec<String>> = names.iter().map(row).collect();
    html.table(&["operator", "from the rules", "after the passes", "change"], &rows, &[1, 2, 3]);
    if !built.replaced.is_empty() {
        let texts: Vec<String> = built.replaced.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        html.element("h3", "Replaced because the runtime lacks it or gets it wrong");
        list(html, &texts);
    }
}

fn compared(html: &mut Html, verification: &Verification) {
    html.element("p", &format!("In ONNX Runtime {}.", verification.onnxruntime));
    let number = |x: Option<f64>| x.map_or("none".to_owned(), |x| format!("{x:.3e}"));
    let rows: Vec<Vec<String>> = (verification.outputs.iter())
        .map(|row| {
            let verdict = if row.ok { "equal".to_owned() } else { "different".to_owned() };
            let problem = row.problem.as_deref().map(|text| format!(": {}", escaped(text))).unwrap_or_default();
            let (largest, value) = (number(row.largest_difference), number(row.largest_value));
            vec![code(&row.name), code(&row.dtype), largest, value, verdict + &problem]
        })
        .collect();
    html.table(&["output", "dtype", "largest difference", "largest value", ""], &rows, &[2, 3]);
    for row in verification.outputs.iter().filter(|row| !row.differences.is_empty()) {
        html.markup("<figure class=\"wide\" tabindex=\"0\"><figcaption>").text("Elements of ").markup(&code(&row.name));
        html.text(" by the size of their difference from PyTorch (logarithmic heights)");
        html.markup("</figcaption>").markup(&plots::differences(row)).markup("</figure>\n");
    }
}
