//! What a rule is as it is written in the page: its graphs at two opsets side by side, and its matrix.

use std::fmt::Write;
use std::sync::Arc;

use aten2onnx_core::error::Result;
use aten2onnx_examples as examples;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::interpret::MappingFiles;
use serde::{Deserialize, Serialize};

use super::Session;
use crate::draw;
use crate::facts::{Level, OfDtype, levels_by_dtype};
use crate::serve::view::{drawn, escaped, graph, short};
use crate::site;

/// What a page asks for.
#[derive(Debug, Deserialize)]
pub struct Asked {
    /// The overload or operator.
    op: String,
    /// The number of its example.
    #[serde(default)]
    example: usize,
    /// The opsets.
    opsets: Vec<u32>,
}

/// What it gets.
#[derive(Debug, Serialize)]
pub struct View {
    /// A part of the page.
    html: String,
    /// Whether the texts have errors, so that this is an older state.
    broken: bool,
}

/// Draws a rule.
///
/// # Errors
/// There was no state without errors yet.
pub fn view(session: &Session, asked: &Asked) -> Result<View> {
    let set = session.rules()?;
    let all = set.checked().program.examples.iter();
    let of_op: Vec<&Example> = all.filter(|example| examples::target(example) == asked.op).collect();
    let broken = session.is_broken();
    let Some(example) = of_op.get(asked.example).or(of_op.first()).copied() else {
        let why = match broken {
            true => "It is drawn when the files have no errors.",
            false => "Graphs are those of examples.",
        };
        let html = format!("<p>There is no example of <code>{}</code> yet. {why}</p>", escaped(&asked.op));
        return Ok(View { html, broken });
    };
    let mut html = choice(&of_op, example);
    html.push_str("<div class=\"pair\">");
    let saved = session.state.now().good;
    for opset in asked.opsets.iter().copied().take(2) {
        html.push_str(&at_opset(saved.as_ref(), &set, example, opset));
    }
    html.push_str("</div>");
    html.push_str(&matrix(&set, &asked.op, &of_op)?);
    Ok(View { html, broken })
}

/// The examples of the rule to choose from.
fn choice(all: &[&Example], chosen: &Example) -> String {
    let mut html = "<p><label>Example <select data-ask=\"example\">".to_owned();
    for (i, example) in all.iter().enumerate() {
        let selected = if std::ptr::eq(*example, chosen) { " selected" } else { "" };
        let _ = write!(html, "<option value=\"{i}\"{selected}>{}</option>", escaped(&short(&example.text)));
    }
    html + "</select></label></p>"
}

/// The graph at an opset, in which the nodes are marked that the rules on disk do not make.
fn at_opset(saved: Option<&Arc<MappingFiles>>, set: &Arc<MappingFiles>, example: &Example, opset: u32) -> String {
    let new = graph(set, example, opset);
    let old = saved.map(|saved| graph(saved, example, opset));
    let diff = match (&old, &new) {
        (Some(Ok(old)), Ok(new)) => Some(draw::diff(old, new)),
        _ => None,
    };
    drawn(&format!("opset {opset}"), &new, diff.as_ref().map(|diff| &diff.new))
}

/// Support by opset and dtype.
fn matrix(set: &Arc<MappingFiles>, op: &str, examples: &[&Example]) -> Result<String> {
    let checked = set.checked();
    let opsets: Vec<u32> = (checked.schemas.opsets.min..=checked.schemas.opsets.max).collect();
    let rows = match levels_by_dtype(checked, op, &opsets) {
        Some(rows) => rows,
        None => {
            let levels = opsets.iter().map(|opset| level(set, op, examples, *opset)).collect();
            vec![OfDtype { dtype: "the newest form", levels, refusals: Vec::new() }]
        }
    };
    site::matrix(&rows, &opsets)
}

/// How an opset has calls of an ONNX operator in its newest form, by the examples of its lowerings.
fn level(set: &Arc<MappingFiles>, op: &str, examples: &[&Example], opset: u32) -> Level {
    let newest = examples.iter().filter(|example| matches!(example.target, Target::Lower(_)));
    let (mut native, mut lowered, mut refused) = (0, 0, 0);
    for example in newest {
        match graph(set, example, opset) {
            Ok(graph) if matches!(graph.body.nodes.as_slice(), [node] if node.op == op) => native += 1,
            Ok(_) => lowered += 1,
            Err(_) => refused += 1,
        }
    }
    match (native, lowered, refused) {
        (0, 0, 0) => Level::Absent,
        (_, 0, 0) => Level::Native,
        (_, _, 0) => Level::Lowered,
        (0, 0, _) => Level::Refused,
        _ => Level::Partial,
    }
}
