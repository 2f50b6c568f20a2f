//! Front ends: readers of PyTorch's file formats that return a [`Program`].
//!
//! They share [`archive`], [`pickle`] and `saved`, which reads the tensors of a pickle.

#[doc(hidden)]
pub mod archive;
#[doc(hidden)]
pub mod pickle;
pub mod pt2;
mod saved;
pub mod torchscript;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::options::SourceOptions;
use crate::program::Program;
use archive::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_rules::Rules;
use pt2::Form;

/// Reads the program of a `.pt2` file or of a TorchScript archive, for which the options describe inputs.
pub fn read(path: &Path, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    read_file(MappedFile::open(path)?, options, rules)
}

/// The same of a file in memory; `path` is used in messages.
pub fn read_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    read_file(MappedFile::from_bytes(path, bytes), options, rules)
}

fn read_file(file: Arc<MappedFile>, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    let path = file.path.display().to_string();
    let program =
        refuse_by_name(file.bytes()).and_then(|()| Archive::of_file(file)).and_then(|archive| {
            match Form::of(&archive) {
                Form::TorchScript => torchscript::read(&archive, options, rules),
                _ => pt2::read_archive(&archive, options.model.as_deref()),
            }
        });
    let mut program = program.map_err(|error| error.at(path.clone()))?;
    program.source = path;
    Ok(program)
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
