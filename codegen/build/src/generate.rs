//! The generated files of a set of rules.

use std::path::Path;

use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::tree::Program;
use aten2onnx_opmap::{Checked, check_with_base, render};
use aten2onnx_schemas::build_script::schema_files;
use aten2onnx_schemas::{Schemas, emit::facts};

use crate::emit;

/// The names and texts of the generated files of a program without errors.
///
/// # Errors
/// A bug of the compiler.
pub fn generate(checked: &Checked) -> Result<Vec<(String, String)>, String> {
    let mut files = rule_files(checked)?;
    files.extend(fact_files(&checked.program, &checked.schemas));
    files.push(extern_file(&checked.program)?);
    files.extend(schema_files(&checked.schemas));
    Ok(files)
}

/// The rules.
pub(crate) fn rule_files(checked: &Checked) -> Result<Vec<(String, String)>, String> {
    Ok(emit::emit(&checked.program, &checked.matrix, &checked.sources, &checked.schemas)?.files)
}

/// What stands in place of the rules where they are interpreted.
pub(crate) fn no_rules() -> Vec<(String, String)> {
    vec![(
        "rules.rs".to_owned(),
        "/// None: the rules are interpreted.\npub static COMPILED: Option<aten2onnx_rules::CompiledRules> = None;\n"
            .to_owned(),
    )]
}

/// The tables of facts about PyTorch's operators.
pub(crate) fn fact_files(program: &Program, schemas: &Schemas) -> Vec<(String, String)> {
    vec![
        ("promotion.rs".to_owned(), facts::emit_promotion(schemas)),
        ("effects.rs".to_owned(), emit::effects::emit(program, schemas)),
    ]
}

/// The functions behind `extern fn` by name, which the interpreter calls.
///
/// # Errors
/// A bug of the compiler.
pub(crate) fn extern_file(program: &Program) -> Result<(String, String), String> {
    Ok(("externs.rs".to_owned(), emit::externs::emit(program)?))
}

/// The Rust of the rules in `own`, which are checked together with those in `base`.
///
/// # Errors
/// The rendered diagnostics, or what could not be read.
pub(crate) fn generate_with_base(base: &Path, own: &Path, package: &str) -> Result<String, String> {
    let schemas = Schemas::load(base)?;
    let read = |dir: &Path| Sources::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()));
    let checked = check_with_base(read(base)?, read(own)?, schemas);
    if !checked.diagnostics.is_empty() {
        return Err(render::render(&checked.sources, &checked.diagnostics, false));
    }
    emit::emit_additional(&checked, package)
}
