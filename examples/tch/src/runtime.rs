//! Runs an exported model in ONNX Runtime.

use std::path::Path;

use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use tch::Tensor;

pub struct Runtime {
    session: Session,
}

impl Runtime {
    pub fn load(environment: &Environment, model: &Path) -> anyhow::Result<Runtime> {
        let mut builder = Session::builder(environment).map_err(anyhow::Error::msg)?;
        let session =
            builder.commit_from_file(model).map_err(|error| anyhow::anyhow!("{}: {error}", model.display()))?;
        Ok(Runtime { session })
    }

    /// The first result for an input of 32-bit floats.
    pub fn run_floats(&mut self, name: &str, input: &Tensor) -> anyhow::Result<Tensor> {
        let elements = Vec::<f32>::try_from(input.reshape([-1]))?;
        let value = TensorRef::from_array_view((input.size(), elements.as_slice()))?;
        first(self.session.run(ort::inputs![name => value])?)
    }

    /// The same of 64-bit integers.
    pub fn run_integers(&mut self, name: &str, input: &Tensor) -> anyhow::Result<Tensor> {
        let elements = Vec::<i64>::try_from(input.reshape([-1]))?;
        let value = TensorRef::from_array_view((input.size(), elements.as_slice()))?;
        first(self.session.run(ort::inputs![name => value])?)
    }
}

fn first(results: ort::session::SessionOutputs<'_>) -> anyhow::Result<Tensor> {
    let (sizes, elements) = results[0].try_extract_tensor::<f32>()?;
    Ok(Tensor::from_slice(elements).reshape(sizes.as_ref()))
}
