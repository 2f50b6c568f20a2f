//! Lines of the author's source, from the debug entries of the archive. They are read when an error or the provenance
//! asks for them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::syntax::Name;
use aten2onnx_archive::pickle::{Id, Object, Pickle};
use aten2onnx_archive::zip::Archive;

/// The largest debug entry that is read.
const MAX_SIZE: usize = 256 << 20;
/// The most bytes of texts that are looked at for all lines together.
const MAX_WORK: usize = 1 << 30;

/// So many records before one without a text are looked at.
const NEARBY: usize = 4;

/// Lines by file and offset.
#[derive(Debug)]
pub struct Sources<'a> {
    archive: &'a Archive,
    files: FxHashMap<Name, Table>,
    /// The bytes of texts that may still be looked at.
    budget: usize,
}

/// The debug entry of a file.
#[derive(Debug, Default)]
struct Table {
    strings: Vec<String>,
    /// The texts, each once: all records of a repeated layer have the same.
    texts: Vec<Text>,
    /// In the order of their offsets.
    records: Vec<Record>,
    /// Places that were asked for, by the number of their text and the offset in it.
    known: FxHashMap<(u32, i64), Option<SourcePlace>>,
}

/// A piece of source, or a call stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Text {
    /// These strings in a row.
    strings: Vec<u32>,
    file: Option<u32>,
    /// The line of the file where it starts.
    first: Option<i64>,
}

/// From this offset on, code comes from this place.
#[derive(Debug)]
struct Record {
    at: i64,
    /// The number of its text, and the offset there.
    place: Option<(u32, i64)>,
}

/// Gives numbers to texts.
#[derive(Default)]
struct Texts {
    all: Vec<Text>,
    known: FxHashMap<Text, u32>,
}

impl Texts {
    fn number(&mut self, text: Text) -> Option<u32> {
        if text.strings.is_empty() {
            return None;
        }
        if let Some(number) = self.known.get(&text) {
            return Some(*number);
        }
        let number = u32::try_from(self.all.len()).ok()?;
        self.all.push(text.clone());
        self.known.insert(text, number);
        Some(number)
    }
}

/// A place in the author's source.
#[derive(Debug, Clone)]
pub struct SourcePlace {
    /// `File "x.py", line 3, in forward`
    pub line: Rc<str>,
    /// Whether the code there was run by `torch.jit.trace`; else it was scripted.
    pub is_traced: bool,
}

impl<'a> Sources<'a> {
    /// The sources of an archive.
    pub fn new(archive: &'a Archive) -> Sources<'a> {
        Sources { archive, files: FxHashMap::default(), budget: MAX_WORK }
    }

    /// The place in the author's source that an offset of a file comes from.
    pub fn place(&mut self, file: &Name, at: usize) -> Option<SourcePlace> {
        if !self.files.contains_key(file) {
            let table = self.table(file).unwrap_or_default();
            self.files.insert(Rc::clone(file), table);
        }
        let table = self.files.get_mut(file)?;
        let at = i64::try_from(at).ok()?;
        let mut index = table.records.partition_point(|record| record.at <= at).checked_sub(1)?;
        // Brackets and names have records without a text.
        for _ in 0..NEARBY {
            if table.records.get(index).is_none_or(|record| record.place.is_some()) {
                break;
            }
            index = index.checked_sub(1)?;
        }
        let at = table.records.get(index)?.place?;
        if let Some(known) = table.known.get(&at) {
            return known.clone();
        }
        let place = table.described(at, &mut self.budget);
        table.known.insert(at, place.clone());
        place
    }

    fn table(&self, file: &str) -> Option<Table> {
        let bytes = self.archive.inflated(&format!("{file}.debug_pkl"), MAX_SIZE).ok()?;
        let pickle = Pickle::read(&bytes).ok()?;
        let root = pickle.tuple(pickle.root())?;
        let mut table = Table::default();
        let mut texts = Texts::default();
        match root {
            [format, strings, records] if pickle.str(*format) == Some("FORMAT_WITH_STRING_TABLE") => {
                let strings = items(&pickle, *strings)?.iter();
                table.strings = strings.map(|id| pickle.str(*id).unwrap_or_default().to_owned()).collect();
                let records = items(&pickle, *records)?.iter();
                table.records = records.filter_map(|id| tabled(&pickle, *id, &mut texts)).collect();
            }
            records => {
                let mut known = FxHashMap::default();
                for id in records {
                    let record = plain(&pickle, *id, &mut table.strings, &mut known, &mut texts);
                    table.records.extend(record);
                }
            }
        }
        table.records.sort_by_key(|record| record.at);
        table.texts = texts.all;
        Some(table)
    }
}

impl Table {
    /// The characters of a text, up to `most` bytes.
    fn joined(&self, strings: &[u32], most: usize) -> String {
        let mut text = String::new();
        for index in strings {
            let Some(string) = self.strings.get(*index as usize) else { continue };
            text.push_str(string);
            if text.len() >= most {
                break;
            }
        }
        text
    }

