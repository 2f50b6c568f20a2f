//! `aten2onnx export`

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::export_many;
use super::mappings::Mappings;
use super::progress::Line;
use super::report::{self, Stop, stopped};
use super::text;
use aten2onnx_archive::form::ArchiveForm;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_export::adapters::{self, Values};
use aten2onnx_export::export_program;
use aten2onnx_frontend as frontend;
use aten2onnx_onnx::{Exported, Summary};
use aten2onnx_onnx::{Written, write::Progress};
use aten2onnx_options::Options;
use aten2onnx_program::Program;
use aten2onnx_report::{self as page, Facts};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx export model.pt2                               to model.onnx, at the default opset
  aten2onnx export model.pt2 -o edge.onnx --opset 11
  aten2onnx export model.pt2 --dim s77=batch --input-name image --output-name scores
  aten2onnx export llm.pt2 --external-data always          llm.onnx and llm.onnx.data
  aten2onnx export llm.pt2 --external-data link            llm.onnx of a few kilobytes, which refers to llm.pt2
  aten2onnx export encoder.pt2 decoder.pt2 -o DIR          DIR/encoder.onnx, DIR/decoder.onnx and DIR/weights.data
  aten2onnx export package.pt2 --all -o DIR                all programs of a package
  aten2onnx export model.pt2 --mappings my_ops.opmap       with rules for custom operators
  aten2onnx export model.pt2 --report page.html            and a page about the model, in one file
  aten2onnx export llm.pt2 --quantize-weights int4         weights of 4 bits
  aten2onnx export model.pt2 --trace aten::elu             show the branches that the rule took
  aten2onnx export - -o - < model.pt2 | gzip > model.onnx.gz";

/// Export a .pt2 file (torch.export.save) to an .onnx file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .pt2 file; `-` for stdin. Several files are written to one folder, with one file for the weights of all
    #[arg(value_name = "IN.pt2", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The .onnx file to write; `-` for stdout [default: the input's name with .onnx]. The folder, for several models
    #[arg(short, long, value_name = "OUT.onnx|DIR")]
    pub(super) output: Option<PathBuf>,
    /// Export all programs of a package
    #[arg(long, conflicts_with = "model")]
    pub(super) all: bool,
    /// Merge two models into one, whose input NAME, a bool, chooses the second
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "use_cache_branch")]
    pub(super) merge: Option<String>,
    /// Write the adapter NAME.onnx_adapter next to the model, with the values of a safetensors file [with --adapters; default: lora_]
    #[arg(long, value_name = "NAME=FILE", value_parser = adapter, conflicts_with_all = ["all", "merge"])]
    adapter: Vec<(String, PathBuf)>,
    /// Write a page about the model and the export, in one file, also if the export fails
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["all", "merge"])]
    report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: Options,
    #[command(flatten)]
    mappings: Mappings,
    /// Print only errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Runs the command.
pub fn export_model(args: &Args, build: &Rules) -> Result<(), Stop> {
    handle_signals();
    let start = Instant::now();
    let input = match args.files.as_slice() {
        [input] if !args.all && args.merge.is_none() => input,
        _ if args.report.is_some() => return Err(Error::unsupported("`--report` is for one model").into()),
        _ if !args.adapter.is_empty() => return Err(Error::unsupported("`--adapter` is for one model").into()),
        _ => return export_many::export_models(args, build, start),
    };
    let output = output(args, input)?;
    let options = options(args, build)?;
    if !args.options.source.inputs.is_empty() && !is_stream(input) {
        refuse_inputs(input)?;
    }
    let program = frontend::read_file(open(input)?, &options.source, &options.output.rules)?;
    let kept = args.report.as_deref().map(|path| (path, program.clone()));
    let made = make(args, program, &options, &output, start);
    if let Some((path, program)) = kept {
        page::save(&facts(&program, &options, &output, &made)?, path)?;
    }
    let (exported, summary) = made?;
    if !args.quiet {
        report::say(&self::summary(&summary, &output));
    }
    for (name, values) in &args.adapter {
        let path = output.with_file_name(format!("{name}.onnx_adapter"));
        let bytes = adapters::write(&exported, Values::File(values), &path)?;
        if !args.quiet {
            report::say(&format!("{}: {}", path.display(), text::bytes(bytes)));
        }
    }
    // Freeing a large model piece by piece before the process exits would only take time.
    std::mem::forget(exported);
    Ok(())
}

/// What was exported and written.
type Made = (Exported, Summary);

/// Exports a program and writes the model.
fn make(args: &Args, program: Program, options: &Options, output: &Path, start: Instant) -> Result<Made, Stop> {
    let exported = export_program(program, options)?;
    if !args.adapter.is_empty() && is_stream(output) {
        return Err(Error::unsupported("adapters are written next to the model, which is a stream").into());
    }
    if !args.quiet {
        exported.notes.iter().for_each(|text| report::note(text));
    }
    let written = written(output, args.quiet, &mut |out, progress| match out {
        Some(out) => exported.write_to(out, progress),
        None => exported.write_file(output, progress),
    })?;
    let summary = exported.summary(written, start);
    Ok((exported, summary))
}

