//! Completes a conversion: restores names, texts, inputs and outputs of the source model.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::dims::Sizes;
use super::graph::Conversion;
use super::own::own_nodes;
use super::scope::Names;
use aten2onnx_builder::Builder;
use aten2onnx_builder::passes::ValueRanges;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Exported;
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, type_proto};
use aten2onnx_onnx::{ExternalData, Model, ModelOptions, Provenance, ir};
use aten2onnx_options::{ConvertOptions, QuantizeKind, Ranges};
use aten2onnx_precision::narrow;

/// The first IR version in which graphs and nodes have metadata.
const METADATA_IR: i64 = 10;

/// The finished model.
pub fn finish(conversion: Conversion<'_>, source: &GraphProto) -> Result<Exported> {
    let Conversion {
        builder,
        options,
        target_opset,
        model,
        pinned,
        defaults,
        mut names,
        functions,
        mut tensors,
        weight_inputs,
        texts,
        types,
        ..
    } = conversion;
    let passes = options.output.passes(options.opt_level);
    let given = builder.output_values();
    // Passes drop unused values.
    let own: Vec<Value> = defaults.iter().map(|(_, weight)| *weight).collect();
    let ranges = options.ranges.as_deref().map(|path| value_ranges(path, &names)).transpose()?;
    let mut request = options.output.precision.request(options.output.external_data, options.output.target)?;
    if let (Some(request), Some(ranges)) = (&mut request, &ranges) {
        request.ranges.clone_from(ranges);
    }
    check_ranges_are_used(options)?;
    let mut quantized = Ok(Vec::new());
    let run = |builder: &mut Builder| quantized = options.output.run_passes(options.opt_level, builder, ranges);
    let mut graph = builder.finish_as_given(run, if passes.level == 0 { &pinned } else { &own })?;
    let mut notes = quantized?;
    if let Some(request) = request {
        notes.extend(narrow(&mut graph, &request)?);
    }
    for (before, after) in given.iter().zip(&graph.body.outputs) {
        names.move_to(*before, *after);
    }
    let asked = options.output.ir.version(target_opset);
    let dims = options.output.target.iter().flat_map(|target| target.unnamed(&graph)).collect();
    let named = ModelOptions {
        ir: asked,
        provenance: Provenance::Compact,
        dims,
        names: names.of,
        explicit_attributes: options.output.target.is_some_and(|target| target.explicit_attributes),
        docs: Default::default(),
        metadata: Vec::new(),
    };
    let mut result = aten2onnx_onnx::model::build(&graph, &named)?;
    name_defaults(&mut result, &graph, &defaults);
    let mut kept: Vec<_> = functions.kept(model).cloned().collect();
    kept.iter_mut().try_for_each(|function| own_nodes(&mut function.node, &mut tensors))?;
    restore_graph(&mut result, source, &weight_inputs, &types.sizes);
    if options.output.precision.io.is_some() {
        restate_dtypes(&mut result, &graph)?;
    }
    restore_model(&mut result.proto, model, &graph, target_opset);
    result.proto.functions = kept;
    for function in &mut result.proto.functions {
        let default = function.opset_import.iter_mut().filter(|import| matches!(import.domain(), "" | "ai.onnx"));
        default.for_each(|import| import.version = Some(target_opset.into()));
    }
    ir::set(&mut result, asked)?;
    if let Some(target) = options.output.target {
        target.check_needed_ir(result.proto.ir_version())?;
        target.check_values(&graph)?;
    }
    let metadata = result.proto.ir_version() >= METADATA_IR;
    if let Some(proto) = &mut result.proto.graph {
        restore_texts(&graph, proto, &texts, metadata);
        if metadata {
            proto.metadata_props.clone_from(&source.metadata_props);
        }
    }
    options.output.description.apply(&mut result.proto)?;
    add_notes(&mut notes, &graph, &result, &weight_inputs);
    notes.extend(options.output.target.iter().flat_map(|target| target.notes(&graph)));
    let external_data = match options.output.external_data {
        ExternalData::Auto if tensors.external => ExternalData::Always,
        chosen => chosen,
    };
    Ok(Exported { graph, model: result, notes, conditions: Vec::new(), source: Default::default(), external_data })
}

