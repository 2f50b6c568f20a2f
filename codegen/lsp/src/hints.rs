//! Inlay hints: the types of names that are bound, and the opsets of a rule at its end.

use std::collections::BTreeMap;
use std::ops::Range;

use aten2onnx_opmap::source::FileId;
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel};

use crate::describe::opset_summary;
use crate::document::Document;
use crate::state::State;

/// The hints in a range of a document. There are none where it changed since it was checked.
pub fn inlay_hints(state: &State, document: &Document, file: FileId, range: Range<usize>) -> Vec<InlayHint> {
    let Some(known) = state.known(file).into_iter().next() else { return Vec::new() };
    let mut labels: BTreeMap<usize, (String, Option<InlayHintKind>)> = BTreeMap::new();
    let links = &known.analysis.checked.program.links;
    for bound in links.bound.iter().filter(|bound| bound.span.file == file && !bound.is_param) {
        let Some(now) = known.difference.range_to_new(bound.span.range()) else { continue };
        let is_same = document.text.get(now.clone()) == Some(bound.name.as_str());
        if range.contains(&now.start) && is_same {
            labels.entry(now.end).or_insert((format!(": {}", bound.ty), Some(InlayHintKind::TYPE)));
        }
    }
    for item in document.words.items.iter().filter(|item| item.start < range.end && range.start <= item.end) {
        let old = (known.difference.to_old(item.start), known.difference.to_old(item.end));
        let (Some(start), Some(end)) = old else { continue };
        let mut summaries: Vec<String> = Vec::new();
        for function in known.analysis.functions_in(file, start..end) {
            summaries.extend(opset_summary(&known.analysis, &function.name));
        }
        summaries.sort();
        summaries.dedup();
        if let [one] = summaries.as_slice() {
            labels.insert(item.end, (format!(" {one}"), None));
        }
    }
    let hints = labels.into_iter().map(|(at, (label, kind))| InlayHint {
        position: document.position(at),
        label: InlayHintLabel::String(label),
        kind,
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: None,
    });
    hints.collect()
}
