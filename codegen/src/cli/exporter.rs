//! `exporter`: a workspace with an exporter for one opset.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use aten2onnx_build::single_opset::{self, Aim};
use aten2onnx_codegen::exporter::{self, Request, Runtime, folder_digest};
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_with_base};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::nearest::nearest;
use aten2onnx_schemas::targets::Release;

use super::report::{Stop, count, read, say, shown_errors, sound_rules};

const EXAMPLES: &str = "\
Examples:
  aten2onnx-codegen exporter --opset 13 --name acme-onnx --out acme-onnx                     all operators
  aten2onnx-codegen exporter --opset 13 --for model.pt2 --name acme-onnx --out acme-onnx     those of a model
  aten2onnx-codegen exporter --opset 11 --ops operators.txt --name acme-onnx --out acme-onnx";

/// Write a workspace with an exporter for one opset: a library, a command, a C interface and a Python module
///
/// It holds the rules as they are at the opset, of the operators that are wanted and of what they reach. docs/maintainers.md is a walk through it.
/// If the folder holds an exporter already, it is brought up to date: files that were changed by hand are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The opset
    #[arg(long, value_name = "N")]
    opset: u32,
    /// The name of the exporter, such as `acme-onnx`: of its crates, its command, its library and, with `_`, of its functions in C
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The folder, which is created
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The operators: a file with one a line, such as `aten::add.Tensor`, or `aten::add` for all its overloads
    #[arg(long, value_name = "FILE")]
    ops: Option<PathBuf>,
    /// The operators of these models
    #[arg(long = "for", value_name = "MODEL.pt2", num_args = 1..)]
    models: Vec<PathBuf>,
    /// The runtime that models are for, such as `tensorrt-8.6`; `aten2onnx targets` lists them
    #[arg(long, value_name = "RUNTIME")]
    target: Option<String>,
    /// A folder with mapping files of your own operators
    #[arg(long, value_name = "DIR")]
    own_mappings: Option<PathBuf>,
    /// The crates that it runs on: the path of a checkout (by default this one), a version such as `=0.1.0`, `git+URL#REVISION`, or `copy` for
    /// copies of their sources in the folder
    #[arg(long, value_name = "WHERE")]
    aten2onnx: Option<String>,
}

/// Runs the command.
pub fn write_exporter(mappings: &Path, args: &Args) -> Result<(), Stop> {
    exporter::check_name(&args.name)?;
    // The command may be run in a folder of the vendor.
    let is_here = mappings.exists() || mappings != Path::new("mappings");
    let mappings = if is_here { mappings } else { Path::new(aten2onnx_mappings::FOLDER) };
    let checkout = mappings.join("..");
    let runtime = Runtime::of(args.aten2onnx.as_deref(), &checkout)?;
    let own = args.own_mappings.as_deref().map(exporter::own_files).transpose()?.unwrap_or_default();
    let checked = checked(mappings, args.own_mappings.as_deref())?;
    let target = args.target.as_deref().map(|name| target(&checked.schemas, name, args.opset)).transpose()?;
    let wanted = wanted(&checked, args)?;
    let aim = Aim { opset: args.opset, runtime: target.as_deref() };
    let cut = single_opset::generate(&checked, &aim, wanted.as_ref())?;
    let request = Request {
        name: &args.name,
        opset: args.opset,
        target: args.target.as_deref(),
        cut: &cut,
        chosen: chosen(args),
        mappings: folder_digest(mappings)?,
        own,
        runtime: &runtime,
        lock: std::fs::read_to_string(checkout.join("Cargo.lock")).ok(),
    };
    let files = exporter::files(&request)?;
    let report = exporter::write(&request, &files, &args.out)?;
    report.lines.iter().for_each(|line| say(line));
    let lines: usize = cut.files.iter().map(|(_, text)| text.lines().count()).sum();
    let done = if report.is_new { "written" } else { "up to date" };
    let rules = count(cut.overloads.len(), "operator");
    say(&format!("{}: {done}, {rules} at opset {}, {lines} lines of rules", args.out.display(), args.opset));
    Ok(())
}

