//! Source files and places in them.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// One `.opmap` file. It is kept for the whole run because diagnostics quote it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Relative to the project's root, with forward slashes, as diagnostics and generated code show it.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// All files of a run, in a fixed order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Indexed by [`FileId`].
    pub files: Vec<SourceFile>,
}

/// The number of a file in [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u32);

/// A range of bytes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The place of an item that is missing.
    pub const NOWHERE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    /// The smallest span that covers both. Both must be in the same file.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// As a range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Sources {
    /// Adds a file and gives its number.
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(SourceFile { path: path.into(), text: text.into() });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file of a span.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The text that a span covers.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.range()).unwrap_or("")
    }

    /// Line (from 1) of the start of a span.
    pub fn line(&self, span: Span) -> usize {
        let text = self.file(span.file).text.as_bytes();
        1 + text[..(span.start as usize).min(text.len())].iter().filter(|b| **b == b'\n').count()
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn place(&self, span: Span) -> String {
        format!("{}:{}", self.file(span.file).path, self.line(span))
    }

    /// Every `.opmap` file under `dir`, sorted.
    pub fn paths(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        collect(dir, &mut paths)?;
        paths.sort();
        Ok(paths)
    }

    /// Reads every `.opmap` file under `dir`, sorted by path. Paths are relative to `dir`'s parent.
    pub fn read_dir(dir: &Path) -> std::io::Result<Sources> {
        let paths = Sources::paths(dir)?;
        let base = dir.parent().unwrap_or(dir);
        let mut sources = Sources::default();
        for path in paths {
            let text = std::fs::read_to_string(&path)?;
            let shown = path.strip_prefix(base).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            sources.add(shown, text);
        }
        Ok(sources)
    }
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "opmap") {
            out.push(path);
        }
    }
    Ok(())
}
