//! The command line, a thin layer over the library. Results go to stdout, everything else to stderr.
//!
//! Exit codes: 0 success; 1 errors in the rules, or files that are out of date or not formatted; 2 wrong usage, or files that
//! cannot be read or written.

mod check;
mod dump;
mod examples;
mod expand;
mod explain;
mod explorer;
mod exporter;
mod fmt;
mod import_aten;
mod import_onnx;
mod lsp;
mod matrix;
mod mutants;
mod report;
mod stats;
mod try_rules;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use report::Stop;

const EXAMPLES: &str = "\
Examples:
  aten2onnx-codegen check
  aten2onnx-codegen try aten::elu                   compare its examples with PyTorch
  aten2onnx-codegen expand aten::gelu --opset 13    print the rule as it is at opset 13
  aten2onnx-codegen explain E0301";

/// The opmap compiler: checks operator rules and turns them into Rust
#[derive(Debug, Parser)]
#[command(name = "aten2onnx-codegen", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    /// The directory of the rules and the schema snapshots
    #[arg(long, global = true, value_name = "DIR", default_value = "mappings")]
    mappings: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Fmt(fmt::Args),
    Expand(expand::Args),
    Matrix(matrix::Args),
    ImportOnnx(import_onnx::Args),
    ImportAten(import_aten::Args),
    Dump(dump::Args),
    Exporter(exporter::Args),
    Explain(explain::Args),
    Examples(examples::Args),
    Stats(stats::Args),
    Try(try_rules::Args),
    Verify(verify::Args),
    Mutants(mutants::Args),
    Site(explorer::SiteArgs),
    Serve(explorer::ServeArgs),
    Lsp(lsp::Args),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mappings = cli.mappings.as_path();
    let done: Result<(), Stop> = match &cli.command {
        Command::Check(args) => check::check_rules(mappings, args),
        Command::Fmt(args) => fmt::format_rules(mappings, args),
        Command::Expand(args) => expand::expand_operator(mappings, args),
        Command::Matrix(args) => matrix::write_matrix(mappings, args),
        Command::ImportOnnx(args) => import_onnx::import_onnx(mappings, args),
        Command::ImportAten(args) => import_aten::import_pytorch(mappings, args),
        Command::Dump(args) => dump::dump_code(mappings, args),
        Command::Exporter(args) => exporter::write_exporter(mappings, args),
        Command::Explain(args) => explain::explain_error(args),
        Command::Examples(args) => examples::print_examples(mappings, args),
        Command::Stats(_) => stats::print_stats(mappings),
        Command::Try(args) => try_rules::try_examples(mappings, args),
        Command::Verify(args) => verify::verify_calls(mappings, args),
        Command::Mutants(args) => mutants::test_mutants(mappings, args),
        Command::Site(args) => explorer::site(mappings, args),
        Command::Serve(args) => explorer::serve(mappings, args),
        Command::Lsp(args) => lsp::serve_editor(mappings, args),
    };
    report::exit_code(done)
}