    /// A trace has the Python call stack as its text; a scripted function its source, with a file and line.
    fn described(&self, (number, start): (u32, i64), budget: &mut usize) -> Option<SourcePlace> {
        /// A call stack or a function has less.
        const MOST: usize = 1 << 20;
        let Text { strings, file, first } = self.texts.get(number as usize)?;
        let text = self.joined(strings, MOST.min(*budget));
        *budget = budget.saturating_sub(text.len());
        let file = file.and_then(|file| self.strings.get(file as usize));
        let mut frames = text.lines().map_while(frame);
        if let Some(innermost) = frames.next() {
            let is_own = |(file, ..): &(&str, u32, &str)| !file.contains("/torch/");
            let own = if is_own(&innermost) { innermost } else { frames.find(is_own).unwrap_or(innermost) };
            let (file, line, function) = own;
            let line = format!("File \"{file}\", line {line}, in {function}");
            return Some(SourcePlace { line: Rc::from(line), is_traced: true });
        }
        let (file, first) = (file.filter(|file| !file.is_empty())?, (*first)?);
        let before = text.get(..usize::try_from(start).ok()?).unwrap_or(&text);
        let line = first.saturating_add(i64::try_from(before.matches('\n').count()).ok()?);
        let function = text.trim_start().strip_prefix("def ").and_then(|rest| rest.split('(').next());
        let line = match function {
            Some(function) => format!("File \"{file}\", line {line}, in {function}"),
            None => format!("File \"{file}\", line {line}"),
        };
        Some(SourcePlace { line: Rc::from(line), is_traced: false })
    }
}

/// `/x/model.py(12): forward`
fn frame(line: &str) -> Option<(&str, u32, &str)> {
    let (place, function) = line.trim().rsplit_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    line.parse::<u32>().ok().map(|line| (file, line, function))
}

/// The elements of a tuple, of a list, or of `build_intlist([..])`.
fn items<'p>(pickle: &'p Pickle<'_>, id: Id) -> Option<&'p [Id]> {
    let id = match pickle.get(id) {
        Object::Call(call) => *pickle.tuple(call.args)?.first()?,
        _ => id,
    };
    match pickle.get(id) {
        Object::List(items) | Object::Tuple(items) => Some(items),
        _ => None,
    }
}

/// `(offset, ((text: indices, file: index, first line), start, end), tag)`
fn tabled(pickle: &Pickle<'_>, id: Id, texts: &mut Texts) -> Option<Record> {
    let [at, range, ..] = pickle.tuple(id)? else { return None };
    let at = pickle.int(*at)?;
    let index = |id: &Id| pickle.int(*id).and_then(|index| u32::try_from(index).ok());
    let mut place = || -> Option<(u32, i64)> {
        let [source, start, ..] = pickle.tuple(*range)? else { return None };
        let [text, file, first] = pickle.tuple(*source)? else { return None };
        let strings = items(pickle, *text)?.iter().filter_map(index).collect();
        let number = texts.number(Text { strings, file: index(file), first: pickle.int(*first) })?;
        Some((number, pickle.int(*start)?))
    };
    Some(Record { at, place: place() })
}

/// `(offset, (text, file, line), start, end, ..)`
fn plain(
    pickle: &Pickle<'_>,
    id: Id,
    strings: &mut Vec<String>,
    known: &mut FxHashMap<Id, u32>,
    texts: &mut Texts,
) -> Option<Record> {
    let [at, source, start, ..] = pickle.tuple(id)? else { return None };
    let at = pickle.int(*at)?;
    let [text, file, first] = pickle.tuple(*source)? else { return None };
    let mut string = |id: &Id| -> Option<u32> {
        if let Some(index) = known.get(id) {
            return Some(*index);
        }
        strings.push(pickle.str(*id)?.to_owned());
        let index = u32::try_from(strings.len() - 1).ok()?;
        known.insert(*id, index);
        Some(index)
    };
    let text = Text { strings: string(text).into_iter().collect(), file: string(file), first: pickle.int(*first) };
    let start = pickle.int(*start)?;
    Some(Record { at, place: texts.number(text).map(|number| (number, start)) })
}
