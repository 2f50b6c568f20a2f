//! `import-onnx`: what changes with a newer snapshot of the schemas, and which rules are affected.

use std::path::{Path, PathBuf};

use aten2onnx_codegen::mentions::Mentions;
use aten2onnx_codegen::snapshot::merged;
use aten2onnx_codegen::upgrade::onnx_report;
use aten2onnx_opmap::check_dir;
use aten2onnx_opmap::schema::facts;
use aten2onnx_opmap::schema::onnx::OnnxSchemas;

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
