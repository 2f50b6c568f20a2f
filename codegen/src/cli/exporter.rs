//! `exporter`: the Rust of an exporter for one opset.

use std::path::{Path, PathBuf};

use aten2onnx_build::single_opset;

use super::report::{Stop, count, say, sound_rules, write};

/// Write the Rust of an exporter for a single opset into a directory
///
/// Build it with `ATEN2ONNX_GENERATED=DIR cargo build`: the build then uses these files instead of compiling the rules.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The opset
    #[arg(long, value_name = "N")]
    opset: u32,
    /// The directory, which is created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let checked = sound_rules(mappings)?;
    let files = single_opset::generate(&checked, args.opset)?;
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    for (name, text) in &files {
        write(&args.out.join(name), text)?;
    }
    say(&format!("{} in {}", count(files.len(), "file"), args.out.display()));
    Ok(())
}
