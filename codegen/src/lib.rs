//! The opmap compiler: operator rules in, proven Rust out.
//!
//! text -> `syntax` -> `collect` -> `check` -> `coverage` -> `emit`. Each pass takes what the one before it gives, says at
//! its top what holds afterwards, and adds what it finds wrong to one list of diagnostics.

pub mod check;
pub mod collect;
mod consequences;
pub mod coverage;
pub mod diagnostic;
pub mod emit;
pub mod examples;
pub mod expand;
pub mod explain;
pub mod exporter;
mod inline;
pub mod matrix;
mod nearest;
pub mod render;
pub mod schema;
pub mod source;
pub mod stats;
pub mod syntax;
pub mod tree;
pub mod types;
pub mod upgrade;
pub mod uses;
pub mod visit;

use std::path::Path;

use coverage::Matrix;
use diagnostic::Diagnostic;
use schema::Schemas;
use source::{FileId, Sources, Span};
use tree::Program;

/// A checked set of mapping files.
#[derive(Debug)]
pub struct Checked {
    /// The files; those of a base come first.
    pub sources: Sources,
    /// How many files are of the base.
    pub base: usize,
    /// The facts they were checked against.
    pub schemas: Schemas,
    /// The checked tree; whole only if there are no diagnostics.
    pub program: Program,
    /// What works at which opset.
    pub matrix: Matrix,
    /// Everything that is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Is it a file that was to be checked, and none of the base?
    pub fn is_own(&self, file: FileId) -> bool {
        file.0 as usize >= self.base
    }
}

/// Reads and checks all rules under `mappings` against the snapshots in `mappings/schemas`.
///
/// # Errors
/// A file that cannot be read, or a damaged snapshot: everything else is a diagnostic.
pub fn check_dir(mappings: &Path) -> Result<Checked, String> {
    let schemas = Schemas::load(mappings)?;
    let sources = Sources::read_dir(mappings).map_err(|e| format!("{}: {e}", mappings.display()))?;
    Ok(check_sources(sources, schemas))
}

/// Checks rules that are in memory.
pub fn check_sources(sources: Sources, schemas: Schemas) -> Checked {
    check_over(Sources::default(), sources, schemas)
}

/// Checks rules over those of a `base`: they may call these, and take the place of those of the same name.
///
/// What is the base's business alone is not said again: rules without an example, helpers that are no longer called.
pub fn check_over(base: Sources, own: Sources, schemas: Schemas) -> Checked {
    let first = base.files.len();
    let mut sources = base;
    sources.files.extend(own.files);
    let mut diagnostics = Vec::new();
    let files: Vec<_> =
        (0..sources.files.len()).map(|i| syntax::parse_file(&sources, FileId(i as u32), &mut diagnostics)).collect();
    let unread = !diagnostics.is_empty();
    let mut items = collect::collect(&files, &mut diagnostics);
    items.keep_overrides(FileId(first as u32));
    let program = check::check(&items, &sources, &schemas, &mut diagnostics);
    let wrong = diagnostics.len();
    let matrix = coverage::check(&program, &schemas, &mut diagnostics);
    let spans: Vec<Span> = files.iter().flat_map(|file| file.items.iter().map(|item| item.span)).collect();
    consequences::drop(&mut diagnostics, wrong, unread, &spans);
    let mut checked = Checked { sources, base: first, schemas, program, matrix, diagnostics: Vec::new() };
    diagnostics.retain(|d| checked.is_own(d.primary.0.file) || !consequences::OF_OVERRIDES.contains(&d.code));
    checked.diagnostics = diagnostics;
    checked
}

/// What a build script calls: checks `mappings`, writes the generated files into `out` (only those that changed).
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
pub fn build(mappings: &Path, out: &Path) -> Result<(), String> {
    let checked = check_dir(mappings)?;
    if !checked.diagnostics.is_empty() {
        return Err(render::render(&checked.sources, &checked.diagnostics, false));
    }
    for (name, text) in generate(&checked)? {
        write_if_changed(&out.join(name), &text)?;
    }
    Ok(())
}

/// What the build script of a crate with mapping files of its own calls: checks `own` over the rules of aten2onnx, on which the
/// crate depends, and writes `mappings.rs` into `OUT_DIR`. `aten2onnx::include_mappings!()` takes it from there.
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
///
/// ```no_run
/// // build.rs
/// if let Err(report) = aten2onnx_codegen::build_mappings("mappings".as_ref()) {
///     eprintln!("{report}");
///     std::process::exit(1);
/// }
/// ```
pub fn build_mappings(own: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", own.display());
    let variable = |name: &str, why: &str| std::env::var(name).map_err(|_| format!("{name} is not set: {why}"));
    let base =
        variable("DEP_ATEN2ONNX_MAPPINGS", "the crate must depend on `aten2onnx`, and call this from its build.rs")?;
    let package = variable("CARGO_PKG_NAME", "call this from build.rs")?;
    let out = variable("OUT_DIR", "call this from build.rs")?;
    println!("cargo::rerun-if-changed={base}");
    let text = generate_over(Path::new(&base), own, &package)?;
    write_if_changed(&Path::new(&out).join("mappings.rs"), &text)
}

/// The Rust of the rules in `own`, checked over those in `base`.
///
/// # Errors
/// The rendered diagnostics, or what could not be read.
pub fn generate_over(base: &Path, own: &Path, package: &str) -> Result<String, String> {
    let schemas = Schemas::load(base)?;
    let read = |dir: &Path| Sources::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()));
    let checked = check_over(read(base)?, read(own)?, schemas);
    if !checked.diagnostics.is_empty() {
        return Err(render::render(&checked.sources, &checked.diagnostics, false));
    }
    emit::emit_over(&checked, package)
}

/// The generated files of a program without faults: name and text.
///
/// # Errors
/// A fault of the compiler itself.
pub fn generate(checked: &Checked) -> Result<Vec<(String, String)>, String> {
    generate_from(&checked.program, &checked.matrix, &checked.sources, &checked.schemas, None)
}

/// The generated files of some rules, for all opsets or for one alone.
fn generate_from(
    program: &Program,
    matrix: &Matrix,
    sources: &Sources,
    schemas: &Schemas,
    only: Option<u32>,
) -> Result<Vec<(String, String)>, String> {
    let mut files = emit::emit(program, matrix, sources, schemas, only)?.files;
    let lowered = |op: &str, before: u32| {
        let found = program.lower(op, before)?;
        Some(emit::lower_path(&found.function.name))
    };
    let same = |op: &str, to: u32| program.same(op, to);
    files.push(("schemas.rs".to_owned(), emit::schema_table::emit(schemas, &lowered, &same)));
    files.push(("facts.rs".to_owned(), emit::facts::emit(schemas, only)));
    files.push(("views.rs".to_owned(), emit::views::emit(schemas)));
    files.push(("effects.rs".to_owned(), emit::effects::emit(schemas)));
    files.push(("targets.rs".to_owned(), emit::targets::emit(schemas)));
    files.push(("externs.rs".to_owned(), emit::externs::emit(program)?));
    Ok(files)
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
