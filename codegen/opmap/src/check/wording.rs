//! Phrases of diagnostics: types with an article, counts, and facts of a schema.

use crate::types::Ty;
use aten2onnx_schemas::onnx::{AttrKind, Attribute, PortOption, Version};
use aten2onnx_schemas::short_types;

/// How to unwrap an optional value.
pub(super) const UNWRAP: &str = "unwrap it with `if let x = .. { .. }`, `match` or `.. ?? other`";

/// The label of an unknown overload.
pub(super) const NOT_IN_SNAPSHOT: &str = "not in the snapshot of PyTorch's schemas";

/// ``an `int` ``, ``a `Tensor` ``
pub(super) fn with_article(ty: &Ty) -> String {
    let name = ty.to_string();
    let article = if name.starts_with(['i', 'I', 'O']) { "an" } else { "a" };
    format!("{article} `{name}`")
}

/// `1 input`, `2 inputs`
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `opset 13`, `the opsets 1, 11, 13`
pub(super) fn opsets(opsets: impl Iterator<Item = u32>) -> String {
    let opsets: Vec<String> = opsets.map(|o| o.to_string()).collect();
    if let [one] = opsets.as_slice() { format!("opset {one}") } else { format!("the opsets {}", opsets.join(", ")) }
}

pub(super) fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The text if it is short enough for a message, else `otherwise`.
pub(super) fn short_or<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    if text.len() <= 40 && !text.contains('\n') { text } else { otherwise }
}

/// The name of a kind of attribute.
pub(super) fn kind_name(kind: AttrKind) -> String {
    match kind {
        AttrKind::Floats | AttrKind::Ints | AttrKind::Strings | AttrKind::Tensors | AttrKind::Graphs => {
            format!("{} (a list)", kind.name())
        }
        AttrKind::Int => "an INT".to_owned(),
        _ => format!("a {}", kind.name()),
    }
}

/// ``Elu-22: `alpha: FLOAT = 1.0` ``
pub(super) fn attribute_fact(op: &str, version: &Version, attribute: &Attribute) -> String {
    let need = if attribute.required { ", required" } else { "" };
    let default = attribute.default.as_ref().map_or(String::new(), |d| format!(" = {}", d));
    format!("{op}-{}: `{}: {}{default}`{need}", version.since, attribute.name, attribute.kind.name())
}

/// `inputs of Clip-13: input: T, min?: T, max?: T`
pub(super) fn inputs_fact(op: &str, version: &Version) -> String {
    let ports: Vec<String> = version
        .inputs
        .iter()
        .map(|p| match p.option {
            PortOption::Single => format!("{}: {}", p.name, p.ty),
            PortOption::Optional => format!("{}?: {}", p.name, p.ty),
            PortOption::Variadic(_) => format!("..{}: {}", p.name, p.ty),
        })
        .collect();
    format!("inputs of {op}-{}: {}", version.since, ports.join(", "))
}

/// `T is float16 float`
pub(super) fn types_fact(version: &Version, variable: &str) -> Option<String> {
    let allowed = &version.types.iter().find(|t| t.name == variable)?.allowed;
    Some(format!("{variable} is {}", short_types(allowed).join(", ")))
}
