//! Files that become visible when they are complete.
//!
//! A [`Staged`] file is written under a temporary name in the folder of its destination and renamed at the end (several at once by
//! `commit`). If it is dropped before, it is removed; [`discard_all`] does the same for a process that is terminated.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::pieces;
use aten2onnx_core::error::{Error, Kind, Result};

/// The temporary names in use.
static STAGED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file for a destination.
#[derive(Debug)]
pub struct Staged {
    file: File,
    temporary: TempPath,
    destination: PathBuf,
    registered: Registered,
}

/// A temporary file that is written, and where it goes.
#[derive(Debug)]
pub(super) struct Complete {
    temporary: TempPath,
    destination: PathBuf,
    _registered: Registered,
}

impl Complete {
    /// Where the file goes.
    pub(super) fn destination(&self) -> &Path {
        &self.destination
    }

    /// Where the file is.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }
}

/// An entry of [`STAGED`], removed on drop.
#[derive(Debug)]
struct Registered(PathBuf);

impl Registered {
    fn new(path: PathBuf) -> Registered {
        staged().push(path.clone());
        Registered(path)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        staged().retain(|path| *path != self.0);
    }
}

impl Staged {
    /// Creates a temporary file in the folder of the destination; that of a symbolic link is its target.
    pub fn create(destination: &Path) -> Result<Staged> {
        Staged::in_place(resolved(destination))
    }

    /// The same for data of a model, where a symbolic link is replaced: data stays in the folder of its model.
    pub fn of_data(destination: &Path) -> Result<Staged> {
        Staged::in_place(destination.to_path_buf())
    }

    fn in_place(destination: PathBuf) -> Result<Staged> {
        if destination.is_dir() {
            return Err(failed(&destination, "is a folder").help("give the name of a file: `-o model.onnx`"));
        }
        let (folder, name) = parts(&destination)?;
        let mut builder = tempfile::Builder::new();
        let prefix = pieces::prefix(&name);
        builder.prefix(&prefix).suffix(pieces::NEW).rand_bytes(pieces::RANDOM);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // minus the umask
        let made: io::Result<NamedTempFile> = builder.tempfile_in(folder);
        let (file, temporary) = made.map_err(|error| not_creatable(&destination, folder, &error))?.into_parts();
        // The lock tells others that the file is no leftover. Without one, they may name it.
        let _ = file.try_lock();
        let registered = Registered::new(temporary.to_path_buf());
        Ok(Staged { file, temporary, destination, registered })
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Where the file goes.
    pub(super) fn destination(&self) -> &Path {
        &self.destination
    }

    /// The file, complete and perhaps closed, and where it goes.
    pub(super) fn complete(self) -> (File, Complete) {
        let Staged { file, temporary, destination, registered } = self;
        (file, Complete { temporary, destination, _registered: registered })
    }

    /// Renames the file to its destination.
    pub fn commit(self) -> Result<()> {
        let Staged { file, temporary, destination, registered } = self;
        drop(file);
        temporary.persist(&destination).map_err(|error| io_failed(&destination, &error.error))?;
        drop(registered);
        Ok(())
    }
}

/// Removes all temporary files of this process before it exits. Files that are being put in their places are waited for.
pub fn discard_all() {
    for path in staged().drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// The message for an error while writing a file.
pub fn io_failed(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => failed(path, "the disk is full"),
        io::ErrorKind::FileTooLarge => failed(path, "the file system does not support files of this size"),
        _ => failed(path, &reason(error)),
    }
}

/// The temporary names in use. While they are held, none is removed by [`discard_all`].
pub(super) fn owned() -> MutexGuard<'static, Vec<PathBuf>> {
    staged()
}

/// The error of a save whose files were discarded.
pub(super) fn interrupted() -> Error {
    Error::new(Kind::Stopped, "interrupted")
}

fn staged() -> MutexGuard<'static, Vec<PathBuf>> {
    STAGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows a symbolic link, so that its target is replaced and the link stays.
fn resolved(path: &Path) -> PathBuf {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()),
        _ => path.to_path_buf(),
    }
}

fn parts(path: &Path) -> Result<(&Path, String)> {
    let name = path.file_name().ok_or_else(|| failed(path, "is not the name of a file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder, name.to_string_lossy().into_owned()))
}

fn not_creatable(path: &Path, folder: &Path, error: &io::Error) -> Error {
    let folder = folder.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            failed(path, &format!("the folder `{folder}` does not exist")).help("create it first")
        }
        io::ErrorKind::PermissionDenied => failed(path, &format!("no permission to write in `{folder}`")),
        io::ErrorKind::ReadOnlyFilesystem => failed(path, &format!("`{folder}` is on a read-only file system")),
        io::ErrorKind::NotADirectory => failed(path, &format!("`{folder}` is not a folder")),
        _ => io_failed(path, error),
    }
}

fn failed(path: &Path, why: &str) -> Error {
    Error::new(Kind::Io, format!("cannot write `{}`: {why}", path.display()))
}

/// The text of the system error, without the number and the temporary name.
fn reason(error: &io::Error) -> String {
    let text = error.get_ref().map_or_else(|| error.to_string(), ToString::to_string);
    let text = text.split(" (os error").next().unwrap_or_default();
    text.split(" at path").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        drop(Staged::create(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        let mut staged = Staged::create(&path).unwrap();
        staged.file().write_all(b"abc").unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        assert!(!path.exists());
        staged.commit().unwrap();
        assert_eq!(names(folder.path()), ["m.onnx"]);
        assert_eq!(fs::read(path).unwrap(), b"abc");
    }

    #[test]
    fn places_that_cannot_be_written_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Staged::create(&folder.path().join("no/m.onnx")).unwrap_err();
        assert!(error.message.contains("does not exist"), "{error}");
        let error = Staged::create(folder.path()).unwrap_err();
        assert!(error.message.ends_with("is a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link.onnx"), folder.path().join("target.onnx"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        Staged::create(&link).unwrap().commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read(&target).unwrap().is_empty());
    }
}
