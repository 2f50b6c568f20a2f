//! What differs between two models: `aten2onnx diff`.
//!
//! Nodes are compared by what they compute: a node is that of its operator, its attributes and what it reads, whatever its name is. Of nodes
//! that differ only because they read others that do, the number is told.

mod matched;
mod nodes;
mod text;
mod watched;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::index::{Index, graph_of};
use aten2onnx_convert::elements_of;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Payload, Storage, Weight, row_major};
use aten2onnx_onnx::proto::{ModelProto, TensorProto, ValueInfoProto};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{Equal, Model, pack};
pub use matched::{Match, Pair};
pub use watched::watched;

/// The differences of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is about: `Inputs`.
    pub title: &'static str,
    /// Lines that begin with `-` for what only the first model has, and with `+` for the second one.
    pub lines: Vec<String>,
}

/// What differs between two models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// What differs, section by section; nothing if the models are equal.
    pub sections: Vec<Section>,
    /// The values that are the same in both, in an order in which the first model can compute them.
    pub values: Vec<Pair>,
}

/// What differs between two models.
///
/// # Errors
/// Damaged models, or weights that cannot be read.
pub fn diff(first: &Source, second: &Source) -> Result<Difference> {
    let open = |source: &Source| pack::streamed(source);
    let models = [open(first)?, open(second)?];
    let at = |source: &Source, error: Error| error.at(source.file.path.display().to_string());
    let one = Index::of(&models[0]).map_err(|error| at(first, error))?;
    let two = Index::of(&models[1]).map_err(|error| at(second, error))?;
    let weights = Weights::of(&models)?;
    let of_a = nodes::computed(&one, 0, &weights).map_err(|error| at(first, error))?;
    let of_b = nodes::computed(&two, 1, &weights).map_err(|error| at(second, error))?;
    let computed = [of_a.as_slice(), of_b.as_slice()];
    let [a, b] = &models;
    let (graph_a, graph_b) = (graph_of(&a.proto)?, graph_of(&b.proto)?);
    let sections = [
        Section { title: "Model", lines: pairs(&facts(&a.proto), &facts(&b.proto)) },
        Section { title: "Metadata", lines: pairs(&metadata(&a.proto), &metadata(&b.proto)) },
        Section { title: "Inputs", lines: ports(&graph_a.input, &graph_b.input) },
        Section { title: "Outputs", lines: ports(&graph_a.output, &graph_b.output) },
        Section { title: "Weights", lines: weights.differences() },
        Section { title: "Functions", lines: pairs(&functions(&a.proto), &functions(&b.proto)) },
        Section { title: "Nodes", lines: nodes::differences([(&one, a), (&two, b)], computed) },
    ];
    let sections = sections.into_iter().filter(|section| !section.lines.is_empty()).collect();
    Ok(Difference { sections, values: matched::pairs([&one, &two], computed) })
}

/// Facts by name.
type Facts = BTreeMap<String, String>;

fn facts(model: &ModelProto) -> Facts {
    let imports = model.opset_import.iter().map(|import| {
        let domain = if import.domain().is_empty() { "ai.onnx" } else { import.domain() };
        (format!("opset of {domain}"), import.version().to_string())
    });
    let texts = [
        ("IR version", model.ir_version().to_string()),
        ("producer", format!("{} {}", model.producer_name(), model.producer_version()).trim().to_owned()),
        ("documentation", model.doc_string().to_owned()),
    ];
    imports.chain(texts.map(|(name, text)| (name.to_owned(), text))).filter(|(_, text)| !text.is_empty()).collect()
}

fn metadata(model: &ModelProto) -> Facts {
    model.metadata_props.iter().map(|entry| (entry.key().to_owned(), entry.value().to_owned())).collect()
}

fn functions(model: &ModelProto) -> Facts {
    let of = |function: &aten2onnx_onnx::proto::FunctionProto| {
        (format!("{}::{}", function.domain(), function.name()), text::function(function))
    };
    model.functions.iter().map(of).collect()
}

/// What differs between facts.
fn pairs(first: &Facts, second: &Facts) -> Vec<String> {
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let sides = names.into_iter().filter(|name| first.get(*name) != second.get(*name));
    let lines = sides.flat_map(|name| {
        let line = |sign: &str, value: Option<&String>| Some(format!("{sign} {name}: {}", text::short(value?)));
        [line("-", first.get(name)), line("+", second.get(name))]
    });
    lines.flatten().collect()
}

