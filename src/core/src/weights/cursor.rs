//! Reads a file from any position through a small window, for parsers that seek.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use super::MappedFile;

/// The bytes of a window.
const WINDOW: usize = 4096;

/// A reader of a range of a file.
#[derive(Debug)]
pub struct Cursor<'a> {
    file: &'a MappedFile,
    start: usize,
    len: usize,
    at: usize,
    window: Vec<u8>,
    /// Where the window starts in the range.
    first: usize,
}

impl<'a> Cursor<'a> {
    /// A reader of the range, at its start.
    pub fn new(file: &'a MappedFile, start: usize, len: usize) -> Cursor<'a> {
        let len = len.min(file.size().saturating_sub(start));
        Cursor { file, start, len, at: 0, window: Vec::new(), first: 0 }
    }

    /// The bytes at the position that are in the window; [`BufRead::fill_buf`] reads some if there are none.
    pub fn filled(&self) -> &[u8] {
        let at = self.at.checked_sub(self.first).filter(|_| self.left() > 0);
        at.and_then(|at| self.window.get(at..)).unwrap_or_default()
    }

    /// The number of bytes that are left.
    pub fn left(&self) -> usize {
        self.len.saturating_sub(self.at)
    }
}

impl BufRead for Cursor<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.filled().is_empty() && self.left() > 0 {
            self.window.resize(WINDOW.min(self.left()), 0);
            self.first = self.at;
            if let Err(error) = self.file.read_into(self.start + self.at, &mut self.window) {
                self.window.clear();
                return Err(io::Error::other(error));
            }
        }
        Ok(self.filled())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.len);
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let window = self.fill_buf()?;
        let count = window.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), window.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => i128::from(at),
            SeekFrom::Current(by) => self.at as i128 + i128::from(by),
            SeekFrom::End(by) => self.len as i128 + i128::from(by),
        };
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "a position outside of the file");
        // A position beyond the end has no bytes.
        self.at = usize::try_from(at).map_err(|_| outside())?;
        Ok(self.at as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn it_reads_what_is_at_a_position() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|i| (i % 251) as u8).collect();
        let file = MappedFile::from_bytes("w", bytes.clone());
        let mut cursor = Cursor::new(&file, 100, 10_000);
        let mut read = |to: SeekFrom, len: usize| {
            cursor.seek(to).unwrap();
            let mut found = Vec::new();
            Read::by_ref(&mut cursor).take(len as u64).read_to_end(&mut found).unwrap();
            found
        };
        assert_eq!(read(SeekFrom::Start(0), 9000), bytes[100..9100]);
        assert_eq!(read(SeekFrom::Current(-10), 20), bytes[9090..9110]);
        assert_eq!(read(SeekFrom::Start(5), 3), bytes[105..108]);
        assert_eq!(read(SeekFrom::End(-4), 100), bytes[10_096..10_100]);
        assert_eq!(read(SeekFrom::End(4), 100), b"");
    }
}
