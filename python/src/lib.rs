//! The native half of the Python package: programs and models as Python objects. Everything that needs torch, and all
//! that a user sees, is Python (`python/aten2onnx`).

mod convert;
mod errors;
mod lent;
mod model;
mod options;
mod other_sizes;
mod pipelines;
mod program;
mod seen;
mod support;
mod traced;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Exports allocate millions of names and shapes. What Python allocates is its own affair.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module `aten2onnx._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MIN_OPSET", aten2onnx::MIN_OPSET)?;
    module.add("MAX_OPSET", aten2onnx::MAX_OPSET)?;
    module.add("DEFAULT_OPSET", aten2onnx::DEFAULT_OPSET)?;
    module.add_class::<program::Program>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<convert::ConvertedModel>()?;
    module.add_class::<support::Rules>()?;
    module.add_class::<pipelines::MadeModel>()?;
    module.add_function(wrap_pyfunction!(pipelines::extracted, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::edited, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::joined, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::parted, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::difference, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::watched, module)?)?;
    module.add_function(wrap_pyfunction!(pipelines::difference_page, module)?)?;
    module.add_function(wrap_pyfunction!(convert::converted_model, module)?)?;
    module.add_function(wrap_pyfunction!(model::save_many, module)?)?;
    module.add_function(wrap_pyfunction!(program::failed_page, module)?)?;
    module.add_function(wrap_pyfunction!(support::chosen_opset, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}

/// The command `aten2onnx` with these arguments, the first being its name: its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| aten2onnx_commands::run(args, &aten2onnx::rules()))
}
