//! Weights that are in other files than the program: safetensors, whose tensors are bound to the names of the state dict.
//!
//! Only the headers of the files are read. A tensor is a range of a mapped file, in row-major order and little-endian, so that a model can
//! link to it.

pub mod files;
mod nearest;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::Weight;
use aten2onnx_options::{SourceOptions, WeightName};
use aten2onnx_program::TensorMeta;
pub use nearest::nearest;

/// The most names that a message lists.
const LISTED: usize = 5;

/// The tensors of all files.
#[derive(Debug)]
pub struct Elsewhere {
    tensors: FxHashMap<String, Arc<Weight>>,
    names: Vec<WeightName>,
    /// The tensors that are bound, under their first name in the state dict.
    bound: FxHashMap<String, Arc<Weight>>,
    /// Names in the files of weights that a module has.
    unread: FxHashSet<String>,
    /// Names without a tensor, and types of tensors that do not fit.
    missing: Vec<Missing>,
    wrong: Vec<String>,
    /// Names whose data is that of the package.
    own: Vec<String>,
}

/// A name of the state dict that is in no file.
#[derive(Debug)]
struct Missing {
    name: String,
    wanted: String,
    sizes: Option<Vec<i64>>,
}

impl Elsewhere {
    /// Opens the files that the options name; None if they name none.
    ///
    /// # Errors
    /// A file that cannot be read or is not safetensors, or a name that two files have.
    pub fn open(options: &SourceOptions) -> Result<Option<Elsewhere>> {
        if options.weights.is_empty() {
            return match options.weight_names.first() {
                None => Ok(None),
                Some(_) => {
                    Err(Error::new(Kind::Unsupported, "names of weights are given, but no files that have them")
                        .help("name the files: `--weights DIR`"))
                }
            };
        }
        for (index, choice) in options.weight_names.iter().enumerate() {
            let twice = options.weight_names.iter().take(index).find(|other| other.old == choice.old);
            if let Some(other) = twice.filter(|other| other.new != choice.new) {
                let message = format!(
                    "two names are given for the weight `{}`: `{}` and `{}`",
                    choice.old, other.new, choice.new
                );
                return Err(Error::new(Kind::Unsupported, message));
            }
        }
        let mut tensors = FxHashMap::default();
        for path in &options.weights {
            files::read(path, &mut tensors).map_err(|error| error.at(path.display().to_string()))?;
        }
        let (names, bound) = (options.weight_names.clone(), FxHashMap::default());
        let unread = FxHashSet::default();
        Ok(Some(Elsewhere { tensors, names, bound, unread, missing: Vec::new(), wrong: Vec::new(), own: Vec::new() }))
    }

    /// The name in the files of a name in the state dict. The last option that is about the weight counts.
    fn wanted(&self, name: &str) -> String {
        self.names.iter().rev().find_map(|choice| choice.apply(name)).unwrap_or_else(|| name.to_owned())
    }

    /// The tensor for a name of the state dict, or for one of those that are tied to it. A tensor of another type is noted.
    pub fn bind(&mut self, name: &str, tied: &[String], meta: Option<&TensorMeta>) -> Option<Arc<Weight>> {
        let names = std::iter::once(name).chain(tied.iter().map(String::as_str));
        let wanted = names.map(|name| self.wanted(name)).find(|wanted| self.tensors.contains_key(wanted))?;
        let tensor = Arc::clone(self.tensors.get(&wanted)?);
        if let Some(meta) = meta
            && let Some(fault) = fault(&tensor, meta)
        {
            self.wrong.push(format!("`{name}` {fault}"));
        }
        let named = || Arc::new(Weight { name: name.to_owned(), ..(*tensor).clone() });
        Some(Arc::clone(self.bound.entry(wanted).or_insert_with(named)))
    }

    /// Notes that a name has no tensor, and no data in the package either.
    pub fn miss(&mut self, name: &str, meta: Option<&TensorMeta>) {
        let wanted = self.wanted(name);
        self.missing.push(Missing { name: name.to_owned(), wanted, sizes: meta.and_then(sizes) });
    }

    /// Notes that the module has a weight of this name, which the program may not read.
    pub fn know(&mut self, name: &str) {
        self.unread.insert(self.wanted(name));
    }

    /// Notes that a name of the state dict has no tensor, but data in the package.
    pub fn keep(&mut self, name: &str) {
        self.own.push(name.to_owned());
    }

