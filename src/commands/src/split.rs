//! `aten2onnx split`

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use super::export;
use super::pipelines::{self, Names, Weights};
use super::progress::Line;
use super::report::{self, Stop};
use super::text;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_onnx::Written;
use aten2onnx_onnx::targets::Target;
use aten2onnx_options::{InputSpec, find_target, parse_bytes};
use aten2onnx_pipelines::split::{By, Options, Split, split};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx split model.onnx --parts 2 -o DIR                DIR/model-1.onnx, DIR/model-2.onnx and DIR/model.json
  aten2onnx split model.onnx --at layer2,layer4 -o DIR       three parts: the modules begin the second and the third
  aten2onnx split model.onnx --bytes 500MB -o DIR            parts for a browser
  aten2onnx split model.onnx --target tensorrt-8.6 -o DIR    what the runtime does not run in parts of its own
  aten2onnx split llm.onnx --parts 4 -o . --external-data link   weights stay where they are";

/// Write an .onnx file as parts that run one after the other
///
/// NAME.json lists the files in their order, with their inputs and outputs: values of the same name are the same. In Python,
/// `aten2onnx.Pipeline("DIR/NAME.json")` runs the parts in ONNX Runtime.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .onnx file
    #[arg(value_name = "IN.onnx")]
    input: PathBuf,
    #[command(flatten)]
    by: Cut,
    /// The folder of the parts, which is made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The type of a value between parts, if the model does not declare it
    #[arg(long = "type", value_name = "x:f32[batch,3]")]
    types: Vec<InputSpec>,
    #[command(flatten)]
    weights: Weights,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Where the model is cut.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Cut {
    /// Cut before each of these modules, nodes or values; `\\,` is a comma in a name
    #[arg(long, value_name = "NAMES")]
    at: Vec<Names>,
    /// Cut after so many nodes; those that compute constants do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Cut where the weights of a part would take more, such as `500MB` or `1GiB`
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    bytes: Option<u64>,
    /// Cut into so many parts, whose weights take about the same number of bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    parts: Option<u32>,
    /// Cut around what a runtime does not run, such as `tensorrt-8.6`; what it runs is written for it, as `convert --target` does
    #[arg(long, value_name = "NAME", value_parser = find_target)]
    target: Option<&'static Target>,
}

impl Cut {
    fn by(&self) -> By {
        let by = [
            self.nodes.map(|count| By::Nodes(count as usize)),
            self.bytes.map(By::Bytes),
            self.parts.map(|count| By::Parts(count as usize)),
            self.target.map(By::Target),
        ];
        by.into_iter().flatten().next().unwrap_or_else(|| By::Places(Names::all(&self.at)))
    }
}

/// Runs the command.
pub fn split_model(args: &Args, rules: &Rules) -> Result<(), Stop> {
    export::handle_signals();
    let start = Instant::now();
    let name = args.input.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy().into_owned());
    if export::is_stream(&args.input) || export::is_stream(&args.output) {
        let error = Error::new(Kind::Io, "a model from a stream has no name for its parts, and a stream is no folder");
        return Err(error.help("save the model to a file, and give a folder: `-o DIR`").into());
    }
    let source = pipelines::read(&args.input, args.weights.follow_links)?;
    let options = Options { by: args.by.by(), types: args.types.clone(), external_data: args.weights.external_data };
    let made = split(&source, &name, &options, rules)?;
    let is_new = !args.output.exists();
    aten2onnx_export::many::make_folder(&args.output)?;
    let written = written(args, &made, &name);
    if is_new && written.is_err() {
        // It is empty then. What cannot be removed is not worth another error.
        let _ = fs::remove_dir(&args.output);
    }
    let written = written?;
    if !args.quiet {
        say(args, &made, &written, start);
        let count = text::count(made.parts.len(), "part");
        let list = args.output.join(format!("{name}.json"));
        report::say(&format!("{}: {count} in {}", list.display(), text::duration(start.elapsed())));
    }
    Ok(())
}

/// Writes the parts, and shows how far it is.
fn written(args: &Args, made: &Split, name: &str) -> Result<Vec<Written>> {
    let mut line = Line::new(args.quiet);
    let written = made.write(&args.output, name, &mut |done, total| {
        line.show(done, total);
        Ok(())
    });
    line.clear();
    written
}

/// Says what the parts are, and which the target does not run.
fn say(args: &Args, made: &Split, written: &[Written], start: Instant) {
    let mut notes: Vec<&String> = made.parts.iter().flat_map(|part| &part.notes).collect();
    notes.dedup();
    notes.into_iter().for_each(|text| report::note(text));
    for (wired, written) in made.wiring.parts.iter().zip(written) {
        export::note_pieces(written, args.quiet);
        let path = args.output.join(&wired.file);
        report::say(&pipelines::summary(written, &path, wired.nodes, start));
        let target = made.wiring.target.as_deref().unwrap_or_default();
        if let Some(first) = wired.reasons.first() {
            let more = match wired.reasons.len() {
                1 => String::new(),
                count => format!(", and {} more", text::count(count - 1, "node")),
            };
            report::note(&format!("{} is not for {target}: {first}{more}", wired.file));
        }
    }
}
