//! The export pipeline, from a program to an ONNX model. The command line and the bindings are thin layers over it.

pub mod adapters;
mod bfloat16;
mod bias_at_10;
mod conditions;
mod dropped_ones;
mod fixed;
#[cfg(feature = "inspect")]
pub mod inspect;
#[cfg(feature = "inspect")]
#[doc(hidden)]
pub mod inspect_onnx;
pub mod many;
mod modules;
mod naming;
mod narrowing;
mod operators;
#[cfg(feature = "inspect")]
pub mod quantized;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use aten2onnx_core::error::{Kind, Result};
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::{Exported, Functions, ModelOptions, Summary};

use aten2onnx_options::{DimName, Options};
use aten2onnx_prepare::{Keep, prepare};
use aten2onnx_program::Program;
use aten2onnx_translate::{fallback_note, translate};
pub use conditions::told_condition;
use conditions::{ConditionTexts, Conditions};
pub use operators::{Needed, needed};

/// Builds a model and writes it. The summary counts from `start`.
pub fn save(start: Instant, read: impl FnOnce() -> Result<Exported>, destination: &Path) -> Result<Summary> {
    let exported = read()?;
    let written = exported.write_file(destination, &mut |_, _| Ok(()))?;
    Ok(exported.summary(written, start))
}

/// Exports a program.
///
/// # Errors
/// A damaged program, everything that the target lacks, or the refusal of a rule with its node.
pub fn export_program(mut program: Program, options: &Options) -> Result<Exported> {
    let opset = options.output.checked_opset()?;
    if let (Some(target), true) = (options.output.target, options.functions != Functions::None) {
        target.check_functions()?;
    }
    fixed::fix(&mut program, options).map_err(|error| error.at(program.source.clone()))?;
    let mut dims = fixed::unite(&mut program, options).map_err(|error| error.at(program.source.clone()))?;
    let told = conditions_of(&mut program, &mut dims, options).map_err(|error| error.at(program.source.clone()))?;
    let symbols = fixed::symbols_of_inputs(&program);
    let keep = Keep { mutations: options.keep_mutations, assertions: options.keep_assertions };
    prepare(&mut program, keep).map_err(|error| error.at(program.source.clone()))?;
    let source = PathBuf::from(&program.source);
    program.notes.extend(fallback_note(&program, options, opset));
    let advice = options.output.target.and_then(|target| target.advice(fixed::symbols(&program).iter()));
    let request = narrowing::request(&options.output)?;
    let mut graph = translate(&program, options).map_err(|mut error| {
        if error.help.is_none() && error.kind == Kind::Unsupported {
            error.help = advice.clone();
        }
        error.at(program.source.clone())
    })?;
    program.notes.append(&mut graph.quantized);
    if let Some(request) = request {
        program
            .notes
            .extend(narrowing::narrow(&mut graph, &request).map_err(|error| error.at(program.source.clone()))?);
    }
    if let Some(target) = options.output.target {
        target.check_values(&graph).map_err(|error| error.at(program.source.clone()))?;
    }
    program.notes.extend(options.output.target.iter().flat_map(|target| target.notes(&graph)));
    program.notes.extend(advice.zip(options.output.target).map(|(text, target)| format!("{}: {text}", target.name())));
    program.notes.extend(graph.contradicted.iter().cloned());
    program.notes.extend(bias_at_10::note(&graph));
    if options.output.target.is_none() {
        program.notes.extend(bfloat16::note(&graph));
    }
    program.notes.extend(graph.savings.iter().map(|((opset, bits), (count, bytes))| {
        let weights = if *count == 1 { "weight" } else { "weights" };
        format!(
            "opset {opset} would store {count} {weights} in {bits} bits per element, which saves {} kB",
            bytes / 1000
        )
    }));
    let mut dims = naming::dims(&graph, &dims)?;
    dims.extend(options.output.target.iter().flat_map(|target| target.unnamed(&graph)));
    let named = ModelOptions {
        ir: options.output.ir.version(opset),
        provenance: options.provenance,
        dims,
        names: naming::names(&graph, &options.input_names, &options.output_names)?,
        explicit_attributes: options.output.target.is_some_and(|target| target.explicit_attributes),
        docs: docs(&graph, &told, &symbols),
        metadata: conditions::metadata(&told, &program),
    };
    let mut model = aten2onnx_onnx::model::build(&graph, &named)?;
    adapters::add_defaults(&mut model, &program, options.adapters.as_deref())
        .map_err(|error| error.at(program.source.clone()))?;
    let functions = modules::outlined(&mut model, &graph, &program.calls, options.functions, named.ir);
    program.notes.extend(functions.map_err(|error| error.at(program.source.clone()))?);
    if let Some(target) = options.output.target {
        target.check_needed_ir(model.proto.ir_version())?;
    }
    let described = options.output.description.apply(&mut model.proto);
    described.map_err(|error| error.at(program.source.clone()))?;
    let external_data = options.output.external_data;
    let conditions = told.conditions.into_iter().map(|(text, _)| text).collect();
    Ok(Exported { graph, model, notes: program.notes, conditions, source, external_data })
}

/// The conditions under which the program is right. Sizes that have one value only become numbers.
fn conditions_of(program: &mut Program, dims: &mut Vec<DimName>, options: &Options) -> Result<ConditionTexts> {
    let conditions = Conditions::of(program, options)?;
    let names = fixed::names(program, dims);
    let told = conditions.texts(&names);
    if options.strict_shapes {
        conditions.refuse(&told, &names)?;
    }
    fixed::pin(program, dims, &conditions.pins())?;
    program.notes.extend(conditions.pin_notes(&names));
    program.notes.extend(conditions.notes(&told));
    Ok(told)
}

/// The documentation of inputs: where the model is right.
fn docs(graph: &Graph, told: &ConditionTexts, symbols: &HashMap<String, BTreeSet<String>>) -> HashMap<Value, String> {
    let doc = |value: &Value| Some((*value, told.doc(symbols.get(graph.name(*value))?)?));
    graph.body.inputs.iter().filter_map(doc).collect()
}
