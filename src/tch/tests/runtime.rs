//! Runs exported models in ONNX Runtime, beside the closures that they come from.

use std::path::Path;

use aten2onnx::{Exporter, Summary};
use aten2onnx_tch::{Trace, Variables, trace};
use tch::{Kind, Tensor};

use crate::common;

/// Runs a model with the inputs of each case, and compares its results with those of the case.
const PROGRAM: &str = r#"
import sys
import numpy as np
import onnxruntime as ort

model, *cases = sys.argv[1:]
session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
for case in cases:
    arrays = np.load(case)
    feeds = {entry.name: arrays[f"in{i}"] for i, entry in enumerate(session.get_inputs())}
    results = session.run(None, feeds)
    wanted = [arrays[f"out{i}"] for i in range(len(results))]
    # tch writes no bools.
    results = [have.astype(np.uint8) if have.dtype == bool else have for have in results]
    assert f"out{len(results)}" not in arrays, f"only {len(results)} results"
    for name, have, want in zip([o.name for o in session.get_outputs()], results, wanted):
        assert have.dtype == want.dtype and have.shape == want.shape, f"{name}: {have.dtype}{have.shape}, wanted {want.dtype}{want.shape}"
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4, err_msg=name)
print("\n".join(o.name for o in session.get_outputs()))
"#;

/// Inputs of a model and what its closure gives for them.
pub struct Case {
    pub inputs: Vec<Tensor>,
    pub results: Vec<Tensor>,
}

impl Case {
    pub fn new(inputs: Vec<Tensor>, closure: &dyn Fn(&[Tensor]) -> Vec<Tensor>) -> Case {
        let results = tch::no_grad(|| closure(&inputs));
        Case { inputs, results }
    }

    fn write(&self, path: &Path) {
        let name = |stem: &'static str| {
            move |(at, tensor): (usize, &Tensor)| {
                let plain = if tensor.kind() == Kind::Bool { tensor.to_kind(Kind::Uint8) } else { tensor.detach() };
                (format!("{stem}{at}"), plain)
            }
        };
        let inputs = self.inputs.iter().enumerate().map(name("in"));
        let results = self.results.iter().enumerate().map(name("out"));
        let all: Vec<(String, Tensor)> = inputs.chain(results).collect();
        Tensor::write_npz(&all, path).unwrap();
    }
}

/// For tests in modules of this name.
pub mod python {
    use super::*;

    /// Exports the closure and compares the model with it, at each of the given inputs. The first are the example.
    pub fn compare<'a>(
        variables: &(impl Variables + ?Sized),
        closure: &'a dyn Fn(&[Tensor]) -> Vec<Tensor>,
        inputs: Vec<Vec<Tensor>>,
        with: impl FnOnce(Trace<'a>) -> Trace<'a>,
    ) -> Summary {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model.onnx");
        let traced = with(trace(variables, &inputs[0], closure));
        let summary = traced.export(&Exporter::new(), &model).unwrap();
        let cases: Vec<Case> = inputs.into_iter().map(|inputs| Case::new(inputs, closure)).collect();
        run(&model, &cases);
        summary
    }

    /// Compares a model with cases. Returns the names of its results.
    pub fn run(model: &Path, cases: &[Case]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = vec![model.display().to_string()];
        for (index, case) in cases.iter().enumerate() {
            let path = folder.path().join(format!("{index}.npz"));
            case.write(&path);
            arguments.push(path.display().to_string());
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        common::python(PROGRAM, &arguments).lines().map(str::to_owned).collect()
    }
}

/// Random numbers.
pub fn randn(sizes: &[i64]) -> Tensor {
    Tensor::randn(sizes, (Kind::Float, tch::Device::Cpu))
}

/// Random integers from 0 to below a limit.
pub fn randint(limit: i64, sizes: &[i64]) -> Tensor {
    Tensor::randint(limit, sizes, (Kind::Int64, tch::Device::Cpu))
}
