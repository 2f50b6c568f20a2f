//! Lines of the author's source, from the debug entries of the archive. They are read when an error or the provenance
//! asks for them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::syntax::Name;
use crate::frontend::archive::Archive;
use crate::frontend::pickle::{Id, Object, Pickle};

/// The largest debug entry that is read.
const MAX_SIZE: usize = 256 << 20;

/// Lines by file and offset.
#[derive(Debug)]
pub struct Sources<'a> {
    archive: &'a Archive,
    files: FxHashMap<Name, Rc<Vec<Record>>>,
    /// Whether lines are asked for.
    pub enabled: bool,
}

/// From this offset on, code comes from this place.
#[derive(Debug)]
struct Record {
    at: i64,
    line: Option<String>,
}

impl<'a> Sources<'a> {
    /// The sources of an archive.
    pub fn new(archive: &'a Archive) -> Sources<'a> {
        Sources { archive, files: FxHashMap::default(), enabled: true }
    }

    /// The line of the author that an offset of a file comes from: `File "x.py", line 3, in forward`.
    pub fn line(&mut self, file: &Name, at: usize) -> Option<String> {
        let records = match self.files.get(file) {
            Some(records) => Rc::clone(records),
            None => {
                let records = Rc::new(self.records(file).unwrap_or_default());
                self.files.insert(Rc::clone(file), Rc::clone(&records));
                records
            }
        };
        let at = i64::try_from(at).ok()?;
        let after = records.partition_point(|record| record.at <= at);
        records.get(after.checked_sub(1)?)?.line.clone()
    }

    fn records(&self, file: &str) -> Option<Vec<Record>> {
        let bytes = self.archive.inflated(&format!("{file}.debug_pkl"), MAX_SIZE).ok()?;
        let pickle = Pickle::read(&bytes).ok()?;
        let root = pickle.tuple(pickle.root())?;
        let mut found: Vec<Record> = match root {
            [format, strings, records] if pickle.str(*format) == Some("FORMAT_WITH_STRING_TABLE") => {
                let strings: Vec<&str> =
                    items(&pickle, *strings)?.iter().map(|id| pickle.str(*id).unwrap_or_default()).collect();
                items(&pickle, *records)?.iter().filter_map(|id| tabled(&pickle, *id, &strings)).collect()
            }
            records => records.iter().filter_map(|id| plain(&pickle, *id)).collect(),
        };
        found.sort_by_key(|record| record.at);
        Some(found)
    }
}

fn items<'p>(pickle: &'p Pickle<'_>, id: Id) -> Option<&'p [Id]> {
    match pickle.get(id) {
        Object::List(items) | Object::Tuple(items) => Some(items),
        _ => None,
    }
}

/// `(offset, ((text: indices, file: index, first line), start, end), tag)`
fn tabled(pickle: &Pickle<'_>, id: Id, strings: &[&str]) -> Option<Record> {
    let [at, range, ..] = pickle.tuple(id)? else { return None };
    let at = pickle.int(*at)?;
    let line = || -> Option<String> {
        let [source, start, ..] = pickle.tuple(*range)? else { return None };
        let [text, file, first] = pickle.tuple(*source)? else { return None };
        let string = |id: Id| strings.get(usize::try_from(pickle.int(id)?).ok()?).copied();
        let text: String = items(pickle, *text)?.iter().filter_map(|id| string(*id)).collect();
        described(&text, string(*file), pickle.int(*first), pickle.int(*start)?)
    };
    Some(Record { at, line: line() })
}

/// `(offset, (text, file, line), start, end, ..)`
fn plain(pickle: &Pickle<'_>, id: Id) -> Option<Record> {
    let [at, source, start, ..] = pickle.tuple(id)? else { return None };
    let at = pickle.int(*at)?;
    let line = || -> Option<String> {
        let [text, file, first] = pickle.tuple(*source)? else { return None };
        described(pickle.str(*text)?, pickle.str(*file), pickle.int(*first), pickle.int(*start)?)
    };
    Some(Record { at, line: line() })
}

/// A scripted function has its file and line; a trace has the Python call stack as its text.
fn described(text: &str, file: Option<&str>, first: Option<i64>, start: i64) -> Option<String> {
    if let (Some(file), Some(first)) = (file.filter(|file| !file.is_empty()), first) {
        let before = text.get(..usize::try_from(start).ok()?).unwrap_or(text);
        let line = first + i64::try_from(before.matches('\n').count()).ok()?;
        let function = text.trim_start().strip_prefix("def ").and_then(|rest| rest.split('(').next());
        return Some(match function {
            Some(function) => format!("File \"{file}\", line {line}, in {function}"),
            None => format!("File \"{file}\", line {line}"),
        });
    }
    let frames = text.lines().filter_map(|line| {
        let (place, function) = line.trim().rsplit_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        line.parse::<u32>().ok().map(|line| (file, line, function))
    });
    let frames: Vec<(&str, u32, &str)> = frames.collect();
    let own = frames.iter().find(|(file, ..)| !file.contains("/torch/")).or(frames.first());
    own.map(|(file, line, function)| format!("File \"{file}\", line {line}, in {function}"))
}
