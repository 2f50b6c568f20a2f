//! `aten2onnx lsp`: the language server for mapping files of users, over the rules that the program was built with.

use std::path::{Path, PathBuf};

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_lsp::{Runner, Setup};
use aten2onnx_rules::interpret::built_in_files;

use super::report::Stop;

const EXAMPLES: &str = "\
Editors start it: docs/editors.md shows how. By hand, it waits for messages on stdin.

Examples:
  aten2onnx lsp                          all mapping files in the folders that the editor has open
  aten2onnx lsp --mappings my_ops.opmap  these";

/// Serve an editor on stdin and stdout while mapping files are written: errors while typing, completion, hover and more
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Mapping files, or folders of them, over the built-in rules [default: those of the folders that the editor has open]
    #[arg(long, value_name = "FILE|DIR")]
    mappings: Vec<PathBuf>,
    /// A Python module that defines custom operators, for `try` and `verify`
    #[arg(long, value_name = "MODULE")]
    import: Vec<String>,
    /// Talk on stdin and stdout, which is the only way: editors give this option
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
pub fn serve_editor(args: &Args) -> std::result::Result<(), Stop> {
    if let Some(missing) = args.mappings.iter().find(|path| !path.exists()) {
        let error = Error::new(Kind::Io, "there is no such file or folder").at(missing.display().to_string());
        return Err(error.help("name mapping files, which end in `.opmap`, or folders of them").into());
    }
    let folder = tempfile::tempdir().map_err(Error::from)?;
    let mappings = folder.path().join("mappings");
    write_rules(&mappings)?;
    let setup =
        Setup { mappings, own: Some(args.mappings.clone()), program: Some(program(&args.import)?), ..Setup::default() };
    aten2onnx_lsp::serve_stdio(setup).map_err(|text| Stop::Error(Error::new(Kind::Io, text)))
}

/// The built-in rules and schemas as files, which editors open for definitions in them. They are gone when the server ends.
fn write_rules(mappings: &Path) -> Result<()> {
    for (name, text) in built_in_files() {
        let path = mappings.join(name);
        let failed = |error: std::io::Error| Error::from(error).at(path.display().to_string());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(&path, text).map_err(failed)?;
        let mut permissions = std::fs::metadata(&path).map_err(failed)?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).map_err(failed)?;
    }
    Ok(())
}

/// What runs `try` and `verify`: this program, or the Python that has it as a package.
fn program(imports: &[String]) -> Result<Runner> {
    let program = std::env::current_exe().map_err(Error::from)?;
    let is_python = program.file_stem().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let before = if is_python { ["-m", "aten2onnx"].map(str::to_owned).to_vec() } else { Vec::new() };
    Ok(Runner::Exporter { program, before, imports: imports.to_vec() })
}
