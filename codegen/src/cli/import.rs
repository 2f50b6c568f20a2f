//! `import-aten`: what changes with newer snapshots of the schemas, and which rules are affected.

use std::path::{Path, PathBuf};

use aten2onnx_codegen::mentions::Mentions;
use aten2onnx_codegen::upgrade::aten_report;
use aten2onnx_opmap::check_dir;
use aten2onnx_opmap::schema::aten::AtenSchemas;
use aten2onnx_opmap::schema::snapshot_of;

use super::report::{Stop, print, read, say, write};

/// Compare snapshots of PyTorch's schemas with new ones
#[derive(Debug, clap::Args)]
pub struct AtenArgs {
    /// The new snapshots, one for each namespace
    #[arg(value_name = "NEW.txt", required = true)]
    new: Vec<PathBuf>,
    /// Replace the old snapshots with the new ones
    #[arg(long)]
    write: bool,
}

/// Runs `import-aten`.
pub fn aten(mappings: &Path, args: &AtenArgs) -> Result<(), Stop> {
    let mentions = Mentions::of(&check_dir(mappings)?);
    let mut written = Vec::new();
    for file in &args.new {
        let text = read(file)?;
        let new = AtenSchemas::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let Some(name) = snapshot_of(&new) else {
            return Err(Stop::Unable(format!("{}: not the schemas of one known namespace", file.display())));
        };
        let path = mappings.join("schemas").join(name);
        let old = AtenSchemas::parse(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
        print(&aten_report(&old, &new, &|op| mentions.files(op)))?;
        written.push((path, text));
    }
    if args.write {
        for (path, text) in &written {
            write(path, text)?;
            say(&format!("wrote {}", path.display()));
        }
        say("run `check` to see which headers no longer match");
    }
    Ok(())
}
