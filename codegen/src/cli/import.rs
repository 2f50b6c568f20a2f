//! `import-onnx`, `import-aten`: what changes with newer snapshots of the schemas, and which rules are affected.

use std::path::{Path, PathBuf};

use aten2onnx_codegen::mentions::Mentions;
use aten2onnx_codegen::snapshot::merged;
use aten2onnx_codegen::upgrade::{aten_report, onnx_report};
use aten2onnx_opmap::check_dir;
use aten2onnx_opmap::schema::aten::AtenSchemas;
use aten2onnx_opmap::schema::onnx::OnnxSchemas;
use aten2onnx_opmap::schema::{facts, snapshot_of};

use super::report::{Stop, count, print, read, say, write};

/// Compare the snapshot of ONNX's schemas with a new one
#[derive(Debug, clap::Args)]
pub struct OnnxArgs {
    /// The new snapshot
    #[arg(value_name = "NEW.txt")]
    new: PathBuf,
    /// Add what is new to the snapshot. Nothing in it is replaced or removed
    #[arg(long)]
    write: bool,
    /// Only report, which is the default
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,
}

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

/// Runs `import-onnx`.
pub fn onnx(mappings: &Path, args: &OnnxArgs) -> Result<(), Stop> {
    let text = read(&args.new)?;
    let path = mappings.join("schemas/onnx.txt");
    let new = OnnxSchemas::parse(&text).map_err(|e| format!("{}: {e}", args.new.display()))?;
    let old_text = read(&path)?;
    let old = OnnxSchemas::parse(&old_text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mentions = Mentions::of(&check_dir(mappings)?);
    print(&onnx_report(&old, &new, &|op| mentions.files(op)))?;
    let opsets = facts::Opsets::parse(&read(&mappings.join("opsets.toml"))?)?;
    let newest = new.ops.values().flatten().map(|v| v.since).max().unwrap_or(0);
    if newest > opsets.max {
        say(&format!("opsets.toml ends at opset {}: add opset {newest} to it", opsets.max));
    }
    if args.write {
        let (text, added) = merged(&old_text, &text).map_err(|e| format!("{}: {e}", args.new.display()))?;
        write(&path, &text)?;
        let versions = count(added.len(), "version");
        say(&format!("added {versions} to {}; run `check` to see what the rules now lack", path.display()));
    }
    Ok(())
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
