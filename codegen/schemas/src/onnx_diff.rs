//! The differences between two versions of an ONNX operator, as text.

use super::onnx::{Attribute, Port, Version};

/// The differences in inputs, outputs and attributes, one a line.
pub fn shape_differences(before: &Version, after: &Version) -> Vec<String> {
    let mut lines = port_differences("input", &before.inputs, &after.inputs);
    lines.extend(port_differences("output", &before.outputs, &after.outputs));
    lines.extend(attribute_differences(&before.attributes, &after.attributes));
    lines
}

fn port_differences(what: &str, before: &[Port], after: &[Port]) -> Vec<String> {
    let shape = |p: &Port| (p.option, p.homogeneous);
    let describe = |port: &Port| match after.iter().find(|p| p.name == port.name) {
        None => Some(format!("{what} `{port}` was removed")),
        Some(now) if shape(now) != shape(port) => Some(format!("{what} `{port}` is now `{now}`")),
        Some(_) => None,
    };
    let mut lines: Vec<String> = before.iter().filter_map(describe).collect();
    let fresh = after.iter().filter(|p| before.iter().all(|b| b.name != p.name));
    lines.extend(fresh.map(|port| format!("{what} `{port}` is new")));
    let names = |ports: &[Port]| ports.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if lines.is_empty() && names(before) != names(after) {
        lines.push(format!("the order of the {what}s is now {}", names(after).join(", ")));
    }
    lines
}

fn attribute_differences(before: &[Attribute], after: &[Attribute]) -> Vec<String> {
    let describe = |attribute: &Attribute| match after.iter().find(|a| a.name == attribute.name) {
        None => Some(format!("attribute `{attribute}` was removed")),
        Some(now) if now != attribute => Some(format!("attribute `{attribute}` is now `{now}`")),
        Some(_) => None,
    };
    let mut lines: Vec<String> = before.iter().filter_map(describe).collect();
    let fresh = after.iter().filter(|a| before.iter().all(|b| b.name != a.name));
    lines.extend(fresh.map(|attribute| format!("attribute `{attribute}` is new")));
    lines
}
