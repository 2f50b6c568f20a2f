//! ONNX operators that rules could confuse: of the same signature.

use std::collections::BTreeMap;

use aten2onnx_schemas::onnx::{OnnxSchemas, PortOption, Version};
use aten2onnx_schemas::operators::{Operators, Values};

/// How many operators stand in place of one.
const MOST: usize = 2;

/// The operators with their likes.
#[derive(Debug)]
pub(crate) struct Alike {
    others: BTreeMap<String, Vec<String>>,
    commutative: Vec<String>,
    words: BTreeMap<(String, String), Vec<String>>,
}

impl Alike {
    /// Of the newest versions.
    pub fn new(schemas: &OnnxSchemas, operators: &Operators) -> Alike {
        let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, versions) in schemas.ops.iter().filter(|(name, _)| !name.contains("::")) {
            let Some(newest) = versions.last().filter(|version| !version.deprecated) else { continue };
            groups.entry(signature(newest)).or_default().push(name);
        }
        let mut others = BTreeMap::new();
        for group in groups.values() {
            for (at, name) in group.iter().enumerate() {
                let after = group.iter().cycle().skip(at + 1).take(group.len() - 1).take(MOST);
                others.insert((*name).to_owned(), after.map(|other| (*other).to_owned()).collect());
            }
        }
        let is_commutative =
            |name: &&String| operators.facts(name).computes.is_some_and(aten2onnx_operators::Function::is_commutative);
        let commutative = schemas.ops.keys().filter(is_commutative).cloned().collect();
        let mut words = BTreeMap::new();
        for name in schemas.ops.keys() {
            for (attribute, values) in operators.get(name).iter().flat_map(|entry| &entry.values) {
                if let Values::Words(known) = values {
                    words.insert((name.clone(), attribute.clone()), known.clone());
                }
            }
        }
        Alike { others, commutative, words }
    }

    /// Operators that could stand in place of one.
    pub fn others(&self, op: &str) -> &[String] {
        self.others.get(op).map_or(&[], Vec::as_slice)
    }

    /// Whether the order of the inputs does not matter.
    pub fn is_commutative(&self, op: &str) -> bool {
        self.commutative.iter().any(|name| name == op)
    }

    /// The texts that an attribute can be, if they are known.
    pub fn words(&self, op: &str, attribute: &str) -> &[String] {
        self.words.get(&(op.to_owned(), attribute.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// What operators of the same signature have in common: numbers of inputs and outputs, which of them share a type, and attributes.
fn signature(version: &Version) -> String {
    let mut variables: Vec<&str> = Vec::new();
    let mut text = String::new();
    for port in version.inputs.iter().chain(&version.outputs) {
        let variable = match version.types.iter().any(|ty| ty.name == port.ty) {
            true => variables.iter().position(|known| *known == port.ty).unwrap_or_else(|| {
                variables.push(&port.ty);
                variables.len() - 1
            }),
            false => usize::MAX,
        };
        let option = match port.option {
            PortOption::Single => "1",
            PortOption::Optional => "?",
            PortOption::Variadic(_) => "*",
        };
        text.push_str(&format!("{variable}{option},"));
    }
    text.push_str(&format!("/{}", version.outputs.len()));
    version.attributes.iter().for_each(|attribute| text.push_str(&format!(";{}:{:?}", attribute.name, attribute.kind)));
    text
}
