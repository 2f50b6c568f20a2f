//! `fmt`: formats rule files.

use std::path::{Path, PathBuf};

use anstream::eprint;

use aten2onnx_opmap::render;
use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::syntax::{parse_file, print_file};

use super::report::{Stop, count, read, say, write};

/// Format rule files
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
    /// The files [default: all rule files]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs the command.
pub fn format_rules(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let files = match args.files.as_slice() {
        [] => Sources::paths(mappings).map_err(|e| format!("{}: {e}", mappings.display()))?,
        files => files.to_vec(),
    };
    let mut unformatted = 0;
    let mut unreadable = 0;
    for path in &files {
        let text = read(path)?;
        match formatted(path, &text) {
            None => unreadable += 1,
            Some(new) if new == text => {}
            Some(new) => {
                unformatted += 1;
                if args.check {
                    say(&format!("{}:{}: not formatted", path.display(), first_difference(&text, &new)));
                } else {
                    write(path, &new)?;
                }
            }
        }
    }
    let what = if args.check { "not formatted" } else { "changed" };
    say(&format!("{}, {unformatted} {what}", count(files.len(), "file")));
    if unreadable > 0 || (args.check && unformatted > 0) { Err(Stop::Wrong) } else { Ok(()) }
}

/// The formatted text. None for a file with syntax errors, which are printed.
fn formatted(path: &Path, text: &str) -> Option<String> {
    let mut sources = Sources::default();
    let id: FileId = sources.add(path.to_string_lossy(), text);
    let mut errors = Vec::new();
    let file = parse_file(&sources, id, &mut errors);
    if errors.is_empty() {
        return Some(print_file(&file));
    }
    eprint!("{}\n", render::render(&sources, &errors, true));
    None
}

/// The number of the first line that differs.
fn first_difference(old: &str, new: &str) -> usize {
    1 + old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count()
}
