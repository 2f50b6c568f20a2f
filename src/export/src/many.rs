//! Several programs in one folder, which share the file of their weights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_onnx::write::Progress;
use aten2onnx_onnx::{Exported, Summary, Written, merge, write_file, write_files};

use super::{export_program, fixed};
use aten2onnx_options::{DimName, Options, WhichDim};
use aten2onnx_program::Program;

/// The file of the weights in the folder.
const DATA: &str = "weights.data";

/// A model and its name, which is that of its file.
pub type Pair<'a> = (&'a str, &'a Exported);

/// The same, as an export returns it.
#[derive(Debug)]
pub struct Named {
    /// The name of the file without `.onnx`.
    pub name: String,
    /// The model.
    pub exported: Exported,
}

impl Named {
    /// The name and the model.
    pub fn pair(&self) -> Pair<'_> {
        (&self.name, &self.exported)
    }
}

/// Exports several programs with the same options. A dimension that only some of them have is named in these.
///
/// # Errors
/// Two programs of the same name, or what prevents the export of one.
pub fn export_programs(programs: Vec<(String, Program)>, options: &Options) -> Result<Vec<Named>> {
    let mut names = BTreeSet::new();
    if let Some((name, _)) = programs.iter().find(|(name, _)| !names.insert(file_name(name))) {
        return Err(Error::unsupported(format!("two models would be written to `{}`", file_name(name)))
            .help("rename one of the files"));
    }
    let symbols: Vec<BTreeSet<String>> = programs.iter().map(|(_, program)| fixed::symbols(program)).collect();
    let inputs: Vec<BTreeSet<String>> = programs.iter().map(|(_, program)| input_names(program)).collect();
    let has = |index: usize, dim: &DimName| match &dim.which {
        WhichDim::Symbol(symbol) => symbols.get(index).is_some_and(|known| known.contains(symbol)),
        WhichDim::Axis(input, _) => inputs.get(index).is_some_and(|known| known.contains(input)),
    };
    let all = 0..programs.len();
    let export = |(index, (name, program)): (usize, (String, Program))| {
        let mut options = options.clone();
        // What no program has is refused by each.
        options.dims.retain(|dim| has(index, dim) || !all.clone().any(|other| has(other, dim)));
        Ok(Named { exported: export_program(program, &options)?, name })
    };
    programs.into_iter().enumerate().map(export).collect()
}

/// Writes the models into a folder, which is made if it does not exist, with one file for the weights of all.
pub fn write_folder(models: &[Pair<'_>], folder: &Path, progress: &mut Progress<'_>) -> Result<Vec<Written>> {
    make_folder(folder)?;
    let Some((_, first)) = models.first() else { return Ok(Vec::new()) };
    let external = first.external_data;
    let sources: Vec<PathBuf> = models.iter().map(|(_, model)| model.source.clone()).collect();
    let files = models.iter().map(|(name, model)| (&model.model, folder.join(file_name(name))));
    write_files(&files.collect::<Vec<_>>(), DATA, external, &sources, progress)
}

/// Makes a folder for several models, if it does not exist.
///
/// # Errors
/// It cannot be made, or is something else.
pub fn make_folder(folder: &Path) -> Result<()> {
    if !folder.exists() {
        std::fs::create_dir(folder).map_err(|error| {
            Error::new(Kind::Io, format!("cannot make the folder `{}`: {error}", folder.display()))
                .help("make the folder that it is in first")
        })?;
    }
    if !folder.is_dir() {
        return Err(Error::new(Kind::Io, format!("`{}` is not a folder", folder.display()))
            .help("several models go into a folder: `-o DIR`"));
    }
    Ok(())
}

/// Writes two models as the branches of one, in which the second runs if the input `flag` is true.
///
/// # Errors
/// Other than two models, or such that cannot be merged.
pub fn write_merged(models: &[Pair<'_>], flag: &str, path: &Path, progress: &mut Progress<'_>) -> Result<Written> {
    let [(name, first), (other, second)] = models else {
        return Err(Error::unsupported(format!("{} models cannot be merged into one, only two", models.len())));
    };
    let merged = merge::merge((name, &first.model), (other, &second.model), flag)?;
    let sources: Vec<PathBuf> = models.iter().map(|(_, model)| model.source.clone()).collect();
    write_file(&merged, path, first.external_data, &sources, progress)
}

/// The summaries of models that were written together.
pub fn summaries(models: &[Named], written: Vec<Written>, start: Instant) -> Vec<Summary> {
    models.iter().zip(written).map(|(model, written)| model.exported.summary(written, start)).collect()
}

/// The file of a model: a name in a package may have slashes.
pub fn file_name(name: &str) -> String {
    format!("{}.onnx", name.replace(['/', '\\'], "_"))
}

fn input_names(program: &Program) -> BTreeSet<String> {
    program.graph.inputs.iter().map(|input| input.name.clone()).collect()
}
