//! Models written in Rust with the crate `tch`: traced by libtorch in this process, and exported.
//!
//! ```no_run
//! use aten2onnx::Exporter;
//! use tch::nn::{self, ModuleT};
//! use tch::{Device, Kind, Tensor};
//!
//! let vs = nn::VarStore::new(Device::Cpu);
//! let net = nn::seq_t().add(nn::linear(vs.root() / "fc", 8, 3, Default::default()));
//! let example = Tensor::rand([1, 8], (Kind::Float, Device::Cpu));
//!
//! aten2onnx_tch::trace(&vs, &[example], |xs| vec![net.forward_t(&xs[0], false)])
//!     .input_names(["features"])
//!     .output_names(["scores"])
//!     .dynamic(0, 0, "batch")
//!     .export(&Exporter::new().opset(17), "model.onnx")?;
//! # Ok::<(), aten2onnx::error::Error>(())
//! ```
//!
//! The closure runs once for a model with fixed sizes. Each symbolic size takes two runs more at other sizes: integers that
//! differ between them become expressions in the sizes ([`aten2onnx_frontend_torchscript`] unites the traces). Weights are
//! inputs of the trace, so they are read from the memory of the `VarStore` when the model is written, and are never copied.
//!
//! `tracer` runs the closure and saves what libtorch recorded, `sizes` chooses the sizes of the runs, `variables` lends the
//! weights, `check` compares the trace with the closure, `notes` tells what a trace cannot keep.

mod check;
mod module;
mod notes;
mod sizes;
mod tracer;
mod variables;

use std::path::Path;
use std::time::Instant;

use tch::Tensor;

use aten2onnx::Exporter;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_export::{export_program, save};
use aten2onnx_frontend_torchscript::{self as torchscript, Traces};
use aten2onnx_onnx::{Exported, Summary};
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;

pub use module::{Module, module};
use sizes::Dynamic;
use tracer::{Closure, Run, Tracer};
pub use variables::Variables;

/// A model to be traced: a closure over layers, and an example of each of its inputs.
///
/// The methods that read it run the closure, each time anew.
pub struct Trace<'a> {
    variables: Vec<(String, Tensor)>,
    examples: Vec<Tensor>,
    closure: Box<Closure<'a>>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    dynamic: Vec<Dynamic>,
    verified: bool,
}

/// Prepares the trace of a closure that computes the results of a model.
///
/// `variables` are the weights: a `VarStore`, several, or pairs of name and tensor. Each gets its name in the model.
/// Tensors that the closure takes from elsewhere become constants. The closure is given the examples, or tensors like them
/// of other sizes, and returns any number of results.
///
/// Make tensors from Rust data (`Tensor::from_slice`) outside of the closure: libtorch records none of their elements, and
/// such a trace is refused.
pub fn trace<'a>(
    variables: &(impl Variables + ?Sized),
    examples: &[Tensor],
    closure: impl FnMut(&[Tensor]) -> Vec<Tensor> + 'a,
) -> Trace<'a> {
    Trace {
        variables: variables.variables(),
        examples: examples.iter().map(Tensor::shallow_clone).collect(),
        closure: Box::new(closure),
        inputs: Vec::new(),
        outputs: Vec::new(),
        dynamic: Vec::new(),
        verified: true,
    }
}

impl std::fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let variables: Vec<&String> = self.variables.iter().map(|(name, _)| name).collect();
        let mut shown = f.debug_struct("Trace");
        shown.field("variables", &variables).field("inputs", &self.inputs).field("dynamic", &self.dynamic);
        shown.finish_non_exhaustive()
    }
}

