//! The command line: `aten2onnx-explorer site --out DIR`, `aten2onnx-explorer serve`.
#![allow(clippy::print_stderr, reason = "this is the program")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use aten2onnx_core::error::{Error, Kind, Result};
use clap::{Parser, Subcommand};

use crate::facts::Facts;
use crate::serve;
use crate::site::{self, Files};

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
    Serve(ServeArgs),
}

/// Write the static site
#[derive(Debug, clap::Args)]
struct SiteArgs {
    /// The folder, which is created. What a former run wrote there and this one does not is deleted
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Draw the examples of these overloads and ONNX operators alone, for a look at a few pages [default: all]
    #[arg(long, value_name = "OP")]
    only: Vec<String>,
}

/// Show the pages on this machine while rules are edited
#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// The port of 127.0.0.1; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8013)]
    port: u16,
    /// A Python interpreter with torch, onnx and onnxruntime [default: that of .venv, else python3]
    #[arg(long, value_name = "PATH", env = "ATEN2ONNX_PYTHON")]
    python: Option<PathBuf>,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Site(args) => write_site(&cli.rules, &args),
        Command::Serve(args) => serve_pages(&cli.rules, args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(help) = &error.help {
                eprintln!("  = help: {help}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn serve_pages(rules: &Path, args: ServeArgs) -> Result<()> {
    let local = PathBuf::from(".venv/bin/python");
    let python = args.python.unwrap_or_else(|| if local.exists() { local } else { PathBuf::from("python3") });
    let options = serve::Options { rules: rules.to_owned(), port: args.port, python };
    serve::run(&options, |address| eprintln!("{address} shows {} while it is edited", rules.display()))
}

fn write_site(rules: &Path, args: &SiteArgs) -> Result<()> {
    let start = Instant::now();
    let facts = Facts::gather(rules, &args.only)?;
    let files = site::build(&facts)?;
    write(&files, &args.out)?;
    let bytes: usize = files.values().map(Vec::len).sum();
    let pages = files.keys().filter(|path| path.ends_with(".html")).count();
    eprintln!(
        "{pages} pages, {:.1} MB, in {:.1} s: {}",
        bytes as f64 / 1e6,
        start.elapsed().as_secs_f64(),
        args.out.join("index.html").display()
    );
    Ok(())
}

/// The list of the files that a run wrote, so that the next one knows which are no longer part of the site.
const WRITTEN: &str = ".files";

fn write(files: &Files, out: &Path) -> Result<()> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| Error::new(Kind::Io, format!("{path}: {e}"))
    };
    let list = out.join(WRITTEN);
    let former = std::fs::read_to_string(&list).unwrap_or_default();
    for path in former.lines().filter(|path| !files.contains_key(*path) && !path.contains("..")) {
        // A file that is gone already is as it should be.
        let _ = std::fs::remove_file(out.join(path));
    }
    for (path, bytes) in files {
        let path = out.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        std::fs::write(&path, bytes).map_err(failed(&path))?;
    }
    let text: String = files.keys().map(|path| format!("{path}\n")).collect();
    std::fs::write(&list, text).map_err(failed(&list))
}
