//! The classes and functions of PyTorch that the reader tells apart.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::Read;

/// They are looked up once for a program.
pub struct Types<'py> {
    pub node: Bound<'py, PyType>,
    pub graph_module: Bound<'py, PyType>,
    pub fake_tensor: Bound<'py, PyType>,
    pub tensor: Bound<'py, PyType>,
    pub sym_int: Bound<'py, PyType>,
    pub sym_float: Bound<'py, PyType>,
    pub sym_bool: Bound<'py, PyType>,
    pub dtype: Bound<'py, PyType>,
    pub device: Bound<'py, PyType>,
    pub layout: Bound<'py, PyType>,
    pub memory_format: Bound<'py, PyType>,
    pub operator: Bound<'py, PyType>,
    pub higher_order: Bound<'py, PyType>,
    pub list: Bound<'py, PyType>,
    pub optional: Bound<'py, PyType>,
    /// What tells symbolic numbers that are known from others; a recording has none.
    pub numbers: Option<Numbers<'py>>,
    pub strided: Bound<'py, PyAny>,
    pub getitem: Bound<'py, PyAny>,
    /// Python's functions that compute symbolic numbers.
    pub sym_ops: Bound<'py, PyAny>,
    /// Types of targets that extensions of the serializer handle.
    pub extensions: Bound<'py, PyAny>,
    /// `inspect.signature`
    pub signature: Bound<'py, PyAny>,
}

/// The numbers of sympy.
pub struct Numbers<'py> {
    pub integer: Bound<'py, PyType>,
    pub float: Bound<'py, PyType>,
    pub boolean: [Bound<'py, PyAny>; 2],
    /// Writes symbolic expressions as the serializer does.
    pub expression: Bound<'py, PyAny>,
}

impl<'py> Numbers<'py> {
    fn new(py: Python<'py>) -> Read<Numbers<'py>> {
        let sympy = py.import("sympy")?;
        Ok(Numbers {
            integer: class(&sympy, "Integer")?,
            float: class(&sympy, "Float")?,
            boolean: [sympy.getattr("true")?, sympy.getattr("false")?],
            expression: py.import("aten2onnx._serialized")?.getattr("expressions")?.call0()?,
        })
    }
}

impl<'py> Types<'py> {
    /// Those of programs of torch.export. They take seconds to import.
    pub fn new(py: Python<'py>) -> Read<Types<'py>> {
        let serde = py.import("torch._export.serde.serialize")?;
        let functions = serde.getattr("_SYM_OPS")?;
        // PyTorch 2.6 has none.
        let extensions = serde.getattr_opt("_serialization_registry")?.unwrap_or_else(|| PyDict::new(py).into_any());
        Types::with(py, Some(Numbers::new(py)?), functions, extensions)
    }

    /// Those of recordings.
    pub fn of_recording(py: Python<'py>) -> Read<Types<'py>> {
        let functions = py.import("aten2onnx._record.graph")?.getattr("FUNCTIONS_OF_NUMBERS")?;
        Types::with(py, None, functions, PyDict::new(py).into_any())
    }

    fn with(
        py: Python<'py>,
        numbers: Option<Numbers<'py>>,
        sym_ops: Bound<'py, PyAny>,
        extensions: Bound<'py, PyAny>,
    ) -> Read<Types<'py>> {
        let torch = py.import("torch")?;
        let ops = py.import("torch._ops")?;
        let fx = py.import("torch.fx")?;
        Ok(Types {
            node: class(&fx, "Node")?,
            graph_module: class(&fx, "GraphModule")?,
            fake_tensor: class(&py.import("torch._subclasses.fake_tensor")?, "FakeTensor")?,
            tensor: class(&torch, "Tensor")?,
            sym_int: class(&torch, "SymInt")?,
            sym_float: class(&torch, "SymFloat")?,
            sym_bool: class(&torch, "SymBool")?,
            dtype: class(&torch, "dtype")?,
            device: class(&torch, "device")?,
            layout: class(&torch, "layout")?,
            memory_format: class(&torch, "memory_format")?,
            operator: class(&ops, "OpOverload")?,
            higher_order: class(&ops, "HigherOrderOperator")?,
            list: class(&torch, "ListType")?,
            optional: class(&torch, "OptionalType")?,
            numbers,
            strided: torch.getattr("strided")?,
            getitem: py.import("operator")?.getattr("getitem")?,
            sym_ops,
            extensions,
            signature: py.import("inspect")?.getattr("signature")?,
        })
    }

    pub fn is_node(&self, value: &Bound<'py, PyAny>) -> bool {
        value.get_type().is(&self.node)
    }

    pub fn is_tensor(&self, value: &Bound<'py, PyAny>) -> Read<bool> {
        Ok(value.get_type().is(&self.fake_tensor) || value.is_instance(&self.tensor)?)
    }
}

fn class<'py>(module: &Bound<'py, PyModule>, name: &str) -> Read<Bound<'py, PyType>> {
    Ok(module.getattr(name)?.cast_into::<PyType>()?)
}
