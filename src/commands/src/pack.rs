//! `aten2onnx pack`

use std::path::PathBuf;
use std::time::Instant;

use super::export;
use super::report::{self, Stop};
use super::text;
use aten2onnx_archive::wrong;
use aten2onnx_core::weights::Links;
use aten2onnx_onnx::{ExternalData, pack};

const EXAMPLES: &str = "\
Examples:
  aten2onnx pack model.onnx                        adds the external data, and replaces model.onnx
  aten2onnx pack linked.onnx -o whole.onnx         after `export --external-data link`: without the .pt2
  aten2onnx pack llm.onnx -o out/llm.onnx --external-data always";

/// Make a model with external data self-contained
///
/// Weights are copied from the files that the model refers to, including .pt2 files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx file
    #[arg(value_name = "IN.onnx")]
    input: PathBuf,
    /// The .onnx file to write [default: the input, replaced when the output is complete]
    #[arg(short, long, value_name = "OUT.onnx")]
    output: Option<PathBuf>,
    /// Where weights are stored
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = ExternalData::Auto)]
    external_data: ExternalData,
    /// Read external data also through symbolic links that lead out of the model's folder, as in a cache of Hugging Face
    #[arg(long)]
    follow_links: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn pack_model(args: &Args) -> Result<(), Stop> {
    export::handle_signals();
    let start = Instant::now();
    let output = args.output.as_ref().unwrap_or(&args.input);
    let model = pack::open(&args.input, Links::of(args.follow_links));
    let model = model.map_err(|error| wrong::no_model(&args.input, error))?;
    let written = export::written(output, args.quiet, &mut |out, progress| match out {
        Some(out) => aten2onnx_onnx::write_to(&model, out, progress),
        None => aten2onnx_onnx::write_file(&model, output, args.external_data, &[], progress),
    })?;
    if !args.quiet {
        let (weights, took) = (text::bytes(written.weights), text::duration(start.elapsed()));
        report::say(&format!("{}: {weights} of weights{} in {took}", output.display(), text::files(&written)));
    }
    Ok(())
}
