//! Signature help: the header of what is called around a place, and which of its parameters is written there.

use aten2onnx_opmap::source::FileId;
use lsp_types::{Documentation, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation};

use crate::describe::{attribute_text, param_text, port_text};
use crate::document::Document;
use crate::state::State;
use crate::words::{Around, Head};

/// A header: what is called, and its parameters, each with its name.
#[derive(Debug, Clone)]
pub struct Header {
    /// `Gelu`
    pub callee: String,
    /// The text and the name of each parameter.
    pub params: Vec<(String, String)>,
    /// How many of them are given by position.
    pub positional: usize,
    /// Documentation.
    pub docs: String,
}

/// The header of what a call calls.
pub fn header_of(state: &State, file: Option<FileId>, around: &Around, head: Option<&Head>) -> Option<Header> {
    let name = &around.callee.text;
    if let Some(version) = state.version(name, head) {
        let mut params: Vec<(String, String)> =
            version.inputs.iter().map(|port| (port_text(version, &port.name), port.name.clone())).collect();
        let positional = params.len();
        for attribute in &version.attributes {
            let Some(text) = attribute_text(attribute) else { continue };
            let word = text.split(' ').next().unwrap_or("").to_owned();
            params.push((text, word));
        }
        return Some(Header { callee: name.clone(), params, positional, docs: String::new() });
    }
    let analysis = state.latest.as_deref().or_else(|| {
        let file = file?;
        state.whole.get(file.0 as usize)?.as_deref()
    });
    let analysis = analysis?;
    let function = match name.contains("::") {
        true => &analysis.checked.program.map(name)?.function,
        false => analysis.helper_named(file?, name)?,
    };
    let schema = state.schemas.aten.get(name);
    let params = function.params.iter().map(|param| {
        let default = schema.and_then(|schema| schema.arg(&param.name)?.default.as_deref());
        let default = default.or(param.default.as_ref().map(|_| ".."));
        (param_text(param, default), param.name.clone())
    });
    let params: Vec<(String, String)> = params.collect();
    Some(Header { callee: name.clone(), positional: params.len(), params, docs: function.docs.join("\n") })
}

/// What is shown inside the brackets of a call.
pub fn signature_help(state: &State, document: &Document, file: Option<FileId>, at: usize) -> Option<SignatureHelp> {
    let around = document.words.call_around(&document.text, at)?;
    let head = document.head_at(at);
    let is_header = head.as_ref().is_some_and(|head| head.name.range == around.callee.range);
    let head = head.filter(|_| !is_header);
    let header = header_of(state, file, &around, head.as_ref())?;
    let mut label = format!("{}(", header.callee);
    let mut labels = Vec::new();
    for (i, (text, _)) in header.params.iter().enumerate() {
        if i > 0 {
            label += ", ";
        }
        let start = label.encode_utf16().count() as u32;
        label += text;
        labels.push([start, label.encode_utf16().count() as u32]);
    }
    label.push(')');
    let active = match &around.name {
        Some(name) => header.params.iter().position(|(_, own)| own == name),
        None => Some(around.argument.min(header.positional.saturating_sub(1)))
            .filter(|_| around.argument < header.params.len()),
    };
    let parameters = labels
        .into_iter()
        .map(|label| ParameterInformation { label: ParameterLabel::LabelOffsets(label), documentation: None });
    let signature = SignatureInformation {
        label,
        documentation: (!header.docs.is_empty()).then_some(Documentation::String(header.docs)),
        parameters: Some(parameters.collect()),
        active_parameter: active.map(|active| active as u32),
    };
    Some(SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: active.map(|a| a as u32),
    })
}
