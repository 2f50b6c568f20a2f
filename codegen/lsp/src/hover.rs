//! Hover: what the name at a place is, or the type of the expression around it.

use aten2onnx_opmap::source::FileId;
use aten2onnx_opmap::tree::Bound;
use aten2onnx_opmap::vocabulary::{builtin_calls, dtype_names};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};

use crate::analysis::Analysis;
use crate::describe::{self, code_block};
use crate::document::Document;
use crate::state::State;
use crate::words::{FullName, Head};

/// What is shown of a place.
pub fn hover(state: &State, document: &Document, file: Option<FileId>, at: usize) -> Option<Hover> {
    if document.words.is_comment(at) {
        return None;
    }
    let named = document.named(at);
    let of_name = named.as_ref().and_then(|(name, head)| of_name(state, document, file, at, name, head.as_ref()));
    if let (Some(text), Some((name, _))) = (of_name, &named) {
        return Some(shown(text, document, name.range.clone()));
    }
    let file = file?;
    state.ask(file, at, |known, at| {
        let expr = known.analysis.expression_at(known.file, at)?;
        let range = known.difference.range_to_new(expr.span.range())?;
        let written = document.text.get(range.clone())?;
        let first = written.lines().next().unwrap_or("");
        let written = if first == written { written.to_owned() } else { format!("{first} ..") };
        Some(shown(code_block(&format!("{written}: {}", expr.ty)), document, range))
    })
}

fn shown(text: String, document: &Document, range: std::ops::Range<usize>) -> Hover {
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Hover { contents, range: Some(document.range(range)) }
}

fn of_name(
    state: &State,
    document: &Document,
    file: Option<FileId>,
    at: usize,
    name: &FullName,
    head: Option<&Head>,
) -> Option<String> {
    let analysis = state.latest.as_deref();
    let is_called = is_before(document, name.range.end, "(");
    if name.text.contains("::") {
        return describe::overload(&state.schemas, analysis, &name.text)
            .or_else(|| operator(state, analysis, name, head));
    }
    if let Some(text) = attribute(state, document, at, name, head) {
        return Some(text);
    }
    if let Some(text) =
        file.and_then(|file| state.ask(file, at, |known, at| bound(known.analysis.bound_at(known.file, at)?)))
    {
        return Some(text);
    }
    if is_before(document, name.range.end, "=") && !is_before(document, name.range.end, "==") {
        return None;
    }
    if let Some(text) = operator(state, analysis, name, head) {
        return Some(text);
    }
    let helper = file.and_then(|file| {
        let of_place = |analysis: &Analysis, at| Some(describe::helper(analysis, analysis.helper_at(file, at)?));
        state.ask(file, at, |known, at| of_place(&known.analysis, at)).or_else(|| {
            let analysis = analysis.filter(|_| is_called)?;
            Some(describe::helper(analysis, analysis.helper_named(file, &name.text)?))
        })
    });
    helper.or_else(|| word(&name.text, is_called))
}

/// Whether a mark follows a place, after blanks.
pub fn is_before(document: &Document, at: usize, mark: &str) -> bool {
    document.text.get(at..).is_some_and(|rest| rest.trim_start().starts_with(mark))
}

fn bound(bound: &Bound) -> Option<String> {
    let what = if bound.is_param { "parameter" } else { "value" };
    Some(format!("{}\n{what}", code_block(&format!("{} {}", bound.ty, bound.name))))
}

fn operator(state: &State, analysis: Option<&Analysis>, name: &FullName, head: Option<&Head>) -> Option<String> {
    let is_of_item = head.is_some_and(|head| head.name.range == name.range);
    let version = state.version(&name.text, head.filter(|_| !is_of_item))?;
    Some(describe::operator(&state.schemas, analysis, version, &name.text))
}

/// An attribute in a call of an operator, or in the header of a lowering.
fn attribute(state: &State, document: &Document, at: usize, name: &FullName, head: Option<&Head>) -> Option<String> {
    let around = document.words.call_around(&document.text, at)?;
    let is_of_item = head.is_some_and(|head| head.name.range == around.callee.range);
    if !is_of_item && !is_before(document, name.range.end, "=") {
        return None;
    }
    let op = around.callee.text;
    let version = state.version(&op, head)?;
    let (stem, suffix) = name.text.rsplit_once('_')?;
    let attribute = version.attribute(stem).filter(|_| suffix.len() == 1)?;
    Some(describe::attribute(&state.schemas, version, attribute, &op))
}

/// A word of the language.
fn word(text: &str, is_called: bool) -> Option<String> {
    let builtin = builtin_calls().find(|(name, _)| *name == text && is_called);
    if let Some((_, usage)) = builtin {
        return Some(format!("built-in: {usage}"));
    }
    dtype_names().contains(&text).then(|| format!("{}\na dtype", code_block(&format!("ScalarType {text}"))))
}
