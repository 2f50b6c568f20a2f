//! The command line: a thin layer over the library. Models and tables go to stdout, everything else to stderr.
//!
//! Exit codes: 0 done, 1 an example that fails (`try`), 2 wrong usage, 3 a file that cannot be read or written, 4 a damaged input, 5 a model that needs what
//! the target lacks, 70 a fault of ours, 130 interrupted, 141 a reader of our output that went away.

mod convert;
mod explain;
mod export;
pub mod inspect;
mod mappings;
mod ops;
mod pack;
mod report;
mod targets;
mod text;
mod try_rules;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  aten2onnx export model.pt2                                the default opset, to model.onnx
  aten2onnx export model.pt2 -o edge.onnx --opset 11
  aten2onnx convert model.onnx -o edge.onnx --opset 11      an ONNX model, whoever made it
  aten2onnx inspect model.pt2                               what is in it, and which opsets would do
  aten2onnx ops --opset 13                                  the operators that opset 13 can say";

/// PyTorch models to ONNX, at any opset from 9 to 28.
#[derive(Debug, Parser)]
#[command(name = "aten2onnx", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Export(export::Args),
    Convert(convert::Args),
    Inspect(inspect::Args),
    Pack(pack::Args),
    Ops(ops::Args),
    Targets(targets::Args),
    ExplainError(explain::Args),
    Try(try_rules::Args),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs a command line, whose first word is the program's name, and gives the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(usage) => {
            let _ = usage.print();
            return usage.exit_code() as u8;
        }
    };
    let done = match cli.command {
        Command::Export(args) => export::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Ops(args) => ops::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::ExplainError(args) => explain::run(&args),
        Command::Try(args) => try_rules::run(&args),
    };
    report::exit_code(done)
}
