//! What nodes compute: tensors with their sizes, symbolic numbers.

use std::collections::HashMap;

use aten2onnx::Dtype;
use aten2onnx::frontend::pt2::schema::{Hint, STRIDED, SymBool, SymExpr, SymFloat, SymInt, TensorMeta};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use serde::de::IgnoredAny;

use super::types::{Numbers, Types};
use super::{Read, Stop, text};

/// Describes values. The same symbolic number and the same expression are read once.
pub struct Values<'t, 'py> {
    types: &'t Types<'py>,
    dtypes: HashMap<usize, i64>,
    /// By the address of the symbolic number, which is kept alive.
    numbers: HashMap<usize, (Bound<'py, PyAny>, SymInt<'static>)>,
    /// The texts of expressions; None for known numbers.
    texts: Bound<'py, PyDict>,
}

impl<'t, 'py> Values<'t, 'py> {
    pub fn new(py: Python<'py>, types: &'t Types<'py>) -> Values<'t, 'py> {
        Values { types, dtypes: HashMap::new(), numbers: HashMap::new(), texts: PyDict::new(py) }
    }

    pub fn tensor(&mut self, tensor: &Bound<'py, PyAny>) -> Read<TensorMeta<'static>> {
        let py = tensor.py();
        if !tensor.getattr(intern!(py, "layout"))?.is(&self.types.strided) {
            return Err(Stop::unknown("a tensor that is not dense"));
        }
        let sizes = tensor.getattr(intern!(py, "shape"))?.cast_into::<PyTuple>()?;
        let strides = tensor.call_method0(intern!(py, "stride"))?.cast_into::<PyTuple>()?;
        Ok(TensorMeta {
            dtype: self.dtype(&tensor.getattr(intern!(py, "dtype"))?)?,
            sizes: self.sym_ints(&sizes)?,
            strides: self.sym_ints(&strides)?,
            storage_offset: self.sym_int(&tensor.call_method0(intern!(py, "storage_offset"))?)?,
            layout: STRIDED,
            requires_grad: IgnoredAny,
            device: IgnoredAny,
        })
    }

    fn sym_ints(&mut self, numbers: &Bound<'py, PyTuple>) -> Read<Vec<SymInt<'static>>> {
        numbers.iter().map(|number| self.sym_int(&number)).collect()
    }

    /// The number of a dtype in the schema.
    pub fn dtype(&mut self, dtype: &Bound<'py, PyAny>) -> Read<i64> {
        // PyTorch has one object for each dtype, which lives as long as the process.
        let address = dtype.as_ptr() as usize;
        if let Some(number) = self.dtypes.get(&address) {
            return Ok(*number);
        }
        let name = dtype.str()?.to_cow()?.into_owned();
        let known = name.strip_prefix("torch.").and_then(Dtype::from_torch_name).and_then(Dtype::pt2);
        let number = known.ok_or_else(|| Stop::unknown(&name))?;
        self.dtypes.insert(address, number);
        Ok(number)
    }

    pub fn sym_int(&mut self, number: &Bound<'py, PyAny>) -> Read<SymInt<'static>> {
        if number.is_instance_of::<PyInt>() {
            return Ok(SymInt::AsInt(number.extract()?));
        }
        if !number.get_type().is(&self.types.sym_int) {
            return Err(Stop::unknown(format_args!("a number of the class {}", number.get_type())));
        }
        let node = number.getattr(intern!(number.py(), "node"))?;
        let address = node.as_ptr() as usize;
        if let Some((_, known)) = self.numbers.get(&address) {
            return Ok(known.clone());
        }
        let read = self.symbolic(number, &node)?;
        self.numbers.insert(address, (node, read.clone()));
        Ok(read)
    }

    fn symbolic(&mut self, number: &Bound<'py, PyAny>, node: &Bound<'py, PyAny>) -> Read<SymInt<'static>> {
        let py = number.py();
        let written = self.written(node)?;
        if written.is_none() {
            return Ok(SymInt::AsInt(py.get_type::<PyInt>().call1((number,))?.extract()?));
        }
        let hint: Option<i64> = node.getattr(intern!(py, "hint"))?.extract()?;
        Ok(SymInt::AsExpr(SymExpr { expr_str: text(&written)?.into(), hint: hint.map(Hint::AsInt) }))
    }

    /// The text of the expression of a symbolic number; None if it is known.
    fn written(&self, node: &Bound<'py, PyAny>) -> Read<Bound<'py, PyAny>> {
        let py = node.py();
        // `expr` is what is known by now of `_expr`. PyTorch looks through the whole expression to find out.
        let recorded = node.getattr_opt(intern!(py, "_expr"))?;
        if let Some(recorded) = &recorded
            && let Some(known) = self.texts.get_item(recorded)?
        {
            return Ok(known);
        }
        let expression = node.getattr(intern!(py, "expr"))?;
        // The numbers of a recording have a name.
        let Some(numbers) = &self.types.numbers else { return Ok(expression) };
        let written = match expression.is_instance(&numbers.integer)? {
            true => py.None().into_bound(py),
            false => numbers.expression.call1((&expression,))?,
        };
        self.texts.set_item(recorded.unwrap_or(expression), &written)?;
        Ok(written)
    }

    pub fn sym_float(&self, number: &Bound<'py, PyAny>) -> Read<SymFloat> {
        if number.is_instance_of::<PyFloat>() {
            return Ok(SymFloat::AsFloat(float(number)?));
        }
        let expression = expression(number)?;
        let is_known = |numbers: &Numbers<'_>| expression.is_instance(&numbers.float);
        if !self.types.numbers.as_ref().map_or(Ok(false), is_known)? {
            return Ok(SymFloat::AsExpr(IgnoredAny));
        }
        Ok(SymFloat::AsFloat(float(&number.py().get_type::<PyFloat>().call1((number,))?)?))
    }

    pub fn sym_bool(&self, flag: &Bound<'py, PyAny>) -> Read<SymBool> {
        if let Ok(flag) = flag.cast::<PyBool>() {
            return Ok(SymBool::AsBool(flag.is_true()));
        }
        let expression = expression(flag)?;
        let Some(Numbers { boolean: [yes, no], .. }) = &self.types.numbers else {
            return Ok(SymBool::AsExpr(IgnoredAny));
        };
        Ok(match () {
            () if expression.is(yes) => SymBool::AsBool(true),
            () if expression.is(no) => SymBool::AsBool(false),
            () => SymBool::AsExpr(IgnoredAny),
        })
    }
}

/// The expression of a symbolic number.
fn expression<'py>(number: &Bound<'py, PyAny>) -> Read<Bound<'py, PyAny>> {
    let py = number.py();
    Ok(number.getattr(intern!(py, "node"))?.getattr(intern!(py, "expr"))?)
}

/// A float as the schema has it.
pub fn float(number: &Bound<'_, PyAny>) -> Read<aten2onnx::frontend::pt2::schema::Float> {
    Ok(aten2onnx::frontend::pt2::schema::Float(number.extract()?))
}

/// The text of `str(value)` without `torch.`.
pub fn short(value: &Bound<'_, PyAny>) -> Read<String> {
    let written: Bound<'_, PyString> = value.str()?;
    let written = written.to_cow()?;
    Ok(written.strip_prefix("torch.").unwrap_or(&written).to_owned())
}
