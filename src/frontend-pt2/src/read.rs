//! Converts an exported program to a [`Program`]: the signature describes each input and output.

use aten2onnx_archive::zip::Archive;

use super::graph::{GraphReader, split};
use super::payload::{Wanted, Weights};
use super::schema::{self, Argument, ConstantValue, ExportedProgram, InputSpec, OutputSpec, VersionOnly, parse};
use super::{guards, numbers, outputs, paths, signature};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::{Arg, Input, InputKind, NO_GUARDS, Output, OutputKind, Program};
use aten2onnx_program::{arguments, validate};

/// The schema version that this reader was written for.
const SCHEMA: (i64, i64) = (8, 20);

/// Reads the program in the entry `json` with these weights.
pub fn program(archive: &Archive, json: &str, weights: Weights<'_>) -> Result<Program> {
    document(archive.bytes(json)?, weights).map_err(|error| archive.error(json, error))
}

/// Reads the program of a JSON document.
pub fn document(bytes: &[u8], weights: Weights<'_>) -> Result<Program> {
    // PyTorch 2.6 writes `NaN` and `Infinity` as Python does, which JSON does not have.
    let quoted = numbers::quoted(bytes);
    let bytes = quoted.as_deref().unwrap_or(bytes);
    let read = parse::<ExportedProgram<'_>>(bytes).and_then(|program| exported(program, weights));
    // A document of another version may fail in any way, so report the version.
    read.map_err(|error| match parse::<VersionOnly>(bytes) {
        Ok(version) if version.schema_version.major != SCHEMA.0 => {
            of_version(&version.schema_version, &error.to_string())
        }
        Ok(version) if version.schema_version.minor > SCHEMA.1 && error.help.is_none() => {
            let schema::SchemaVersion { major, minor } = version.schema_version;
            let (known, at) = (format!("{}.{}", SCHEMA.0, SCHEMA.1), format!("{major}.{minor}"));
            error.help(format!(
                "the schema version of the file is {at}, and this program knows {known}: update it, or export the model again with an older torch"
            ))
        }
        _ => error,
    })
}

/// Converts what a document contains.
pub fn exported(program: ExportedProgram<'_>, weights: Weights<'_>) -> Result<Program> {
    check_version(&program.schema_version)?;
    convert(program, weights)
}

/// Newer versions are read as far as they are known.
fn check_version(version: &schema::SchemaVersion) -> Result<()> {
    if version.major >= SCHEMA.0 { Ok(()) } else { Err(of_version(version, "it is too old")) }
}

fn of_version(version: &schema::SchemaVersion, reason: &str) -> Error {
    let (major, minor) = (version.major, version.minor);
    Error::unsupported(format!("the schema version is {major}.{minor}, but only {}.x is supported: {reason}", SCHEMA.0))
        .help("export the model again with a current version of torch, or update this program")
}

fn convert(exported: ExportedProgram<'_>, weights: Weights<'_>) -> Result<Program> {
    let mut program =
        Program { torch_version: exported.torch_version.map(schema::Text::into_string), ..Program::default() };
    let schema::SchemaVersion { major, minor } = exported.schema_version;
    if (major, minor) > SCHEMA {
        let known = format!("{}.{}", SCHEMA.0, SCHEMA.1);
        program.notes.push(format!("the schema version is {major}.{minor}; additions since {known} are ignored"));
    }
    for (symbol, range) in exported.range_constraints.0 {
        check_range(&symbol, &range)?;
        // The bounds of expressions (`s77 + 1`) follow from those of their symbols.
        if symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            program.ranges.insert(symbol.into_string(), (range.min_val, range.max_val));
        }
    }
    let module = exported.graph_module;
    let paths = paths::of_inputs(&exported.input_paths, module.module_call_graph.0.as_ref());
    program.output_names = output_names(&exported.output_names, &module);
    let (inputs, nodes, outputs, tables) = split(module.graph);
    let mut reader = GraphReader::default();
    let in_graph = |error: Error| error.at("graph_module.graph");
    program.graph = reader.body(nodes, tables).map_err(in_graph)?;
    let mut signature = Signature { reader, wanted: Vec::new(), program };
    signature.inputs(module.signature.input_specs, inputs)?;
    signature.outputs(module.signature.output_specs, outputs)?;
    let Signature { mut program, reader, wanted } = signature;
    let (bound, notes) = weights.resolve(wanted, &program.graph.tensors)?;
    program.weights = bound;
    program.notes.extend(notes);
    program.hints = reader.hints;
    program.lacks_guards = exported.guards_code.is_none() && !program.ranges.is_empty();
    if program.lacks_guards {
        program.notes.push(NO_GUARDS.to_owned());
    }
    program.has_guards = exported.guards_code.is_some();
    program.guards = guards::read(exported.guards_code.unwrap_or_default(), &program, &paths);
    program.calls = reader.calls;
    validate::names(&program).map_err(in_graph)?;
    arguments::check(&program).map_err(in_graph)?;
    Ok(program)
}

/// A range has a value, as PyTorch demands when it loads a file.
fn check_range(symbol: &str, range: &schema::RangeConstraint) -> Result<()> {
    match (range.min_val, range.max_val) {
        (Some(least), Some(most)) if least > most => {
            let message = format!("no value is possible for `{symbol}`: its range is from {least} to {most}");
            Err(Error::input(message).at("range_constraints"))
        }
        _ => Ok(()),
    }
}

