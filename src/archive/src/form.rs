//! The kinds of archives that PyTorch writes, told by their entries.

use crate::zip::Archive;

/// The kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `torch.export.save` of torch 2.8 and later.
    Pt2,
    /// `torch.export.save` of torch 2.7 and older.
    FlatPt2,
    /// `torch.jit.save`.
    TorchScript,
    /// `torch.save`.
    Saved,
    /// None of these.
    Unknown,
}

impl Form {
    /// Determines the kind by the entries.
    pub fn of(archive: &Archive) -> Form {
        if archive.contains("archive_format") || archive.names().any(|name| name.starts_with("models/")) {
            Form::Pt2
        } else if archive.contains("serialized_exported_program.json") {
            Form::FlatPt2
        } else if !archive.contains("data.pkl") {
            Form::Unknown
        } else if archive.names().any(|name| name.starts_with("code/")) {
            Form::TorchScript
        } else {
            Form::Saved
        }
    }
}
