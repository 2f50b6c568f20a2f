//! The command line: `aten2onnx-explorer site --out DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Pages about the operator rules
#[derive(Debug, Parser)]
#[command(name = "aten2onnx-explorer", version, max_term_width = 100)]
struct Cli {
    /// The directory of the rules and the schema snapshots
    #[arg(long, global = true, value_name = "DIR", default_value = "mappings")]
    rules: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Site(SiteArgs),
}

/// Write the static site
#[derive(Debug, clap::Args)]
struct SiteArgs {
    /// The folder, which is created
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Site(args) => {
            let _ = (args.out, cli.rules);
            ExitCode::from(2)
        }
    }
}
