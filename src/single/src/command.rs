//! The command line of an exporter for one opset: `export`, `missing`, `ops`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is the body of a program")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use aten2onnx_core::error::{Error, Kind};
use aten2onnx_onnx::ExternalData;

use crate::model::{Exporter, Model};

/// The exit code for wrong usage.
const USAGE: u8 = 2;

/// Why a command did not succeed.
enum Stop {
    Usage(String),
    Failed(Error),
    /// `missing` has printed what is missing.
    Lacking,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// Runs the command line of this process.
pub fn main(exporter: &Exporter) -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match run_command(exporter, &args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Lacking) => ExitCode::from(Error::unsupported("").exit_code()),
        Err(Stop::Usage(message)) => {
            eprintln!("error: {message}\n\n{}", usage(exporter));
            ExitCode::from(USAGE)
        }
        Err(Stop::Failed(error)) => {
            eprintln!("error: {error}");
            if let Some(help) = &error.help {
                eprintln!("help: {help}");
            }
            if error.kind == Kind::Internal {
                eprintln!("help: this is a bug; please report it with the model's graph");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn usage(exporter: &Exporter) -> String {
    let Exporter { name, version, opset, .. } = exporter;
    format!(
        "{name} {version}: PyTorch models to ONNX at opset {opset}

Usage:
  {name} export MODEL.pt2 [-o OUT.onnx] [OPTIONS]
  {name} missing MODEL.pt2      what the exporter lacks for a model, one operator a line
  {name} ops                    the operators that it has rules for

Options of export:
  --dim s77=batch               names a symbolic size, or makes it a number
  --static                      makes all symbolic sizes those of the example
  --input-name [OLD=]NEW        names an input
  --output-name [OLD=]NEW       names an output
  --external-data WHERE         auto, always or never
  -O0                           leaves the graph as the rules build it"
    )
}

fn run_command(exporter: &Exporter, args: &[OsString]) -> Result<(), Stop> {
    let first = args.first().map(|arg| arg.to_string_lossy());
    let rest = args.get(1..).unwrap_or_default();
    match first.as_deref() {
        Some("export") => export(exporter, rest),
        Some("missing") => missing(exporter, rest),
        Some("ops") if rest.is_empty() => {
            exporter.operators().iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        Some("--version" | "-V") => {
            println!("{} {}", exporter.name, exporter.version);
            Ok(())
        }
        Some("--help" | "-h" | "help") => {
            println!("{}", usage(exporter));
            Ok(())
        }
        Some(other) => Err(Stop::Usage(format!("there is no command `{other}`"))),
        None => Err(Stop::Usage("no command is given".to_owned())),
    }
}

fn missing(exporter: &Exporter, args: &[OsString]) -> Result<(), Stop> {
    let [path] = args else { return Err(Stop::Usage("`missing` takes one model".to_owned())) };
    let lines = exporter.open(&PathBuf::from(path))?.missing()?;
    lines.iter().for_each(|line| println!("{line}"));
    if lines.is_empty() { Ok(()) } else { Err(Stop::Lacking) }
}

fn export(exporter: &Exporter, args: &[OsString]) -> Result<(), Stop> {
    let mut source: Option<PathBuf> = None;
    let mut destination: Option<PathBuf> = None;
    let mut settings = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy().into_owned();
        let mut value = || rest.next().cloned().ok_or_else(|| Stop::Usage(format!("`{text}` needs a value")));
        match text.as_str() {
            "-o" => destination = Some(value()?.into()),
            "--static" | "-O0" => settings.push((text, String::new())),
            "--dim" | "--input-name" | "--output-name" | "--external-data" => {
                let value = value()?.to_string_lossy().into_owned();
                settings.push((text, value));
            }
            _ if text.starts_with('-') => return Err(Stop::Usage(format!("`export` has no option `{text}`"))),
            _ if source.is_none() => source = Some(arg.into()),
            _ => return Err(Stop::Usage(format!("`export` takes one model, and `{text}` is a second one"))),
        }
    }
    let Some(source) = source else { return Err(Stop::Usage("`export` needs a model".to_owned())) };
    let destination = destination.unwrap_or_else(|| source.with_extension("onnx"));
    let mut model = exporter.open(&source)?;
    settings.iter().try_for_each(|(option, value)| set(&mut model, option, value))?;
    let summary = model.export(&destination)?;
    summary.notes.iter().for_each(|note| eprintln!("note: {note}"));
    eprintln!("{}: {} nodes at opset {}", destination.display(), summary.nodes, summary.opset);
    Ok(())
}

/// Sets an option of an export.
fn set(model: &mut Model, option: &str, value: &str) -> Result<(), Stop> {
    let wrong = |reason: String| Stop::Usage(format!("`{option} {value}`: {reason}"));
    let options = model.options_mut();
    match option {
        "--static" => options.fixed = true,
        "-O0" => options.opt_level = 0,
        "--dim" => options.dims.push(value.parse().map_err(wrong)?),
        "--input-name" => options.input_names.push(value.parse().map_err(wrong)?),
        "--output-name" => options.output_names.push(value.parse().map_err(wrong)?),
        _ => {
            options.output.external_data = match value {
                "auto" => ExternalData::Auto,
                "always" => ExternalData::Always,
                "never" => ExternalData::Never,
                _ => return Err(wrong("it is `auto`, `always` or `never`".to_owned())),
            }
        }
    }
    Ok(())
}
