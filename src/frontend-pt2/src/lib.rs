//! The front end for `.pt2` files, as `torch.export.save` writes them.
//!
//! In the order of data flow: [`Archive`] finds the entries, `schema` reads the JSON, `symexpr` its symbolic
//! expressions, `guards` the conditions on inputs (which `paths` finds), `payload` the weights (pickles for torch 2.8
//! and older), `graph` and `read` build the program, and [`aten2onnx_program::validate`] checks that its values are defined. Weights stay in the mapped file. The
//! archive is not trusted: any input results in a program or an error, in time and memory linear in the size of its
//! JSON.

mod graph;
mod guards;
mod metadata;
mod numbers;
mod outputs;
mod paths;
mod payload;
mod read;
mod returns;
#[doc(hidden)]
pub mod schema;
mod signature;
mod symexpr;
mod symfunctions;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use payload::{Payloads, Weights};

pub use aten2onnx_archive::form::ArchiveForm;
use aten2onnx_archive::safetensors::Elsewhere;
use aten2onnx_archive::wrong;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{MappedFile, Weight};
use aten2onnx_options::SourceOptions;
use aten2onnx_program::Program;
pub use guards::named as named_guards;

/// Reads the program of a `.pt2` file.
pub fn read(path: &Path) -> Result<Program> {
    read_model(path, None)
}

/// Reads the program with this name; without a name, the one named `model`, or else the only one.
pub fn read_model(path: &Path, model: Option<&str>) -> Result<Program> {
    read_file(MappedFile::open(path)?, &of_model(model))
}

/// Reads a program of a `.pt2` file in memory, as [`read_model`] does; `path` is used in messages.
pub fn read_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>, model: Option<&str>) -> Result<Program> {
    read_file(MappedFile::from_bytes(path, bytes), &of_model(model))
}

/// Reads a program that was not saved: the JSON of its graph, as in a `.pt2` file, and the tensors of the state dict
/// and other constants by name. `name` is used in messages.
pub fn read_live(
    name: &str,
    json: &[u8],
    state: HashMap<String, Weight>,
    constants: HashMap<String, Weight>,
) -> Result<Program> {
    read_live_with(name, json, state, constants, &SourceOptions::default())
}

/// The same with weights that are in other files.
pub fn read_live_with(
    name: &str,
    json: &[u8],
    state: HashMap<String, Weight>,
    constants: HashMap<String, Weight>,
    options: &SourceOptions,
) -> Result<Program> {
    let weights = Weights::new(Payloads::Lent(state), Payloads::Lent(constants), Elsewhere::open(options)?);
    named(name, read::document(json, weights))
}

/// The same of a program whose graph was read without JSON.
#[doc(hidden)]
pub fn read_exported(
    name: &str,
    exported: schema::ExportedProgram<'_>,
    state: HashMap<String, Weight>,
    constants: HashMap<String, Weight>,
    options: &SourceOptions,
) -> Result<Program> {
    let weights = Weights::new(Payloads::Lent(state), Payloads::Lent(constants), Elsewhere::open(options)?);
    named(name, read::exported(exported, weights))
}

fn named(name: &str, program: Result<Program>) -> Result<Program> {
    let program = program.map_err(|error| error.at(name.to_owned()))?;
    Ok(Program { source: name.to_owned(), ..program })
}

fn of_model(model: Option<&str>) -> SourceOptions {
    let mut options = SourceOptions::default();
    options.model = model.map(str::to_owned);
    options
}

fn read_file(file: Arc<MappedFile>, options: &SourceOptions) -> Result<Program> {
    let path = file.path.display().to_string();
    let program = Archive::of_file(file).and_then(|archive| read_archive(&archive, options));
    let mut program = program.map_err(|error| error.at(path.clone()))?;
    program.source = path;
    Ok(program)
}

/// Reads the program of an open archive.
///
/// # Errors
/// It is another kind of file, or damaged.
pub fn read_archive(archive: &Archive, options: &SourceOptions) -> Result<Program> {
    let help = "save the model with `torch.export.save(torch.export.export(..), \"model.pt2\")`";
    match ArchiveForm::of(archive) {
        ArchiveForm::Pt2 => packaged(archive, options),
        ArchiveForm::FlatPt2 => flat(archive, options),
        ArchiveForm::TorchScript => Err(Error::input("it is a TorchScript file, not a torch.export file").help(help)),
        ArchiveForm::Saved => Err(wrong::saved(archive)),
        ArchiveForm::Unknown => Err(wrong::other_archive()),
    }
}

