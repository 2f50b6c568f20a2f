//! `dump`: the generated Rust, for reading.

use std::path::{Path, PathBuf};

use aten2onnx_build::generate;

use super::report::{Stop, count, say, sound_rules, write};

/// Write the generated Rust into a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory, which is created if it does not exist
    #[arg(value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub fn dump_code(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let checked = sound_rules(mappings)?;
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let files = generate(&checked)?;
    for (name, text) in &files {
        write(&args.out.join(name), text)?;
    }
    say(&format!("{} in {}", count(files.len(), "file"), args.out.display()));
    Ok(())
}
