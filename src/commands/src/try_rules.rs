//! `aten2onnx try`: runs the examples of rules and compares them with PyTorch. The rules are interpreted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::report::{self, Stop};
use super::text;
use super::trial;
use super::watch::{self, Watch};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_examples::{self as examples, Judge, StartedJudge};
use aten2onnx_onnx::targets;
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

const EXAMPLES: &str = "\
Examples:
  aten2onnx try --mappings my_ops.opmap --import my_ops       the examples of the file, against PyTorch
  aten2onnx try --mappings my_ops.opmap --import my_ops mylib::my_op
  aten2onnx try --rules mappings aten::elu Gelu               the built-in rules as they are on disk
  aten2onnx try --rules mappings --watch aten::elu            the same whenever a file is saved: a second or two each
  aten2onnx try --rules mappings --models OUT --target tract  their models for a runtime, which runtimes/examples.py runs";

/// Run the examples of rules and compare them with PyTorch
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Overloads, ONNX operators or .opmap files [default: everything in the mapping files]
    #[arg(value_name = "OP|FILE")]
    wanted: Vec<String>,
    /// Custom rules: an .opmap file, or a folder of them
    #[arg(long, value_name = "FILE|DIR", required_unless_present = "rules")]
    mappings: Vec<PathBuf>,
    /// A folder of rules and schemas that replaces the built-in ones
    #[arg(long, value_name = "DIR", conflicts_with = "mappings")]
    rules: Option<PathBuf>,
    /// A Python module that defines custom operators
    #[arg(long, value_name = "MODULE")]
    import: Vec<String>,
    /// Try again whenever a file of the rules is saved, until Ctrl-C: PyTorch is imported meanwhile
    #[arg(long, conflicts_with = "models")]
    watch: bool,
    /// Write the models of the examples to a file, a JSON object for each, and run nothing
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// The runtime that the models are for [default: none, the operators of lowerings themselves]
    #[arg(long, value_name = "NAME", requires = "models")]
    target: Option<String>,
    /// A Python interpreter with torch, onnx and onnxruntime
    #[arg(long, value_name = "PATH", env = "ATEN2ONNX_PYTHON")]
    python: Option<PathBuf>,
}

/// Runs the command.
pub fn try_examples(args: &Args, build: &Rules) -> Result<(), Stop> {
    let start = Instant::now();
    if let Some(path) = &args.models {
        let (rules, set) = loaded(args.rules.as_deref(), &args.mappings, build)?;
        return write_models(args, path, &set, &selected(args, &set)?, &rules);
    }
    if args.watch {
        return try_when_saved(args, build);
    }
    // It imports PyTorch while the rules are checked, whose errors come first.
    let mut judge = Some(Waiting::new(args));
    if try_once(args, build, &mut judge, start)? { Ok(()) } else { Err(Stop::Failed) }
}

/// Tries the examples now, and again whenever a file is saved. Then the next judge has imported PyTorch already.
fn try_when_saved(args: &Args, build: &Rules) -> Result<(), Stop> {
    let folder = args.rules.as_deref().unwrap_or(Path::new("mappings"));
    let roots = args.mappings.iter().cloned().chain(args.rules.clone()).chain(examples::differences_file(folder));
    let mut watch = Watch::new(roots.collect());
    let mut judge = Some(Ok(Waiting::new(args)?));
    loop {
        let done = try_once(args, build, &mut judge, Instant::now());
        if watch::is_stopped() {
            return Ok(());
        }
        // A judge that fails is shown like errors of rules.
        report::print_error(done.map(|_| ()))?;
        // An error of the rules comes before the judge is asked, which then waits for the next turn.
        if judge.is_none() {
            judge = Some(Ok(Waiting::new(args)?));
        }
        report::say("waiting for a file to be saved; Ctrl-C ends");
        match watch.changed() {
            None => return Ok(()),
            // Facts are read once by a process.
            Some(files) if files.iter().any(|file| is_fact(file)) => {
                drop(judge);
                return again();
            }
            Some(_) => {}
        }
    }
}

/// Tries the examples of the rules as they are, and prints what became of them. Returns whether all is right. The judge is taken if it is asked.
fn try_once(args: &Args, build: &Rules, judge: &mut Option<Result<Waiting>>, start: Instant) -> Result<bool, Stop> {
    let (rules, set) = loaded(args.rules.as_deref(), &args.mappings, build)?;
    let selected = selected(args, &set)?;
    let Waiting { judge, folder: _folder } = judge.take().unwrap_or_else(|| Waiting::new(args))?;
    let expected = args.rules.as_deref().map(trial::expected_failures).unwrap_or_default();
    let trial = trial::try_examples(&selected, &set, &rules, judge)?;
    let (text, is_right) = trial.shown(&|example| expected.contains(example));
    report::print(&format!("{text}, in {}\n", text::duration(start.elapsed())))?;
    Ok(is_right)
}

