//! Runs a closure under libtorch's tracer, and reads what it recorded.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::{CModule, Tensor};

use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_frontend_torchscript::{Sizes, shown};

/// What computes the results of a model.
pub(super) type Closure<'c> = dyn FnMut(&[Tensor]) -> Vec<Tensor> + 'c;

/// Traces closures over these weights.
pub(super) struct Tracer<'a> {
    pub variables: &'a [(String, Tensor)],
}

/// A run of the closure under the tracer.
pub(super) struct Run {
    pub module: CModule,
    pub inputs: Vec<Tensor>,
    /// The symbolic sizes of this run.
    pub sizes: Sizes,
}

impl Tracer<'_> {
    /// Traces the closure with these inputs.
    ///
    /// The weights are inputs of the trace too: tensors that need gradients cannot be its constants, and others would lose
    /// their names. The results leave it in a carrier, because libtorch saves functions with one result only.
    pub fn run(&self, inputs: Vec<Tensor>, sizes: Sizes, closure: &mut Closure<'_>) -> Result<(Archive, Run)> {
        let all = self.arguments(&inputs);
        let mut panicked = None;
        let mut empty = false;
        let mut traced = |given: &[Tensor]| {
            let given = given.get(..inputs.len()).unwrap_or(given);
            match catch_unwind(AssertUnwindSafe(|| joined_results(&closure(given)))) {
                Ok(Some(carrier)) => return vec![carrier],
                Ok(None) => empty = true,
                Err(panic) => panicked = Some(panic),
            }
            // The tracer has to come to an end, or this thread can trace nothing else.
            all.first().map(Tensor::shallow_clone).into_iter().collect()
        };
        let module = tch::no_grad(|| CModule::create_by_tracing("Model", "forward", &all, &mut traced));
        if let Some(panic) = panicked {
            return Err(of_panic(panic.as_ref(), &sizes));
        }
        if empty {
            return Err(Error::unsupported("the closure returns no tensor"));
        }
        let module = module.map_err(|error| of_torch(&error.to_string()))?;
        Ok((saved(&module)?, Run { module, inputs, sizes }))
    }

    /// The arguments of a trace: its inputs and the weights.
    pub fn arguments(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        let weights = self.variables.iter().map(|(_, tensor)| tensor);
        inputs.iter().chain(weights).map(Tensor::shallow_clone).collect()
    }
}

/// All results in one tensor; None if there are none.
pub(super) fn joined_results(results: &[Tensor]) -> Option<Tensor> {
    let flat: Vec<Tensor> = results.iter().map(|result| result.reshape([-1])).collect();
    (!flat.is_empty()).then(|| Tensor::cat(&flat, 0))
}

/// The archive that libtorch writes for a module.
pub(super) fn saved(module: &CModule) -> Result<Archive> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.pt");
    module.save(&path).map_err(|error| of_torch(&error.to_string()))?;
    // The file stays as long as the map.
    Archive::of_file(MappedFile::open(&path)?)
}

/// An error of libtorch, without its stack.
pub(super) fn of_torch(text: &str) -> Error {
    // A panic of `unwrap` shows the text of the error in quotes.
    let plain =
        text.rsplit_once("Torch(\"").map_or(text, |(_, inner)| inner).replace("\\n", "\n").replace("\\\"", "\"");
    let lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| !line.starts_with("Exception raised from"));
    Error::new(Kind::Unsupported, format!("libtorch: {}", told.take(6).collect::<Vec<_>>().join(" ")))
}

/// The error of a panic in the closure.
pub(super) fn of_panic(panic: &(dyn Any + Send), sizes: &Sizes) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
    let mut error = match text.contains("Cannot insert a Tensor that requires grad as a constant") {
        true => Error::unsupported("the closure uses a tensor that needs gradients and is in no given VarStore")
            .help("give the VarStore of that tensor too, or freeze it with `VarStore::freeze`"),
        false => Error::unsupported(format!("the closure panics: {}", of_torch(text).message)),
    };
    if !sizes.is_empty() {
        error = error.at(format!("the run with {}", shown(sizes)));
    }
    error
}
