//! Loads mapping files from disk, and checks them together with the built-in ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_with_base, render};
use aten2onnx_schemas::Schemas;

use super::tables::MAPPINGS;
use super::{ExternFn, MappingFiles, Run, extern_of_build, facts};
use aten2onnx_core::error::{Error, Kind, Result};

impl MappingFiles {
    /// Reads mapping files, and all files of folders. They are checked together with the built-in rules, which they may
    /// call and override.
    ///
    /// # Errors
    /// A file that cannot be read, or all diagnostics of the checker.
    pub fn load(paths: &[PathBuf], run: Run) -> Result<MappingFiles> {
        MappingFiles::load_with(paths, &[], run)
    }

    /// Like `load`, with the functions behind the `extern fn`s of the files, by name.
    ///
    /// # Errors
    /// As for `load`.
    pub fn load_with(paths: &[PathBuf], externs: &[(&str, ExternFn)], run: Run) -> Result<MappingFiles> {
        let mut own = Sources::default();
        for path in paths {
            read(path, &mut own)?;
        }
        let schemas = built_schemas()?;
        let mut base = Sources::default();
        for (name, text) in MAPPINGS.iter().filter(|(name, _)| name.ends_with(".opmap")) {
            base.add(format!("mappings/{name}"), *text);
        }
        let mut checked = check_with_base(base, own, schemas);
        // Examples are not required here; `try` reports missing ones.
        checked.diagnostics.retain(|d| d.code != "E0803");
        without_errors(checked.into(), externs, run)
    }

    /// Loads all rules and schemas of a folder instead of the built-in ones.
    ///
    /// # Errors
    /// As for `load`.
    pub fn replacing(mappings: &Path) -> Result<MappingFiles> {
        let schemas = Schemas::load(mappings).map_err(Error::input)?;
        let own = Sources::read_dir(mappings).map_err(|error| Error::from(error).at(mappings.display().to_string()))?;
        let files = without_errors(check_with_base(Sources::default(), own, schemas).into(), &[], Run::All)?;
        Ok(MappingFiles { folder: Some(mappings.to_owned()), ..files })
    }
}

/// Takes the facts about ONNX and its runtimes from a folder of rules and schemas from now on, for the whole process: what a developer changes
/// there needs no build. It has to be called before they are asked for.
///
/// # Errors
/// The file and line of what is wrong; that the facts of another folder are in use; or that one differs which has to be compiled.
pub fn use_facts(mappings: &Path) -> Result<()> {
    let facts = || MAPPINGS.iter().filter(|(name, _)| !name.ends_with(".opmap"));
    let is_built =
        |(name, text): &(&str, &str)| std::fs::read_to_string(mappings.join(name)).is_ok_and(|own| own == *text);
    let known = |name: &str| MAPPINGS.iter().any(|(known, _)| *known == format!("targets/{name}"));
    let targets = std::fs::read_dir(mappings.join("targets")).into_iter().flatten().flatten();
    let mut names = targets.map(|entry| entry.file_name().to_string_lossy().into_owned());
    if !facts::are_replaced() && facts().all(is_built) && names.all(|name| known(&name)) {
        return Ok(());
    }
    facts::use_facts(&Schemas::load(mappings).map_err(Error::input)?, &built_schemas()?)
}

/// The schemas and facts, as they were when the program was built.
pub(super) fn built_schemas() -> Result<Schemas> {
    let mut names = MAPPINGS.iter().map(|(name, _)| *name);
    Schemas::from_files(&mut names, &|name| built_in(name).map(str::to_owned)).map_err(Error::internal)
}

impl MappingFiles {
    /// The rules of files that were checked, all of which are interpreted.
    ///
    /// # Errors
    /// All diagnostics of the checker, or an `extern fn` that this program does not have.
    pub fn of_checked(checked: impl Into<Arc<Checked>>) -> Result<MappingFiles> {
        without_errors(checked.into(), &[], Run::All)
    }
}

/// The rules of the build, interpreted. The build script has checked them, so it is a bug if there are none.
pub fn of_build() -> Option<Arc<MappingFiles>> {
    static RULES: LazyLock<Option<Arc<MappingFiles>>> =
        LazyLock::new(|| MappingFiles::load(&[], Run::All).ok().map(Arc::new));
    RULES.clone()
}

/// A file of `mappings/`, as it was when the program was built.
///
/// # Errors
/// There is no such file.
pub fn built_in(name: &str) -> Result<&'static str, String> {
    let found = MAPPINGS.iter().find(|file| file.0 == name);
    found.map(|file| file.1).ok_or_else(|| format!("this program was built without mappings/{name}"))
}

/// All of them: rules, schemas and facts, by their paths in `mappings/`.
pub fn built_in_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    MAPPINGS.iter().copied()
}

fn read(path: &Path, sources: &mut Sources) -> Result<()> {
    let failed = |path: &Path, error: std::io::Error| Error::from(error).at(path.display().to_string());
    let files = match path.is_dir() {
        true => Sources::paths(path).map_err(|error| failed(path, error))?,
        false => vec![path.to_owned()],
    };
    if files.is_empty() {
        let error = Error::new(Kind::Io, "there is no mapping file in this folder").at(path.display().to_string());
        return Err(error.help("mapping files end in `.opmap`"));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| failed(&file, error))?;
        sources.add(file.display().to_string().replace('\\', "/"), text);
    }
    Ok(())
}

/// The rules, if they have no errors.
fn without_errors(checked: Arc<Checked>, externs: &[(&str, ExternFn)], run: Run) -> Result<MappingFiles> {
    if !checked.diagnostics.is_empty() {
        let count = render::distinct(&checked.diagnostics);
        let errors = if count == 1 { "an error".to_owned() } else { format!("{count} errors") };
        let text = render::render(&checked.sources, &checked.diagnostics, false);
        let error = Error::input(format!("the mapping files have {errors}\n\n{}", text.trim_end()));
        return Err(error.help("`aten2onnx explain-error CODE` explains an error"));
    }
    let known = |name: &str| externs.iter().any(|row| row.0 == name) || extern_of_build(name).is_some();
    if let Some(function) = checked.program.externs.iter().find(|f| !known(&f.name)) {
        let place = checked.sources.place(function.span);
        let error = Error::unsupported(format!("this program has no function for `extern fn {}`", function.name));
        return Err(error
            .at(place)
            .help("an `extern fn` is written in Rust, so it can only be used in mapping files that are compiled"));
    }
    Ok(MappingFiles::new(checked, externs, run))
}
