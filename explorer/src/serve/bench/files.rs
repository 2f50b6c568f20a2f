//! Mapping files on disk: reads them, and writes those that were edited unless somebody else changed them meanwhile.

use std::io::Write;
use std::path::{Path, PathBuf};

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_opmap::source::Sources;
use serde::{Deserialize, Serialize};

/// A file that was edited.
#[derive(Debug, Deserialize)]
pub struct Edited {
    /// Its path in the folder of rules: `aten/activation.opmap`.
    pub file: String,
    /// The text.
    pub text: String,
    /// The text on disk that the page knows.
    pub base: String,
}

/// What became of it.
#[derive(Debug, Serialize)]
pub struct Saved {
    /// The file.
    pub file: String,
    /// Whether it was written.
    pub saved: bool,
    /// What is on disk now. None if the file is gone.
    pub text: Option<String>,
}

/// The files of a folder, as paths in it with forward slashes, sorted.
///
/// # Errors
/// The folder cannot be read.
pub fn list(rules: &Path) -> Result<Vec<String>> {
    let paths = Sources::paths(rules).map_err(|error| failed(rules, &error))?;
    let inside = paths.iter().filter_map(|path| path.strip_prefix(rules).ok());
    Ok(inside.map(|path| path.to_string_lossy().replace('\\', "/")).collect())
}

/// The path of a mapping file of the folder.
///
/// # Errors
/// There is no such file in it.
pub fn path(rules: &Path, file: &str) -> Result<PathBuf> {
    if list(rules)?.iter().any(|known| known == file) {
        return Ok(rules.join(file));
    }
    let error = Error::new(Kind::Io, format!("there is no mapping file `{file}`"));
    Err(error
        .at(rules.display().to_string())
        .help("name a file of the folder of rules, such as `aten/activation.opmap`"))
}

/// The text of a file.
///
/// # Errors
/// There is no such file, or it cannot be read.
pub fn read(rules: &Path, file: &str) -> Result<String> {
    let path = path(rules, file)?;
    std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))
}

/// Writes a file, if the text on disk is the one that the page knows. The file is complete at every moment.
///
/// # Errors
/// The file cannot be read or written.
pub fn save(rules: &Path, edited: &Edited) -> Result<Saved> {
    let answer = |saved: bool, text: Option<String>| Saved { file: edited.file.clone(), saved, text };
    let Ok(path) = path(rules, &edited.file) else { return Ok(answer(false, None)) };
    let on_disk = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    if on_disk != edited.base {
        return Ok(answer(false, Some(on_disk)));
    }
    // Editors in pages have lines that end in `\n`.
    let text = if on_disk.contains("\r\n") { edited.text.replace('\n', "\r\n") } else { edited.text.clone() };
    replace(&path, &text)?;
    Ok(answer(true, Some(text)))
}

/// Replaces a file as a whole. A link stays, and what it leads to is replaced.
fn replace(path: &Path, text: &str) -> Result<()> {
    let path = path.canonicalize().map_err(|error| failed(path, &error))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut staged| {
        staged.write_all(text.as_bytes())?;
        std::fs::set_permissions(staged.path(), std::fs::metadata(&path)?.permissions())?;
        staged.persist(&path).map_err(|error| error.error)
    });
    written.map(drop).map_err(|error| failed(&path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(Kind::Io, error.to_string()).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable(&error.to_string()));
        assert!(std::fs::create_dir(folder.path().join("aten")).is_ok());
        assert!(std::fs::write(folder.path().join("aten/a.opmap"), "one\n").is_ok());
        assert!(std::fs::write(folder.path().join("secret.toml"), "x").is_ok());
        folder
    }

    #[allow(clippy::panic, reason = "a test")]
    fn unreachable(text: &str) -> ! {
        panic!("{text}")
    }

    fn edited(base: &str, text: &str) -> Edited {
        Edited { file: "aten/a.opmap".to_owned(), text: text.to_owned(), base: base.to_owned() }
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let folder = folder();
        let on_disk = || std::fs::read_to_string(folder.path().join("aten/a.opmap")).unwrap_or_default();
        let saved = save(folder.path(), &edited("one\n", "two\n"));
        assert!(saved.is_ok_and(|saved| saved.saved && saved.text.as_deref() == Some("two\n")));
        assert_eq!(on_disk(), "two\n");
        let refused = save(folder.path(), &edited("one\n", "three\n"));
        assert!(refused.is_ok_and(|saved| !saved.saved && saved.text.as_deref() == Some("two\n")));
        assert_eq!(on_disk(), "two\n");
        assert_eq!(std::fs::read_dir(folder.path().join("aten")).map(Iterator::count).ok(), Some(1));
    }

    #[test]
    fn ends_of_lines_stay() {
        let folder = folder();
        assert!(std::fs::write(folder.path().join("aten/a.opmap"), "a\r\nb\r\n").is_ok());
        let saved = save(folder.path(), &edited("a\r\nb\r\n", "a\nc\n"));
        assert!(saved.is_ok_and(|saved| saved.text.as_deref() == Some("a\r\nc\r\n")));
    }

    #[test]
    fn only_mapping_files_of_the_folder_are_read_and_written() {
        let folder = folder();
        for file in ["secret.toml", "../x.opmap", "/etc/passwd", "aten/../aten/a.opmap", "aten/b.opmap", ""] {
            assert!(read(folder.path(), file).is_err(), "{file}");
            let other = Edited { file: file.to_owned(), ..edited("x", "y") };
            assert!(save(folder.path(), &other).is_ok_and(|saved| !saved.saved && saved.text.is_none()), "{file}");
        }
        assert_eq!(list(folder.path()).ok(), Some(vec!["aten/a.opmap".to_owned()]));
        assert_eq!(std::fs::read_to_string(folder.path().join("secret.toml")).ok().as_deref(), Some("x"));
    }
}
