//! Links into archives: which archives a model may refer to, and by which relative path.
//!
//! ONNX's checker and runtimes accept a relative path to a regular file below the model's folder and reject symbolic
//! and hard links for security. The archive must be in the same folder or below it, so that both files are moved together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::MappedFile;

/// A position in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The path of the archive relative to the model's folder.
    pub location: Arc<str>,
    /// The first byte.
    pub offset: u64,
}

/// The archives that a model refers to.
pub struct Archives {
    folder: PathBuf,
    /// A list, because a model has few archives.
    known: Vec<(Arc<MappedFile>, Arc<str>)>,
}

impl Archives {
    /// The archives for a model in this folder.
    pub fn new(folder: &Path) -> Archives {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        Archives { folder: folder.to_path_buf(), known: Vec::new() }
    }

    /// The link to a position in an archive.
    ///
    /// # Errors
    /// An archive that a model in this folder cannot refer to.
    pub fn link(&mut self, file: &Arc<MappedFile>, offset: u64) -> Result<Linked> {
        if let Some((_, location)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, file)) {
            return Ok(Linked { location: Arc::clone(location), offset });
        }
        let location: Arc<str> = self.location(&file.path)?.into();
        self.known.push((Arc::clone(file), Arc::clone(&location)));
        Ok(Linked { location, offset })
    }

    fn location(&self, path: &Path) -> Result<String> {
        let refused = |why: String, help: &str| Err(cannot_link(path, &why).help(help));
        let found = path.symlink_metadata().map_err(|error| cannot_link(path, &error.to_string()))?;
        if found.is_symlink() {
            let help = "give the path of the file itself, or omit `--external-data link`";
            return refused("it is a symbolic link, which ONNX readers reject".to_owned(), help);
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&found) > 1 {
            let help = "copy it to a separate file, or omit `--external-data link`";
            return refused("the file has several hard links, which ONNX readers reject".to_owned(), help);
        }
        let folder = |path: &Path| path.canonicalize().map_err(|error| cannot_link(path, &error.to_string()));
        let archive = folder(path)?;
        let Ok(below) = archive.strip_prefix(folder(&self.folder)?) else {
            let why = format!("it is not in the folder of the model, `{}`", self.folder.display());
            return refused(why, "write the model next to the archive, or omit `--external-data link`");
        };
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        match parts {
            Some(parts) => Ok(parts.join("/")),
            None => refused("its name is not UTF-8".to_owned(), "rename it, or omit `--external-data link`"),
        }
    }
}

fn cannot_link(path: &Path, why: &str) -> Error {
    Error::new(Kind::Unsupported, format!("cannot link to `{}`: {why}", path.display()))
}
