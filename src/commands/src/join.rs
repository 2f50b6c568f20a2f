//! `aten2onnx join`

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::pipelines::{self, Weights};
use super::report::Stop;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::read::Source;
use aten2onnx_options::{Description, parse_opset};
use aten2onnx_pipelines::join::{Options, Wire, join};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx join prepare.onnx model.onnx --wire image=x -o whole.onnx
  aten2onnx join encoder.onnx head.onnx --wire features=x --keep features -o whole.onnx
  aten2onnx join a.onnx b.onnx --wire a:y=b:x -o whole.onnx      names that both models have, with the names of their files
  aten2onnx join a.onnx b.onnx -o both.onnx                      side by side
  aten2onnx join a.onnx b.onnx --share x -o both.onnx            side by side, of one input";

/// Write several .onnx files as one, whose outputs and inputs are wired
///
/// Names stay as they are; where they clash, the name of the file is put before those of the later model. Weights and functions that are
/// equal and have one name are kept once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx files
    #[arg(value_name = "IN.onnx", num_args = 2.., required = true)]
    inputs: Vec<PathBuf>,
    /// Make an output of one model an input of another
    #[arg(long = "wire", value_name = "[MODEL:]OUT=[MODEL:]IN")]
    wires: Vec<Wire>,
    /// Make the inputs of this name, which several models have, one
    #[arg(long, value_name = "NAME")]
    share: Vec<String>,
    /// Keep a wired output as an output of the whole
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// The opset of the result [default: the newest of the models]
    #[arg(long, value_name = "N", value_parser = parse_opset)]
    opset: Option<u32>,
    /// The .onnx file to write; `-` for stdout
    #[arg(short, long, value_name = "OUT.onnx")]
    output: PathBuf,
    #[command(flatten)]
    description: Description,
    #[command(flatten)]
    weights: Weights,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn join_models(args: &Args, rules: &Rules) -> Result<(), Stop> {
    let start = Instant::now();
    let mut sources: Vec<(String, Source)> = Vec::new();
    for path in &args.inputs {
        let source = pipelines::read(path, args.weights.follow_links)?;
        let name = unused(path, &sources);
        sources.push((name, source));
    }
    let options = Options {
        wires: args.wires.clone(),
        share: args.share.clone(),
        keep: args.keep.clone(),
        opset: args.opset,
        external_data: args.weights.external_data,
    };
    let mut made = join(&sources, &options, rules)?;
    args.description.apply(&mut made.model.proto)?;
    pipelines::write(&mut made, &args.output, args.quiet, start)
}

/// The name of a file without its end, with a number if an earlier one has it.
fn unused(path: &Path, sources: &[(String, Source)]) -> String {
    let stem = path.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy().into_owned());
    let is_taken = |name: &String| sources.iter().any(|(other, _)| other == name);
    let numbered = (2..).map(|number| format!("{stem}_{number}"));
    std::iter::once(stem.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(stem)
}