/// The ranges of a file, by the values that have the names.
fn value_ranges(path: &Path, names: &Names) -> Result<ValueRanges> {
    let ranges = Ranges::read(path)?;
    let of_name = |(value, name): (&Value, &String)| {
        ranges.values.get(name).map(|[least, largest]| (*value, [least.0, largest.0]))
    };
    let found: ValueRanges = names.of.iter().filter_map(of_name).collect();
    if found.is_empty() && !ranges.values.is_empty() {
        let error = Error::input("the model has no value with a name of this file").at(path.display().to_string());
        return Err(error.help("measure the model that is converted: names differ between exports"));
    }
    Ok(found)
}

fn check_ranges_are_used(options: &ConvertOptions) -> Result<()> {
    let output = &options.output;
    if options.ranges.is_none()
        || output.quantize.quantize == Some(QuantizeKind::Static)
        || output.precision.precision.is_some()
    {
        return Ok(());
    }
    let error = Error::unsupported("`--ranges` belongs to `--quantize static` or to a precision, and none is given");
    Err(error.help("add `--quantize static` or `--precision float16`"))
}

/// Restores the declarations of inputs and outputs: types, names of dimensions, texts.
fn restore_graph(result: &mut Model, source: &GraphProto, weights: &std::collections::HashSet<&str>, sizes: &Sizes) {
    let Some(graph) = &mut result.proto.graph else { return };
    graph.name.clone_from(&source.name);
    graph.doc_string.clone_from(&source.doc_string);
    graph.input = source.input.iter().filter(|input| !weights.contains(input.name())).cloned().collect();
    // The declaration of an output may omit its type or shape.
    let inferred = std::mem::take(&mut graph.output);
    let stated = source.output.iter().zip(inferred);
    let is_kept = |stated: &ValueInfoProto, inferred: &ValueInfoProto| {
        has_shape(stated) && (sizes.is_empty() || !has_shape(inferred))
    };
    let output = |(stated, inferred): (&ValueInfoProto, ValueInfoProto)| match is_kept(stated, &inferred) {
        true => stated.clone(),
        false => ValueInfoProto { doc_string: stated.doc_string.clone(), ..inferred },
    };
    graph.output = stated.map(output).collect();
    graph.input.iter_mut().for_each(|input| sizes.state(input));
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        info.metadata_props.clear();
    }
    let texts: HashMap<&str, &ValueInfoProto> =
        source.value_info.iter().filter(|info| info.doc_string.is_some()).map(|info| (info.name(), info)).collect();
    for info in &mut graph.value_info {
        if let Some(stated) = texts.get(info.name()) {
            info.doc_string.clone_from(&stated.doc_string);
        }
    }
    graph.quantization_annotation.clone_from(&source.quantization_annotation);
}

/// States the dtypes that inputs and outputs have now.
fn restate_dtypes(result: &mut Model, graph: &Graph) -> Result<()> {
    let Some(proto) = &mut result.proto.graph else { return Ok(()) };
    let values = graph.body.inputs.iter().chain(&graph.body.outputs).map(|value| graph.info(*value));
    let dtypes: HashMap<&str, Dtype> = values.map(|info| (info.name.as_str(), info.ty.dtype())).collect();
    for info in proto.input.iter_mut().chain(&mut proto.output) {
        let Some(dtype) = dtypes.get(info.name()) else { continue };
        if let Some(type_proto::Value::TensorType(tensor)) = info.r#type.as_mut().and_then(|ty| ty.value.as_mut()) {
            tensor.elem_type = Some(aten2onnx_onnx::model::number(*dtype)?);
        }
    }
    Ok(())
}

