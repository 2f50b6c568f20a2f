//! `matrix`: which overload works at which opset.

use std::path::Path;

use clap::ValueEnum;

use aten2onnx_codegen::matrix;

use super::report::{Stop, print, sound_rules};

/// Print what works at which opset, and why the rest does not
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How
    #[arg(long, value_enum, default_value_t = Format::Md)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Markdown
    Md,
    /// JSON
    Json,
    /// One self-contained page
    Html,
}

/// Runs the command.
pub fn run(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let checked = sound_rules(mappings)?;
    let table = matrix::Table::new(&checked);
    print(&match args.format {
        Format::Md => table.markdown(),
        Format::Json => table.json(),
        Format::Html => table.html(),
    })
}
