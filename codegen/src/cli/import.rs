//! `import-onnx`, `import-aten`: what a newer snapshot of the schemas changes, and for which rules.

use std::path::{Path, PathBuf};

use aten2onnx_codegen::check_dir;
use aten2onnx_codegen::schema::aten::AtenSchemas;
use aten2onnx_codegen::schema::onnx::OnnxSchemas;
use aten2onnx_codegen::schema::{facts, snapshot_of};
use aten2onnx_codegen::upgrade::{aten_report, onnx_report};
use aten2onnx_codegen::uses::Uses;

use super::report::{Stop, print, read, say, write};

/// Compare the snapshot of ONNX's schemas with a new one
#[derive(Debug, clap::Args)]
pub struct OnnxArgs {
    /// The new snapshot, as mappings/schemas/dump_onnx.py writes it
    #[arg(value_name = "NEW.txt")]
    new: PathBuf,
    /// Put the new snapshot in the place of the old one
    #[arg(long)]
    write: bool,
}

/// Compare snapshots of PyTorch's schemas with new ones
#[derive(Debug, clap::Args)]
pub struct AtenArgs {
    /// The new snapshots, as mappings/schemas/dump_aten.py writes them: one for each namespace
    #[arg(value_name = "NEW.txt", required = true)]
    new: Vec<PathBuf>,
    /// Put the new snapshots in the place of the old ones
    #[arg(long)]
    write: bool,
}

/// Runs `import-onnx`.
pub fn onnx(mappings: &Path, args: &OnnxArgs) -> Result<(), Stop> {
    let text = read(&args.new)?;
    let path = mappings.join("schemas/onnx.txt");
    let new = OnnxSchemas::parse(&text).map_err(|e| format!("{}: {e}", args.new.display()))?;
    let old = OnnxSchemas::parse(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
    let uses = Uses::of(&check_dir(mappings)?);
    print(&onnx_report(&old, &new, &|op| uses.files(op)))?;
    let opsets = facts::Opsets::parse(&read(&mappings.join("opsets.toml"))?)?;
    let newest = new.ops.values().flatten().map(|v| v.since).max().unwrap_or(0);
    if newest > opsets.max {
        say(&format!("opsets.toml ends at {}: opset {newest} is to be added there", opsets.max));
    }
    if args.write {
        write(&path, &text)?;
        say(&format!("{} is written; `check` tells what the rules now lack", path.display()));
    }
    Ok(())
}

/// Runs `import-aten`.
pub fn aten(mappings: &Path, args: &AtenArgs) -> Result<(), Stop> {
    let uses = Uses::of(&check_dir(mappings)?);
    let mut written = Vec::new();
    for file in &args.new {
        let text = read(file)?;
        let new = AtenSchemas::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let Some(name) = snapshot_of(&new) else {
            return Err(Stop::Unable(format!("{}: not the schemas of one namespace that we know", file.display())));
        };
        let path = mappings.join("schemas").join(name);
        let old = AtenSchemas::parse(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
        print(&aten_report(&old, &new, &|op| uses.files(op)))?;
        written.push((path, text));
    }
    if args.write {
        for (path, text) in &written {
            write(path, text)?;
            say(&format!("{} is written", path.display()));
        }
        say("`check` tells which headers no longer hold");
    }
    Ok(())
}
