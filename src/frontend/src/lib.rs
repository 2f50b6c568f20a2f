//! Front ends: readers of PyTorch's file formats that return a [`Program`].
//!
//! Each format has a crate; this one tells which it is.

pub use aten2onnx_frontend_pt2 as pt2;
#[cfg(feature = "torchscript")]
pub use aten2onnx_frontend_torchscript as torchscript;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_options::SourceOptions;
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;
use pt2::ArchiveForm;
#[cfg(feature = "torchscript")]
use torchscript::about::About;

/// Reads the program of a `.pt2` file or of a TorchScript archive, for which the options describe inputs.
pub fn read(path: &Path, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    let file = MappedFile::open(path).map_err(|error| aten2onnx_archive::wrong::unopened(path, error))?;
    read_file(file, options, rules)
}

/// The same of a file in memory; `path` is used in messages.
pub fn read_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    read_file(MappedFile::from_bytes(path, bytes), options, rules)
}

/// What a file contains.
#[cfg(feature = "torchscript")]
#[derive(Debug)]
pub struct Contents {
    /// The name of the file.
    pub source: String,
    /// What a TorchScript archive says of itself.
    pub about: Option<About>,
    /// The program, or why there is none: inputs of a TorchScript archive that are not described are a reason.
    pub program: Result<Program>,
}

/// Reads a file as far as possible.
#[cfg(feature = "torchscript")]
///
/// # Errors
/// Neither the program can be read nor what the archive says of itself.
pub fn contents(file: Arc<MappedFile>, options: &SourceOptions, rules: &Rules) -> Result<Contents> {
    let source = file.path.display().to_string();
    let at_source = |error: Error| error.at(source.clone());
    let archive = archive(file).map_err(at_source)?;
    let about = match ArchiveForm::of(&archive) {
        ArchiveForm::TorchScript => Some(torchscript::about::about(&archive).map_err(at_source)?),
        _ => None,
    };
    let program = read_archive(&archive, options, rules).map_err(at_source);
    match (&about, program) {
        (None, Err(error)) => Err(error),
        (_, Ok(program)) => {
            let program = Ok(Program { source: source.clone(), ..program });
            Ok(Contents { source, about, program })
        }
        (_, program) => Ok(Contents { source, about, program }),
    }
}

/// The same of an open file.
pub fn read_file(file: Arc<MappedFile>, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    let path = file.path.display().to_string();
    let program = archive(file).and_then(|archive| read_archive(&archive, options, rules));
    let mut program = program.map_err(|error| error.at(path.clone()))?;
    program.source = path;
    Ok(program)
}

fn archive(file: Arc<MappedFile>) -> Result<Archive> {
    refuse_by_name(&file.read(0, file.size().min(8))?)?;
    Archive::of_file(file)
}

fn read_archive(archive: &Archive, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    match ArchiveForm::of(archive) {
        ArchiveForm::TorchScript if !options.weights.is_empty() => {
            Err(Error::unsupported("a TorchScript file has its own weights")
                .help("omit `--weights`, which is for packages of torch.export"))
        }
        ArchiveForm::TorchScript if options.model.is_some() => {
            Err(Error::unsupported("a TorchScript file has one program")
                .help("omit `--model`, which is for packages of torch.export"))
        }
        ArchiveForm::TorchScript => read_torchscript(archive, options, rules),
        ArchiveForm::Pt2 | ArchiveForm::FlatPt2 => {
            refuse_script_options(options)?;
            pt2::read_archive(archive, options)
        }
        _ => pt2::read_archive(archive, options),
    }
}

#[cfg(feature = "torchscript")]
fn read_torchscript(archive: &Archive, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    torchscript::read(archive, options, rules)
}

#[cfg(not(feature = "torchscript"))]
fn read_torchscript(_: &Archive, _: &SourceOptions, _: &Rules) -> Result<Program> {
    Err(Error::unsupported("this program does not read TorchScript files")
        .help("export the model with `torch.export.save`, or build the program with the feature `torchscript`"))
}

/// Refuses options that say of a TorchScript file what a program of torch.export records.
fn refuse_script_options(options: &SourceOptions) -> Result<()> {
    let given = [
        ("--dynamic", !options.dynamic.is_empty(), "name its symbolic sizes by `--dim`"),
        ("--method", options.method.is_some(), "it has the program that was exported"),
        ("--default-dtype", options.default_dtype.is_some(), "it records the dtypes"),
    ];
    match given.iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, help)) => Err(Error::unsupported(format!(
            "`{option}` is for TorchScript files, and this is a program of torch.export"
        ))
        .help(format!("omit `{option}`: {help}"))),
        None => Ok(()),
    }
}

/// Refuses files of torch that are no archives.
fn refuse_by_name(bytes: &[u8]) -> Result<()> {
    let help = "save the model with `torch.jit.save`, or export it with `torch.export.save`";
    if bytes.get(4..8) == Some(b"PTMF") {
        let message = "it is a flatbuffer of the lite interpreter, which has bytecode but no code";
        return Err(Error::unsupported(message).help(help));
    }
    if bytes.starts_with(b"PYTORCH1") {
        return Err(Error::unsupported("it is a file of a torch before 1.0").help(help));
    }
    Ok(())
}
