//! `aten2onnx verify`: makes calls of rules and compares them with PyTorch. The rules are interpreted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_opmap::tree::is_replaced;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

use super::report::{self, Stop};
use aten2onnx_verify::{self as verify, Levels, MOST_STALE, Report, Row, Settings, audit};

const EXAMPLES: &str = "\
Examples:
  aten2onnx verify --rules mappings aten::gather                  1,000 calls, 100 of them also by value
  aten2onnx verify --rules mappings --all --report verify.json    all rules; goes on where an earlier run stopped
  aten2onnx verify --rules mappings --all --report verify.json --levels docs/verified.json
                                                                  the rules whose graphs are others than when they were verified
  aten2onnx verify --rules mappings --all --levels docs/verified.json --check
                                                                  how many these are
  aten2onnx verify --rules mappings --audit 200 --seed 1          is the support matrix what exports do?";

/// Make calls of rules, and compare what they become with PyTorch
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Overloads, such as aten::gather, or ONNX operators that have lowerings, such as Gelu
    #[arg(value_name = "OP", required_unless_present_any = ["all", "audit"])]
    wanted: Vec<String>,
    /// All rules
    #[arg(long, conflicts_with = "wanted")]
    all: bool,
    /// Draw so many cells of the support matrix, an overload with a dtype and an opset, and hold exports against what it says; with OP, of these rows
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "opset", "typed", "sampled", "budget", "report", "levels"])]
    audit: Option<usize>,
    /// A folder of rules and schemas that replaces the built-in ones
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Custom rules: an .opmap file, or a folder of them
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "rules")]
    mappings: Vec<PathBuf>,
    /// Stop after this time: 60s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Another seed makes other calls
    #[arg(long, value_name = "N", default_value_t = verify::SEED)]
    seed: u64,
    /// Opsets at which calls are compared
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = verify::OPSETS)]
    opset: Vec<u32>,
    /// Calls of each rule whose dtypes and shapes are compared
    #[arg(long, value_name = "N", default_value_t = verify::TYPED)]
    typed: usize,
    /// Calls of each rule whose values are compared at each opset
    #[arg(long, value_name = "N", default_value_t = verify::SAMPLED)]
    sampled: usize,
    /// Write the results to this JSON file; with --all, rules that were right in it are left out, if their examples become the same graphs now
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the level that each rule reached to this JSON file, which docs/operators.md shows; with --all, rules that were right in it are left out, if their examples become the same graphs now
    #[arg(long, value_name = "FILE")]
    levels: Option<PathBuf>,
    /// Make no calls: list the rules without a level in --levels, or with one of other graphs than their examples become now, and exit with 1 if they are more than a twentieth
    #[arg(long, requires_all = ["all", "levels"], conflicts_with = "report")]
    check: bool,
    /// How many rules are checked at once
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// A Python module that defines custom operators
    #[arg(long, value_name = "MODULE")]
    import: Vec<String>,
    /// A Python interpreter with torch, onnx and onnxruntime
    #[arg(long, value_name = "PATH", env = "ATEN2ONNX_PYTHON")]
    python: Option<PathBuf>,
}

/// `90`, `60s`, `10m`, `2h`
pub(super) fn duration(text: &str) -> std::result::Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("expected a number with s, m or h, such as 60s".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number with s, m or h, such as 60s".to_owned())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// What the threads have told.
struct Told {
    report: Report,
    /// The rules of this run.
    done: Vec<String>,
    wrong: usize,
    /// Why nothing more can be printed.
    stop: Option<Stop>,
}

/// Runs the command.
pub fn verify_calls(args: &Args, build: &Rules) -> Result<(), Stop> {
    let (rules, set) = super::try_rules::loaded(args.rules.as_deref(), &args.mappings, build)?;
    if let Some(cells) = args.audit {
        return audited(args, cells, &set, &rules);
    }
    let own = wanted(args, &set)?;
    let graphs = if args.all { verify::graph_digests(&own, &set, &rules, jobs(args))? } else { BTreeMap::new() };
    let mut levels = args.levels.as_ref().map(|path| Levels::read(path)).transpose()?.unwrap_or_default();
    if args.check {
        return stale_levels(&own, &levels, &graphs);
    }
    let earlier = earlier_report(args, &graphs)?;
    let is_right = |name: &String| graphs.get(name).is_some_and(|now| levels.is_right_of(name, now));
    let was_right = |name: &String| earlier.rows.get(name).is_some_and(|row| row.faults.is_empty());
    let is_known = |name: &String| args.all && (was_right(name) || is_right(name));
    let open: Vec<String> = own.iter().filter(|name| !is_known(name)).cloned().collect();
    let settings = settings(args, open);
    let told = Mutex::new(Told { report: earlier, done: Vec::new(), wrong: 0, stop: None });
    let done = verify::run(&settings, &set, &rules, &|name, row| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.done.push(name.to_owned());
        told.wrong += usize::from(!row.faults.is_empty());
        if let Err(stop) = show(name, &row) {
            told.stop = Some(stop);
            return Err(Error::new(Kind::Stopped, "nothing more can be printed"));
        }
        told.report.rows.insert(name.to_owned(), row);
        args.report.as_ref().map_or(Ok(()), |path| told.report.write(path))
    });
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &args.levels {
        levels.add(told.report.rows.iter().filter(|(name, _)| args.all || told.done.contains(name)));
        if args.all {
            levels.keep(&own);
        }
        levels.write(path)?;
    }
    if let Some(stop) = told.stop {
        return Err(stop);
    }
    done?;
    summary(args, &told, settings.wanted.len() - told.done.len())
}

