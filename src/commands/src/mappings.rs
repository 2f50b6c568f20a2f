//! The option `--mappings`.

use std::path::PathBuf;

use aten2onnx_core::error::Result;
use aten2onnx_rules::Rules;

/// User mapping files.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Mappings {
    /// Custom rules: an .opmap file, or a folder of them. They define operators or override built-in rules
    #[arg(long = "mappings", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

impl Mappings {
    /// The rules, with those of the files first.
    pub fn over(&self, build: &Rules) -> Result<Rules> {
        let mut rules = build.clone();
        if self.paths.is_empty() {
            return Ok(rules);
        }
        rules.load(&self.paths)?;
        Ok(rules)
    }
}
