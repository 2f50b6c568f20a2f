//! A rule at two opsets, beside what it was before the last edit.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use aten2onnx_core::error::Result;
use aten2onnx_examples as examples;
use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::source::{FileId, SourceFile, Span};
use aten2onnx_opmap::syntax::parse_file;
use aten2onnx_opmap::tree::{Example, Function, Kind};
use aten2onnx_opmap::{Checked, visit};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

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
    let before: BTreeMap<&str, &str> =
        old.sources.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let is_changed = |file: &SourceFile| before.get(file.path.as_str()) != Some(&file.text.as_str());
    let files: Vec<&str> =
        new.sources.files.iter().filter(|file| is_changed(file)).map(|file| file.path.as_str()).collect();
    let (before, after) = (texts(old, &files), texts(new, &files));
    let mut changed: Vec<&str> =
        after.iter().filter(|(name, text)| before.get(*name) != Some(*text)).map(|(name, _)| *name).collect();
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

/// The rules and helpers in some files, as they are written, by name.
fn texts<'a>(checked: &'a Checked, files: &[&str]) -> BTreeMap<&'a str, &'a str> {
    let mut texts = BTreeMap::new();
    for (id, file) in checked.sources.files.iter().enumerate() {
        if files.contains(&file.path.as_str()) {
            let id = FileId(id as u32);
            let items = parse_file(&checked.sources, id, &mut Vec::new()).items;
            for function in functions(checked).filter(|function| function.span.file == id) {
                let item = items.iter().find(|item| is_in(function.span, item.span));
                let text = checked.sources.text(item.map_or(function.span, |item| item.span));
                texts.insert(function.name.as_str(), text);
            }
        }
    }
    texts
}

fn is_in(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.start < outer.end
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

/// The overloads and operators with a page of their own and a rule that can be edited.
pub fn ops(now: &Now) -> impl Iterator<Item = &str> {
    let programs = now.good.iter().map(|set| &set.checked().program);
    programs.flat_map(|program| {
        let maps = program.maps.iter().map(|map| map.function.name.as_str());
        maps.chain(program.lowers.iter().map(|lower| lower.op.as_str()))
    })
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
    let own: Vec<&Function> =
        functions(checked).filter(|function| function.name.split(' ').next() == Some(op)).collect();
    let path = |function: &Function| checked.sources.file(function.span.file).path.as_str();
    let files: Vec<&str> = own.iter().map(|function| path(function)).collect();
    let texts = texts(checked, &files);
    let mut html = String::new();
    for function in own {
        let text = texts.get(function.name.as_str()).copied().unwrap_or_default();
        let place = checked.sources.place(function.span);
        let _ = write!(
            html,
            "<figure><figcaption>{}</figcaption><pre tabindex=\"0\">{}</pre></figure>",
            escaped(&place),
            escaped(text.trim_end())
        );
    }
    html
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
    let rules = Rules::of_files(Arc::clone(set));
    examples::graph(example, set.checked(), &rules, opset)
}

/// A graph as a drawing and as text, or why there is none.
pub fn drawn(title: &str, made: &Result<Graph>, marks: Option<&Marks>) -> String {
    let title = escaped(title);
    match made {
        Ok(graph) => {
            let label = format!("The graph {title}");
            let svg = draw::svg(graph, &Frame { label: &label, marks, titles: true });
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
            format!(
                "<figure><figcaption>{title}: refused</figcaption><pre>{}</pre></figure>",
                escaped(&error.to_string())
            )
        }
    }
}

/// An example that fits a list.
pub fn short(text: &str) -> String {
    let text = text.trim_start_matches("example ");
    if text.chars().count() <= 90 { text.to_owned() } else { text.chars().take(89).chain(['…']).collect() }
}

/// The text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
