//! `matrix`: which overloads are supported at which opset.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use aten2onnx_codegen::matrix;

use super::report::{Stop, print, read, say, sound_rules, write};
use super::try_rules;

/// Print which overloads are supported at which opset, and why others are not
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Md)]
    format: Format,
    /// Write to a file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How far the rules are verified: the file of `aten2onnx verify --levels`; none if it does not exist
    #[arg(long, value_name = "FILE", default_value = "docs/verified.json")]
    verified: PathBuf,
    /// Write nothing, and exit with 1 if the file is out of date
    #[arg(long, requires = "out")]
    check: bool,
    /// Draw so many cells of the matrix, an overload with a dtype and an opset, and hold exports by the program that was built last against them
    #[arg(long, value_name = "N", conflicts_with_all = ["format", "out", "verified", "check"])]
    audit: Option<usize>,
    /// Another seed draws other cells
    #[arg(long, value_name = "N", default_value_t = 0, requires = "audit")]
    seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Markdown
    Md,
    /// JSON
    Json,
    /// A self-contained page of HTML
    Html,
    /// docs/operators.md
    Page,
}

/// Runs the command.
pub fn write_matrix(mappings: &Path, args: &Args) -> Result<(), Stop> {
    if let Some(cells) = args.audit {
        let options = ["--audit".to_owned(), cells.to_string(), "--seed".to_owned(), args.seed.to_string()];
        return try_rules::exporter(mappings, "verify", &options);
    }
    let checked = sound_rules(mappings)?;
    let mut table = matrix::Table::new(&checked);
    if args.verified.exists() {
        let added = table.add_verified(&read(&args.verified)?);
        added.map_err(|error| Stop::from(format!("{}: {error}", args.verified.display())))?;
    }
    let text = match args.format {
        Format::Md => table.markdown(),
        Format::Json => table.json(),
        Format::Html => table.html(),
        Format::Page => table.page(),
    };
    match &args.out {
        None => print(&text),
        Some(path) if args.check => is_fresh(path, &text),
        Some(path) => write(path, &text),
    }
}

fn is_fresh(path: &Path, text: &str) -> Result<(), Stop> {
    if read(path)? == text {
        return Ok(());
    }
    say(&format!("{} is out of date: run the same command without --check", path.display()));
    Err(Stop::Wrong)
}
