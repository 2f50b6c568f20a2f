//! `aten2onnx convert`

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::aim::Aim;
use super::export::{self, ExternalArg};
use super::mappings::Mappings;
use super::report::{self, Stop};
use crate::convert::{Options, convert};
use crate::error::{Error, Kind, Result};
use crate::onnx::{ExternalData, read::Source};

const EXAMPLES: &str = "\
Examples:
  aten2onnx convert model.onnx -o edge.onnx --opset 11
  aten2onnx convert model.onnx -o old.onnx --opset 13 --ir 7
  aten2onnx convert model.onnx -o model-trt.onnx --target tensorrt-8.6
  aten2onnx convert model.onnx -o flat.onnx --opset 18 --inline-functions";

/// Convert an .onnx file, whoever made it, to another opset
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
    aim: Aim,
    /// Where the weights go; `auto` leaves them inside or beside the .onnx, as they are in the source
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ExternalArg::Auto)]
    external_data: ExternalArg,
    /// Put the bodies of local functions where they are called
    #[arg(long)]
    inline_functions: bool,
    /// How much is done to the graph: 0 changes nothing but what the opset asks for, 1 runs all passes, which drop what nobody reads
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    opt_level: u8,
    #[command(flatten)]
    mappings: Mappings,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Stop> {
    export::handle_signals();
    let start = Instant::now();
    let options = Options {
        opset: args.aim.opset()?,
        ir: args.aim.ir,
        target: args.aim.target()?,
        external_data: external_data(args),
        inline_functions: args.inline_functions,
        opt_level: args.opt_level,
        rules: args.mappings.rules()?,
    };
    let converted = convert(&read(&args.input)?, &options)?;
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

/// Where the weights go: into a stream all together, unless something else is asked for.
fn external_data(args: &Args) -> ExternalData {
    match args.external_data {
        ExternalArg::Auto if export::is_stream(&args.output) => ExternalData::Never,
        chosen => chosen.into(),
    }
}

fn read(path: &Path) -> Result<Source> {
    if !export::is_stream(path) {
        return Source::open(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::new(Kind::Io, error.to_string()).at("stdin"))?;
    Source::from_bytes("stdin", bytes)
}
