//! The kinds of archives that PyTorch writes, told by their entries.

use crate::zip::Archive;

/// The kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveForm {
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

impl ArchiveForm {
    /// Determines the kind by the entries.
    pub fn of(archive: &Archive) -> ArchiveForm {
        if archive.contains("archive_format") || archive.names().any(|name| name.starts_with("models/")) {
            ArchiveForm::Pt2
        } else if archive.contains("serialized_exported_program.json") {
            ArchiveForm::FlatPt2
        } else if !archive.contains("data.pkl") {
            ArchiveForm::Unknown
        } else if archive.names().any(|name| name.starts_with("code/")) {
            ArchiveForm::TorchScript
        } else {
            ArchiveForm::Saved
        }
    }
}
