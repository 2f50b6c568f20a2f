//! `aten2onnx export`

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use super::aim::Aim;
use super::mappings::Mappings;
use super::report::{self, Stop, stopped};
use super::text;
use crate::error::{Error, Kind, Result};
use crate::export::{Choice, Dim, Options, export_program};
use crate::onnx::{self, ExternalData, Provenance, Written, write::Progress};
use crate::program::Program;
use crate::pt2;
use crate::ready::Summary;
use crate::translate::Fallback;

/// Models with more bytes to write get a progress bar.
const LONG: u64 = 256 << 20;

const EXAMPLES: &str = "\
Examples:
  aten2onnx export model.pt2                               to model.onnx, at the default opset
  aten2onnx export model.pt2 -o edge.onnx --opset 11
  aten2onnx export model.pt2 --dim s77=batch --input-name image --output-name scores
  aten2onnx export llm.pt2 --external-data always          llm.onnx and llm.onnx.data
  aten2onnx export llm.pt2 --external-data link            llm.onnx, a few kilobytes that point into llm.pt2
  aten2onnx export model.pt2 --mappings my_ops.opmap       with rules for custom operators
  aten2onnx export model.pt2 --trace aten::elu             why did the rule do what it did
  aten2onnx export - -o - < model.pt2 | gzip > model.onnx.gz";

/// Export a .pt2 file (torch.export.save) to an .onnx file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .pt2 file; `-` for stdin
    #[arg(value_name = "IN.pt2")]
    input: PathBuf,
    /// The .onnx file to write; `-` for stdout [default: the input's name with .onnx]
    #[arg(short, long, value_name = "OUT.onnx")]
    output: Option<PathBuf>,
    #[command(flatten)]
    aim: Aim,
    /// Where the weights go
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ExternalArg::Auto)]
    external_data: ExternalArg,
    /// How much is done to the graph: 0 leaves it as the rules wrote it, 1 runs all passes
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    opt_level: u8,
    /// How much nodes tell about where they come from
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProvenanceArg::Compact)]
    provenance: ProvenanceArg,
    /// Name a symbolic dimension, by its symbol or by an input and its axis; `inspect` shows them
    #[arg(long, value_name = "s77=batch|x:0=batch")]
    dim: Vec<Dim>,
    /// Name the next input, or a given one
    #[arg(long, value_name = "[OLD=]NEW")]
    input_name: Vec<Choice>,
    /// Name the next output, or a given one
    #[arg(long, value_name = "[OLD=]NEW")]
    output_name: Vec<Choice>,
    /// Make buffers that the model writes to inputs, and the new values of these and of inputs that it writes to outputs
    #[arg(long)]
    keep_mutations: bool,
    /// Tell which assertions of the model are left out: ONNX has none
    #[arg(long)]
    keep_assertions: bool,
    /// Tell which arms of the rule of this operator were tried, and what came out
    #[arg(long, value_name = "aten::OP")]
    trace: Vec<String>,
    #[command(flatten)]
    mappings: Mappings,
    /// What becomes of operators that have no rule
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FallbackArg::None)]
    fallback: FallbackArg,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Where the weights go.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ExternalArg {
    /// Inside the .onnx up to protobuf's limit of 2 GiB, else beside it
    Auto,
    /// Beside the .onnx, in OUT.onnx.data
    Always,
    /// Inside the .onnx, or an error
    Never,
    /// Nowhere: the .onnx points into the source, which must lie beside it; what does not lie there as ONNX wants it goes
    /// to OUT.onnx.data
    Link,
}

impl From<ExternalArg> for ExternalData {
    fn from(arg: ExternalArg) -> ExternalData {
        match arg {
            ExternalArg::Auto => ExternalData::Auto,
            ExternalArg::Always => ExternalData::Always,
            ExternalArg::Never => ExternalData::Never,
            ExternalArg::Link => ExternalData::Link,
        }
    }
}

/// What becomes of operators that have no rule.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FallbackArg {
    /// An error that lists them all
    None,
    /// They stay, as nodes of the domain org.pytorch.aten, for those who have kernels
    Aten,
}

/// How much nodes tell about where they come from.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProvenanceArg {
    /// Nothing: short names
    None,
    /// The module and the operator, in their names
    Compact,
    /// Also rule, PyTorch node, module type and source line
    Full,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Stop> {
    handle_signals();
    let start = Instant::now();
    let output = output(args)?;
    let options = options(args)?;
    let program = read(&args.input)?;
    let exported = export_program(program, &options)?;
    if !args.quiet {
        exported.notes.iter().for_each(|text| report::note(text));
    }
    let written = written(&output, args.quiet, &mut |out, progress| match out {
        Some(out) => exported.write_to(out, progress),
        None => exported.write_file(&output, progress),
    })?;
    if !args.quiet {
        report::say(&summary(&exported.summary(written, start), &output));
    }
    // The process ends: giving back the pieces of a large model one by one would only take time.
    std::mem::forget(exported);
    Ok(())
}

