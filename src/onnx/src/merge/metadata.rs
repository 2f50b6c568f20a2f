//! What the files of two models say of themselves, such as the sizes that they are right for, in the file of both.

use super::Named;
use crate::proto::{StringStringEntryProto, ValueInfoProto};

/// The entries of both models. One that differs, or that one model has, gets the name of its model after its key: a dimension of one model
/// may have the name of another's.
pub(super) fn entries(models: [Named<'_>; 2]) -> Vec<StringStringEntryProto> {
    let [(_, first), (_, second)] = models;
    let (a, b) = (&first.proto.metadata_props, &second.proto.metadata_props);
    let both: Vec<StringStringEntryProto> = a.iter().filter(|entry| b.contains(entry)).cloned().collect();
    let mut all = both.clone();
    for (name, model) in models {
        let own = model.proto.metadata_props.iter().filter(|entry| !both.contains(entry));
        all.extend(own.map(|entry| StringStringEntryProto {
            key: Some(format!("{}.{name}", entry.key())),
            value: entry.value.clone(),
        }));
    }
    all
}

/// The documentation of an input or a result of both models.
pub(super) fn doc(names: [&str; 2], own: &ValueInfoProto, other: &ValueInfoProto) -> Option<String> {
    if own.doc_string == other.doc_string {
        return own.doc_string.clone();
    }
    let said = [(names[0], own), (names[1], other)].map(|(name, value)| match value.doc_string() {
        "" => None,
        text => Some(format!("`{name}`: {text}")),
    });
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}
