//! All passes in order: from the text of mapping files to checked rules.

use std::path::Path;
use std::sync::Arc;

use crate::check::Early;
use crate::check::before::Before;
use crate::collect::Items;
use crate::coverage::{self, Matrix};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};
use crate::syntax::ast::File;
use crate::tree::Program;
use crate::{check, collect, suppress, syntax};
use aten2onnx_schemas::Schemas;

/// A set of mapping files after all passes.
#[derive(Debug)]
pub struct Checked {
    /// The files. Those of a base come first.
    pub sources: Sources,
    /// The number of files of the base.
    pub base: usize,
    /// The schemas and facts that the files were checked against.
    pub schemas: Arc<Schemas>,
    /// The checked tree. It is complete only if there are no diagnostics.
    pub program: Program,
    /// The support matrix.
    pub matrix: Matrix,
    /// All errors.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether a file is one of those to check, not one of the base.
    pub fn is_own(&self, file: FileId) -> bool {
        file.0 as usize >= self.base
    }
}

/// Reads and checks all rules under `mappings` against the snapshots in `mappings/schemas`.
///
/// # Errors
/// A file that cannot be read, or a damaged snapshot. Everything else is a diagnostic.
pub fn check_dir(mappings: &Path) -> Result<Checked, String> {
    Ok(check_sources(read_dir(mappings)?, Schemas::load(mappings)?))
}

/// Reads all rules under `mappings` and resolves their names and types, but proves nothing: the matrix is empty. It takes half the time, for those
/// who ask which rules there are.
///
/// # Errors
/// As for [`check_dir`].
pub fn resolve_dir(mappings: &Path) -> Result<Checked, String> {
    resolve_dir_with(mappings, Schemas::load(mappings)?)
}

/// As [`resolve_dir`], against other schemas than those in `mappings/schemas`.
///
/// # Errors
/// A file that cannot be read.
pub fn resolve_dir_with(mappings: &Path, schemas: Schemas) -> Result<Checked, String> {
    Ok(checked_as(Sources::default(), read_dir(mappings)?, schemas.into(), |_, _, _| Matrix::default()))
}

fn read_dir(mappings: &Path) -> Result<Sources, String> {
    Sources::read_dir(mappings).map_err(|e| format!("{}: {e}", mappings.display()))
}

/// Checks rules that are in memory.
pub fn check_sources(sources: Sources, schemas: impl Into<Arc<Schemas>>) -> Checked {
    check_with_base(Sources::default(), sources, schemas)
}

/// Checks rules together with those of a `base`. They may call rules of the base, and they replace rules of the same name.
///
/// Errors that concern only the base are not reported, such as rules without an example and helpers that are no longer called.
pub fn check_with_base(base: Sources, own: Sources, schemas: impl Into<Arc<Schemas>>) -> Checked {
    let schemas = schemas.into();
    checked_as(base, own, schemas.clone(), |_, program, out| coverage::check(program, &schemas, None, None, out))
}

/// Parses files and checks them, with `prove` as the proof.
fn checked_as(
    base: Sources,
    own: Sources,
    schemas: Arc<Schemas>,
    prove: impl FnOnce(&Items, &Program, &mut Vec<Diagnostic>) -> Matrix,
) -> Checked {
    let first = base.files.len();
    let mut sources = base;
    sources.files.extend(own.files);
    let mut diagnostics = Vec::new();
    let files: Vec<_> =
        (0..sources.files.len()).map(|i| syntax::parse_file(&sources, FileId(i as u32), &mut diagnostics)).collect();
    check_files(sources, first, &files, schemas, diagnostics, None, prove)
}

/// A change of some files since all files were checked.
pub(crate) struct Change<'a> {
    /// The files.
    pub files: &'a [FileId],
    /// Gets the errors of syntax, names and types in these files before all rules are proved.
    pub early: &'a mut dyn FnMut(&[Diagnostic]),
    /// What the change leaves as it was, if anything is known of the files before it.
    pub before: &'a dyn Fn(&Items, &Sources) -> Option<Before<'a>>,
}

/// Checks files that were parsed, and proves the rules with `prove`. Those from `first` on are checked over a base. `diagnostics` are the errors of the
/// parser.
pub(crate) fn check_files(
    sources: Sources,
    first: usize,
    files: &[File],
    schemas: Arc<Schemas>,
    mut diagnostics: Vec<Diagnostic>,
    known: Option<Change<'_>>,
    prove: impl FnOnce(&Items, &Program, &mut Vec<Diagnostic>) -> Matrix,
) -> Checked {
    let unread = !diagnostics.is_empty();
    let mut items = collect::collect(files, &mut diagnostics);
    items.keep_overrides(FileId(first as u32));
    check::facts::refuse_over_base(&items, FileId(first as u32), &mut diagnostics);
    let spans: Vec<Span> = files.iter().flat_map(|file| file.items.iter().map(|item| item.span)).collect();
    let before = known.as_ref().and_then(|change| (change.before)(&items, &sources));
    let mut tell_early;
    let early = match known {
        None => None,
        Some(Change { files, early, .. }) => {
            tell_early = |mut found: Vec<Diagnostic>| {
                found.retain(|d| files.contains(&d.primary.0.file));
                let wrong = found.len();
                suppress::follow_on_errors(&mut found, wrong, unread, &spans);
                early(&found);
            };
            Some(Early { files, tell: &mut tell_early })
        }
    };
    let first_file = FileId(first as u32);
    let program = check::check(&items, &sources, first_file, &schemas, early, before.as_ref(), &mut diagnostics);
    let wrong = diagnostics.len();
    let matrix = prove(&items, &program, &mut diagnostics);
    suppress::follow_on_errors(&mut diagnostics, wrong, unread, &spans);
    let mut checked = Checked { sources, base: first, schemas, program, matrix, diagnostics: Vec::new() };
    diagnostics.retain(|d| checked.is_own(d.primary.0.file) || !suppress::OF_OVERRIDES.contains(&d.code));
    checked.diagnostics = diagnostics;
    checked
}
