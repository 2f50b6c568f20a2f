//! `aten2onnx export` of several programs: into a folder with one file for the weights of all, or merged into one model.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::export::{self, Args};
use super::report::{self, Stop};
use super::text;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_export::many::{self, Named};
use aten2onnx_frontend::{self as frontend, pt2};
use aten2onnx_onnx::Written;
use aten2onnx_options::Options;
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;

/// Runs the command.
pub fn export_models(args: &Args, build: &Rules, start: Instant) -> Result<(), Stop> {
    let options = export::options(args, build)?;
    let output = output(args)?;
    let models = many::export_programs(programs(args, &options)?, &options)?;
    if !args.quiet {
        for model in &models {
            model.exported.notes.iter().for_each(|text| report::note(&format!("{}: {text}", model.name)));
        }
    }
    match &args.merge {
        Some(flag) => merged(args, &models, flag, &output, start)?,
        None => apart(args, &models, &output, start)?,
    }
    // Freeing large models piece by piece before the process exits would only take time.
    std::mem::forget(models);
    Ok(())
}

/// The folder, or the file of a merged model.
fn output(args: &Args) -> Result<PathBuf> {
    if let Some(stream) = args.files.iter().chain(&args.output).find(|path| export::is_stream(path)) {
        let error = Error::unsupported(format!("`{}` is one stream, not several models", stream.display()));
        return Err(error.help("give files, and a folder: `-o DIR`"));
    }
    let wanted = if args.merge.is_some() {
        "give the merged model a name: `-o model.onnx`"
    } else {
        "give the folder: `-o DIR`"
    };
    args.output.clone().ok_or_else(|| Error::unsupported("several models have no common name").help(wanted))
}

/// The programs of all files, with the names of their models.
fn programs(args: &Args, options: &Options) -> Result<Vec<(String, Program)>> {
    let mut all = Vec::new();
    for path in &args.files {
        // A file is mapped once, so that weights which programs share are at the same place.
        let file = export::open(path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !args.all {
            all.push((stem, frontend::read_file(file, &options.source, &options.output.rules)?));
            continue;
        }
        for model in pt2::models(file.clone())? {
            let mut source = options.source.clone();
            source.model = Some(model.clone());
            let name = if args.files.len() == 1 { model } else { format!("{stem}_{model}") };
            all.push((name, frontend::read_file(file.clone(), &source, &options.output.rules)?));
        }
    }
    Ok(all)
}

fn apart(args: &Args, models: &[Named], folder: &Path, start: Instant) -> Result<(), Stop> {
    let pairs: Vec<_> = models.iter().map(Named::pair).collect();
    let mut all = Vec::new();
    export::written(folder, args.quiet, &mut |_, progress| {
        all = many::write_folder(&pairs, folder, progress)?;
        Ok(Written::default())
    })?;
    if args.quiet {
        return Ok(());
    }
    all.iter().for_each(|written| export::note_pieces(written, args.quiet));
    let data = all.iter().find_map(|written| written.data.clone());
    for (model, mut written) in models.iter().zip(all) {
        written.data = None;
        let path = folder.join(many::file_name(&model.name));
        report::say(&export::summary(&model.exported.summary(written, start), &path));
    }
    if let Some((path, bytes)) = data {
        report::say(&format!("{}: {}, the weights of all models", path.display(), text::bytes(bytes)));
    }
    Ok(())
}

fn merged(args: &Args, models: &[Named], flag: &str, path: &Path, start: Instant) -> Result<(), Stop> {
    let pairs: Vec<_> = models.iter().map(Named::pair).collect();
    let written =
        export::written(path, args.quiet, &mut |_, progress| many::write_merged(&pairs, flag, path, progress))?;
    if !args.quiet {
        let nodes = models.iter().map(|model| model.exported.nodes()).sum();
        let (nodes, weights) = (text::count(nodes, "node"), text::bytes(written.weights));
        let (wrote, took) = (text::bytes(written.model), text::duration(start.elapsed()));
        report::say(&format!("{}: {nodes}, {weights} of weights; wrote {wrote} in {took}", path.display()));
    }
    Ok(())
}