/// The rules, with those of the vendor over them.
fn checked(mappings: &Path, own: Option<&Path>) -> Result<Checked, Stop> {
    let Some(own) = own else { return sound_rules(mappings) };
    let read = |folder: &Path| Sources::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()));
    shown_errors(check_with_base(read(mappings)?, read(own)?, Schemas::load(mappings)?))
}

/// The overloads that are wanted; None for all.
fn wanted(checked: &Checked, args: &Args) -> Result<Option<BTreeSet<String>>, Stop> {
    if args.ops.is_none() && args.models.is_empty() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    // The vendor's own operators are always part of it.
    let own = checked.program.operator_maps().filter(|map| checked.base > 0 && checked.is_own(map.function.span.file));
    names.extend(own.map(|map| map.function.name.clone()));
    if let Some(path) = &args.ops {
        names.extend(listed(checked, path)?);
    }
    if !args.models.is_empty() {
        let text = of_models(args)?;
        names.extend(single_opset::resolve(checked, text.lines())?);
    }
    Ok(Some(names))
}

/// The overloads that a file lists.
fn listed(checked: &Checked, path: &Path) -> Result<BTreeSet<String>, Stop> {
    let mut found = single_opset::resolve(checked, [])?;
    let text = read(path)?;
    let mut count = 0;
    for (number, line) in text.lines().enumerate() {
        let name = line.split('#').next().unwrap_or_default().trim();
        if !name.is_empty() {
            let meant = single_opset::resolve(checked, [name]);
            found.extend(meant.map_err(|reason| format!("{}:{}: {reason}", path.display(), number + 1))?);
            count += 1;
        }
    }
    match count {
        0 => Err(Stop::Unable(format!(
            "{}: it names no operator; write one a line, such as `aten::add.Tensor`",
            path.display()
        ))),
        _ => Ok(found),
    }
}

/// The overloads that models need, one a line: what `aten2onnx ops --of` says.
fn of_models(args: &Args) -> Result<String, Stop> {
    let exporter = super::try_rules::program()?;
    let mut command = Command::new(&exporter);
    command.arg("ops");
    if let Some(own) = &args.own_mappings {
        command.arg("--mappings").arg(own);
    }
    let output = command.arg("--of").args(&args.models).output();
    let output = output.map_err(|e| format!("{}: {e}", exporter.display()))?;
    let told = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    if !told.is_empty() {
        say(&told);
    }
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Stop::Wrong),
    }
}

/// The runtime of a target without its release.
fn target(schemas: &Schemas, name: &str, opset: u32) -> Result<String, Stop> {
    let named = |release: &Release, runtime: &str| match release.name.is_empty() {
        true => runtime.to_owned(),
        false => format!("{runtime}-{}", release.name),
    };
    let mut all = Vec::new();
    for runtime in &schemas.runtimes {
        let newest = runtime.release.first().map(|release| (runtime.runtime.clone(), release));
        let releases = runtime.release.iter().map(|release| (named(release, &runtime.runtime), release));
        for (full, release) in newest.into_iter().chain(releases) {
            if full == name {
                let oldest = release.oldest_opset.unwrap_or(schemas.opsets.min);
                let newest = release.newest_opset;
                if !(oldest..=newest).contains(&opset) {
                    let text = format!("`--target {name}` takes opsets {oldest} to {newest}, not {opset}");
                    return Err(Stop::Unable(text));
                }
                return Ok(runtime.runtime.clone());
            }
            all.push(full);
        }
    }
    let near = nearest(name, all.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
    Err(Stop::Unable(format!("there is no runtime `{name}`{}", near.unwrap_or_default())))
}

/// How the operators were named.
fn chosen(args: &Args) -> String {
    let file = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut parts = Vec::new();
    parts.extend(args.ops.as_ref().map(|path| format!("--ops {}", file(path))));
    if !args.models.is_empty() {
        parts.push(format!("--for {}", args.models.iter().map(file).collect::<Vec<_>>().join(" ")));
    }
    if parts.is_empty() { "all".to_owned() } else { parts.join(" ") }
}
