//! `aten2onnx targets`: the runtimes for `--target`.

use super::report::{self, Stop};
use aten2onnx_onnx::targets::TARGETS;

/// List the runtimes for `--target`: the opsets and IR versions that they support, and what they lack
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also print the source of each fact
    #[arg(long)]
    sources: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Stop> {
    let mut text = format!("{:20} {:10} {:8} {}\n", "name", "opsets", "IR up to", "");
    for target in TARGETS {
        let opsets = format!("{} to {}", target.oldest_opset, target.newest_opset);
        let ir = target.newest_ir.map_or_else(|| "?".to_owned(), |ir| ir.to_string());
        let lacks = match target.lacks.len() {
            0 => String::new(),
            count => format!(", without {count} operators"),
        };
        text.push_str(&format!("{:20} {opsets:10} {ir:8} {}{lacks}\n", target.name(), target.what));
        if args.sources {
            text.push_str(&format!("    {}\n", target.source));
            if !target.lacks.is_empty() {
                text.push_str(&format!("    without {}\n", target.lacks.join(", ")));
            }
        }
    }
    report::print(&text)
}