fn has_shape(info: &ValueInfoProto) -> bool {
    match info.r#type.as_ref().and_then(|ty| ty.value.as_ref()) {
        Some(type_proto::Value::TensorType(tensor)) => tensor.shape.is_some(),
        Some(_) => true,
        None => false,
    }
}

/// Restores texts and metadata of nodes that are kept.
fn restore_texts(graph: &Graph, proto: &mut GraphProto, texts: &HashMap<u32, &NodeProto>, metadata: bool) {
    for (node, proto) in graph.body.nodes.iter().zip(&mut proto.node) {
        let stays = |source: &&&NodeProto| source.op_type() == proto.op_type() && source.name() == proto.name();
        if let Some(source) = texts.get(&node.origin).filter(stays) {
            proto.doc_string.clone_from(&source.doc_string);
            if metadata {
                proto.metadata_props.clone_from(&source.metadata_props);
            }
        }
    }
}

/// The default of an optional input is a weight with the same name.
fn name_defaults(
    result: &mut Model,
    graph: &Graph,
    defaults: &[(aten2onnx_onnx::graph::Value, aten2onnx_onnx::graph::Value)],
) {
    for (input, weight) in defaults {
        let (name, own) = (graph.name(*input).to_owned(), graph.name(*weight).to_owned());
        let dense = result.proto.graph.iter_mut().flat_map(|g| &mut g.initializer).find(|t| t.name() == own);
        if let Some(tensor) = dense {
            tensor.name = Some(name);
        } else if let Some(weight) = result.weights.iter_mut().find(|w| w.name == own) {
            weight.name = name;
        }
    }
}

fn restore_model(proto: &mut ModelProto, source: &ModelProto, graph: &Graph, opset: u32) {
    proto.producer_name.clone_from(&source.producer_name);
    proto.producer_version.clone_from(&source.producer_version);
    proto.domain.clone_from(&source.domain);
    proto.model_version = source.model_version;
    proto.doc_string.clone_from(&source.doc_string);
    proto.metadata_props.clone_from(&source.metadata_props);
    // Other domains keep their versions, including unused imports.
    let mut versions: BTreeMap<&str, i64> =
        graph.domains().into_iter().map(|domain| (domain, graph.version_of(domain).into())).collect();
    for import in &source.opset_import {
        versions.insert(import.domain(), import.version());
    }
    versions.remove("ai.onnx");
    versions.insert("", opset.into());
    let import =
        |(domain, version): (&str, i64)| OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(version) };
    proto.opset_import = versions.into_iter().map(import).collect();
}

/// Adds notes for the user.
fn add_notes(notes: &mut Vec<String>, graph: &Graph, model: &Model, weight_inputs: &std::collections::HashSet<&str>) {
    let mut custom: BTreeMap<&str, usize> = BTreeMap::new();
    graph.body.visit(&mut |node| {
        if node.op.contains("::") {
            *custom.entry(node.op).or_default() += 1;
        }
    });
    let functions: Vec<String> =
        model.proto.functions.iter().map(|f| format!("{}::{}", f.domain(), f.name())).collect();
    let passed: Vec<String> = custom
        .into_iter()
        .filter(|(op, _)| !functions.iter().any(|function| function == op))
        .map(|(op, count)| if count == 1 { op.to_owned() } else { format!("{op} ({count} nodes)") })
        .collect();
    if !passed.is_empty() {
        notes.push(format!("operators of other domains are not converted: {}", passed.join(", ")));
    }
    if !weight_inputs.is_empty() {
        let count = weight_inputs.len();
        notes.push(format!("{count} weights were also inputs, as IR version 3 requires; they are only weights now"));
    }
    let unknown = graph.values.iter().any(|info| info.ty.dtype() == Dtype::Undefined);
    if unknown {
        notes.push(
            "the types of some results of operators from other domains are unknown, because the model does not declare them"
                .to_owned(),
        );
    }
}
