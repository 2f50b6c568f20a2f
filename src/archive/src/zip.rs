//! Reads the zip archive of a model: checks its directory, and returns entries as ranges of the mapped file.
//!
//! Nothing is copied, because torch stores data uncompressed. Only the code in TorchScript archives is compressed: it is
//! inflated within a limit. The directory is not trusted: names, ranges and local headers are checked before anything is
//! read.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use zip::read::{ArchiveOffset, Config};
use zip::{CompressionMethod, ZipArchive};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::foreign::Foreign;
use aten2onnx_core::weights::{Cursor, MappedFile, Storage};
use aten2onnx_onnx::read::Source;

/// An open archive.
#[derive(Debug, Clone)]
pub struct Archive {
    file: Arc<MappedFile>,
    /// The entry of the outer archive, for messages; empty for a file.
    place: String,
    /// The root folder, with its slash; may be empty.
    root: String,
    /// Entries by name without the root folder.
    entries: FxHashMap<String, Entry>,
}

/// The location of an entry.
#[derive(Debug, Clone)]
struct Entry {
    /// The first byte in the file.
    start: usize,
    len: usize,
    /// The number of bytes when inflated, as the directory states it.
    full_len: u64,
    packing: Packing,
    encrypted: bool,
    /// The bytes that were read of it.
    read: OnceLock<Arc<[u8]>>,
}

/// How an entry is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Stored,
    Deflated,
    Other,
}

impl Archive {
    /// Reads the directory of a file.
    pub fn of_file(file: Arc<MappedFile>) -> Result<Archive> {
        let end = file.bytes().len();
        Archive::of_range(file, 0, end, String::new())
    }

    /// Opens an archive that is an entry of this one.
    pub fn nested(&self, entry: &str) -> Result<Archive> {
        let found = self.stored(entry)?;
        let archive =
            Archive::of_range(Arc::clone(&self.file), found.start, found.start + found.len, self.full_name(entry));
        archive.map_err(|error| self.error(entry, error))
    }

    fn of_range(file: Arc<MappedFile>, start: usize, end: usize, place: String) -> Result<Archive> {
        if start == end {
            return Err(Foreign::Empty.error(&file.path.display().to_string(), "", ""));
        }
        let (root, entries) = contents(&file, start, end)?;
        Ok(Archive { file, place, root, entries })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The name of an entry in the directory.
    pub fn full_name(&self, entry: &str) -> String {
        format!("{}{entry}", self.root)
    }

    /// Whether the archive has an entry.
    pub fn contains(&self, entry: &str) -> bool {
        self.entries.contains_key(entry)
    }

    /// The names of all entries without the root folder, unordered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The bytes of an entry, which are read once: the file may change.
    pub fn bytes(&self, entry: &str) -> Result<&[u8]> {
        let found = self.stored(entry)?;
        if found.read.get().is_none() {
            let bytes = self.file.read(found.start, found.len).map_err(|error| self.error(entry, error))?;
            let _ = found.read.set(bytes.into());
        }
        Ok(found.read.get().map(|bytes| &**bytes).unwrap_or_default())
    }

    /// The bytes of an entry, inflated if it is compressed to at most `limit` bytes.
    pub fn inflated(&self, entry: &str, limit: usize) -> Result<Cow<'_, [u8]>> {
        let found = self.found(entry)?;
        if found.packing != Packing::Deflated {
            return self.bytes(entry).map(Cow::Borrowed);
        }
        let full_len = usize::try_from(found.full_len).ok().filter(|len| *len <= limit);
        let Some(full_len) = full_len else {
            let error =
                Error::unsupported(format!("it inflates to {} bytes; at most {limit} are read", found.full_len));
            return Err(self.error(entry, error));
        };
        let packed = self.file.read(found.start, found.len).map_err(|error| self.error(entry, error))?;
        match miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, full_len) {
            Ok(bytes) if bytes.len() == full_len => Ok(Cow::Owned(bytes)),
            _ => Err(self.error(entry, Error::input("its compressed data is damaged"))),
        }
    }

    /// The trimmed text of a short entry; None if it does not exist.
    pub fn text(&self, entry: &str) -> Result<Option<&str>> {
        if !self.contains(entry) {
            return Ok(None);
        }
        let text = std::str::from_utf8(self.bytes(entry)?);
        text.map(|text| Some(text.trim())).map_err(|_| self.error(entry, Error::input("it is not UTF-8 text")))
    }

    /// An entry as the bytes of a weight.
    pub fn storage(&self, entry: &str) -> Result<Storage> {
        let Entry { start, len, .. } = *self.stored(entry)?;
        Ok(Storage::Mapped { file: Arc::clone(&self.file), start, len })
    }

    /// Adds the entry and its archive to an error.
    pub fn error(&self, entry: &str, error: Error) -> Error {
        let error = error.at(self.full_name(entry));
        if self.place.is_empty() { error } else { error.at(self.place.clone()) }
    }

    fn found(&self, entry: &str) -> Result<&Entry> {
        let found = self.entries.get(entry);
        let found = found.ok_or_else(|| self.error(entry, Error::input("the archive does not have this entry")))?;
        if found.encrypted {
            return Err(self.error(entry, Error::input("it is encrypted, which is not supported")));
        }
        Ok(found)
    }

    fn stored(&self, entry: &str) -> Result<&Entry> {
        let found = self.found(entry)?;
        if found.packing != Packing::Stored {
            let error = Error::input("it is compressed, which torch never does with data: the archive was repacked");
            let help = "unpack the archive and repack it without compression: `zip -0 -r model.pt2 folder`";
            return Err(self.error(entry, error.help(help)));
        }
        Ok(found)
    }
}

