//! How the parts of a model are wired, as `NAME.json` says it.

use serde::Serialize;

use super::super::index::Index;
use super::super::part::Part;
use super::sizes;
use aten2onnx_onnx::Model;

/// How the parts of a model are wired: values of the same name are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wiring {
    /// The version of this form.
    pub format: u32,
    /// The inputs of the model in order.
    pub inputs: Vec<String>,
    /// The outputs of the model in order.
    pub outputs: Vec<String>,
    /// The runtime that the model was split for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The parts in the order in which they run.
    pub parts: Vec<WiredPart>,
    /// The values that one part gives to others.
    pub wires: Vec<PartWire>,
}

/// A part, as the wiring names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WiredPart {
    /// The file, beside that of the wiring.
    pub file: String,
    /// Its inputs in order.
    pub inputs: Vec<String>,
    /// Its outputs in order.
    pub outputs: Vec<String>,
    /// The number of its nodes.
    pub nodes: usize,
    /// The bytes of its weights.
    pub weights: u64,
    /// Whether the target runs it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_on_target: Option<bool>,
    /// Why the target does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A value that one part gives to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartWire {
    /// Its name.
    pub value: String,
    /// The file of the part that computes it.
    pub from: String,
    /// The files of the parts that read it.
    pub to: Vec<String>,
}

impl Wiring {
    /// The wiring of parts, whose models are these.
    pub fn of(index: &Index<'_>, name: &str, parts: &[Part], models: &[Model]) -> Wiring {
        let file = |number: usize| format!("{name}-{}.onnx", number + 1);
        let wired = parts.iter().zip(models).enumerate().map(|(number, (part, model))| WiredPart {
            file: file(number),
            inputs: part.inputs.clone(),
            outputs: part.outputs.clone(),
            nodes: model.proto.graph.as_ref().map_or(0, |graph| graph.node.len()),
            weights: sizes(model).values().fold(0, |sum, size| sum.saturating_add(*size)),
            runs_on_target: None,
            reasons: Vec::new(),
        });
        let wire = |(number, value): (usize, &String)| {
            let readers = parts.iter().enumerate().filter(|(_, part)| part.inputs.contains(value));
            let to: Vec<String> = readers.map(|(reader, _)| file(reader)).collect();
            (!to.is_empty()).then(|| PartWire { value: value.clone(), from: file(number), to })
        };
        let given =
            parts.iter().enumerate().flat_map(|(number, part)| part.outputs.iter().map(move |value| (number, value)));
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Wiring {
            format: 1,
            inputs: own(&index.inputs),
            outputs: own(&index.outputs),
            target: None,
            parts: wired.collect(),
            wires: given.filter_map(wire).collect(),
        }
    }

    /// As it is written.
    pub fn json(&self) -> String {
        // Serializing text and numbers cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
