//! Inspects an ONNX model: what it contains, and the opsets that it can be converted to.

use std::collections::BTreeMap;

use super::conditions::{CONDITIONS, UNKNOWN};
use super::inspect::{Aim, Described, Inspection, Operator, Place, Port, Verdict, weights};
use super::quantized::Quantized;
use aten2onnx_convert::{Source, convert};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::proto::ModelProto;
use aten2onnx_onnx::targets::Target;
use aten2onnx_options::{ConvertOptions, OutputOptions};
use aten2onnx_rules::Rules;

/// Whether a file is an ONNX model: by its name, or else because it starts like one.
pub fn is_onnx(file: &MappedFile) -> bool {
    // The first field of a model is its IR version.
    file.path.extension().is_some_and(|extension| extension == "onnx")
        || file.read(0, file.size().min(1)).is_ok_and(|first| first.first() == Some(&0x08))
}

/// Inspects a model. Also returns its graph, at the opset of the model if that is supported.
///
/// # Errors
/// The runtime does not support the opset.
pub fn inspect_onnx(source: &Source, rules: &Rules, aim: Aim) -> Result<(Inspection, Option<Graph>)> {
    let at = |opset: u32, target: Option<&'static Target>| {
        let output = OutputOptions::of_rules(rules, opset, target);
        convert(source, &ConvertOptions::from(output)).map(|converted| converted.graph)
    };
    let mut graph = None;
    let mut opsets = Vec::new();
    for opset in aim.opsets()? {
        opsets.push(match at(opset, aim.target) {
            Ok(converted) => {
                let verdict = Verdict::built(opset, &converted);
                graph.get_or_insert(converted);
                verdict
            }
            Err(error) => Verdict::refused(opset, vec![without_source(error, source).into()]),
        });
    }
    let own =
        source.proto.opset_import.iter().find(|import| import.domain().is_empty() || import.domain() == "ai.onnx");
    let own = own.and_then(|import| u32::try_from(import.version()).ok());
    if let Some(own) = own.filter(|own| (MIN_OPSET..=MAX_OPSET).contains(own)) {
        graph = at(own, None).ok().or(graph);
    }
    let ports = |values: fn(&Graph) -> &[Value]| {
        graph.iter().flat_map(|graph| values(graph).iter().map(move |value| port(graph, *value))).collect()
    };
    let inspection = Inspection {
        source: source.file.path.display().to_string(),
        torch_version: None,
        torchscript: None,
        described: Some(described(&source.proto)),
        inputs: ports(|graph| &graph.body.inputs),
        outputs: ports(|graph| &graph.body.outputs),
        symbols: BTreeMap::new(),
        conditions: conditions(source),
        weights: graph
            .as_ref()
            .map(|graph| weights(graph.initializers.iter().filter_map(|value| graph.weight(*value))))
            .unwrap_or_default(),
        operators: graph.as_ref().map(operators).unwrap_or_default(),
        opsets,
        target: aim.target.map(Target::name),
        notes: own.map(|own| format!("the model is at opset {own}")).into_iter().chain(unknown(source)).collect(),
    };
    Ok((inspection, graph))
}

/// What the model says of itself. The conditions of an export are told apart from other metadata.
fn described(model: &ModelProto) -> Described {
    let told = |key: &str| matches!(key, CONDITIONS | UNKNOWN);
    let entries = model.metadata_props.iter().filter(|entry| !told(entry.key()));
    let values = model.graph.iter().flat_map(|graph| graph.input.iter().chain(&graph.output));
    let documented = values.filter(|value| !value.doc_string().is_empty());
    Described {
        producer_name: model.producer_name().to_owned(),
        producer_version: model.producer_version().to_owned(),
        doc_string: model.doc_string().to_owned(),
        value_docs: documented.map(|value| (value.name().to_owned(), value.doc_string().to_owned())).collect(),
        metadata: entries.map(|entry| (entry.key().to_owned(), entry.value().to_owned())).collect(),
    }
}

/// Where the model is right, as its export noted it.
fn conditions(source: &Source) -> Vec<String> {
    let noted = source.proto.metadata_props.iter().filter(|entry| entry.key() == CONDITIONS);
    noted.flat_map(|entry| entry.value().lines()).map(str::to_owned).collect()
}

/// That nothing records where the model is right, as its export noted it.
fn unknown(source: &Source) -> Option<String> {
    let noted = source.proto.metadata_props.iter().find(|entry| entry.key() == UNKNOWN);
    noted.map(|entry| entry.value().to_owned())
}

/// The file is named at the top.
fn without_source(mut error: Error, source: &Source) -> Error {
    let name = source.file.path.display().to_string();
    error.place.retain(|place| *place != name);
    error
}

fn port(graph: &Graph, value: Value) -> Port {
    let ty = graph.ty(value);
    Port {
        name: graph.name(value).to_owned(),
        kind: if ty.is_tensor() { "tensor" } else { "other" },
        dtype: (ty.is_tensor() && !ty.is_unknown()).then(|| ty.dtype().to_string()),
        shape: ty.shape().map(|shape| shape.iter().map(ToString::to_string).collect()),
    }
}

fn operators(graph: &Graph) -> Vec<Operator> {
    let mut found: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    graph.body.visit(&mut |node| {
        let place = Place { node: node.name.clone(), module: None, source_line: None };
        found.entry(node.op).or_default().push(place);
    });
    let operator =
        |(name, calls): (&str, Vec<Place>)| Operator { operator: name.to_owned(), count: calls.len(), calls };
    let mut operators: Vec<Operator> = found.into_iter().map(operator).collect();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.count));
    operators
}

impl Verdict {
    fn built(opset: u32, graph: &Graph) -> Verdict {
        let quantized = Quantized::of(graph);
        Verdict { opset, ok: true, reasons: Vec::new(), replaced: graph.replaced.clone(), quantized }
    }
}
