//! `aten2onnx split`

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::export;
use super::pipelines::{self, Weights};
use super::report::{self, Stop};
use super::text;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_onnx::write::{Staged, io_failed};
use aten2onnx_options::InputSpec;
use aten2onnx_pipelines::split::{By, Options, Split, split};
use aten2onnx_rules::Rules;

const EXAMPLES: &str = "\
Examples:
  aten2onnx split model.onnx --parts 2 -o DIR                DIR/model-1.onnx, DIR/model-2.onnx and DIR/model.json
  aten2onnx split model.onnx --at layer2,layer4 -o DIR       three parts: the modules begin the second and the third
  aten2onnx split model.onnx --bytes 500MB -o DIR            parts for a browser
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
    /// Cut before each of these modules, nodes or values
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    at: Vec<String>,
    /// Cut after so many nodes; those that compute constants do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Cut where the weights of a part would take more, such as `500MB` or `1GiB`
    #[arg(long, value_name = "SIZE", value_parser = text::parse_bytes)]
    bytes: Option<u64>,
    /// Cut into so many parts, whose weights take about the same number of bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    parts: Option<u32>,
}

impl Cut {
    fn by(&self) -> By {
        match (self.nodes, self.bytes, self.parts) {
            (Some(count), ..) => By::Nodes(count as usize),
            (_, Some(limit), _) => By::Bytes(limit),
            (.., Some(count)) => By::Parts(count as usize),
            (None, None, None) => By::Places(self.at.clone()),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, rules: &Rules) -> Result<(), Stop> {
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
    aten2onnx_export::many::make_folder(&args.output)?;
    let list = args.output.join(format!("{name}.json"));
    // Where the list exists, the parts are those that it lists.
    remove(&list)?;
    let mut written = Vec::new();
    let done = write_parts(args, &made, &mut written, start).and_then(|()| Ok(write_list(&list, &made)?));
    if done.is_err() {
        // Nothing half-written is left behind. What cannot be removed is not worth another error.
        written.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    done?;
    if !args.quiet {
        let count = text::count(made.parts.len(), "part");
        report::say(&format!("{}: {count} in {}", list.display(), text::duration(start.elapsed())));
    }
    Ok(())
}

fn write_parts(args: &Args, made: &Split, files: &mut Vec<PathBuf>, start: Instant) -> Result<(), Stop> {
    for (part, wired) in made.parts.iter().zip(&made.wiring.parts) {
        let path = args.output.join(&wired.file);
        let written = export::written(&path, args.quiet, &mut |_, progress| part.write_file(&path, progress))?;
        files.extend([Some(path.clone()), written.data.clone().map(|(data, _)| data)].into_iter().flatten());
        if !args.quiet {
            report::say(&pipelines::summary(&written, &path, wired.nodes, start));
        }
    }
    Ok(())
}

fn write_list(path: &Path, made: &Split) -> Result<()> {
    // Serializing text and numbers cannot fail.
    let json = serde_json::to_string_pretty(&made.wiring).unwrap_or_default();
    let mut staged = Staged::create(path)?;
    staged.file().write_all(format!("{json}\n").as_bytes()).map_err(|error| io_failed(path, &error))?;
    staged.commit()
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::new(Kind::Io, format!("cannot replace `{}`: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
