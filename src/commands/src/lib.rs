//! The command line: a thin layer over the library. Models and tables go to stdout, everything else to stderr.
//!
//! Exit codes: 0 success, 1 a failing example (`try`) or call (`verify`), a change that nothing finds (`mutants`) or two models that differ (`diff`), 2 wrong usage, 3 a file that cannot be read or written, 4 a
//! damaged input, 5 a model that needs what the target lacks, 70 an internal error, 130 interrupted, 141 a closed
//! output pipe.

mod convert;
mod diff;
mod edit;
mod explain;
mod export;
mod export_many;
mod extract;
pub mod inspect;
mod join;
mod lsp;
mod mappings;
pub mod missing;
mod mutants;
mod ops;
mod pack;
mod pipelines;
mod progress;
mod report;
mod split;
mod targets;
mod text;
pub mod trial;
mod try_rules;
mod verify_rules;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_rules::Rules;
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  aten2onnx export model.pt2                                the default opset, to model.onnx
  aten2onnx export model.pt2 -o edge.onnx --opset 11
  aten2onnx convert model.onnx -o edge.onnx --opset 11      an existing ONNX model
  aten2onnx split model.onnx --parts 2 -o DIR               parts that run one after the other
  aten2onnx inspect model.pt2                               what is in it, and which opsets support it
  aten2onnx ops --opset 13                                  the operators that opset 13 supports";

#[derive(Debug, Parser)]
#[command(name = "aten2onnx", version, about = about(), after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn about() -> String {
    format!("PyTorch models to ONNX, at any opset from {MIN_OPSET} to {MAX_OPSET}")
}

#[derive(Debug, Subcommand)]
enum Command {
    Export(Box<export::Args>),
    Convert(convert::Args),
    Inspect(inspect::Args),
    Pack(pack::Args),
    Extract(extract::Args),
    Split(split::Args),
    Edit(Box<edit::Args>),
    Join(join::Args),
    Diff(diff::Args),
    Ops(ops::Args),
    Targets(targets::Args),
    ExplainError(explain::Args),
    Try(try_rules::Args),
    Verify(verify_rules::Args),
    Mutants(mutants::Args),
    Lsp(lsp::Args),
}

/// Runs the command line of this process, by the rules that the program was built with.
pub fn main(rules: &Rules) -> ExitCode {
    ExitCode::from(run(std::env::args_os(), rules))
}

/// Runs a command line, whose first word is the program's name, and returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, rules: &Rules) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Err(error) = mappings::use_facts(&args) {
        return report::exit_code(Err(error.into()));
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(usage) => {
            let _ = usage.print();
            return usage.exit_code() as u8;
        }
    };
    let done = match cli.command {
        Command::Export(args) => export::export_model(&args, rules),
        Command::Convert(args) => convert::convert_model(&args, rules),
        Command::Inspect(args) => inspect::inspect_model(&args, rules),
        Command::Pack(args) => pack::pack_model(&args),
        Command::Extract(args) => extract::extract_part(&args, rules),
        Command::Split(args) => split::split_model(&args, rules),
        Command::Edit(args) => edit::edit_model(&args, rules),
        Command::Join(args) => join::join_models(&args, rules),
        Command::Diff(args) => diff::diff_models(&args),
        Command::Ops(args) => ops::list_operators(&args, rules),
        Command::Targets(args) => targets::list_targets(&args),
        Command::ExplainError(args) => explain::explain_error(&args),
        Command::Try(args) => try_rules::try_examples(&args, rules),
        Command::Verify(args) => verify_rules::verify_calls(&args, rules),
        Command::Mutants(args) => mutants::test_mutants(&args, rules),
        Command::Lsp(args) => lsp::serve_editor(&args),
    };
    report::exit_code(done)
}