/// An interrupted export leaves nothing behind.
pub(super) fn handle_signals() {
    // Where no handler can be set, only a hidden temporary file may stay.
    let _ = ctrlc::set_handler(|| {
        onnx::discard_all();
        std::process::exit(130);
    });
}

fn options(args: &Args) -> Result<Options> {
    Ok(Options {
        opset: args.aim.opset()?,
        ir: args.aim.ir,
        target: args.aim.target()?,
        external_data: args.external_data.into(),
        provenance: match args.provenance {
            ProvenanceArg::None => Provenance::None,
            ProvenanceArg::Compact => Provenance::Compact,
            ProvenanceArg::Full => Provenance::Full,
        },
        dims: args.dim.clone(),
        input_names: args.input_name.clone(),
        output_names: args.output_name.clone(),
        keep_mutations: args.keep_mutations,
        keep_assertions: args.keep_assertions,
        opt_level: args.opt_level,
        trace: args.trace.clone(),
        rules: args.mappings.rules()?,
        fallback: match args.fallback {
            FallbackArg::None => Fallback::None,
            FallbackArg::Aten => Fallback::Aten,
        },
    })
}

/// Is it stdin or stdout?
pub(super) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn output(args: &Args) -> Result<PathBuf> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None if is_stream(&args.input) => {
            let error = Error::new(Kind::Io, "a model from stdin has no name");
            Err(error.help("say where it goes: `-o model.onnx`, or `-o -` for stdout"))
        }
        None => Ok(args.input.with_extension("onnx")),
    }
}

/// Reads the program of a file or of stdin.
pub fn read(path: &Path) -> Result<Program> {
    if !is_stream(path) {
        return pt2::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::from(error).at("stdin"))?;
    pt2::read_bytes("stdin", bytes)
}

/// Writes to the file, or to a stream that is handed over for it.
pub(super) type Writing<'a> = dyn FnMut(Option<&mut dyn Write>, &mut Progress<'_>) -> Result<Written> + 'a;

/// Writes a model, with a bar where it takes long.
pub(super) fn written(output: &Path, quiet: bool, write: &mut Writing<'_>) -> Result<Written, Stop> {
    let bar = ProgressBar::hidden();
    let mut progress = |done: u64, total: u64| {
        if bar.length().is_none() {
            bar.set_length(total);
            if total >= LONG && !quiet && io::stderr().is_terminal() {
                bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
                bar.set_style(style());
            }
        }
        bar.set_position(done);
        Ok(())
    };
    if !is_stream(output) {
        let written = write(None, &mut progress);
        bar.finish_and_clear();
        return Ok(written?);
    }
    if io::stdout().is_terminal() {
        let error = Error::new(Kind::Io, "a model is not for a terminal");
        return Err(error.help("send it on with `|` or `>`, or write to a file: `-o model.onnx`").into());
    }
    let mut out = Pipe { out: io::stdout().lock(), error: None };
    let written = write(Some(&mut out), &mut progress);
    bar.finish_and_clear();
    match out.error {
        Some(error) => Err(stopped(error)),
        None => Ok(written?),
    }
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("  {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Stdout, which remembers why it failed.
struct Pipe<'a> {
    out: io::StdoutLock<'a>,
    error: Option<io::Error>,
}

impl Pipe<'_> {
    fn keep<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.keep(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.keep(done)
    }
}

/// One line on what was done.
pub(super) fn summary(summary: &Summary, output: &Path) -> String {
    let written = &summary.written;
    let name = if is_stream(output) { "stdout".to_owned() } else { output.display().to_string() };
    let data = match &written.data {
        Some((path, size)) => format!(" and {} to {}", text::bytes(*size), path.display()),
        None => String::new(),
    };
    let linked = match written.linked {
        0 => String::new(),
        linked => format!(" ({} of them linked)", text::bytes(linked)),
    };
    format!(
        "{name}: opset {}, IR {}, {}, {} of weights{linked}; wrote {}{data} in {}",
        summary.opset,
        summary.ir,
        text::count(summary.nodes, "node"),
        text::bytes(written.weights),
        text::bytes(written.model),
        text::duration(summary.took),
    )
}
