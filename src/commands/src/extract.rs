//! `aten2onnx extract`

use std::path::PathBuf;
use std::time::Instant;

use super::pipelines::{self, Names, Weights};
use super::report::Stop;
use aten2onnx_options::{Description, InputSpec};
use aten2onnx_pipelines::extract::{Options, extract};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx extract model.onnx --to encoder -o encoder.onnx                 from the inputs of the model to the end of a module
  aten2onnx extract model.onnx --from layer2 --to layer3 -o middle.onnx     two modules and what is between them
  aten2onnx extract model.onnx --from hidden --to logits -o head.onnx       between two values
  aten2onnx extract llm.onnx --to layers.0 -o first.onnx --external-data link   weights stay where they are";

/// Write a part of an .onnx file as a model of its own
///
/// The part has the nodes on all ways from the start to the end. Names are those of values, nodes, or modules (`layer1.0.conv1`);
/// `value:`, `node:` or `module:` before a name tells them apart. Names are separated by commas; `\\,` is a comma in a name.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx file; `-` for stdin
    #[arg(value_name = "IN.onnx")]
    input: PathBuf,
    /// Where the part begins: at these values, or with these nodes or modules [default: at the inputs of the model]
    #[arg(long, value_name = "NAMES")]
    from: Vec<Names>,
    /// Where the part ends: with these values, nodes or modules [default: with the outputs of the model that depend on the start]
    #[arg(long, value_name = "NAMES", required_unless_present = "from")]
    to: Vec<Names>,
    /// The .onnx file to write; `-` for stdout
    #[arg(short, long, value_name = "OUT.onnx")]
    output: PathBuf,
    /// The type of a value at the start or end, if the model does not declare it
    #[arg(long = "type", value_name = "x:f32[batch,3]")]
    types: Vec<InputSpec>,
    #[command(flatten)]
    weights: Weights,
    #[command(flatten)]
    description: Description,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn extract_part(args: &Args, rules: &Rules) -> Result<(), Stop> {
    let start = Instant::now();
    let source = pipelines::read(&args.input, args.weights.follow_links)?;
    let options = Options {
        from: Names::all(&args.from),
        to: Names::all(&args.to),
        types: args.types.clone(),
        external_data: args.weights.external_data,
    };
    let mut made = extract(&source, &options, rules)?;
    args.description.apply(&mut made.model.proto)?;
    pipelines::write(&mut made, &args.output, args.quiet, start)
}