/// The root folder and the entries of the archive in a range of a file.
fn contents(file: &Arc<MappedFile>, start: usize, end: usize) -> Result<(String, FxHashMap<String, Entry>)> {
    let range = Cursor::new(file, start, end.saturating_sub(start));
    let size = range.left();
    // Without searching for a shifted start, the cost is linear in the size of the directory.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let zip = ZipArchive::with_config(config, range).and_then(|mut zip| {
        zip.validate_header_consistency()?;
        Ok(zip)
    });
    let mut zip = zip.map_err(|error| not_an_archive(file, start, end, &error))?;
    let mut found = Vec::with_capacity(zip.len());
    for index in 0..zip.len() {
        let entry = zip.by_index_raw(index).map_err(|error| not_an_archive(file, start, end, &error))?;
        let name = std::str::from_utf8(entry.name_raw())
            .map_err(|_| Error::input(format!("the name of entry {index} is not UTF-8")))?;
        check_name(name)?;
        if name.ends_with('/') {
            continue;
        }
        let in_entry = |message: &str| Error::input(message).at(name.to_owned());
        let range = entry.data_start().zip(Some(entry.compressed_size())).and_then(|(from, len)| {
            let from = usize::try_from(from).ok()?;
            let len = usize::try_from(len).ok()?;
            (from.checked_add(len)? <= size).then_some((from, len))
        });
        let (from, len) = range.ok_or_else(|| in_entry("it exceeds the end of the file"))?;
        let packing = packing(entry.compression());
        if packing == Packing::Stored && entry.size() != entry.compressed_size() {
            return Err(in_entry("it is not compressed, but its sizes differ"));
        }
        let (full_len, encrypted) = (entry.size(), entry.encrypted());
        found.push((
            name.to_owned(),
            Entry { start: start + from, len, full_len, packing, encrypted, read: OnceLock::new() },
        ));
    }
    let root = root_folder(&found);
    let entries = found.into_iter().filter_map(|(name, entry)| Some((name.strip_prefix(&root)?.to_owned(), entry)));
    let entries = entries.collect();
    Ok((root, entries))
}

fn packing(method: CompressionMethod) -> Packing {
    match method {
        CompressionMethod::Stored => Packing::Stored,
        CompressionMethod::DEFLATE => Packing::Deflated,
        _ => Packing::Other,
    }
}

/// torch puts all entries into one folder with an arbitrary name; torch 2.7 and older used none.
fn root_folder(entries: &[(String, Entry)]) -> String {
    let first = entries.first().and_then(|(name, _)| name.split_once('/')).map(|(root, _)| format!("{root}/"));
    match first {
        Some(root) if entries.iter().all(|(name, _)| name.starts_with(&root)) => root,
        _ => String::new(),
    }
}

fn check_name(name: &str) -> Result<()> {
    let bad = if name.is_empty() {
        "is empty"
    } else if name.starts_with('/') {
        "is absolute"
    } else if name.contains('\0') || name.contains('\\') {
        "has an invalid character"
    } else if name.split('/').any(|part| part == "..") {
        "points outside of the archive"
    } else {
        return Ok(());
    };
    Err(Error::input(format!("the name {name:?} of an entry {bad}")))
}

fn not_an_archive(file: &Arc<MappedFile>, start: usize, end: usize, error: &zip::result::ZipError) -> Error {
    match Foreign::of_part(file, start, end) {
        Foreign::Zip => Error::input(format!("the archive is damaged or incomplete: {error}"))
            .help("copy or download the file again; its end may be missing"),
        kind => no_archive(file, kind),
    }
}

/// The error for a file of a kind that is no archive, or for a part of an archive.
fn no_archive(file: &Arc<MappedFile>, kind: Foreign) -> Error {
    let path = file.path.display().to_string();
    if kind == Foreign::Unknown && Source::of(Arc::clone(file)).is_ok() {
        return Error::input("it is an ONNX model already, not a program of PyTorch").help(format!(
            "`aten2onnx convert {path} -o other.onnx --opset 13` converts it to another opset, and `aten2onnx inspect {path}` shows what it has"
        ));
    }
    kind.error(
        &path,
        "a zip archive like files of torch.export.save",
        "save the model with `torch.export.save(torch.export.export(model.eval(), (x,)), \"model.pt2\")`; weights beside a model are read through the model",
    )
}