/// Whether a file has facts of operators or of a runtime, which the rules are checked by.
fn is_fact(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml") && !file.ends_with(examples::DIFFERENCES_FILE)
}

/// Goes on in a new process.
fn again() -> Result<(), Stop> {
    let program = std::env::current_exe().map_err(Error::from)?;
    let status = std::process::Command::new(program).args(std::env::args_os().skip(1)).status().map_err(Error::from)?;
    if status.success() { Ok(()) } else { Err(Stop::Failed) }
}

/// A judge that imports PyTorch, and the folder that it works in.
struct Waiting {
    judge: StartedJudge,
    folder: tempfile::TempDir,
}

impl Waiting {
    fn new(args: &Args) -> Result<Waiting> {
        let folder = tempfile::tempdir().map_err(Error::from)?;
        Ok(Waiting { judge: judge_of(args, folder.path()).start()?, folder })
    }
}

fn judge_of(args: &Args, folder: &Path) -> Judge {
    Judge {
        python: python(args.python.as_ref()),
        imports: args.import.clone(),
        folder: folder.to_owned(),
        mappings: args.rules.clone(),
    }
}

/// The rules of a folder in place of those of the build, or of mapping files over them; and the set that is interpreted.
pub(super) fn loaded(folder: Option<&Path>, files: &[PathBuf], build: &Rules) -> Result<(Rules, Arc<MappingFiles>)> {
    if let Some(folder) = folder {
        let set = Arc::new(MappingFiles::replacing(folder)?);
        return Ok((Rules::of_files(set.clone()), set));
    }
    let mut rules = build.clone();
    let set = rules.load(files)?;
    Ok((rules, set))
}

/// Writes the models of examples for a runtime, as JSON lines.
fn write_models(args: &Args, path: &Path, set: &MappingFiles, wanted: &[&Example], rules: &Rules) -> Result<(), Stop> {
    let target = args.target.as_deref().map(targets::find).transpose()?;
    let mut lines = Vec::new();
    let mut refused = 0;
    for (id, example) in wanted.iter().enumerate() {
        if let Some(model) = examples::for_runtime(id, example, set.checked(), rules, target)? {
            refused += usize::from(model.refused.is_some());
            lines.push(serde_json::to_string(&model).map_err(|error| Error::internal(error.to_string()))?);
        }
    }
    examples::write(path, &lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    report::print(&format!("{}, {refused} refused\n", text::count(lines.len(), "example")))?;
    Ok(())
}

/// The requested examples.
fn selected<'s>(args: &Args, set: &'s MappingFiles) -> Result<Vec<&'s Example>> {
    let checked = set.checked();
    let all = &checked.program.examples;
    let file = |example: &Example| checked.sources.file(example.span.file).path.as_str();
    if args.wanted.is_empty() && args.rules.is_none() {
        return Ok(all.iter().filter(|example| checked.is_own(example.span.file)).collect());
    }
    let asked = |wanted: &str, example: &Example| {
        examples::target(example) == wanted || (wanted.ends_with(".opmap") && is_same_file(file(example), wanted))
    };
    if let Some(nothing) = args.wanted.iter().find(|wanted| !all.iter().any(|example| asked(wanted, example))) {
        let error = Error::unsupported(format!("`{nothing}` has no example"));
        return Err(error.help("name an overload (`aten::add.Tensor`), an ONNX operator or an .opmap file"));
    }
    if args.wanted.is_empty() && args.models.is_some() {
        return Ok(all.iter().collect());
    }
    if args.wanted.is_empty() {
        return Err(Error::unsupported("no rules are given").help("name overloads, operators or .opmap files"));
    }
    Ok(all.iter().filter(|example| args.wanted.iter().any(|wanted| asked(wanted, example))).collect())
}

/// Whether one path ends with the other.
fn is_same_file(shown: &str, wanted: &str) -> bool {
    let wanted = wanted.replace('\\', "/");
    let (short, long) = if shown.len() < wanted.len() { (shown, wanted.as_str()) } else { (wanted.as_str(), shown) };
    long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The interpreter: as given, or that of the project's environment, or of the machine.
pub(super) fn python(given: Option<&PathBuf>) -> PathBuf {
    let local = Path::new(".venv/bin/python");
    match given {
        Some(python) => python.clone(),
        None if local.exists() => local.to_owned(),
        None => PathBuf::from("python3"),
    }
}