/// torch 2.8 and later: `models/<name>.json`, and payloads in folders.
fn packaged(archive: &Archive, options: &SourceOptions) -> Result<Program> {
    if let Some(format) = archive.text("archive_format")?.filter(|format| *format != "pt2") {
        let error = Error::input(format!("the archive's format is {format:?}, not \"pt2\""));
        return Err(archive.error("archive_format", error));
    }
    if let Some(version) = archive.text("archive_version")?.filter(|version| *version != "0") {
        let error = Error::unsupported(format!("unsupported archive version {version:?}; only version 0 is supported"));
        return Err(archive.error("archive_version", error));
    }
    check_byte_order(archive)?;
    let model = select_model(archive, options.model.as_deref())?;
    let state = payloads(archive, "data/weights/", &model, "weights")?;
    let constants = payloads(archive, "data/constants/", &model, "constants")?;
    read::program(archive, &format!("models/{model}.json"), Weights::new(state, constants, Elsewhere::open(options)?))
}

/// The payloads of a folder: like torch, looks for the pickle of torch 2.8 first.
fn payloads<'a>(archive: &'a Archive, folder: &'static str, model: &str, kind: &str) -> Result<Payloads<'a>> {
    let pickle = format!("{folder}{model}.pt");
    if archive.contains(&pickle) {
        return Payloads::saved(archive, &pickle);
    }
    let config = format!("{folder}{model}_{kind}_config.json");
    if archive.contains(&config) {
        return Payloads::raw(archive, folder, &config);
    }
    Ok(Payloads::Nothing)
}

/// torch 2.7 and older: four entries without a folder.
fn flat(archive: &Archive, options: &SourceOptions) -> Result<Program> {
    if let Some(model) = options.model.as_deref().filter(|model| *model != "model") {
        return Err(Error::input(format!("the archive has no model `{model}`, only one without a name")));
    }
    let state = Payloads::saved(archive, "serialized_state_dict.pt")?;
    let constants = match archive.contains("serialized_constants.pt") {
        true => Payloads::saved(archive, "serialized_constants.pt")?,
        false => Payloads::Nothing,
    };
    read::program(
        archive,
        "serialized_exported_program.json",
        Weights::new(state, constants, Elsewhere::open(options)?),
    )
}

fn check_byte_order(archive: &Archive) -> Result<()> {
    match archive.text("byteorder")? {
        None | Some("little") => Ok(()),
        Some(order) => {
            let error = Error::unsupported(format!("unsupported byte order {order:?}; only \"little\" is supported"));
            Err(archive.error("byteorder", error))
        }
    }
}

/// The names of the programs in a package, sorted. A file of torch 2.7 or older has one, without a name: `model`.
pub fn models(file: Arc<MappedFile>) -> Result<Vec<String>> {
    let path = file.path.display().to_string();
    let archive = Archive::of_file(file).map_err(|error| error.at(path))?;
    if ArchiveForm::of(&archive) != ArchiveForm::Pt2 {
        return Ok(vec!["model".to_owned()]);
    }
    let names = archive.names().filter_map(|name| name.strip_prefix("models/")?.strip_suffix(".json"));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}

/// The model to read: the requested one, or `model`, or the only one.
fn select_model(archive: &Archive, asked: Option<&str>) -> Result<String> {
    let models = archive.names().filter_map(|name| name.strip_prefix("models/")?.strip_suffix(".json"));
    let mut models: Vec<&str> = models.collect();
    models.sort_unstable();
    let wanted = asked.unwrap_or("model");
    if models.contains(&wanted) {
        return Ok(wanted.to_owned());
    }
    let listed = || models.iter().take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (asked, models.as_slice()) {
        (_, []) => {
            let error = Error::input("the archive has no exported program (no entry models/*.json)");
            let aoti = archive.names().any(|name| name.starts_with("data/aotinductor/"));
            Err(error.help(if aoti {
                "archives compiled by AOTInductor only contain machine code; save the exported program itself"
            } else {
                "`torch.export.save` stops here if an output is a named tuple whose class was not registered with \
                 `torch.utils._pytree._register_namedtuple`; or export the module itself with `aten2onnx.export` in Python"
            }))
        }
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => Err(Error::input(format!("the archive has several models; choose one of {}", listed()))
            .help("name it: `--model NAME`, or `Exporter::model`, or `model_name` in Python")),
        (Some(name), _) => Err(Error::input(format!("the archive has no model `{name}`, only {}", listed()))),
    }
}
