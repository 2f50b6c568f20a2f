//! ONNX's schemas as text, in `onnx.txt` and in diagnostics: `alpha: FLOAT = 1.0`.

use std::collections::BTreeMap;
use std::fmt;

use super::onnx::{AttrValue, Attribute, Port, PortOption, Version};

/// The abbreviations of `onnx.txt`.
const GROUPS: [(&str, &[&str]); 5] = [
    ("@floats", &["float16", "float", "double"]),
    ("@ints", &["int8", "int16", "int32", "int64"]),
    ("@uints", &["uint8", "uint16", "uint32", "uint64"]),
    ("@complex", &["complex64", "complex128"]),
    ("@float8", &["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]),
];

/// A list of types in short notation: `@floats int32`, `seq(@floats)`, with an entry for each kind of type (tensor, sequence, ...).
pub fn short_types(types: &[String]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for text in types {
        let (wrapper, element) = split_type(text);
        kinds.entry(wrapper).or_default().push(element);
    }
    kinds.into_iter().map(|(wrapper, elements)| short_kind(wrapper, elements)).collect()
}

/// `seq(tensor(float))` -> (`seq(`, `float`)
fn split_type(text: &str) -> (&str, &str) {
    match text.split_once("tensor(") {
        Some((wrapper, element)) => (wrapper, element.trim_end_matches(')')),
        None => ("", text),
    }
}

fn short_kind(wrapper: &str, mut elements: Vec<&str>) -> String {
    let mut words = Vec::new();
    for (name, members) in GROUPS {
        if members.iter().all(|m| elements.contains(m)) {
            elements.retain(|e| !members.contains(e));
            words.push(name);
        }
    }
    elements.sort_unstable();
    words.append(&mut elements);
    format!("{wrapper}{}{}", words.join(" "), ")".repeat(wrapper.matches('(').count()))
}

impl fmt::Display for Version {
    /// The block of `onnx.txt`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deprecated = if self.deprecated { " deprecated" } else { "" };
        let function = if self.function { " function" } else { "" };
        writeln!(f, "{} {}{deprecated}{function}", self.name, self.since)?;
        self.inputs.iter().try_for_each(|port| writeln!(f, "  in {port}"))?;
        self.outputs.iter().try_for_each(|port| writeln!(f, "  out {port}"))?;
        self.attributes.iter().try_for_each(|attribute| writeln!(f, "  attr {attribute}"))?;
        for var in &self.types {
            short_types(&var.allowed).iter().try_for_each(|types| writeln!(f, "  type {} = {types}", var.name))?;
        }
        Ok(())
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.ty)?;
        match self.option {
            PortOption::Single => Ok(()),
            PortOption::Optional => f.write_str(" optional"),
            PortOption::Variadic(min) => write!(f, " variadic {min}{}", if self.homogeneous { "" } else { " mixed" }),
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.kind.name())?;
        match &self.default {
            Some(value) => write!(f, " = {value}"),
            None => f.write_str(if self.required { " required" } else { "" }),
        }
    }
}

impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `{:?}` of a list is `[a, b]` of its elements' `{:?}`.
        match self {
            AttrValue::Float(v) => write!(f, "{v:?}"),
            AttrValue::Int(v) => write!(f, "{v}"),
            AttrValue::String(v) => write!(f, "{v:?}"),
            AttrValue::Floats(v) => write!(f, "{v:?}"),
            AttrValue::Ints(v) => write!(f, "{v:?}"),
            AttrValue::Strings(v) => write!(f, "{v:?}"),
        }
    }
}
