//! All files as the editor has them, and the newest that the checker said of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_opmap::source::{FileId, Sources, Span};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::onnx::Version;
use lsp_types::{Location, Uri};

use crate::analysis::Analysis;
use crate::document::{Document, path_of, uri_of};
use crate::text::Difference;
use crate::words::{FullName, Head};

/// What requests are answered from.
#[derive(Debug)]
pub struct State {
    /// The folder of rules and schemas.
    pub mappings: PathBuf,
    /// Files and folders of a user, over those rules. None if those rules are what is edited.
    pub own: Option<Vec<PathBuf>>,
    /// The number of files that those of the user are checked over.
    pub first: usize,
    /// The schemas of the operators.
    pub schemas: Arc<Schemas>,
    /// The mapping files, by their numbers in the checker.
    pub files: Vec<Document>,
    /// Files that the editor has open, and that are not in the folder. Only their syntax is checked.
    pub others: BTreeMap<String, Document>,
    /// The last state that was checked.
    pub latest: Option<Arc<Analysis>>,
    /// For each file the last state in which all its items could be parsed.
    pub whole: Vec<Option<Arc<Analysis>>>,
}

/// A state that was checked, in which a place of a document is known.
#[derive(Debug, Clone)]
pub struct Known {
    /// The state.
    pub analysis: Arc<Analysis>,
    /// The file.
    pub file: FileId,
    /// How its text differs from that of the document.
    pub difference: Difference,
}

impl State {
    /// Reads all files of a folder.
    ///
    /// # Errors
    /// A file that cannot be read, or a damaged snapshot.
    pub fn load(mappings: &Path, own: Option<Vec<PathBuf>>) -> Result<State, String> {
        let mappings = mappings.canonicalize().map_err(|e| format!("{}: {e}", mappings.display()))?;
        let schemas = Arc::new(Schemas::load(&mappings)?);
        let (files, others, whole) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut state = State { mappings, own, first: 0, schemas, files, others, latest: None, whole };
        state.read_files()?;
        Ok(state)
    }