    /// Notes on what was not bound, after all names.
    ///
    /// # Errors
    /// Names without data, and tensors of other types than the program's.
    pub fn finish(self) -> Result<Vec<String>> {
        if !self.missing.is_empty() {
            return Err(self.missing_error());
        }
        if !self.wrong.is_empty() {
            let count = self.wrong.len();
            let message = format!("{} of other types than the program has: {}", tensors(count), listed(&self.wrong));
            return Err(Error::input(message)
                .help("give the files that the program was exported with, or export it with the dtype of the files"));
        }
        let mut notes = Vec::new();
        if !self.own.is_empty() {
            let names: Vec<String> = self.own.iter().map(|name| format!("`{name}`")).collect();
            let count = names.len();
            notes.push(format!("{} not in the given files but in the package: {}", tensors(count), listed(&names)));
        }
        let unused = self.unused();
        if !unused.is_empty() {
            let names: Vec<String> = unused.iter().map(|name| format!("`{name}`")).collect();
            notes.push(format!(
                "{} in the given files but not in the program: {}",
                tensors(names.len()),
                listed(&names)
            ));
        }
        Ok(notes)
    }

    /// The names of the files that are not bound, sorted.
    fn unused(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tensors.keys().map(String::as_str).collect();
        names.retain(|name| !self.bound.contains_key(*name) && !self.unread.contains(*name));
        names.sort_unstable();
        names
    }

    fn missing_error(&self) -> Error {
        let unused = self.unused();
        let mut help = None;
        let all: Vec<String> =
            self.missing.iter().take(LISTED).map(|missing| self.described(missing, &unused, &mut help)).collect();
        let more = self.missing.len() - all.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let spare = match unused.len() {
            0 => String::new(),
            count => format!("; {} in the files but not in the program", tensors(count)),
        };
        let message =
            format!("{} not in the given files: {}{more}{spare}", tensors(self.missing.len()), all.join(", "));
        let help = help.unwrap_or_else(|| {
            "give all files of the model, or the name of the tensor in them: `--weight-name OLD=NEW`".to_owned()
        });
        Error::input(message).help(help)
    }

    /// A missing name with the nearest name, which is the one that the help speaks of.
    fn described(&self, missing: &Missing, unused: &[&str], help: &mut Option<String>) -> String {
        let fits = |name: &&str| match (&missing.sizes, self.tensors.get(*name)) {
            (Some(sizes), Some(tensor)) => tensor.sizes == *sizes,
            _ => true,
        };
        // A tied weight has one name in the files, which is used already.
        let mut known: Vec<&str> = self.tensors.keys().map(String::as_str).filter(fits).collect();
        known.sort_unstable();
        let found = nearest(&missing.wanted, unused.iter().copied().filter(fits))
            .or_else(|| nearest(&missing.wanted, known.into_iter()));
        let Some(found) = found else { return format!("`{}`", missing.name) };
        help.get_or_insert_with(|| advice(&missing.name, found));
        format!("`{}` (nearest: `{found}`)", missing.name)
    }
}

/// How to name the tensor `found` for a weight: by the prefixes in which they differ, if they do.
fn advice(name: &str, found: &str) -> String {
    if name == found {
        return "the files have the names of the state dict: omit `--weight-name`".to_owned();
    }
    let prefixes = match (name.strip_suffix(found), found.strip_suffix(name)) {
        (Some(prefix), _) if prefix.ends_with('.') => Some((prefix, "")),
        (_, Some(prefix)) if prefix.ends_with('.') => Some(("", prefix)),
        _ => None,
    };
    match prefixes {
        Some((old, new)) => format!("if all names differ so: `--weight-name {old}={new}`"),
        None => format!("if it is that tensor: `--weight-name {name}={found}`"),
    }
}

/// Why a tensor is not the one that the program was exported with.
fn fault(tensor: &Weight, meta: &TensorMeta) -> Option<String> {
    let wanted = sizes(meta).unwrap_or_else(|| tensor.sizes.clone());
    if tensor.dtype == meta.dtype && tensor.sizes == wanted {
        return None;
    }
    let (has, wants) = (tensor.dtype.torch_name(), meta.dtype.torch_name());
    Some(format!("is {has}{:?} in the files and {wants}{wanted:?} in the program", tensor.sizes))
}

fn sizes(meta: &TensorMeta) -> Option<Vec<i64>> {
    meta.sizes.iter().map(|size| size.known()).collect()
}

fn tensors(count: usize) -> String {
    if count == 1 { "1 weight is".to_owned() } else { format!("{count} weights are") }
}

fn listed(all: &[String]) -> String {
    let shown = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
