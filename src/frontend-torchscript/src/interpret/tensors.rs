//! Between numbers and tensors: `item`, `tolist`, tensors of numbers and lists.

use std::rc::Rc;
use std::sync::Arc;

use super::Interpreter;
use super::nodes::dtype_of;
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{CellData, Item, Sym, Tensor, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_program::{Arg, IntArg};

/// Longer tensors do not become lists.
const MAX_LIST: i64 = 4096;

impl Interpreter<'_, '_> {
    /// A conversion between numbers and tensors; None for other operators.
    pub(super) fn tensor_function(&mut self, call: &OperatorCall) -> Result<Option<Item>> {
        match call.name() {
            "aten::tensor" | "aten::as_tensor" if !matches!(call.value(0), Value::Tensor(_)) => {
                self.new_tensor(call).map(Some)
            }
            "aten::tensor" | "aten::as_tensor" => self.copied_tensor(call).map(Some),
            "prim::NumToTensor" => {
                let number = call.value(0).clone();
                let dtype = natural_dtype(&number, self.default_float());
                self.scalar_tensor(&number, dtype).map(|tensor| Some(Item::tensor(tensor)))
            }
            "aten::Int"
            | "aten::Float"
            | "aten::Bool"
            | "aten::IntImplicit"
            | "aten::FloatImplicit"
            | "aten::ScalarImplicit"
            | "aten::Complex"
                if matches!(call.value(0), Value::Tensor(_)) =>
            {
                let number = self.numeric(call.value(0))?;
                let value = match call.name() {
                    "aten::Int" | "aten::IntImplicit" => self.as_int(&number)?,
                    "aten::Float" | "aten::FloatImplicit" => self.as_float(&number)?,
                    "aten::Bool" => self.truth(&number)?,
                    _ => number,
                };
                Ok(Some(Item::new(value, call.returns())))
            }
            "prim::tolist" => self.listed(call.item(0)?, Type::list(Type::Any)).map(Some),
            // A list whose elements are the slices of a tensor.
            "aten::stack" | "aten::cat" | "aten::concat" => match call.value(0) {
                Value::List(cell) => match self.heap.get(*cell).map(|data| (**data).clone()) {
                    Some(CellData::Stacked(tensor)) => self.joined(call, &tensor).map(Some),
                    _ => Ok(None),
                },
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// `stack` or `cat` of the slices of a tensor along its first dimension.
    fn joined(&mut self, call: &OperatorCall, tensor: &Tensor) -> Result<Item> {
        let dim = match call.value(1) {
            Value::Int(dim) => *dim,
            _ => 0,
        };
        let rank = self.recorder.meta(tensor)?.sizes.len() as i64;
        let is_stack = call.name() == "aten::stack";
        let slices = if is_stack { rank } else { rank - 1 };
        let dim = if dim < 0 { dim + slices } else { dim };
        if dim < 0 || dim >= slices {
            return Err(Error::input(format!("the dimension {dim} is out of range")));
        }
        let name = |tensor: &Tensor| Arg::Tensor(tensor.name.to_string());
        let moved = match dim {
            0 => tensor.clone(),
            dim => {
                let args = vec![
                    ("self", name(tensor)),
                    ("source", Arg::Ints(vec![IntArg::Known(0)])),
                    ("destination", Arg::Ints(vec![IntArg::Known(dim)])),
                ];
                self.tensor_node("aten::movedim.intlist", args)?
            }
        };
        if is_stack {
            return Ok(Item::tensor(moved));
        }
        let args = vec![("self", name(&moved)), ("start_dim", Arg::Int(dim)), ("end_dim", Arg::Int(dim + 1))];
        self.tensor_node("aten::flatten.using_ints", args).map(Item::tensor)
    }

    /// The only element of a tensor.
    pub(super) fn number_of(&mut self, tensor: &Tensor) -> Result<Value> {
        let tensor = self.plain(tensor)?;
        let meta = self.recorder.meta(&tensor)?;
        if let Some([only]) = self.recorder.scratch.content(&tensor.name).as_deref() {
            return Ok(match (meta.dtype, only.known()) {
                (Dtype::Bool, Some(known)) => Value::Bool(known != 0),
                _ => Value::size(only.clone()),
            });
        }
        if meta.dtype.is_float()
            && let Some([only]) = self.recorder.scratch.floats(&tensor.name).as_deref()
        {
            return Ok(Value::Float(*only));
        }
        let ty = match meta.dtype {
            Dtype::Bool => Type::Bool,
            dtype if dtype.is_int() => Type::Int,
            dtype if dtype.is_complex() => {
                return Err(Error::unsupported("a complex number is taken out of a tensor"));
            }
            _ => Type::Float,
        };
        let args = vec![("self".to_owned(), Arg::Tensor(tensor.name.to_string()))];
        self.named_number_node("aten::item", args, ty)
    }

    /// A tensor as a list.
    pub(super) fn listed(&mut self, item: &Item, ty: Type) -> Result<Item> {
        let Value::Tensor(tensor) = &item.value else {
            return Err(Error::unsupported(format!("`tolist` of {}", item.value.kind())));
        };
        let tensor = self.plain(&tensor.clone())?;
        let meta = self.recorder.meta(&tensor)?;
        let Some((size, rest)) = meta.sizes.split_first() else {
            return Ok(Item::new(self.number_of(&tensor)?, ty));
        };
        let Some(size) = size.known().filter(|size| *size <= MAX_LIST) else {
            return Err(Error::unsupported("a tensor becomes a list whose length is only known at run time"));
        };
        let element = ty.element();
        if rest.is_empty()
            && let Some(content) = self.recorder.scratch.content(&tensor.name)
        {
            let to_value = |size: aten2onnx_core::sym::SymInt| match (meta.dtype, size.known()) {
                (Dtype::Bool, Some(known)) => Value::Bool(known != 0),
                _ => Value::size(size),
            };
            let items = content.into_iter().map(|size| Item::new(to_value(size), element.clone())).collect();
            return Ok(self.list_of(element, items)?.typed(ty));
        }
        let mut items = Vec::new();
        for index in 0..size {
            let args =
                vec![("self", Arg::Tensor(tensor.name.to_string())), ("dim", Arg::Int(0)), ("index", Arg::Int(index))];
            let slice = Item::tensor(self.tensor_node("aten::select.int", args)?);
            items.push(self.nested(|this| this.listed(&slice, element.clone()))?);
        }
        Ok(self.list_of(element, items)?.typed(ty))
    }

    fn wanted_dtype(call: &OperatorCall) -> Result<Option<Dtype>> {
        match call.named("dtype").map(|item| &item.value) {
            Some(Value::Int(number)) => dtype_of(*number).map(Some),
            _ => Ok(None),
        }
    }

    /// `torch.tensor` of a number or a list.
    fn new_tensor(&mut self, call: &OperatorCall) -> Result<Item> {
        let wanted = Self::wanted_dtype(call)?;
        let mut sizes = Vec::new();
        let mut numbers = Vec::new();
        self.flattened(call.item(0)?, 0, &mut sizes, &mut numbers)?;
        let natural = match numbers.first() {
            None => empty_dtype(&call.item(0)?.ty, self.default_float()),
            Some(first) => {
                let natural = |number| natural_dtype(number, self.default_float());
                numbers.iter().map(natural).fold(natural(first), wider)
            }
        };
        let dtype = wanted.unwrap_or(natural);
        let tensor = self.tensor_of(&numbers, &sizes, dtype)?;
        Ok(Item::tensor(tensor))
    }

    /// `torch.tensor(x)` of a tensor: a copy; `as_tensor`: a conversion.
    fn copied_tensor(&mut self, call: &OperatorCall) -> Result<Item> {
        let Value::Tensor(tensor) = call.value(0) else {
            return Err(Error::internal("expected a tensor"));
        };
        let tensor = self.plain(&tensor.clone())?;
        let mut args = vec![("self", Arg::Tensor(tensor.name.to_string()))];
        match Self::wanted_dtype(call)? {
            Some(dtype) => {
                args.push(("dtype", Arg::Dtype(dtype)));
                self.tensor_node("aten::to.dtype", args).map(Item::tensor)
            }
            None if call.name() == "aten::as_tensor" => Ok(Item::tensor(tensor)),
            None => self.tensor_node("aten::clone", args).map(Item::tensor),
        }
    }

    /// All numbers in nested lists, and the lengths of the lists.
    fn flattened(&mut self, item: &Item, depth: usize, sizes: &mut Vec<i64>, numbers: &mut Vec<Value>) -> Result<()> {
        match &item.value {
            Value::List(_) | Value::Tuple(_) => {
                let items = self.elements(item)?;
                let len = items.len() as i64;
                match sizes.get(depth) {
                    Some(known) if *known != len => {
                        return Err(Error::input("a tensor is made of lists of different lengths"));
                    }
                    Some(_) => {}
                    None => sizes.push(len),
                }
                for item in &items {
                    self.nested(|this| this.flattened(item, depth + 1, sizes, numbers))?;
                }
                Ok(())
            }
            other => {
                let number = self.numeric(other)?;
                numbers.push(number);
                Ok(())
            }
        }
    }

    /// A tensor of these numbers.
    fn tensor_of(&mut self, numbers: &[Value], sizes: &[i64], dtype: Dtype) -> Result<Tensor> {
        if let [only] = numbers
            && sizes.is_empty()
        {
            return self.scalar_tensor(only, dtype);
        }
        if let Some(bytes) = numbers.iter().map(|number| encoded(number, dtype)).collect::<Option<Vec<Vec<u8>>>>() {
            let constant = self.constant(dtype, sizes, bytes.concat())?;
            let args = vec![("self", Arg::Tensor(constant.name.to_string()))];
            return self.tensor_node("aten::clone", args);
        }
        let mut scalars = Vec::with_capacity(numbers.len());
        for number in numbers {
            scalars.push(Some(self.scalar_tensor(number, dtype)?.name.to_string()));
        }
        let flat = self.tensor_node("aten::stack", vec![("tensors", Arg::Tensors(scalars))])?;
        if sizes.len() == 1 {
            return Ok(flat);
        }
        let shape = Arg::Ints(sizes.iter().map(|size| IntArg::Known(*size)).collect());
        self.tensor_node("aten::reshape", vec![("self", Arg::Tensor(flat.name.to_string())), ("shape", shape)])
    }

    /// A tensor without dimensions.
    pub(super) fn scalar_tensor(&mut self, number: &Value, dtype: Dtype) -> Result<Tensor> {
        let number = self.recorder.number(number)?;
        self.tensor_node("aten::scalar_tensor", vec![("s", number), ("dtype", Arg::Dtype(dtype))])
    }

    /// A constant of the program.
    pub(super) fn constant(&mut self, dtype: Dtype, sizes: &[i64], bytes: Vec<u8>) -> Result<Tensor> {
        let name = self.recorder.fresh("constant");
        let mut strides = Vec::with_capacity(sizes.len());
        let mut next = 1_i64;
        for size in sizes.iter().rev() {
            strides.push(next);
            next = next.saturating_mul((*size).max(1));
        }
        strides.reverse();
        let storage = Storage::Owned(Arc::from(bytes));
        let weight = Weight { name: name.to_string(), dtype, sizes: sizes.to_vec(), strides, offset: 0, storage };
        let memory = self.recorder.memory();
        self.recorder.add_weight(&name, Arc::new(weight));
        let tensor = Tensor { name: Rc::clone(&name), memory, quantized: None };
        self.recorder.meta(&tensor)?;
        Ok(tensor)
    }
}

/// The dtype that torch.tensor gives a number, if floats are `default`.
fn natural_dtype(value: &Value, default: Dtype) -> Dtype {
    match value {
        Value::Bool(_) => Dtype::Bool,
        Value::Int(_) => Dtype::Int64,
        Value::Complex(..) if default == Dtype::Float64 => Dtype::Complex128,
        Value::Complex(..) => Dtype::Complex64,
        Value::Sym(sym) => match &**sym {
            Sym::Int(_) => Dtype::Int64,
            Sym::Bool(_) => Dtype::Bool,
            Sym::Float(_) => default,
        },
        _ => default,
    }
}

fn empty_dtype(ty: &Type, default: Dtype) -> Dtype {
    match ty {
        Type::List(of) => empty_dtype(of, default),
        Type::Int => Dtype::Int64,
        Type::Bool => Dtype::Bool,
        _ => default,
    }
}

fn wider(a: Dtype, b: Dtype) -> Dtype {
    let rank = |dtype: Dtype| match dtype {
        Dtype::Bool => 0,
        Dtype::Int64 => 1,
        dtype if dtype.is_float() => 2,
        _ => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// The bytes of a known number; None for unusual dtypes.
fn encoded(value: &Value, dtype: Dtype) -> Option<Vec<u8>> {
    let float = match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        _ => return None,
    };
    let int = match value {
        Value::Int(number) => *number,
        _ => float as i64,
    };
    Some(match dtype {
        Dtype::Float32 => (float as f32).to_le_bytes().to_vec(),
        Dtype::Float64 => float.to_le_bytes().to_vec(),
        Dtype::Int64 => int.to_le_bytes().to_vec(),
        Dtype::Int32 => (int as i32).to_le_bytes().to_vec(),
        Dtype::Bool => vec![u8::from(float != 0.0)],
        _ => return None,
    })
}
