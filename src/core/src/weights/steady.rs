//! Files that may change while they are read. Their bytes are read by copies, never in the map: a file that becomes shorter is an error
//! where its end is missed, and one that is written to meanwhile is an error before the result is put in its place.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::time::SystemTime;

use super::{MappedFile, Pages, Storage};
use crate::error::{Error, Kind, Result};

/// What tells versions of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    len: u64,
    /// The time of the last write. That of the entry is no sign: a file that is renamed, linked or removed keeps its bytes.
    modified: Option<SystemTime>,
}

impl Stamp {
    pub fn of(file: &File) -> io::Result<Stamp> {
        let found = file.metadata()?;
        Ok(Stamp { len: found.len(), modified: found.modified().ok() })
    }
}

impl MappedFile {
    /// A copy of a range of a file on disk, or the bytes in memory.
    ///
    /// # Errors
    /// A range that the file does not have, or no longer.
    pub fn read(&self, start: usize, len: usize) -> Result<Cow<'_, [u8]>> {
        match &self.pages {
            Pages::Owned(bytes) => {
                let end = start.checked_add(len);
                let found = end.and_then(|end| bytes.get(start..end)).map(Cow::Borrowed);
                found.ok_or_else(|| Error::internal("a file was read outside its end"))
            }
            Pages::Map(..) => {
                let mut bytes = vec![0; len];
                self.read_into(start, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Fills a buffer from a position of the file.
    ///
    /// # Errors
    /// As for [`MappedFile::read`].
    pub fn read_into(&self, start: usize, buffer: &mut [u8]) -> Result<()> {
        match &self.pages {
            Pages::Owned(_) => buffer.copy_from_slice(&self.read(start, buffer.len())?),
            Pages::Map(_, file) => read_at(file, start as u64, buffer).map_err(|error| self.unread(&error))?,
        }
        Ok(())
    }

    /// Checks that the file is what it was when it was opened.
    ///
    /// # Errors
    /// Somebody has written to it.
    pub fn check_unchanged(&self) -> Result<()> {
        let Pages::Map(_, file) = &self.pages else { return Ok(()) };
        match Stamp::of(file) {
            Ok(stamp) if Some(stamp) == self.stamp => Ok(()),
            Ok(_) => Err(self.is_changed()),
            Err(error) => Err(self.unread(&error)),
        }
    }

    fn is_changed(&self) -> Error {
        Error::new(Kind::Io, "the file was changed while it was read")
            .at(self.path.display().to_string())
            .help("wait until it is complete, and run this again")
    }

    fn unread(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.is_changed(),
            _ => Error::new(Kind::Io, error.to_string()).at(self.path.display().to_string()),
        }
    }
}

impl Storage {
    /// The bytes of a storage that is not computed: those in memory, or a copy of those of a file.
    ///
    /// # Errors
    /// A file that has become shorter.
    pub fn read(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Storage::Mapped { file, start, len } => file.read(*start, *len),
            _ => Ok(Cow::Borrowed(self.bytes())),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, start: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, start)
}

#[cfg(windows)]
fn read_at(file: &File, mut start: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, start)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        start += read as u64;
        buffer = buffer.get_mut(read..).unwrap_or_default();
    }
    Ok(())
}