/// The names of the user outputs: those that are given as text, or those that the signature describes.
fn output_names(given: &[schema::Text<'_>], module: &schema::GraphModule<'_>) -> Vec<Option<String>> {
    if !given.is_empty() {
        return given.iter().map(|name| Some(name.to_string()).filter(|name| !name.is_empty())).collect();
    }
    let out_spec = module.module_call_graph.0.as_ref().and_then(|signature| signature.out_spec.as_deref());
    out_spec.map(|spec| outputs::names(spec, &module.treespec_namedtuple_fields)).unwrap_or_default()
}

/// The context for inputs and outputs.
struct Signature {
    reader: GraphReader,
    /// The inputs that are weights.
    wanted: Vec<Wanted>,
    program: Program,
}

impl Signature {
    fn inputs(&mut self, specs: Vec<InputSpec<'_>>, inputs: Vec<Argument<'_>>) -> Result<()> {
        same_length("input", specs.len(), inputs.len())?;
        for (index, (spec, input)) in specs.into_iter().zip(inputs).enumerate() {
            let place = |error: Error| error.at(format!("graph_module.signature.input_specs[{index}]"));
            self.input(spec, input, index).map_err(place)?;
        }
        Ok(())
    }

    fn input(&mut self, spec: InputSpec<'_>, input: Argument<'_>, index: usize) -> Result<()> {
        let (value, name, is_state) = match spec {
            InputSpec::UserInput(described) => {
                signature::same("input", described.arg.as_ref(), &input)?;
                let input = self.reader.input(input, index)?;
                self.program.graph.inputs.push(input);
                return Ok(());
            }
            InputSpec::ConstantInput { name, value } => {
                let kind = InputKind::Constant(constant(value));
                self.program.graph.inputs.push(Input { name: name.into_string(), kind });
                return Ok(());
            }
            InputSpec::Parameter { arg, parameter_name } => (arg, parameter_name, true),
            InputSpec::Buffer { arg, buffer_name, persistent: true } => (arg, buffer_name, true),
            InputSpec::Buffer { arg, buffer_name, persistent: false } => (arg, buffer_name, false),
            InputSpec::TensorConstant { arg, tensor_constant_name } => (arg, tensor_constant_name, false),
            InputSpec::CustomObj { custom_obj_name } => {
                let message = format!("the model contains `{}`, an object of a custom class", &*custom_obj_name);
                return Err(Error::unsupported(message).help("ONNX has no such objects; do not use them in `forward`"));
            }
            // Tokens order side effects, as the order of nodes does here.
            InputSpec::Token(_) => return Ok(()),
        };
        if !matches!(&input, Argument::AsTensor(tensor) if *tensor.name == *value.name) {
            return Err(Error::input(format!("the graph's input {index} is not `{}`", &*value.name)));
        }
        self.wanted.push(Wanted { value: value.name.into_string(), name: name.into_string(), is_state, index });
        Ok(())
    }

    fn outputs(&mut self, specs: Vec<OutputSpec<'_>>, outputs: Vec<Argument<'_>>) -> Result<()> {
        same_length("output", specs.len(), outputs.len())?;
        let mut mutations = Vec::new();
        for (index, (spec, output)) in specs.into_iter().zip(outputs).enumerate() {
            let place = |error: Error| error.at(format!("graph_module.signature.output_specs[{index}]"));
            signature::of_output(&spec, &output).map_err(place)?;
            let Some(kind) = output_kind(spec).map_err(place)? else { continue };
            let value = self.reader.argument(output).map_err(place)?;
            if kind == OutputKind::User {
                self.program.graph.outputs.push(Output { value, kind });
            } else {
                mutations.push(Output { value, kind });
            }
        }
        self.program.graph.outputs.extend(mutations);
        Ok(())
    }
}

fn same_length(what: &str, specs: usize, values: usize) -> Result<()> {
    if specs == values {
        return Ok(());
    }
    let message = format!("the signature has {specs} {what}s, but the graph has {values}");
    Err(Error::input(message).at("graph_module.signature"))
}

fn constant(value: ConstantValue<'_>) -> Arg {
    match value {
        ConstantValue::AsNone(_) => Arg::None,
        ConstantValue::AsInt(number) => Arg::Int(number),
        ConstantValue::AsFloat(number) => Arg::Float(number.0),
        ConstantValue::AsString(text) => Arg::Str(text.into_string()),
        ConstantValue::AsBool(flag) => Arg::Bool(flag),
    }
}

/// None for a token, which is not a value.
fn output_kind(spec: OutputSpec<'_>) -> Result<Option<OutputKind>> {
    Ok(Some(match spec {
        OutputSpec::UserOutput(_)
        | OutputSpec::LossOutput(_)
        | OutputSpec::GradientToParameter(_)
        | OutputSpec::GradientToUserInput(_) => OutputKind::User,
        OutputSpec::BufferMutation { buffer_name, .. } => OutputKind::BufferMutation(buffer_name.into_string()),
        // Parameters are state, like buffers.
        OutputSpec::ParameterMutation { parameter_name, .. } => {
            OutputKind::BufferMutation(parameter_name.into_string())
        }
        OutputSpec::UserInputMutation { user_input_name, .. } => {
            OutputKind::InputMutation(user_input_name.into_string())
        }
        OutputSpec::Token(_) => return Ok(None),
    }))
}
