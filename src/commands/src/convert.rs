//! `aten2onnx convert`

use std::path::PathBuf;
use std::time::Instant;

use super::export;
use super::mappings::Mappings;
use super::pipelines;
use super::report::{self, Stop};
use aten2onnx_convert::convert;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::ExternalData;
use aten2onnx_options::ConvertOptions;
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx convert model.onnx -o edge.onnx --opset 11
  aten2onnx convert model.onnx -o old.onnx --opset 13 --ir 7
  aten2onnx convert model.onnx -o model-trt.onnx --target tensorrt-8.6
  aten2onnx convert model.onnx -o flat.onnx --opset 18 --inline-functions";

/// Convert an .onnx file to another opset
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx file; `-` for stdin
    #[arg(value_name = "IN.onnx")]
    input: PathBuf,
    /// The .onnx file to write; `-` for stdout
    #[arg(short, long, value_name = "OUT.onnx")]
    output: PathBuf,
    #[command(flatten)]
    options: ConvertOptions,
    #[command(flatten)]
    mappings: Mappings,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn convert_model(args: &Args, build: &Rules) -> Result<(), Stop> {
    export::handle_signals();
    let start = Instant::now();
    let mut options = args.options.clone();
    options.output.rules = args.mappings.over(build)?;
    // A stream cannot have external data.
    if options.output.external_data == ExternalData::Auto && export::is_stream(&args.output) {
        options.output.external_data = ExternalData::Never;
    }
    let converted = convert(&pipelines::read(&args.input, options.follow_links)?, &options)?;
    if !args.quiet {
        converted.notes.iter().for_each(|text| report::note(text));
    }
    let written = export::written(&args.output, args.quiet, &mut |out, progress| match out {
        Some(out) => converted.write_to(out, progress),
        None => converted.write_file(&args.output, progress),
    })?;
    if !args.quiet {
        report::say(&export::summary(&converted.summary(written, start), &args.output));
    }
    Ok(())
}
