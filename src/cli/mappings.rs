//! `--mappings`: mapping files that come with a command.

use std::path::PathBuf;

use aten2onnx_core::error::Result;
use aten2onnx_rules::Rules;

/// Mapping files of one's own.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Mappings {
    /// Rules of your own: an .opmap file, or a folder of them. They may define and override
    #[arg(long = "mappings", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

impl Mappings {
    /// The rules, those of the files over those of the build.
    pub fn rules(&self) -> Result<Rules> {
        let mut rules = Rules::default();
        if self.paths.is_empty() {
            return Ok(rules);
        }
        rules.load(&self.paths)?;
        Ok(rules)
    }
}
