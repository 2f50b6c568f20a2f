//! `aten2onnx diff`

use std::path::PathBuf;

use super::pipelines;
use super::report::{self, Stop};
use aten2onnx_pipelines::diff::diff;

const EXAMPLES: &str = "\
Examples:
  aten2onnx diff old.onnx new.onnx              what differs; the exit code is 1 if anything does
  aten2onnx diff torch.onnx aten2onnx.onnx      two exporters";

/// Show what differs between two .onnx files: interfaces, weights, functions and nodes
///
/// Nodes are compared by what they compute, whatever their names are. The exit code is 1 if the models differ.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The first .onnx file
    #[arg(value_name = "A.onnx")]
    first: PathBuf,
    /// The second .onnx file
    #[arg(value_name = "B.onnx")]
    second: PathBuf,
    /// Read external data also through symbolic links that lead out of the model's folder, as in a cache of Hugging Face
    #[arg(long)]
    follow_links: bool,
    /// Print nothing: the exit code says whether the models differ
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Stop> {
    let first = pipelines::read(&args.first, args.follow_links)?;
    let second = pipelines::read(&args.second, args.follow_links)?;
    let sections = diff(&first, &second)?;
    if !args.quiet {
        let section = |section: &aten2onnx_pipelines::diff::Section| {
            let lines: Vec<String> = section.lines.iter().map(|line| format!("  {line}\n")).collect();
            format!("{}\n{}", section.title, lines.concat())
        };
        let shown: Vec<String> = sections.iter().map(section).collect();
        let text = if shown.is_empty() { "the models are equal\n".to_owned() } else { shown.join("\n") };
        report::print(&text)?;
    }
    if sections.is_empty() { Ok(()) } else { Err(Stop::Failed) }
}
