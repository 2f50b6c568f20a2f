//! TorchScript modules that a program has loaded with `tch`.

use std::path::Path;
use std::time::Instant;

use tch::{CModule, Tensor};

use super::sizes::{self, Dynamic};
use super::{tracer, variables};
use aten2onnx::Exporter;
use aten2onnx_core::error::Result;
use aten2onnx_export::{export_program, save};
use aten2onnx_frontend_torchscript as torchscript;
use aten2onnx_onnx::{Exported, Summary};
use aten2onnx_options::{InputSpec, SourceOptions, Spec};
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;

/// A TorchScript module and an example of each of its inputs.
#[derive(Debug)]
pub struct Module<'a> {
    module: &'a CModule,
    examples: Vec<Tensor>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    dynamic: Vec<Dynamic>,
}

/// Prepares the export of a module that `tch` loaded or traced. The examples give dtypes and sizes of the inputs of `forward`.
///
/// A scripted module keeps its control flow. One that was traced has the sizes of its own example as numbers where the traced
/// code took them as numbers; the notes of the export name them.
pub fn module<'a>(module: &'a CModule, examples: &[Tensor]) -> Module<'a> {
    let examples = examples.iter().map(Tensor::shallow_clone).collect();
    Module { module, examples, inputs: Vec::new(), outputs: Vec::new(), dynamic: Vec::new() }
}

impl<'a> Module<'a> {
    /// The names of the inputs in order; by default those of the parameters.
    #[must_use]
    pub fn input_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Module<'a> {
        self.inputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// The names of the results in order.
    #[must_use]
    pub fn output_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Module<'a> {
        self.outputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// Makes a dimension of an input symbolic. Dimensions with equal names have equal sizes.
    #[must_use]
    pub fn dynamic(mut self, input: usize, dim: usize, name: impl Into<String>) -> Module<'a> {
        self.dynamic.push(Dynamic { input, dim, name: name.into() });
        self
    }

    /// The program of its method `forward`.
    ///
    /// # Errors
    /// A module that ONNX cannot express, or an input that it does not have.
    pub fn program(&self) -> Result<Program> {
        self.program_with(&aten2onnx::rules())
    }

    /// Exports the module to an `.onnx` file.
    ///
    /// # Errors
    /// Those of [`Module::program`] and of [`Exporter::export`].
    pub fn export(&self, exporter: &Exporter, destination: impl AsRef<Path>) -> Result<Summary> {
        save(Instant::now(), || self.read(exporter), destination.as_ref())
    }

    /// Builds the model without writing it.
    ///
    /// # Errors
    /// Those of [`Module::program`], and those of rules.
    pub fn read(&self, exporter: &Exporter) -> Result<Exported> {
        let mut exporter = exporter.clone();
        for name in &self.inputs {
            exporter = exporter.input_name(name.clone());
        }
        for name in &self.outputs {
            exporter = exporter.output_name(name.clone());
        }
        let program = self.program_with(&exporter.options().output.rules)?;
        export_program(program, exporter.options())
    }

    fn program_with(&self, rules: &Rules) -> Result<Program> {
        sizes::check(&self.dynamic, &self.examples)?;
        let mut options = SourceOptions::default();
        for (index, example) in self.examples.iter().enumerate() {
            let sizes = sizes::described(example, index, &self.dynamic);
            let spec = Spec::Tensor(variables::dtype(example)?, sizes);
            options.inputs.push(InputSpec { name: index.to_string(), spec });
        }
        let archive = tracer::saved(self.module)?;
        let mut program = torchscript::read(&archive, &options, rules)?;
        "the module".clone_into(&mut program.source);
        Ok(program)
    }
}