fn settings(args: &Args, wanted: Vec<String>) -> Settings {
    Settings {
        wanted,
        seed: args.seed,
        opsets: args.opset.clone(),
        typed: args.typed,
        sampled: args.sampled,
        budget: args.budget,
        python: super::try_rules::python(args.python.as_ref()),
        imports: args.import.clone(),
        jobs: jobs(args),
    }
}

/// The report of an earlier run; with --all what it knows of graphs that are the same now.
fn earlier_report(args: &Args, graphs: &BTreeMap<String, String>) -> Result<Report> {
    let mut report = match &args.report {
        Some(path) => Report::read(path, args.seed)?,
        None => Report { seed: args.seed, ..Report::default() },
    };
    if args.all {
        report.rows.retain(|name, row| graphs.get(name) == Some(&row.graphs));
    }
    Ok(report)
}

/// Prints the counters, and fails if something was wrong. `left`: the number of rules for which there was no time.
fn summary(args: &Args, told: &Told, left: usize) -> Result<(), Stop> {
    let left = if left > 0 { format!(", {left} not begun in this time") } else { String::new() };
    let counters = if args.all { told.report.counters() } else { String::new() };
    let rules = super::text::count(told.done.len(), "rule");
    report::print(&format!("{counters}{rules}, {} with faults{left}\n", told.wrong))?;
    let overused = if args.all { told.report.overused() } else { Vec::new() };
    for (entry, share) in &overused {
        let percent = share * 100.0;
        report::say(&format!("the difference `{entry}` accepts {percent:.1} % of all results, which is too many"));
    }
    if told.wrong > 0 || !overused.is_empty() { Err(Stop::Failed) } else { Ok(()) }
}

/// Lists the rules whose level is of other graphs, or that have none.
fn stale_levels(own: &[String], levels: &Levels, graphs: &BTreeMap<String, String>) -> Result<(), Stop> {
    let is_stale = |name: &&String| !graphs.get(*name).is_some_and(|now| levels.is_of(name, now));
    let stale: Vec<&String> = own.iter().filter(is_stale).collect();
    let lines: String = stale.iter().map(|name| format!("{name}\n")).collect();
    #[allow(clippy::cast_precision_loss)] // counts of rules
    let share = stale.len() as f64 / own.len().max(1) as f64;
    let (all, percent) = (super::text::count(own.len(), "rule"), 100.0 * share);
    let count = stale.len();
    report::print(&format!("{lines}{count} of {all} have no level, or one of other graphs: {percent:.1} %\n"))?;
    if share > MOST_STALE { Err(Stop::Failed) } else { Ok(()) }
}

fn jobs(args: &Args) -> usize {
    args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Holds cells of the matrix against exports.
fn audited(args: &Args, cells: usize, set: &MappingFiles, rules: &Rules) -> Result<(), Stop> {
    let python = super::try_rules::python(args.python.as_ref());
    let settings = audit::Settings { wanted: args.wanted.clone(), cells, seed: args.seed, python, jobs: jobs(args) };
    let found = audit::audit(&settings, set, rules)?;
    let faults = super::text::count(found.faults.len(), "contradiction");
    report::print(&format!("{}{}, {faults}\n", found.text(), super::text::count(found.calls(), "call")))?;
    if found.faults.is_empty() { Ok(()) } else { Err(Stop::Failed) }
}

fn show(name: &str, row: &Row) -> Result<(), Stop> {
    let lines: String = row.lines().iter().map(|line| format!("{line}\n")).collect();
    report::print(&format!("{}\n{lines}", row.line(name)))
}

/// The overloads that are checked.
fn wanted(args: &Args, set: &MappingFiles) -> Result<Vec<String>> {
    let checked = set.checked();
    let all = checked.program.maps.iter().map(|map| &map.function).filter(|function| !is_replaced(&function.name));
    let lowers = checked.program.lowers.iter().filter(|lower| verify::can_check(&checked.program, &lower.op));
    let lowers = lowers.map(|lower| (&lower.function, &lower.op));
    let mut own: Vec<String> = all
        .map(|function| (function, &function.name))
        .chain(lowers)
        .filter(|(function, _)| args.rules.is_some() || args.mappings.is_empty() || checked.is_own(function.span.file))
        .map(|(_, name)| name.clone())
        .collect();
    own.dedup();
    if args.all {
        return Ok(own);
    }
    if let Some(missing) = args.wanted.iter().find(|name| !own.contains(name)) {
        if std::path::Path::new(missing).exists() {
            let text = format!("`{missing}` is a file, and `verify` checks rules: the operators that it is given");
            return Err(Error::unsupported(text).help(
                "to compare a model with PyTorch, export it in Python: `aten2onnx.export(model, (x,), \"model.onnx\", verify=True)`",
            ));
        }
        let error = Error::unsupported(format!("there is no rule for `{missing}`"));
        let help =
            "name overloads, such as `aten::add.Tensor`, which `aten2onnx ops` lists, or operators, such as `Gelu`";
        return Err(error.help(help));
    }
    Ok(args.wanted.clone())
}