/// What differs between inputs or outputs, in order.
fn ports(first: &[ValueInfoProto], second: &[ValueInfoProto]) -> Vec<String> {
    let shown = |values: &[ValueInfoProto]| values.iter().map(text::value).collect::<Vec<_>>();
    let (a, b) = (shown(first), shown(second));
    if a == b {
        return Vec::new();
    }
    let mut lines: Vec<String> = a.iter().filter(|line| !b.contains(line)).map(|line| format!("- {line}")).collect();
    lines.extend(b.iter().filter(|line| !a.contains(line)).map(|line| format!("+ {line}")));
    if lines.is_empty() {
        let names = |values: &[ValueInfoProto]| values.iter().map(|value| value.name()).collect::<Vec<_>>().join(", ");
        lines = vec![format!("- in the order {}", names(first)), format!("+ in the order {}", names(second))];
    }
    lines
}

/// The weights of both models. Those of the same content have the same number.
#[derive(Debug, Default)]
pub struct Weights {
    /// By model and name: what it is, and the number of its content.
    known: [BTreeMap<String, (String, usize)>; 2],
}

impl Weights {
    fn of(models: &[Model; 2]) -> Result<Weights> {
        let mut found = Weights::default();
        let mut all: Vec<(usize, String, Arc<Weight>)> = Vec::new();
        let mut texts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for (side, model) in models.iter().enumerate() {
            all.extend(model.weights.iter().map(|weight| (side, weight.name.clone(), Arc::clone(&weight.weight))));
            let graph = graph_of(&model.proto)?;
            let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
            for tensor in graph.initializer.iter().chain(sparse) {
                // A tensor is equal to another one whatever field its elements are in.
                match weight_of(tensor) {
                    Some(weight) => all.push((side, tensor.name().to_owned(), Arc::new(weight))),
                    None => {
                        let next = usize::MAX - texts.len();
                        let class = *texts.entry(strings(tensor)).or_insert(next);
                        found.insert(side, tensor.name(), text::tensor(tensor), class);
                    }
                }
            }
        }
        let payloads = all.iter().map(|(.., weight)| Payload::new(weight)).collect::<Result<Vec<_>>>()?;
        let payloads: Vec<&Payload<'_>> = payloads.iter().collect();
        let mut equal = Equal::default();
        for (number, (side, name, weight)) in all.iter().enumerate() {
            let (class, _) = equal.class(number, &payloads)?;
            found.insert(*side, name, format!("{}{:?}", weight.dtype, weight.sizes), class);
        }
        Ok(found)
    }

    fn insert(&mut self, side: usize, name: &str, ty: String, class: usize) {
        if let Some(known) = self.known.get_mut(side) {
            known.insert(name.to_owned(), (ty, class));
        }
    }

    /// What a weight is: its type and the number of its content.
    pub fn get(&self, side: usize, name: &str) -> Option<&(String, usize)> {
        self.known.get(side)?.get(name)
    }

    fn differences(&self) -> Vec<String> {
        let [a, b] = &self.known;
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let mut lines = Vec::new();
        for name in names {
            match (a.get(name), b.get(name)) {
                (Some((ty, class)), Some((other, other_class))) if ty == other && class != other_class => {
                    lines.push(format!("- {name}: {ty}"));
                    lines.push(format!("+ {name}: {ty} with other elements"));
                }
                (a, b) if a.map(|a| &a.0) != b.map(|b| &b.0) => {
                    lines.extend(a.map(|(ty, _)| format!("- {name}: {ty}")));
                    lines.extend(b.map(|(ty, _)| format!("+ {name}: {ty}")));
                }
                _ => {}
            }
        }
        lines
    }
}

/// A tensor of the message as a weight; None for one of strings.
fn weight_of(tensor: &TensorProto) -> Option<Weight> {
    let dtype = Dtype::from_onnx(tensor.data_type()).filter(|dtype| dtype.bits() > 0)?;
    let storage = Storage::Owned(elements_of(tensor)?.into());
    let (sizes, strides) = (tensor.dims.clone(), row_major(&tensor.dims));
    let weight = Weight { name: tensor.name().to_owned(), dtype, sizes, strides, offset: 0, storage };
    weight.check().is_ok().then_some(weight)
}

/// The bytes that tell tensors of strings apart.
fn strings(tensor: &TensorProto) -> Vec<u8> {
    tensor.string_data.iter().flat_map(|text| [text.as_ref(), b"\0"].concat()).collect()
}

/// A number that stands for something.
pub fn hash_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
