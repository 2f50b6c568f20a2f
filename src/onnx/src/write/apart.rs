//! Writes several models, each with its own external data, and a list of them: all files appear when all are complete.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::external::ExternalData;
use super::fill::{self, Meter, Progress};
use super::stage::{Complete, Staged, io_failed};
use super::{Plan, Sources, Written, commit, keep_sources, readers};
use crate::model::Model;
use crate::pieces;
use aten2onnx_core::error::Result;

/// A text that lists models: it goes away before the earlier models do, and is in its place after the new ones are.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// Where it goes.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

/// Writes models to files, each with `<name>.data` next to it if needed, and a list of them. If something fails, the files that were there
/// before are there again.
///
/// # Errors
/// Weights that cannot be inside or linked, a file that the models are read from, and whatever prevents writing.
pub fn write_apart(
    models: &[(&Model, ExternalData, PathBuf)],
    list: Listed<'_>,
    sources: &[PathBuf],
    progress: &mut Progress<'_>,
) -> Result<Vec<Written>> {
    let plans = models.iter().map(|(model, external, path)| Plan::new(model, *external, Some(path)));
    let plans = plans.collect::<Result<Vec<Plan<'_>>>>()?;
    let total = plans.iter().map(|plan| plan.model + plan.data.unwrap_or(0)).sum();
    for ((model, _, path), plan) in models.iter().zip(&plans) {
        let destinations = [Some(path.clone()), plan.data_path(path)?];
        destinations.iter().flatten().try_for_each(|path| keep_sources(path, model, sources))?;
    }
    let before = Sources::of(models.iter().map(|(model, ..)| *model));
    let mut meter = Meter::new(total, progress);
    let mut staged = Staged::create(list.path)?;
    staged.file().write_all(list.text.as_bytes()).map_err(|error| io_failed(list.path, &error))?;
    // Files are closed: there may be more parts than a process may have open files.
    let (mut files, mut data) = (vec![staged.complete().1], Vec::new());
    let mut written = Vec::new();
    for ((_, _, path), plan) in models.iter().zip(&plans) {
        let (file, beside, own) = stage(plan, path, &mut meter)?;
        files.push(file);
        data.extend(beside);
        written.push(own);
    }
    before.check()?;
    files.extend(data);
    commit::all(files)?;
    Ok(written)
}

/// A model under a temporary name, and its data.
fn stage(plan: &Plan<'_>, path: &Path, meter: &mut Meter<'_, '_>) -> Result<(Complete, Option<Complete>, Written)> {
    let data_path = plan.data_path(path)?;
    let mut staged = Staged::create(path)?;
    let left_behind = [Some(path), data_path.as_deref()].into_iter().flatten().flat_map(pieces::left_behind).collect();
    let mut data = data_path.as_deref().map(Staged::of_data).transpose()?;
    if let (Some(staged), Some(path)) = (&mut data, &data_path) {
        fill::file(staged.file(), path, &plan.data_pieces(), meter)?;
    }
    fill::file(staged.file(), path, &plan.model_pieces(), meter)?;
    if let Some(staged) = &mut data {
        readers::keep_others(staged, &[path])?;
    }
    let written = Written { left_behind, ..plan.written(data_path) };
    Ok((staged.complete().1, data.map(|staged| staged.complete().1), written))
}
