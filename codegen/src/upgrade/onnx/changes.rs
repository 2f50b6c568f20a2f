//! The differences between two versions of an operator, as text.

use std::collections::BTreeSet;

use aten2onnx_schemas::onnx::Version;
use aten2onnx_schemas::onnx_diff::shape_differences;
use aten2onnx_schemas::short_types;

/// `(X, alpha: FLOAT = 1.0) -> (Y)`
pub(super) fn signature(version: &Version) -> String {
    let ports = version.inputs.iter().map(ToString::to_string);
    let attributes = version.attributes.iter().map(ToString::to_string);
    let inputs: Vec<String> = ports.chain(attributes).collect();
    let outputs: Vec<String> = version.outputs.iter().map(ToString::to_string).collect();
    format!("`({}) -> ({})`", inputs.join(", "), outputs.join(", "))
}

/// All differences between two versions, one per line.
pub(super) fn differences(before: &Version, after: &Version) -> Vec<String> {
    let mut lines = shape_differences(before, after);
    lines.extend(type_differences(before, after));
    if after.deprecated && !before.deprecated {
        lines.push("deprecated".into());
    }
    if before.deprecated && !after.deprecated {
        lines.push("no longer deprecated".into());
    }
    lines
}

/// Whether other ports have the same type than before.
pub(super) fn is_sharing_otherwise(before: &Version, after: &Version) -> bool {
    sharing(before) != sharing(after)
}

/// The differences in allowed types, by port, because type variables are sometimes renamed.
fn type_differences(before: &Version, after: &Version) -> Vec<String> {
    let inputs = before.inputs.iter().map(|was| (was, &after.inputs));
    let outputs = before.outputs.iter().map(|was| (was, &after.outputs));
    let mut ports_by_change: Vec<(String, Vec<&str>)> = Vec::new();
    for (was, ports) in inputs.chain(outputs) {
        let Some(is) = ports.iter().find(|p| p.name == was.name) else { continue };
        let Some(change) = types_change(before.allowed(was), after.allowed(is)) else { continue };
        match ports_by_change.iter_mut().find(|(c, _)| *c == change) {
            Some((_, ports)) => ports.push(&is.name),
            None => ports_by_change.push((change, vec![&is.name])),
        }
    }
    let mut lines: Vec<String> = ports_by_change
        .into_iter()
        .map(|(change, ports)| format!("types of `{}`: {change}", ports.join("`, `")))
        .collect();
    if is_sharing_otherwise(before, after) && names_alike(before, after) {
        lines.push(format!("ports that share a type are now {}", sharing(after)));
    }
    lines
}

fn names_alike(a: &Version, b: &Version) -> bool {
    let names = |v: &Version| v.inputs.iter().chain(&v.outputs).map(|p| p.name.clone()).collect::<Vec<_>>();
    names(a) == names(b)
}

/// `(X, Z), (Y)`: the ports of each type variable.
fn sharing(version: &Version) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for port in version.inputs.iter().chain(&version.outputs) {
        match groups.iter_mut().find(|(ty, _)| *ty == port.ty) {
            Some((_, ports)) => ports.push(&port.name),
            None => groups.push((&port.ty, vec![&port.name])),
        }
    }
    groups.iter().map(|(_, ports)| format!("({})", ports.join(", "))).collect::<Vec<_>>().join(", ")
}

/// `also bfloat16; no longer int32`
fn types_change(before: &[String], after: &[String]) -> Option<String> {
    let old: BTreeSet<&String> = before.iter().collect();
    let new: BTreeSet<&String> = after.iter().collect();
    let short = |types: Vec<String>| short_types(&types).join(", ");
    let mut parts = Vec::new();
    let added: Vec<String> = new.difference(&old).map(|t| t.to_string()).collect();
    if !added.is_empty() {
        parts.push(format!("also {}", short(added)));
    }
    let removed: Vec<String> = old.difference(&new).map(|t| t.to_string()).collect();
    if !removed.is_empty() {
        parts.push(format!("no longer {}", short(removed)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
