//! `import-onnx`: adds a release of ONNX to the snapshot, and reports what it changes and what has to be written.

use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_codegen::snapshot::{merged, up_to};
use aten2onnx_codegen::upgrade::onnx::touched::Touched;
use aten2onnx_codegen::upgrade::onnx::{Release, Said, onnx_report, opsets, package};
use aten2onnx_opmap::resolve_dir;
use aten2onnx_schemas::facts::Opsets;
use aten2onnx_schemas::onnx::OnnxSchemas;

use super::report::{Stop, count, print, read, say};

const EXAMPLES: &str = "\
Examples:
  aten2onnx-codegen import-onnx 1.24.0rc1 --dry-run   what the release would change
  aten2onnx-codegen import-onnx 1.24.0 > report.md    add it, and keep the report
  git checkout mappings                               undo it";

/// Add a release of ONNX to the snapshot of its operators, and report what it changes
///
/// Nothing in the snapshot is replaced or removed. The report says for each operator what changed, which rules and targets it touches, and
/// what has to be written by hand, with skeletons and with examples from ONNX's own tests.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A version of the package onnx, which is installed in an environment of its own and deleted, or a snapshot of another version
    #[arg(value_name = "VERSION|FILE")]
    release: String,
    /// Only report
    #[arg(long)]
    dry_run: bool,
    /// Leave opsets after this one for later
    #[arg(long, value_name = "OPSET")]
    up_to: Option<u32>,
    /// The Python that installs the version, or has it (default: ATEN2ONNX_PYTHON, .venv, python3)
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
}

/// Runs the command.
pub fn import_onnx(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let path = mappings.join("schemas/onnx.txt");
    let old_text = read(&path)?;
    let old = OnnxSchemas::parse(&old_text).map_err(|e| format!("{}: {e}", path.display()))?;
    let opsets_path = mappings.join("opsets.toml");
    let opsets_text = read(&opsets_path)?;
    let known = Opsets::parse(&opsets_text).map_err(|e| format!("{}: {e}", opsets_path.display()))?;
    let (text, said) = given(mappings, args, known.max)?;
    let text = args.up_to.map_or_else(|| text.clone(), |opset| up_to(&text, opset));
    let new = OnnxSchemas::parse(&text).map_err(|e| format!("{}: {e}", args.release))?;
    if new.ops.is_empty() {
        return Err(Stop::Unable(format!(
            "{}: there is no operator in it: give a snapshot such as {}",
            args.release,
            path.display()
        )));
    }
    let touched = Touched::of(&resolve_dir(mappings)?, mappings);
    print(&onnx_report(&Release { old: &old, new: &new, touched: &touched, said: said.as_ref() }))?;
    let (text, added) = merged(&old_text, &text).map_err(|e| format!("{}: {e}", args.release))?;
    let newest = new.ops.values().flatten().map(|v| v.since).max().unwrap_or(0);
    let mut files = vec![(path, text)];
    let mut opsets_added = Vec::new();
    if let Some(said) = &said {
        let (text, added) = opsets::extended(&opsets_text, &said.releases, newest)
            .map_err(|e| format!("{}: {e}", opsets_path.display()))?;
        files.push((opsets_path, text));
        opsets_added = added;
    } else if newest > known.max {
        say(&format!("opsets.toml ends at opset {}: add opset {newest} to it", known.max));
    }
    if args.dry_run {
        say(&format!("nothing is written; without --dry-run, {} would be added", count(added.len(), "version")));
        return Ok(());
    }
    write_all(&files)?;
    say(&format!("added {} to {}", count(added.len(), "version"), files[0].0.display()));
    if !opsets_added.is_empty() {
        let numbers: Vec<String> = opsets_added.iter().map(ToString::to_string).collect();
        say(&format!("added {} to opsets.toml: {}", count(numbers.len(), "opset"), numbers.join(", ")));
    }
    say("run `check` to see what the rules now lack; `git checkout` of both files undoes it");
    Ok(())
}

/// The snapshot of a release and what else it says.
fn given(mappings: &Path, args: &Args, newest: u32) -> Result<(String, Option<Said>), Stop> {
    let file = Path::new(&args.release);
    if file.is_file() {
        return Ok((read(file)?, None));
    }
    if !package::is_version(&args.release) {
        let text = format!("{}: there is no such file, and it is no version such as 1.23.0", args.release);
        return Err(Stop::Unable(text));
    }
    let root = mappings.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let python = args.python.clone().unwrap_or_else(|| python(root));
    let said = package::release(&args.release, newest, &python, &tools(root))?;
    Ok((said.snapshot.clone(), Some(said)))
}

/// The scripts beside the mappings, or those of the checkout that this command was built from.
fn tools(root: &Path) -> PathBuf {
    let beside = root.join("tools/schemas");
    if beside.is_dir() { beside } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/schemas") }
}

fn python(root: &Path) -> PathBuf {
    let own = root.join(if cfg!(windows) { ".venv/Scripts/python.exe" } else { ".venv/bin/python" });
    match std::env::var_os("ATEN2ONNX_PYTHON").filter(|chosen| !chosen.is_empty()) {
        Some(chosen) => chosen.into(),
        None if own.is_file() => own,
        None => PathBuf::from(if cfg!(windows) { "python" } else { "python3" }),
    }
}

/// Writes all files or none: each under another name, and then all names.
fn write_all(files: &[(PathBuf, String)]) -> Result<(), Stop> {
    let staged: Vec<PathBuf> = files.iter().map(|(path, _)| path.with_extension("new")).collect();
    let done = files
        .iter()
        .zip(&staged)
        .try_for_each(|((path, text), stage)| fs::write(stage, text).map_err(|e| format!("{}: {e}", path.display())));
    let done = done.and_then(|()| {
        let mut pairs = files.iter().zip(&staged);
        pairs.try_for_each(|((path, _), stage)| fs::rename(stage, path).map_err(|e| format!("{}: {e}", path.display())))
    });
    if done.is_err() {
        staged.iter().for_each(|stage| drop(fs::remove_file(stage)));
    }
    Ok(done?)
}
