//! `aten2onnx diff`

use std::path::PathBuf;

use super::pipelines;
use super::report::{self, Stop};
use super::text;
use aten2onnx_core::error::Error;
use aten2onnx_pipelines::diff::{Section, diff};
use aten2onnx_report::differences::{self, Differences};

const EXAMPLES: &str = "\
Examples:
  aten2onnx diff old.onnx new.onnx                     what differs; the exit code is 1 if anything does
  aten2onnx diff torch.onnx aten2onnx.onnx             two exporters
  aten2onnx diff old.onnx new.onnx --html diff.html    a page beside the text
  aten2onnx diff old.onnx new.onnx --random 0          also the first value that differs, with the Python package";

/// Show what differs between two .onnx files: interfaces, weights, functions and nodes
///
/// Nodes are compared by what they compute, whatever their names are. The exit code is 1 if the models differ. With the Python package
/// and ONNX Runtime, both are also run, and the first value that differs is named.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The first .onnx file
    #[arg(value_name = "A.onnx")]
    first: PathBuf,
    /// The second .onnx file
    #[arg(value_name = "B.onnx")]
    second: PathBuf,
    /// Run both models with these inputs, arrays by name (needs the Python package)
    #[arg(long, value_name = "DATA.npz", conflicts_with = "random")]
    inputs: Option<PathBuf>,
    /// Run both models with random inputs, which follow from the number (needs the Python package)
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// The size of a symbolic dimension of random inputs [default: 2]
    #[arg(long = "size", value_name = "batch=3", requires = "random")]
    sizes: Vec<String>,
    /// The allowed relative difference of values [default: by dtype, 1e-3 for float32]
    #[arg(long, value_name = "NUMBER")]
    rtol: Option<f64>,
    /// The allowed absolute difference of values [default: by dtype]
    #[arg(long, value_name = "NUMBER")]
    atol: Option<f64>,
    /// Also write a page, in one file
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Read external data also through symbolic links that lead out of the model's folder, as in a cache of Hugging Face
    #[arg(long)]
    follow_links: bool,
    /// Print nothing: the exit code says whether the models differ
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn diff_models(args: &Args) -> Result<(), Stop> {
    if args.inputs.is_some() || args.random.is_some() {
        let error = Error::unsupported("models are run in ONNX Runtime, which this program does not have");
        return Err(error.help("use the command of the Python package: `python -m aten2onnx diff ..`").into());
    }
    if args.rtol.is_some() || args.atol.is_some() {
        let error = Error::unsupported("`--rtol` and `--atol` are of values, and no value is compared");
        return Err(error.help("run the models: `--inputs DATA.npz` or `--random SEED`").into());
    }
    let first = pipelines::read(&args.first, args.follow_links)?;
    let second = pipelines::read(&args.second, args.follow_links)?;
    let sections = diff(&first, &second)?.sections;
    if let Some(path) = &args.html {
        let shown = sections.iter().map(|section| (section.title.to_owned(), section.lines.clone())).collect();
        let names = [&args.first, &args.second].map(|path| text::file_name(path));
        let [first, second] = names;
        differences::save(&Differences { first, second, sections: shown, values: Vec::new() }, path)?;
    }
    if !args.quiet {
        let section = |section: &Section| {
            let lines: Vec<String> = section.lines.iter().map(|line| format!("  {line}\n")).collect();
            format!("{}\n{}", section.title, lines.concat())
        };
        let shown: Vec<String> = sections.iter().map(section).collect();
        let text = if shown.is_empty() { "the models are equal\n".to_owned() } else { shown.join("\n") };
        report::print(&text)?;
    }
    if sections.is_empty() { Ok(()) } else { Err(Stop::Failed) }
}
