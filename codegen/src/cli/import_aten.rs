//! `import-aten`: what changes with another release of PyTorch, which rules are affected, and what it makes of what is new.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aten2onnx_codegen::mentions::Mentions;
use aten2onnx_codegen::new_torch::{Environment, Release, Rules, Tried, is_version, tried_report};
use aten2onnx_codegen::upgrade::aten_report;
use aten2onnx_opmap::{Checked, resolve_dir, resolve_dir_with};
use aten2onnx_schemas::aten::AtenSchemas;
use aten2onnx_schemas::{Schemas, snapshot_of};

use super::report::{Stop, print, read, say, write};

const EXAMPLES: &str = "\
Examples:
  aten2onnx-codegen import-aten 2.14                          install it in an environment that is deleted, and report
  aten2onnx-codegen import-aten 2.14 --write                  and replace the snapshots
  aten2onnx-codegen import-aten --installed .venv/bin/python  the PyTorch of an interpreter
  aten2onnx-codegen import-aten aten.txt prims.txt            snapshots that tools/schemas/dump_aten.py wrote";

/// Compare the snapshots of PyTorch's schemas with another release
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A release, which is installed from the package registry; or new snapshots, one for each namespace
    #[arg(value_name = "VERSION|NEW.txt", required_unless_present = "installed")]
    what: Vec<String>,
    /// Ask the PyTorch of this interpreter, and install nothing
    #[arg(long, value_name = "PYTHON", conflicts_with = "what")]
    installed: Option<PathBuf>,
    /// Replace the old snapshots with the new ones
    #[arg(long)]
    write: bool,
    /// Only report, which is the default
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,
    /// The interpreter that makes the environment
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// A folder with the package aten2onnx, whose recorder is tried
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
}

/// The new snapshots by file name, and the release that they come from if it can be asked.
struct New {
    files: Vec<(String, String)>,
    environment: Option<Environment>,
}

/// Runs the command.
pub fn import_pytorch(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let new = found(args)?;
    let (before, after) = all_schemas(mappings, &new.files)?;
    let mentions = Mentions::of(&resolve_dir(mappings)?);
    let rules = Rules::new(resolved_with(mappings, &new.files)?);
    print(&aten_report(&before, &after, &|op| mentions.files(op)))?;
    let differs = after.iter().filter(|schema| before.get(&schema.name) != Some(schema));
    let names: BTreeSet<String> = differs.map(|schema| schema.name.clone()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let tried = match &new.environment {
        Some(environment) if !names.is_empty() => {
            Tried::parse(&environment.ask("try", &names.join("\n"), args.package.as_deref())?)?
        }
        _ => Vec::new(),
    };
    print(&tried_report(&names, &rules, &tried))?;
    if tried.iter().any(|one| one.call.is_some()) && tried.iter().all(|one| one.recorded.is_none()) {
        say("the recorder was not tried: name a folder with the package aten2onnx by `--package`");
    }
    if args.write {
        for (file, text) in &new.files {
            let path = mappings.join("schemas").join(file);
            write(&path, text)?;
            say(&format!("wrote {}", path.display()));
        }
        say("run `check` to see which headers no longer match");
    }
    Ok(())
}

fn found(args: &Args) -> Result<New, Stop> {
    let environment = match (&args.installed, args.what.as_slice()) {
        (Some(python), _) => Environment::of(python)?,
        (None, [version]) if is_version(version) && !Path::new(version).exists() => {
            say(&format!("installing PyTorch {version}, which may take minutes"));
            Environment::install(version, &args.python)?
        }
        (None, files) => return of_files(files),
    };
    let release = Release::parse(&environment.ask("schemas", "", None)?)?;
    let files = release.snapshots()?.into_iter().map(|(file, text)| (file.to_owned(), text)).collect();
    Ok(New { files, environment: Some(environment) })
}

fn of_files(paths: &[String]) -> Result<New, Stop> {
    let mut files = Vec::new();
    for path in paths {
        let text = read(Path::new(path))?;
        let schemas = parsed(path, &text)?;
        let Some(name) = snapshot_of(&schemas) else {
            return Err(Stop::Unable(format!("{path}: not the schemas of one known namespace")));
        };
        files.push((name.to_owned(), text));
    }
    Ok(New { files, environment: None })
}

/// The schemas of all namespaces that have a new snapshot: those of today, and the new ones.
fn all_schemas(mappings: &Path, files: &[(String, String)]) -> Result<(AtenSchemas, AtenSchemas), Stop> {
    let mut before = Vec::new();
    for (file, text) in files {
        let path = mappings.join("schemas").join(file);
        let old = read(&path)?;
        parsed(&path.display().to_string(), &old)?;
        parsed(file, text)?;
        before.push(old);
    }
    let after = files.iter().map(|(_, text)| text.as_str());
    Ok((AtenSchemas::index(before.iter().map(String::as_str))?, AtenSchemas::index(after)?))
}

fn parsed(name: &str, text: &str) -> Result<AtenSchemas, Stop> {
    AtenSchemas::parse(text).map_err(|error| Stop::Unable(format!("{name}: {error}")))
}

/// The rules, resolved against the new snapshots.
fn resolved_with(mappings: &Path, files: &[(String, String)]) -> Result<Checked, Stop> {
    let schemas = Schemas::load_with(mappings, &|name| {
        files.iter().find(|(file, _)| name.strip_prefix("schemas/") == Some(file)).map(|(_, text)| text.clone())
    })?;
    Ok(resolve_dir_with(mappings, schemas)?)
}
