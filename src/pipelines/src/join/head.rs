//! What joined models say of themselves, and what they import.

use std::collections::BTreeMap;

use super::Joined;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::{FunctionProto, ModelProto, OperatorSetIdProto, StringStringEntryProto};

/// The model of all, without a graph.
///
/// # Errors
/// Domains that the models import in different versions.
pub fn head_of(parts: &[Joined], opset: u32) -> Result<ModelProto> {
    let mut functions: Vec<FunctionProto> = Vec::new();
    for function in parts.iter().flat_map(|part| &part.model.proto.functions) {
        if !functions.contains(function) {
            functions.push(function.clone());
        }
    }
    let first = parts.first().map(|part| &part.model.proto);
    Ok(ModelProto {
        ir_version: parts.iter().filter_map(|part| part.model.proto.ir_version).max(),
        opset_import: imports(parts, opset)?,
        producer_name: first.and_then(|first| first.producer_name.clone()),
        producer_version: first.and_then(|first| first.producer_version.clone()),
        doc_string: doc(parts),
        metadata_props: metadata(parts),
        functions,
        ..ModelProto::default()
    })
}

fn imports(parts: &[Joined], opset: u32) -> Result<Vec<OperatorSetIdProto>> {
    let mut versions: BTreeMap<&str, (i64, &str)> = BTreeMap::from([("", (i64::from(opset), ""))]);
    for part in parts {
        for import in part.model.proto.opset_import.iter().filter(|import| !matches!(import.domain(), "" | "ai.onnx")) {
            let (version, other) = versions.entry(import.domain()).or_insert((import.version(), &part.name));
            if *version != import.version() {
                let (domain, own) = (import.domain(), import.version());
                return Err(Error::unsupported(format!(
                    "`{other}` has version {version} of the domain `{domain}`, but `{}` version {own}",
                    part.name
                ))
                .help("operators of other domains are not converted: export both models with one version"));
            }
        }
    }
    let import = |(domain, (version, _)): (&str, (i64, &str))| OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(version),
    };
    Ok(versions.into_iter().map(import).collect())
}

/// The documentation of the models; if they differ, each with the name of its model.
fn doc(parts: &[Joined]) -> Option<String> {
    let said =
        parts.iter().map(|part| (&part.name, part.model.proto.doc_string())).filter(|(_, text)| !text.is_empty());
    let said: Vec<(&String, &str)> = said.collect();
    match said.as_slice() {
        [] => None,
        [(_, first), rest @ ..] if rest.iter().all(|(_, text)| text == first) => Some((*first).to_owned()),
        all => Some(all.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("\n")),
    }
}

/// The metadata of the models. An entry that differs from an earlier one gets the name of its model after its key.
fn metadata(parts: &[Joined]) -> Vec<StringStringEntryProto> {
    let mut all: Vec<StringStringEntryProto> = Vec::new();
    for part in parts {
        for entry in &part.model.proto.metadata_props {
            let known = all.iter().find(|known| known.key() == entry.key());
            match known {
                Some(known) if known.value() == entry.value() => {}
                Some(_) => all.push(StringStringEntryProto {
                    key: Some(format!("{}.{}", entry.key(), part.name)),
                    value: entry.value.clone(),
                }),
                None => all.push(entry.clone()),
            }
        }
    }
    all
}