/// What the page says of a model that was made, or of why there is none.
fn facts(program: &Program, options: &Options, output: &Path, made: &Result<Made, Stop>) -> Result<Facts> {
    let facts = Facts::of_program(program, options)?;
    let (exported, summary) = match made {
        Ok(made) => made,
        Err(Stop::Error(error)) => return Ok(facts.failed(error)),
        Err(_) => return Ok(facts),
    };
    let facts = facts.with_notes(&exported.notes).with_time(summary.took.as_secs_f64());
    let name = if is_stream(output) { "stdout".to_owned() } else { text::file_name(output) };
    let facts = facts.with_file(&name, summary.written.model);
    Ok(match &summary.written.data {
        Some((path, size)) => facts.with_file(&text::file_name(path), *size),
        None => facts,
    })
}

/// Removes temporary files when the export is interrupted.
pub(super) fn handle_signals() {
    // If no handler can be set, a hidden temporary file may stay.
    let _ = ctrlc::set_handler(|| {
        aten2onnx_onnx::discard_all();
        std::process::exit(130);
    });
}

/// Refuses descriptions of inputs for a program that records them. Python passes the arguments of a call for any file.
fn refuse_inputs(path: &Path) -> Result<()> {
    let archive = Archive::of_file(open(path)?);
    match archive.as_ref().map(ArchiveForm::of) {
        Ok(ArchiveForm::Pt2 | ArchiveForm::FlatPt2) => {
            let message =
                "`--input` describes inputs of a TorchScript file, and a program of torch.export records its inputs";
            Err(Error::unsupported(message)
                .at(path.display().to_string())
                .help("omit `--input`; `--dim` names and fixes sizes"))
        }
        _ => Ok(()),
    }
}

pub(super) fn options(args: &Args, build: &Rules) -> Result<Options> {
    let mut options = args.options.clone();
    options.output.rules = args.mappings.over(build)?;
    options.on_trace = Some(report::say);
    if !args.adapter.is_empty() {
        options.adapters.get_or_insert_with(|| "lora_".to_owned());
    }
    Ok(options)
}

/// `NAME=FILE`
fn adapter(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write NAME=FILE, such as `math=math/adapter_model.safetensors`")?;
    if name.is_empty() || name.contains(['/', '\\']) || file.is_empty() {
        return Err("the name is that of a file without a folder, and the file is not empty".to_owned());
    }
    Ok((name.to_owned(), PathBuf::from(file)))
}

/// Whether the path is stdin or stdout.
pub(super) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn output(args: &Args, input: &Path) -> Result<PathBuf> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None if is_stream(input) => {
            let error = Error::new(Kind::Io, "a model from stdin has no file name");
            Err(error.help("give the output: `-o model.onnx`, or `-o -` for stdout"))
        }
        None => Ok(input.with_extension("onnx")),
    }
}

/// Opens a file, or reads stdin.
pub fn open(path: &Path) -> Result<Arc<MappedFile>> {
    if !is_stream(path) {
        let explained =
            |error| aten2onnx_archive::wrong::unopened(path, aten2onnx_onnx::read::with_pieces(error, path));
        return MappedFile::open(path).map_err(explained);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::from(error).at("stdin"))?;
    Ok(MappedFile::from_bytes("stdin", bytes))
}

/// Writes to the file, or to the given stream.
pub(super) type Writing<'a> = dyn FnMut(Option<&mut dyn Write>, &mut Progress<'_>) -> Result<Written> + 'a;

/// Writes a model, and shows how far it is if it is large.
pub(super) fn written(output: &Path, quiet: bool, write: &mut Writing<'_>) -> Result<Written, Stop> {
    let mut line = Line::new(quiet);
    let mut progress = |done: u64, total: u64| {
        line.show(done, total);
        Ok(())
    };
    if !is_stream(output) {
        let written = write(None, &mut progress);
        line.clear();
        let written = written?;
        note_pieces(&written, quiet);
        return Ok(written);
    }
    if io::stdout().is_terminal() {
        let error = Error::new(Kind::Io, "a model cannot be written to a terminal");
        return Err(error.help("use `|` or `>`, or write to a file: `-o model.onnx`").into());
    }
    let mut out = Pipe { out: io::stdout().lock(), error: None };
    let written = write(Some(&mut out), &mut progress);
    line.clear();
    match out.error {
        Some(error) => Err(stopped(error)),
        None => Ok(written?),
    }
}

/// Tells of an earlier save of the same files that was interrupted.
pub(super) fn note_pieces(written: &Written, quiet: bool) {
    if let Some(advice) = written.advice().filter(|_| !quiet) {
        report::note(&advice);
    }
}

/// Stdout, which stores its first error.
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

/// A line about the written model.
pub(super) fn summary(summary: &Summary, output: &Path) -> String {
    let written = &summary.written;
    let name = if is_stream(output) { "stdout".to_owned() } else { output.display().to_string() };
    format!(
        "{name}: opset {}, IR {}, {}, {} of weights{} in {}",
        summary.opset,
        summary.ir,
        text::count(summary.nodes, "node"),
        text::bytes(written.weights),
        text::files(written),
        text::duration(summary.took),
    )
}