    /// Reads the folder again. Files that are open keep their text. Returns whether there are other files now.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read_files(&mut self) -> Result<bool, String> {
        let mut paths = Sources::paths(&self.mappings).map_err(|e| format!("{}: {e}", self.mappings.display()))?;
        if let Some(own) = &self.own {
            self.first = paths.len();
            paths.extend(own_files(own)?);
        }
        let mut files = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let uri = uri_of(&path).ok_or_else(|| format!("{}: a path that has no address", path.display()))?;
            let open = self.files.iter().find(|file| file.uri == uri && file.version.is_some()).cloned();
            let open = open.or_else(|| self.others.remove(uri.as_str()));
            files.push(open.unwrap_or_else(|| Document::new(uri, text, None)));
        }
        let is_other = files.len() != self.files.len() || files.iter().zip(&self.files).any(|(a, b)| a.uri != b.uri);
        self.files = files;
        if is_other {
            self.latest = None;
            self.whole = vec![None; self.files.len()];
        }
        Ok(is_other)
    }

    /// The texts of all files for the checker.
    pub fn sources(&self) -> Sources {
        let base = self.mappings.parent().unwrap_or(&self.mappings);
        let mut sources = Sources::default();
        for file in &self.files {
            let path = path_of(&file.uri).unwrap_or_default();
            let shown = path.strip_prefix(base).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            sources.add(shown, file.text.clone());
        }
        sources
    }

    /// Whether a file is one of those that are edited, and not of rules that they stand over.
    pub fn is_own(&self, file: FileId) -> bool {
        file.0 as usize >= self.first
    }

    /// Whether a path is one of those where mapping files are edited.
    pub fn is_edited(&self, path: &Path) -> bool {
        match &self.own {
            Some(own) => own.iter().any(|own| path.starts_with(own)),
            None => path.starts_with(&self.mappings),
        }
    }

    /// The number of a mapping file.
    pub fn file(&self, uri: &Uri) -> Option<FileId> {
        let path = path_of(uri)?;
        let at = self.files.iter().position(|file| file.uri == *uri || path_of(&file.uri).as_ref() == Some(&path))?;
        Some(FileId(at as u32))
    }

    /// A file by its address.
    pub fn document(&self, uri: &Uri) -> Option<&Document> {
        match self.file(uri) {
            Some(id) => self.by_id(id),
            None => self.others.get(uri.as_str()),
        }
    }

    /// A mapping file by its number.
    pub fn by_id(&self, id: FileId) -> Option<&Document> {
        self.files.get(id.0 as usize)
    }

    /// Takes what the checker says. Of older states at most one is kept.
    pub fn learn(&mut self, analysis: Arc<Analysis>) {
        let broken = |file: usize| !analysis.parsed.get(file).copied().unwrap_or(false);
        let kept = (0..self.whole.len()).filter(|file| broken(*file)).find_map(|file| self.whole.get(file)?.clone());
        for (file, whole) in self.whole.iter_mut().enumerate() {
            let older = kept.as_ref().filter(|kept| broken(file) && kept.parsed.get(file) == Some(&true));
            *whole = Some(older.unwrap_or(&analysis).clone());
        }
        let old = self.latest.replace(analysis);
        // The trees of all rules are large: nobody waits until they are gone.
        std::thread::spawn(move || drop(old));
    }

    /// What is known of a file: the last state, and the last one in which all its items could be parsed, if that is another.
    pub fn known(&self, file: FileId) -> Vec<Known> {
        let Some(document) = self.by_id(file) else { return Vec::new() };
        let whole = self.whole.get(file.0 as usize).and_then(Option::as_ref);
        let both = self.latest.iter().chain(whole.filter(|whole| !self.is_latest(whole)));
        both.map(|analysis| {
            let difference = analysis.difference(file, &document.text);
            Known { analysis: analysis.clone(), file, difference }
        })
        .collect()
    }

    fn is_latest(&self, analysis: &Arc<Analysis>) -> bool {
        self.latest.as_ref().is_some_and(|latest| Arc::ptr_eq(latest, analysis))
    }

    /// What a state that was checked says of a place of a document, the newest that says anything.
    pub fn ask<T>(&self, file: FileId, at: usize, question: impl Fn(&Known, usize) -> Option<T>) -> Option<T> {
        self.known(file).iter().find_map(|known| question(known, known.difference.to_old(at)?))
    }

    /// A place of the checker in the text that the editor has.
    pub fn location(&self, analysis: &Analysis, span: Span) -> Option<Location> {
        let document = self.by_id(span.file)?;
        let difference = analysis.difference(span.file, &document.text);
        let range = difference.range_to_new(span.range())?;
        Some(Location::new(document.uri.clone(), document.range(range)))
    }

    /// The version of an operator whose form calls have in an item.
    pub fn version<'s>(&'s self, op: &str, head: Option<&Head>) -> Option<&'s Version> {
        match head.and_then(Head::opset) {
            Some(opset) => self.schemas.onnx.at(op, opset),
            None => self.schemas.onnx.versions(op).last(),
        }
    }

    /// Whether a name is that of an ONNX operator.
    pub fn is_operator(&self, name: &str) -> bool {
        !self.schemas.onnx.versions(name).is_empty()
    }
}

/// The mapping files that a user named, and those in folders; sorted, each once.
fn own_files(own: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in own {
        let unread = |e: std::io::Error| format!("{}: {e}", path.display());
        let path = path.canonicalize().map_err(unread)?;
        if path.is_dir() { find(&path, 0, &mut found) } else { found.push(path) }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Folders below this depth are not looked into.
const DEEPEST: usize = 12;

/// The mapping files in a folder of a user: not those in hidden folders, and in those where programs put what they install or make.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        // A link may lead into a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_foreign = name.starts_with('.') || matches!(name.as_str(), "node_modules" | "target" | "site-packages");
        if is_folder && !is_foreign && depth < DEEPEST {
            find(&path, depth + 1, found);
        } else if !is_folder && path.extension().is_some_and(|extension| extension == "opmap") {
            found.push(path);
        }
    }
}

impl Document {
    /// The name at a place, and the item around it.
    pub fn named(&self, at: usize) -> Option<(FullName, Option<Head>)> {
        let name = self.words.name_at(&self.text, at)?;
        Some((name, self.head_at(at)))
    }

    /// The beginning of the item around a place.
    pub fn head_at(&self, at: usize) -> Option<Head> {
        self.words.head(&self.text, &self.words.item_at(at)?)
    }
}
