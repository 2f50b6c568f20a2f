//! A rule at two opsets, beside what it was before the last edit.

use std::collections::BTreeMap;
use std::fmt::Write;

use aten2onnx::{Rules, examples};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::tree::{Example, Function, Kind};
use aten2onnx_opmap::{Checked, visit};
use aten2onnx_rules::interpret::MappingFiles;
use std::sync::Arc;

use super::state::Now;
use crate::draw::{self, Frame, Marks};

/// What a browser asks for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The overload or operator; empty for the one that was edited.
    pub op: String,
    /// The number of its example.
    pub example: usize,
    /// The opsets.
    pub opsets: Vec<u32>,
}

/// The rules whose text, or that of a helper that they call, differs.
pub fn changed_rules(old: &Checked, new: &Checked) -> Vec<String> {
    let texts = |checked: &Checked| -> BTreeMap<String, String> {
        let text = |function: &Function| (function.name.clone(), checked.sources.text(function.span).to_owned());
        functions(checked).map(text).collect()
    };
    let (before, after) = (texts(old), texts(new));
    let mut changed: Vec<&str> = (after.iter())
        .filter(|(name, text)| before.get(*name) != Some(*text))
        .map(|(name, _)| name.as_str())
        .collect();
    // Rules that call a changed helper follow the rules that were changed themselves.
    loop {
        let calls = |function: &Function| {
            let mut found = false;
            visit::walk(&function.body, &mut |expr| {
                if let Kind::Fn(name, _) = &expr.kind {
                    found |= changed.contains(&name.as_str());
                }
            });
            found
        };
        let more: Vec<&str> = functions(new)
            .filter(|function| !changed.contains(&function.name.as_str()) && calls(function))
            .map(|function| function.name.as_str())
            .collect();
        if more.is_empty() {
            break;
        }
        changed.extend(more);
    }
    let mut rules = Vec::new();
    for name in changed {
        // `Gelu before 20` is a lowering of `Gelu`.
        let rule = name.split(' ').next().unwrap_or(name);
        let has_example = new.program.examples.iter().any(|example| examples::target(example) == rule);
        if has_example && !rules.iter().any(|known| known == rule) {
            rules.push(rule.to_owned());
        }
    }
    rules
}

fn functions(checked: &Checked) -> impl Iterator<Item = &Function> {
    let program = &checked.program;
    let maps = program.maps.iter().map(|map| &map.function);
    let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
    maps.chain(lowers).chain(&program.fns)
}

/// The view as a part of a page.
pub fn view(now: &Now, asked: &Asked) -> String {
    let mut html = problem(now);
    let Some(good) = &now.good else { return html };
    let op = match (asked.op.as_str(), now.edited.first()) {
        ("", Some(edited)) => edited.as_str(),
        ("", None) => "aten::gelu",
        (op, _) => op,
    };
    let checked = good.checked();
    let of_op: Vec<&Example> =
        checked.program.examples.iter().filter(|example| examples::target(example) == op).collect();
    let Some(example) = of_op.get(asked.example).or(of_op.first()).copied() else {
        let _ = write!(html, "<p>There is no rule with an example for <code>{}</code>.</p>", escaped(op));
        return html;
    };
    let _ = write!(html, "<h2>{}</h2>", escaped(op));
    html.push_str(&source(checked, op));
    let _ = write!(html, "<p><label>Example <select data-ask=\"example\">");
    for (i, other) in of_op.iter().enumerate() {
        let selected = if std::ptr::eq(*other, example) { " selected" } else { "" };
        let _ = write!(html, "<option value=\"{i}\"{selected}>{}</option>", escaped(&short(&other.text)));
    }
    html.push_str("</select></label></p>");
    for opset in &asked.opsets {
        html.push_str(&beside(now.before.as_ref(), good, example, *opset));
    }
    html
}

/// What is wrong with the files.
pub fn problem(now: &Now) -> String {
    match &now.problem {
        Some(problem) => format!(
            "<section class=\"problem\"><h2>The files have errors</h2><pre>{}</pre><p>Below are the last rules without errors.</p></section>",
            escaped(problem)
        ),
        None => String::new(),
    }
}

/// The rule, and lowerings of the operator, as they are in their files.
fn source(checked: &Checked, op: &str) -> String {
    let own = functions(checked).filter(|function| function.name.split(' ').next() == Some(op));
    let texts = own.map(|function| {
        let place = checked.sources.place(function.span);
        let text = escaped(checked.sources.text(function.span));
        format!("<figure><figcaption>{}</figcaption><pre tabindex=\"0\">{text}</pre></figure>", escaped(&place))
    });
    texts.collect()
}

/// An example at an opset, now and before.
fn beside(before: Option<&Arc<MappingFiles>>, now: &Arc<MappingFiles>, example: &Example, opset: u32) -> String {
    let new = graph(now, example, opset);
    let old = before.map(|before| graph(before, example, opset));
    let mut html = format!("<section class=\"beside\"><h3>Opset {opset}</h3><div class=\"pair\">");
    let diff = match (&old, &new) {
        (Some(Ok(old)), Ok(new)) => Some(draw::diff(old, new)),
        _ => None,
    };
    if let Some(old) = &old {
        html.push_str(&drawn("before the last edit", old, diff.as_ref().map(|diff| &diff.old)));
    }
    html.push_str(&drawn("now", &new, diff.as_ref().map(|diff| &diff.new)));
    html.push_str("</div></section>");
    html
}

/// The graph of an example as an export builds it.
pub fn graph(set: &Arc<MappingFiles>, example: &Example, opset: u32) -> Result<Graph> {
    let mut rules = Rules::default();
    rules.set_files(Arc::clone(set));
    examples::graph(example, set.checked(), &rules, opset)
}

/// A graph as a drawing and as text, or why there is none.
pub fn drawn(title: &str, made: &Result<Graph>, marks: Option<&Marks>) -> String {
    let title = escaped(title);
    match made {
        Ok(graph) => {
            let label = format!("The graph {title}");
            let svg = draw::svg(graph, &Frame { label: &label, marks });
            let text = match marks {
                Some(marks) => draw::marked_text(graph, marks),
                None => graph.to_string(),
            };
            format!(
                "<figure><figcaption>{title}: {} nodes</figcaption><div class=\"drawing\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">{svg}</div><details><summary>as text</summary><pre tabindex=\"0\">{}</pre></details></figure>",
                draw::count(graph),
                escaped(&text)
            )
        }
        Err(error) => {
            format!("<figure><figcaption>{title}: refused</figcaption><pre>{}</pre></figure>", escaped(&error.to_string()))
        }
    }
}

fn short(text: &str) -> String {
    let text = text.trim_start_matches("example ");
    if text.chars().count() <= 90 { text.to_owned() } else { text.chars().take(89).chain(['…']).collect() }
}

/// The text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
