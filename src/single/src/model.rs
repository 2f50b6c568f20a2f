//! An exporter for one opset, and a model that it has opened.

use std::path::Path;
use std::time::Instant;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_export::{export_program, needed, save};
use aten2onnx_onnx::Summary;
use aten2onnx_onnx::targets;
use aten2onnx_options::Options;
use aten2onnx_program::Program;
use aten2onnx_rules::{CompiledRules, LEFT_OUT, Rules};

/// An exporter for one opset.
#[derive(Debug, Clone, Copy)]
pub struct Exporter {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The opset of its models.
    pub opset: u32,
    /// The runtime that its models are for, by name.
    pub target: Option<&'static str>,
    /// Its rules.
    pub rules: &'static CompiledRules,
}

/// A model that was read, but not its weights.
#[derive(Debug, Clone)]
pub struct Model {
    program: Program,
    options: Options,
}

impl Exporter {
    /// The options of this exporter, which an export may extend. The opset and the runtime are those of the exporter.
    ///
    /// # Errors
    /// This version of aten2onnx does not know the runtime.
    pub fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        options.output.rules = Rules::of(self.rules);
        options.output.opset = Some(self.opset);
        options.output.target = self.target.map(targets::find).transpose()?;
        Ok(options)
    }

    /// Reads a model that PyTorch saved.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn open(&self, path: &Path) -> Result<Model> {
        let options = self.options()?;
        let program = aten2onnx_frontend::read(path, &options.source, &options.output.rules)?;
        Ok(Model { program, options })
    }

    /// The overloads that it has rules for, sorted.
    pub fn operators(&self) -> Vec<&'static str> {
        self.rules.rules().map(|rule| rule.name).filter(|name| !name.starts_with("fuse::")).collect()
    }
}

impl Model {
    /// The options of its exports.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// What the exporter lacks for it: an operator and the reason in each line. None if it lacks nothing.
    ///
    /// # Errors
    /// A damaged program.
    pub fn missing(&self) -> Result<Vec<String>> {
        let opset = self.options.output.opset()?;
        let missing = needed(self.program.clone(), &self.options.output.rules, opset)?.missing;
        Ok(missing.into_iter().map(|one| format!("{}: {}", one.target, one.reason)).collect())
    }

    /// Writes it as an ONNX model, with external data beside it if it is large. Both files are complete or absent.
    ///
    /// # Errors
    /// Everything that the exporter lacks, the refusal of a rule with its node, or a file that cannot be written.
    pub fn export(&self, destination: &Path) -> Result<Summary> {
        let start = Instant::now();
        let program = self.program.clone();
        save(start, || export_program(program, &self.options).map_err(of_one_opset), destination)
    }
}

/// An error without the advice to take another opset or other rules: there are none.
fn of_one_opset(mut error: Error) -> Error {
    if error.needs_opset.take().is_some() {
        error.help = None;
    }
    if error.message.contains(LEFT_OUT) {
        error.help = Some("`ops` lists its operators; who made the exporter can make it again with others".to_owned());
    }
    error
}
