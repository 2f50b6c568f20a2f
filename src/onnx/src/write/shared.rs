//! Writes several models with one external data file, in which equal weights are stored once.
//!
//! Weights are equal if they are the same elements of the same storage, else if their bytes are: those of the same length and fingerprint
//! are compared. Weights that are in the files of the models' folder may stay there, as for a single model.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::external::{DataPlace, ExternalData, Layout, Linking, SMALLEST};
use super::fill::{self, Meter, Piece, Progress};
use super::stage::Staged;
use super::{Plan, Sources, Written, commit, keep_sources, readers};
use crate::model::Model;
use crate::pieces;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Payload;

/// Classes of weights with the same bytes, by the first of each.
#[derive(Default)]
pub struct Equal {
    /// The members by fingerprint: an index into the given payloads, and the number of the class.
    known: FxHashMap<u64, Vec<(usize, usize)>>,
    count: usize,
}

impl Equal {
    /// The class of a weight, and whether it is the first of it. `index` is its position in `payloads`, where those before it are known.
    ///
    /// # Errors
    /// Bytes that cannot be read.
    pub fn class(&mut self, index: usize, payloads: &[&Payload<'_>]) -> Result<(usize, bool)> {
        let Some(payload) = payloads.get(index) else {
            return Err(Error::internal("a weight has no place"));
        };
        let members = self.known.entry(payload.fingerprint()).or_default();
        let others = || members.iter().filter_map(|(first, class)| Some((*payloads.get(*first)?, *class)));
        // Most weights that several models have are the same elements, which costs nothing to see.
        if let Some((_, class)) = others().find(|(other, _)| payload.same_place(other)) {
            return Ok((class, false));
        }
        for (other, class) in others() {
            if payload.same_bytes(other)? {
                return Ok((class, false));
            }
        }
        members.push((index, self.count));
        self.count += 1;
        Ok((self.count - 1, true))
    }
}

/// Writes models to files in one folder, and their weights to the file `data` there. All files appear when they are complete.
///
/// # Errors
/// Models in several folders; weights that are to be inside, or cannot be linked; and whatever prevents writing.
pub fn write_files(
    models: &[(&Model, PathBuf)],
    data: &str,
    external: ExternalData,
    sources: &[PathBuf],
    progress: &mut Progress<'_>,
) -> Result<Vec<Written>> {
    if external == ExternalData::Never {
        return Err(Error::unsupported("several models share a file of weights, which cannot be inside of each")
            .help("omit `--external-data never`, or export the models one by one"));
    }
    let folder = folder(models)?;
    let data_path = folder.join(data);
    for (model, path) in models {
        for destination in [path.as_path(), data_path.as_path()] {
            keep_sources(destination, model, sources)?;
        }
    }
    let plans = plans(models, data, external, &folder)?;
    let len = plans.iter().filter_map(|plan| plan.data).max();
    let total = plans.iter().map(|plan| plan.model).sum::<u64>() + len.unwrap_or(0);
    let before = Sources::of(models.iter().map(|(model, _)| *model));
    let mut meter = Meter::new(total, progress);
    let mut staged = models.iter().map(|(_, path)| Staged::create(path)).collect::<Result<Vec<_>>>()?;
    let paths: Vec<&Path> = models.iter().map(|(_, path)| path.as_path()).collect();
    let mut left_behind: Vec<PathBuf> =
        paths.iter().copied().chain([data_path.as_path()]).flat_map(pieces::left_behind).collect();
    let mut staged_data = len.map(|_| Staged::of_data(&data_path)).transpose()?;
    if let Some(staged) = &mut staged_data {
        fill::file(staged.file(), &data_path, &data_pieces(&plans), &mut meter)?;
    }
    for ((staged, plan), (_, path)) in staged.iter_mut().zip(&plans).zip(models) {
        fill::file(staged.file(), path, &plan.model_pieces(), &mut meter)?;
    }
    if let Some(staged) = &mut staged_data {
        readers::keep_others(staged, &paths)?;
    }
    before.check()?;
    commit::commit(staged, staged_data)?;
    let written = plans.iter().map(|plan| Written {
        data: len.map(|len| (data_path.clone(), len)),
        // They are told once.
        left_behind: std::mem::take(&mut left_behind),
        ..plan.written(None)
    });
    Ok(written.collect())
}

/// The folder of all models.
fn folder(models: &[(&Model, PathBuf)]) -> Result<PathBuf> {
    let mut folders = models.iter().map(|(_, path)| path.parent().unwrap_or(Path::new("")));
    let Some(first) = folders.next() else {
        return Err(Error::unsupported("there is no model to write"));
    };
    match folders.all(|folder| folder == first) {
        true => Ok(first.to_path_buf()),
        false => Err(Error::unsupported("models that share weights must be in one folder")),
    }
}

fn plans<'a>(
    models: &[(&'a Model, PathBuf)],
    data: &str,
    external: ExternalData,
    folder: &Path,
) -> Result<Vec<Plan<'a>>> {
    let payloads =
        |model: &&'a Model| model.weights.iter().map(|w| Payload::new(&w.weight)).collect::<Result<Vec<_>>>();
    let all = models.iter().map(|(model, _)| payloads(model)).collect::<Result<Vec<_>>>()?;
    let flat: Vec<&Payload<'_>> = all.iter().flatten().collect();
    let mut linking = (external == ExternalData::Link).then(|| Linking::new(folder));
    let (mut layout, mut equal) = (Layout::default(), Equal::default());
    // By class, the place of its first member.
    let mut placed: Vec<DataPlace> = Vec::new();
    let mut places = Vec::with_capacity(flat.len());
    for (index, payload) in flat.iter().enumerate() {
        let mut place = |payload: &Payload<'_>| {
            if payload.len() < SMALLEST {
                return Ok(DataPlace::Inside);
            }
            let (class, is_first) = equal.class(index, &flat)?;
            if is_first {
                placed.push(layout.place(payload)?);
            }
            placed.get(class).cloned().ok_or_else(|| Error::internal("a weight has no place"))
        };
        places.push(match &mut linking {
            Some(linking) => linking.place(payload, place)?,
            None => place(payload)?,
        });
    }
    drop(flat);
    let mut places = places.into_iter();
    let plan = |((model, _), payloads): (&(&'a Model, PathBuf), Vec<Payload<'a>>)| {
        let own: Vec<DataPlace> = places.by_ref().take(payloads.len()).collect();
        Plan::of(model, payloads, &own, data)?.checked()
    };
    models.iter().zip(all).map(plan).collect()
}

/// The external data file in order: the models add to it one after the other.
fn data_pieces<'a>(plans: &'a [Plan<'_>]) -> Vec<Piece<'a>> {
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    for plan in plans {
        let end = pieces.last().map_or(0, |last| last.at + last.len());
        pieces.extend(plan.data_pieces_from(end));
    }
    pieces
}
