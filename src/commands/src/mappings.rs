//! The option `--mappings`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_core::error::Result;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::{self, MappingFiles};

/// User mapping files.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Mappings {
    /// Custom rules: an .opmap file, or a folder of them. They define operators or override built-in rules. The folder `mappings` of a
    /// checkout takes the place of all rules and facts that the program was built with
    #[arg(long = "mappings", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

impl Mappings {
    /// The rules, with those of the files first.
    pub fn over(&self, build: &Rules) -> Result<Rules> {
        // The folder of the project itself takes the place of what was built from it.
        if let [folder] = self.paths.as_slice()
            && is_project(folder)
        {
            return Ok(Rules::of_files(Arc::new(MappingFiles::replacing(folder)?)));
        }
        let mut rules = build.clone();
        if self.paths.is_empty() {
            return Ok(rules);
        }
        rules.load(&self.paths)?;
        Ok(rules)
    }
}

/// Whether it is the folder of the project, with its schemas and facts.
fn is_project(folder: &Path) -> bool {
    folder.join("opsets.toml").is_file()
}

/// Takes the facts of the folder of the project that a command line names, before anything asks for them: options are read by them too.
pub fn use_facts(args: &[OsString]) -> Result<()> {
    let named = |(at, arg): (usize, &OsString)| {
        let text = arg.to_str()?;
        let (option, value) =
            text.split_once('=').map_or((text, None), |(option, value)| (option, Some(PathBuf::from(value))));
        let is_folder = ["--rules", "--mappings"].contains(&option);
        is_folder.then(|| value.or_else(|| args.get(at + 1).map(PathBuf::from)))?
    };
    match args.iter().enumerate().filter_map(named).find(|folder| is_project(folder)) {
        Some(folder) => interpret::use_facts(&folder),
        None => Ok(()),
    }
}
