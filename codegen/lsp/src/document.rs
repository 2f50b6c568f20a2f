//! A file as the editor has it, and the addresses of files.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};

use crate::text::LineStarts;
use crate::words::Words;

/// A file. Its tokens are those of its text at any time.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its address.
    pub uri: Uri,
    /// The text.
    pub text: String,
    /// The version that the editor gave to the text. None if the editor does not have it open.
    pub version: Option<i32>,
    /// The lines of the text.
    pub lines: LineStarts,
    /// The tokens and items of the text.
    pub words: Words,
}

impl Document {
    /// A file with a text.
    pub fn new(uri: Uri, text: String, version: Option<i32>) -> Document {
        let (lines, words) = (LineStarts::of(&text), Words::of(&text));
        Document { uri, text, version, lines, words }
    }

    /// Applies changes in their order.
    pub fn change(&mut self, changes: Vec<TextDocumentContentChangeEvent>, version: i32) {
        for change in changes {
            match change.range {
                None => self.text = change.text,
                Some(range) => {
                    let (start, end) = (self.offset(range.start), self.offset(range.end));
                    self.text.replace_range(start..end.max(start), &change.text);
                }
            }
            self.lines = LineStarts::of(&self.text);
        }
        self.words = Words::of(&self.text);
        self.version = Some(version);
    }

    /// The byte of a position.
    pub fn offset(&self, position: Position) -> usize {
        self.lines.offset(&self.text, position)
    }

    /// The position of a byte.
    pub fn position(&self, at: usize) -> Position {
        self.lines.position(&self.text, at)
    }

    /// A range of bytes as one of positions.
    pub fn range(&self, range: std::ops::Range<usize>) -> Range {
        self.lines.range(&self.text, range)
    }
}

/// The path of a `file:` address.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = unescaped(path)?;
    // `/C:/folder` on Windows.
    let is_drive = path.as_bytes().get(2) == Some(&b':') && path.starts_with('/');
    Some(PathBuf::from(if is_drive { path.get(1..)? } else { &path }))
}

/// The address of a path.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut text = String::from("file://");
    if !path.starts_with('/') {
        text.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => text.push(byte as char),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    Uri::from_str(&text).ok()
}

/// The text without `%20`.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_the_same() {
        for path in ["/a/b.opmap", "/a b/ü%/c#d.opmap"] {
            let uri = uri_of(Path::new(path));
            assert_eq!(uri.and_then(|uri| path_of(&uri)), Some(PathBuf::from(path)));
        }
        let parsed = |text: &str| Uri::from_str(text).ok().and_then(|uri| path_of(&uri));
        assert_eq!(parsed("file:///c%3A/x"), Some(PathBuf::from("c:/x")));
        assert_eq!(parsed("untitled:x"), None);
        assert_eq!(parsed("file:///a%FF"), None);
    }
}