impl<'a> Trace<'a> {
    /// The names of the inputs in order; by default `input_0`, `input_1`.
    #[must_use]
    pub fn input_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Trace<'a> {
        self.inputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// The names of the results in order; by default `output_0`, `output_1`.
    #[must_use]
    pub fn output_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Trace<'a> {
        self.outputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// Makes a dimension of an input symbolic. Dimensions with equal names have equal sizes.
    #[must_use]
    pub fn dynamic(mut self, input: usize, dim: usize, name: impl Into<String>) -> Trace<'a> {
        self.dynamic.push(Dynamic { input, dim, name: name.into() });
        self
    }

    /// Leaves out the comparison of the trace with the closure's own results, which takes two runs more.
    #[must_use]
    pub fn unverified(mut self) -> Trace<'a> {
        self.verified = false;
        self
    }

    /// Compares what the trace computes with the closure's own results, at all sizes at which it is traced.
    ///
    /// # Errors
    /// The results differ, or the closure fails.
    pub fn verify(&mut self) -> Result<()> {
        let (_, runs) = self.runs()?;
        self.check(&runs).map(drop)
    }

    /// The traced program, for passes of one's own.
    ///
    /// # Errors
    /// The closure panics, depends on a size in a way that no model can, or uses data that a trace does not record; or the
    /// trace differs from the closure.
    pub fn program(&mut self) -> Result<Program> {
        self.program_with(&aten2onnx::rules())
    }

    /// Exports the model to an `.onnx` file.
    ///
    /// # Errors
    /// Those of [`Trace::program`] and of [`Exporter::export`].
    pub fn export(mut self, exporter: &Exporter, destination: impl AsRef<Path>) -> Result<Summary> {
        save(Instant::now(), || self.read(exporter), destination.as_ref())
    }

    /// Builds the model without writing it.
    ///
    /// # Errors
    /// Those of [`Trace::program`], and those of rules.
    pub fn read(&mut self, exporter: &Exporter) -> Result<Exported> {
        let mut exporter = exporter.clone();
        for name in &self.outputs {
            exporter = exporter.output_name(name.clone());
        }
        let program = self.program_with(&exporter.options().output.rules)?;
        export_program(program, exporter.options())
    }

    fn program_with(&mut self, rules: &Rules) -> Result<Program> {
        let (archives, runs) = self.runs()?;
        let names = self.names()?;
        let inputs = names.iter().zip(&self.examples).enumerate();
        let inputs = inputs.map(|(index, (name, example))| {
            let sizes = sizes::described(example, index, &self.dynamic);
            Ok((name.clone(), aten2onnx_options::Spec::Tensor(variables::dtype(example)?, sizes)))
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let weights = self.variables.iter().map(|(name, tensor)| variables::weight(name, tensor));
        let weights = weights.collect::<Result<Vec<_>>>()?;
        let sizes = runs.iter().map(|run| run.sizes.clone()).collect();
        let traces = Traces { archives, sizes, inputs, weights };
        let mut program = torchscript::read_traces(&traces, rules)?;
        program.notes.extend(notes::of_program(&program));
        program.notes.extend(notes::of_sizes(&program, &traces.inputs, &traces.weights));
        if self.verified {
            program.notes.extend(self.check(&runs)?);
        }
        "the traced closure".clone_into(&mut program.source);
        Ok(program)
    }

    /// Names of all inputs, the user's first.
    fn names(&self) -> Result<Vec<String>> {
        if self.inputs.len() > self.examples.len() {
            let message = format!("{} names for {} inputs", self.inputs.len(), self.examples.len());
            return Err(Error::unsupported(message));
        }
        let all = (0..self.examples.len()).map(|at| match self.inputs.get(at) {
            Some(name) => name.clone(),
            None => format!("input_{at}"),
        });
        Ok(all.collect())
    }

    /// Runs the closure at all sizes that are needed.
    fn runs(&mut self) -> Result<(Vec<Archive>, Vec<Run>)> {
        sizes::check(&self.dynamic, &self.examples)?;
        let tracer = Tracer { variables: &self.variables };
        let runs = sizes::runs(&self.examples, &self.dynamic, &self.variables, &mut |inputs, sizes| {
            tracer.run(inputs, sizes, &mut self.closure)
        })?;
        Ok(runs.into_iter().unzip())
    }

    fn check(&mut self, runs: &[Run]) -> Result<Vec<String>> {
        let tracer = Tracer { variables: &self.variables };
        check::check(&tracer, runs, &mut self.closure)
    }
}
