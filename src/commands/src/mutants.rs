//! `aten2onnx mutants`: changes one place of the rules at a time, and says what finds that.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aten2onnx_rules::Rules;
use aten2onnx_verify::mutants::{self, Explained, Fate, Report, Settings};

use super::report::{self, Stop};
use super::text;
use super::verify_rules::duration;

const EXAMPLES: &str = "\
Examples:
  aten2onnx mutants --rules mappings aten::elu                              all changes of one rule
  aten2onnx mutants --rules mappings --all --sample 5000 --seed 1 --report mutants.json
                                                                            a sample; goes on where an earlier run stopped";

/// Change one place of the rules at a time, and say what finds it: the rule compiler, the matrix, examples, or drawn calls
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Overloads, operators with lowerings, or helpers
    #[arg(value_name = "OP", required_unless_present = "all")]
    wanted: Vec<String>,
    /// All rules, lowerings and helpers
    #[arg(long, conflicts_with = "wanted")]
    all: bool,
    /// A folder of rules and schemas that replaces the built-in ones
    #[arg(long, value_name = "DIR", required = true)]
    rules: PathBuf,
    /// Another seed takes another sample and makes other calls
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Take so many of the mutants, in a random order
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Calls that are drawn of each rule where graphs differ and nothing was wrong so far
    #[arg(long, value_name = "N", default_value_t = 1000)]
    calls: usize,
    /// Stop after this time: 60s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Write the results to this JSON file; mutants that it has already are left out
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// How many mutants are judged at once
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// A Python interpreter with torch, onnx and onnxruntime
    #[arg(long, value_name = "PATH", env = "ATEN2ONNX_PYTHON")]
    python: Option<PathBuf>,
}

/// Runs the command.
pub fn test_mutants(args: &Args, build: &Rules) -> Result<(), Stop> {
    let (rules, set) = super::try_rules::loaded(Some(&args.rules), &[], build)?;
    let digest = mutants::digest_of_rules(&set);
    let explained = Explained::read(&args.rules.join("mutants.toml"))?;
    let earlier = match &args.report {
        Some(path) => Report::read(path, &digest, args.seed)?,
        None => Report { rules: digest, seed: args.seed, ..Report::default() },
    };
    let settings = Settings {
        wanted: args.wanted.clone(),
        seed: args.seed,
        sample: args.sample,
        calls: args.calls,
        budget: args.budget,
        python: super::try_rules::python(args.python.as_ref()),
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    };
    let told = Mutex::new(earlier);
    // Each time, so that the next run knows in which mutant this one ended.
    let changed = || match &args.report {
        Some(path) => told.lock().unwrap_or_else(PoisonError::into_inner).write(path),
        None => Ok(()),
    };
    let done = mutants::run(&settings, &set, &rules, &explained, &told, &changed);
    let report = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &args.report {
        report.write(path)?;
    }
    let left = match done? {
        0 => String::new(),
        left => format!("{} not begun in this time\n", text::count(left, "mutant")),
    };
    report::print(&format!("{}{left}", report.text()))?;
    if report.count(Fate::Survived) > 0 { Err(Stop::Failed) } else { Ok(()) }
}
