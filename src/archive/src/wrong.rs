//! Files that are no program of PyTorch: what they are, and the command or the line of Python that helps.

use std::path::Path;

use crate::form::ArchiveForm;
use crate::pickle::{Id, Object, Pickle};
use crate::zip::Archive;
use aten2onnx_core::error::{Error, Kind};
use aten2onnx_core::foreign::{Foreign, load_weights};
use aten2onnx_core::weights::MappedFile;

/// How a program is saved.
const SAVE: &str = "save the model with `torch.export.save(torch.export.export(model.eval(), (x,)), \"model.pt2\")`";
/// The entry with the objects of a file of `torch.save`.
const PICKLE: &str = "data.pkl";
/// The most keys of a dictionary that are named.
const KEYS: usize = 4;

/// The error for a zip archive that torch did not write.
pub fn other_archive() -> Error {
    Error::input("it is a zip archive, but not a torch.export.save file").help(SAVE)
}

/// The error for an archive of `torch.save`, by what it has.
pub fn saved(archive: &Archive) -> Error {
    let path = archive.path().display().to_string();
    let load = format!("torch.load(\"{path}\")");
    let found = archive.bytes(PICKLE).ok().and_then(|bytes| Pickle::read(bytes).ok());
    let content = found.as_ref().map_or(Content::Unknown, Content::of);
    let (what, help) = match content {
        Content::Weights(count) => (format!("a state dict of {count} tensors"), load_weights(&load)),
        Content::Tensor => ("a tensor".to_owned(), SAVE.to_owned()),
        Content::Keys(keys) => {
            let weights = keys.iter().find(|(_, is_weights)| *is_weights);
            let named: Vec<String> = keys.iter().take(KEYS).map(|(key, _)| format!("`{key}`")).collect();
            let more = if keys.len() > KEYS { " and others" } else { "" };
            let load = weights.map_or(format!("{load}[..]"), |(key, _)| format!("{load}[\"{key}\"]"));
            (format!("a dictionary with the keys {}{more}", named.join(", ")), load_weights(&load))
        }
        Content::Module(class) => (
            format!("an object of the class `{class}`, which only a program that has the class can load"),
            format!(
                "in Python, where `{class}` can be imported: `model = torch.load(\"{path}\", weights_only=False)`, then \
                 `torch.export.save(torch.export.export(model.eval(), (x,)), \"model.pt2\")`"
            ),
        ),
        Content::Unknown => ("weights or objects".to_owned(), load_weights(&load)),
    };
    Error::input(format!("it is a torch.save file without a graph: it has {what}")).help(help)
}

/// The error of a file that is no ONNX model, where it is an archive of PyTorch.
pub fn no_model(path: &Path, error: Error) -> Error {
    let archive = match MappedFile::open(path) {
        Ok(file) if error.kind == Kind::Input && Foreign::of(&file) == Foreign::Zip => Archive::of_file(file),
        Ok(_) => return error,
        Err(_) => return unopened(path, error),
    };
    let Ok(archive) = archive else { return error };
    let shown = path.display();
    let what = match ArchiveForm::of(&archive) {
        ArchiveForm::Pt2 | ArchiveForm::FlatPt2 => "a program of torch.export",
        ArchiveForm::TorchScript => "a TorchScript file",
        ArchiveForm::Saved => return saved(&archive).at(shown.to_string()),
        ArchiveForm::Unknown => return other_archive().at(shown.to_string()),
    };
    Error::input(format!("it is {what}, not an ONNX model"))
        .at(shown.to_string())
        .help(format!("`aten2onnx export {shown} -o model.onnx` makes one of it, at any opset"))
}

/// The error of a path that cannot be opened, with what helps for a folder, and for a file that is not there.
pub fn unopened(path: &Path, error: Error) -> Error {
    if error.kind == Kind::Io && error.help.is_none() && !path.exists() {
        return error.help(missing(path));
    }
    if error.kind != Kind::Io || !path.is_dir() {
        return error;
    }
    let named = |end: &str| {
        let names =
            path.read_dir().into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names.into_iter().next()
    };
    let shown = path.display();
    let help = if path.join("config.json").exists() {
        format!(
            "it looks like a model of Hugging Face: `aten2onnx hf {shown} OUT --task text-generation`, or another task"
        )
    } else if let Some(name) = [".pt2", ".pt", ".ts"].into_iter().find_map(named) {
        format!("give a file, such as `aten2onnx export {}`", path.join(name).display())
    } else if let Some(name) = named(".onnx") {
        format!("give a file, such as `aten2onnx inspect {}`", path.join(name).display())
    } else {
        "give a file".to_owned()
    };
    error.help(help)
}

/// What is there in place of a file that is missing: its folder, and files of the same kind.
fn missing(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = if folder == Path::new(".") { "this folder".to_owned() } else { format!("`{}`", folder.display()) };
    let Ok(entries) = folder.read_dir() else {
        return format!("the folder {shown} does not exist, or cannot be read");
    };
    let is_alike = |name: &str| Path::new(name).extension() == path.extension();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_alike(name) && !name.starts_with('.')).collect();
    names.sort();
    let kind = path.extension().map(|end| format!(" that ends in `.{}`", end.to_string_lossy())).unwrap_or_default();
    match names.as_slice() {
        [] => format!("{shown} has no file{kind}"),
        [only] => format!("{shown} has `{only}`"),
        [first, second, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{shown} has `{first}`, `{second}`{more}")
        }
    }
}

/// What a file of `torch.save` has.
enum Content {
    /// Tensors by their names.
    Weights(usize),
    Tensor,
    /// The keys of a dictionary of other things, and whether each has tensors by their names.
    Keys(Vec<(String, bool)>),
    /// An object of a class.
    Module(String),
    Unknown,
}

impl Content {
    fn of(pickle: &Pickle<'_>) -> Content {
        let root = pickle.root();
        if let Some(pairs) = pickle.dict(root) {
            let keys: Vec<(&str, Id)> =
                pairs.iter().filter_map(|(key, value)| Some((pickle.str(*key)?, *value))).collect();
            if !keys.is_empty() && keys.len() == pairs.len() {
                let tensors = keys.iter().filter(|(_, value)| is_tensor(pickle, *value)).count();
                if tensors == keys.len() {
                    return Content::Weights(tensors);
                }
                let named = |(key, value): &(&str, Id)| ((*key).to_owned(), is_weights(pickle, *value));
                return Content::Keys(keys.iter().map(named).collect());
            }
            return Content::Unknown;
        }
        if is_tensor(pickle, root) {
            return Content::Tensor;
        }
        match class(pickle, root) {
            Some((module, name)) => Content::Module(format!("{module}.{name}")),
            None => Content::Unknown,
        }
    }
}

/// Whether an object is a dictionary of tensors.
fn is_weights(pickle: &Pickle<'_>, id: Id) -> bool {
    pickle.dict(id).is_some_and(|pairs| !pairs.is_empty() && pairs.iter().all(|(_, value)| is_tensor(pickle, *value)))
}

fn is_tensor(pickle: &Pickle<'_>, id: Id) -> bool {
    class(pickle, id).is_some_and(|(module, name)| module.starts_with("torch") && name.starts_with("_rebuild_"))
}

/// The class of an object, or the function that makes it.
fn class<'a>(pickle: &Pickle<'a>, id: Id) -> Option<(&'a str, &'a str)> {
    match pickle.get(id) {
        Object::Call(call) => pickle.global(call.callable),
        _ => None,
    }
}
