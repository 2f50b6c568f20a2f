//! `aten2onnx edit`

use std::path::PathBuf;
use std::time::Instant;

use super::pipelines::{self, Weights};
use super::report::Stop;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_options::{Description, DimName, Rename, parse_dtype};
use aten2onnx_pipelines::edit::{Options, Strip, edit};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx edit model.onnx -o new.onnx --input-name x=image --output-name scores
  aten2onnx edit model.onnx -o new.onnx --dim batch=1                  a symbolic dimension becomes a number
  aten2onnx edit model.onnx -o new.onnx --dim x:0=batch                a number becomes a symbolic dimension
  aten2onnx edit model.onnx -o new.onnx --output-type y=f32 --drop-output hidden
  aten2onnx edit model.onnx -o new.onnx --strip names,docs --deduplicate";

/// Change names, dimensions, inputs and outputs of an .onnx file, not what it computes
///
/// All names are those that the file has before.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx file; `-` for stdin
    #[arg(value_name = "IN.onnx")]
    input: PathBuf,
    /// The .onnx file to write; `-` for stdout
    #[arg(short, long, value_name = "OUT.onnx")]
    output: PathBuf,
    /// Name the next input, or the given one
    #[arg(long = "input-name", value_name = "[OLD=]NEW")]
    input_names: Vec<Rename>,
    /// Name the next output, or the given one
    #[arg(long = "output-name", value_name = "[OLD=]NEW")]
    output_names: Vec<Rename>,
    /// Name a dimension, given by its name or as an input and its axis, or make it a number. A number that gets a name is free then:
    /// `Reshape`s that hold it are found
    #[arg(long = "dim", value_name = "n=batch|x:0=1")]
    dims: Vec<DimName>,
    /// Leave an output out, with all that only it needs
    #[arg(long = "drop-output", value_name = "NAME")]
    drop_outputs: Vec<String>,
    /// Give an input another dtype, which is cast to that before
    #[arg(long = "input-type", value_name = "NAME=DTYPE", value_parser = typed)]
    input_types: Vec<(String, Dtype)>,
    /// Give an output another dtype, cast from that before
    #[arg(long = "output-type", value_name = "NAME=DTYPE", value_parser = typed)]
    output_types: Vec<(String, Dtype)>,
    /// Make a weight an input
    #[arg(long = "to-input", value_name = "NAME")]
    to_inputs: Vec<String>,
    /// Keep the values of these weights as defaults of the inputs
    #[arg(long, requires = "to_inputs")]
    keep_defaults: bool,
    /// Make an input a weight: of its default, of one number everywhere, or of all its elements
    #[arg(long = "to-weight", value_name = "NAME[=NUMBER,..]", value_parser = constant)]
    to_weights: Vec<Constant>,
    /// Remove documentation, metadata, names of nodes and inner values, or types of inner values
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    strip: Vec<Strip>,
    /// Remove an entry of the model's metadata
    #[arg(long = "drop-metadata", value_name = "KEY")]
    drop_metadata: Vec<String>,
    /// Put nodes in an order in which each value is computed before it is read
    #[arg(long)]
    sort: bool,
    /// Store equal weights once
    #[arg(long)]
    deduplicate: bool,
    #[command(flatten)]
    description: Description,
    #[command(flatten)]
    weights: Weights,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// An input, and its elements.
type Constant = (String, Option<Vec<f64>>);

/// Runs the command.
pub fn edit_model(args: &Args, rules: &Rules) -> Result<(), Stop> {
    let start = Instant::now();
    let source = pipelines::read(&args.input, args.weights.follow_links)?;
    let options = Options {
        input_names: args.input_names.clone(),
        output_names: args.output_names.clone(),
        dims: args.dims.clone(),
        drop_outputs: args.drop_outputs.clone(),
        input_types: args.input_types.clone(),
        output_types: args.output_types.clone(),
        to_inputs: args.to_inputs.clone(),
        keep_defaults: args.keep_defaults,
        to_weights: args.to_weights.clone(),
        strip: args.strip.clone(),
        drop_metadata: args.drop_metadata.clone(),
        sort: args.sort,
        deduplicate: args.deduplicate,
        external_data: args.weights.external_data,
    };
    let mut made = edit(&source, &options, rules)?;
    args.description.apply(&mut made.model.proto)?;
    pipelines::write(&mut made, &args.output, args.quiet, start)
}

/// `x=f16`
fn typed(text: &str) -> Result<(String, Dtype), String> {
    let (name, dtype) = text.rsplit_once('=').ok_or("write NAME=DTYPE, such as `x=float16`")?;
    Ok((name.to_owned(), parse_dtype(dtype)?))
}

/// `x`, `x=1` or `x=1,2,3`
fn constant(text: &str) -> Result<Constant, String> {
    let Some((name, numbers)) = text.rsplit_once('=') else { return Ok((text.to_owned(), None)) };
    let number = |text: &str| match text.trim() {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        text => text.parse::<f64>().map_err(|_| format!("`{text}` is not a number")),
    };
    Ok((name.to_owned(), Some(numbers.split(',').map(number).collect::<Result<_, _>>()?)))
}
