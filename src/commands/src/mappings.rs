//! The option `--mappings`.

use std::path::PathBuf;
use std::sync::Arc;

use aten2onnx_core::error::Result;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

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
            && folder.join("opsets.toml").is_file()
        {
            return Ok(Rules::of_files(Arc::new(MappingFiles::replacing_facts(folder)?)));
        }
        let mut rules = build.clone();
        if self.paths.is_empty() {
            return Ok(rules);
        }
        rules.load(&self.paths)?;
        Ok(rules)
    }
}
