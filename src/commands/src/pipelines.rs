//! What the commands share that write a model made of others.

use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use super::export;
use super::report::{self, Stop};
use super::text;
use aten2onnx_archive::wrong;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::Links;
use aten2onnx_onnx::{ExternalData, Written, read::Source};
use aten2onnx_pipelines::Made;

/// Where weights are read and written.
#[derive(Debug, clap::Args)]
pub struct Weights {
    /// Where weights are stored; `auto` leaves them inside or beside the model, as in the source
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = ExternalData::Auto)]
    pub external_data: ExternalData,
    /// Read external data also through symbolic links that lead out of the model's folder, as in a cache of Hugging Face
    #[arg(long)]
    pub follow_links: bool,
}

/// Names that are separated by commas. `\,` is a comma in a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// All names of an option that may be repeated.
    pub fn all(given: &[Names]) -> Vec<String> {
        given.iter().flat_map(|names| names.0.iter().cloned()).collect()
    }
}

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Names, String> {
        let mut names = vec![String::new()];
        let mut rest = text.chars().peekable();
        while let Some(letter) = rest.next() {
            let Some(last) = names.last_mut() else { break };
            match letter {
                '\\' if rest.next_if_eq(&',').is_some() => last.push(','),
                ',' => names.push(String::new()),
                other => last.push(other),
            }
        }
        match names.iter().any(String::is_empty) {
            true => Err("a name is missing; write `A,B`, and `\\,` for a comma in a name".to_owned()),
            false => Ok(Names(names)),
        }
    }
}

/// Reads a model from a file, or from stdin.
pub fn read(path: &Path, follow_links: bool) -> Result<Source> {
    let source = if export::is_stream(path) {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Error::new(Kind::Io, error.to_string()).at("stdin"))?;
        Source::from_bytes("stdin", bytes)
    } else {
        Source::open(path).map_err(|error| wrong::no_model(path, error))
    };
    Ok(source?.with_links(Links::of(follow_links)))
}

/// Writes a model, and says what it is.
pub fn write(made: &mut Made, output: &Path, quiet: bool, start: Instant) -> Result<(), Stop> {
    export::handle_signals();
    // A stream cannot have external data.
    if made.is_beside_by_default && export::is_stream(output) {
        made.external_data = ExternalData::Never;
    }
    if !quiet {
        made.notes.iter().for_each(|text| report::note(text));
    }
    let written = export::written(output, quiet, &mut |out, progress| match out {
        Some(out) => made.write_to(out, progress),
        None => made.write_file(output, progress),
    })?;
    if !quiet {
        let nodes = made.model.proto.graph.as_ref().map_or(0, |graph| graph.node.len());
        report::say(&summary(&written, output, nodes, start));
    }
    Ok(())
}

/// A line about a written model.
pub fn summary(written: &Written, output: &Path, nodes: usize, start: Instant) -> String {
    let name = if export::is_stream(output) { "stdout".to_owned() } else { output.display().to_string() };
    let (weights, took) = (text::bytes(written.weights), text::duration(start.elapsed()));
    format!("{name}: {}, {weights} of weights{} in {took}", text::count(nodes, "node"), text::files(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_commas() {
        let read = |text: &str| text.parse::<Names>().map(|names| names.0);
        let own = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(read("a,b.c"), own(&["a", "b.c"]));
        assert_eq!(read(r"a\,b,c\d"), own(&["a,b", r"c\d"]));
        assert_eq!(read(r"\,"), own(&[","]));
        assert!(["", "a,", ",a", "a,,b"].iter().all(|text| read(text).is_err_and(|error| error.contains("missing"))));
    }
}
