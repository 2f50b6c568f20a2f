//! Operators that ask for properties: sizes, dtypes, devices, the kind of a value.

use std::rc::Rc;

use super::Interpreter;
use super::nodes::number_of_dtype;
use super::operators::OperatorCall;
use super::strides;
use crate::types::Type;
use crate::values::{CellData, Item, Sym, Tensor, Value};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::TensorMeta;

impl Interpreter<'_, '_> {
    /// A property of a tensor, or something that does nothing here; None for other operators.
    pub(super) fn property(&mut self, call: &OperatorCall) -> Result<Option<Value>> {
        let (namespace, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        if namespace == "profiler" {
            return Ok(Some(Value::Opaque(Rc::from("profiler"))));
        }
        match (namespace, short) {
            (
                "aten",
                "is_grad_enabled" | "is_autocast_enabled" | "is_autocast_cpu_enabled" | "_is_tracing" | "is_tracing",
            ) => {
                return Ok(Some(Value::Bool(false)));
            }
            ("aten", "is_scripting") => return Ok(Some(Value::Bool(true))),
            ("aten", "set_grad_enabled" | "manual_seed" | "warn" | "_set_detection_mode") | ("prim", "Print") => {
                return Ok(Some(Value::None));
            }
            ("aten", "__is__" | "__isnot__") => {
                // Each mention of a member is another object to libtorch.
                let same = match (call.value(0), call.value(1)) {
                    (Value::Enum(a), Value::Enum(b)) => Rc::ptr_eq(a, b),
                    (a, b) => a.is_same(b),
                };
                return Ok(Some(Value::Bool(same == (short == "__is__"))));
            }
            ("aten", "_unwrap_optional") => return Ok(Some(call.value(0).clone())),
            ("aten", "get_autocast_dtype") => return Ok(Some(Value::Int(6))),
            ("aten", "device") => return Ok(Some(call.value(0).clone())),
            ("prim", "TimePoint") => return Ok(Some(Value::Int(0))),
            ("prim", "type") if matches!(call.value(0), Value::Device(_)) => {
                let Value::Device(device) = call.value(0) else { return Ok(None) };
                let kind = device.split(':').next().unwrap_or_default();
                return Ok(Some(Value::Str(Rc::from(kind))));
            }
            _ => {}
        }
        let Value::Tensor(tensor) = call.value(0) else { return Ok(None) };
        let tensor = tensor.clone();
        self.tensor_property(short, &tensor, call)
    }

    fn tensor_property(&mut self, short: &str, tensor: &Tensor, call: &OperatorCall) -> Result<Option<Value>> {
        // In-place operators and views have the same names as some properties.
        if call.found.schema.returns_tensors() && !matches!(short, "data" | "requires_grad_" | "detach_") {
            return Ok(None);
        }
        let meta = self.recorder.meta(tensor)?;
        let dtype = self.dtype(tensor)?;
        Ok(Some(match short {
            "size" | "shape" if call.args.len() < 2 || call.args.get(1).is_none_or(Option::is_none) => {
                let sizes = meta.sizes.into_iter().map(Item::size).collect();
                self.list_of(Type::Int, sizes)?.value
            }
            "size" => Value::size(entry(&meta.sizes, call.value(1))?),
            "stride" => {
                if meta.strides.len() != meta.sizes.len() {
                    return Err(Error::unsupported("the strides of a tensor are asked for, which are not known here"));
                }
                match call.value(1) {
                    Value::None => {
                        let strides = meta.strides.into_iter().map(Item::size).collect();
                        self.list_of(Type::Int, strides)?.value
                    }
                    dim => Value::size(entry(&meta.strides, dim)?),
                }
            }
            "dim" | "ndimension" | "ndim" => Value::Int(meta.sizes.len() as i64),
            "len" => Value::size(entry(&meta.sizes, &Value::Int(0))?),
            "numel" => Value::size(meta.sizes.iter().product::<SymInt>()),
            "dtype" => Value::Int(
                tensor.quantized.as_ref().map_or_else(|| number_of_dtype(dtype), |q| quantized_number(q.dtype)),
            ),
            "device" => Value::Device(Rc::from("cpu")),
            "layout" => Value::Int(0),
            "is_floating_point" => Value::Bool(dtype.is_float() && tensor.quantized.is_none()),
            "is_complex" => Value::Bool(dtype.is_complex()),
            "is_signed" => Value::Bool(dtype.is_float() || dtype.is_signed_int() || dtype.is_complex()),
            "is_quantized" => Value::Bool(tensor.quantized.is_some()),
            "requires_grad" | "is_cuda" | "is_nested" | "is_sparse" | "is_sparse_csr" | "is_mkldnn" | "is_vulkan"
            | "is_mps" | "is_meta" | "is_xla" | "is_xpu" | "is_ipu" | "is_maia" | "is_ort" | "is_mtia" | "is_conj"
            | "is_neg" | "is_inference" | "_is_zerotensor" | "retains_grad" => Value::Bool(false),
            "is_cpu" | "is_leaf" => Value::Bool(true),
            "is_contiguous" => Value::Bool(contiguity(&meta)?),
            "itemsize" | "element_size" => Value::Int(i64::from(dtype.bits() / 8)),
            "storage_offset" => Value::size(meta.storage_offset),
            "get_device" => Value::Int(-1),
            "q_scale" | "q_zero_point" | "q_per_channel_axis" => {
                let quantized = tensor.quantized.as_ref().ok_or_else(|| Error::input("a tensor is not quantized"))?;
                match short {
                    "q_scale" => self.numeric(&quantized.scale.clone())?,
                    "q_zero_point" => self.numeric(&quantized.zero_point.clone())?,
                    _ => Value::Int(quantized.axis.unwrap_or(0)),
                }
            }
            "qscheme" => Value::Int(0),
            "is_nonzero" => self.truth(&Value::Tensor(tensor.clone()))?,
            "item" | "_local_scalar_dense" => self.number_of(tensor)?,
            "data" | "requires_grad_" | "detach_" => Value::Tensor(tensor.clone()),
            _ => return Ok(None),
        }))
    }

    /// The dtype of a tensor.
    pub(super) fn dtype(&mut self, tensor: &Tensor) -> Result<Dtype> {
        Ok(self.recorder.meta(tensor)?.dtype)
    }

    /// Whether a value is an integer, or a tensor of integers.
    pub(super) fn is_integral(&mut self, item: &Item) -> Result<bool> {
        Ok(match &item.value {
            Value::Tensor(tensor) => {
                let dtype = self.dtype(tensor)?;
                dtype.is_int() || dtype == Dtype::Bool
            }
            Value::Int(_) | Value::Bool(_) => true,
            Value::Sym(sym) => !matches!(**sym, Sym::Float(_)),
            _ => false,
        })
    }

    /// Whether a value is of a type, for `isinstance`.
    pub(super) fn is_of(&mut self, item: &Item, ty: &Type) -> Result<bool> {
        Ok(match (&item.value, ty) {
            (_, Type::Any) => true,
            (value, Type::Optional(of)) => matches!(value, Value::None) || self.is_of(item, of)?,
            (_, Type::Union(types)) => {
                for ty in types.iter() {
                    if self.is_of(item, ty)? {
                        return Ok(true);
                    }
                }
                false
            }
            (Value::None, Type::None)
            | (Value::Bool(_), Type::Bool)
            | (Value::Int(_), Type::Int | Type::Number)
            | (Value::Float(_), Type::Float | Type::Number)
            | (Value::Complex(..), Type::Complex | Type::Number)
            | (Value::Str(_), Type::Str)
            | (Value::Device(_), Type::Device)
            | (Value::Tensor(_), Type::Tensor)
            | (Value::List(_), Type::AnyList)
            | (Value::Tuple(_), Type::AnyTuple) => true,
            (Value::Sym(sym), ty) => match &**sym {
                Sym::Int(_) => matches!(ty, Type::Int | Type::Number),
                Sym::Float(_) => matches!(ty, Type::Float | Type::Number),
                Sym::Bool(_) => matches!(ty, Type::Bool),
            },
            (Value::Object(cell), Type::Class(name)) => self.object(*cell)?.class.name == *name,
            (Value::Enum(member), Type::Class(name)) => member.class == *name,
            (Value::Tuple(tuple), Type::Class(name)) => tuple.class.as_ref().is_some_and(|class| class.name == *name),
            (Value::List(cell), Type::List(of)) => match self.heap.get(*cell).map(|data| (**data).clone()) {
                Some(CellData::List(items)) if !items.is_empty() => {
                    let mut all = true;
                    for item in &items {
                        all &= self.is_of(item, of)?;
                    }
                    all
                }
                Some(CellData::Stacked(_)) => **of == Type::Tensor,
                _ => item.ty.is_subtype_of(ty),
            },
            (Value::Tuple(tuple), Type::Tuple(types)) => {
                let mut all = tuple.items.len() == types.len();
                for (item, ty) in tuple.items.clone().iter().zip(types.iter()) {
                    all = all && self.is_of(item, ty)?;
                }
                all
            }
            (Value::Dict(_), Type::Dict(_)) => item.ty.is_subtype_of(ty) || item.ty == Type::Any,
            _ => false,
        })
    }
}

/// The entry for a dimension.
fn entry(numbers: &[SymInt], dim: &Value) -> Result<SymInt> {
    let Value::Int(dim) = *dim else {
        return Err(Error::unsupported("the dimension is only known at run time"));
    };
    let rank = numbers.len();
    let found = counted_from_start(dim, rank).and_then(|at| numbers.get(at)).cloned();
    found.ok_or_else(|| Error::input(format!("a tensor of rank {rank} has no dimension {dim}")))
}

fn contiguity(meta: &TensorMeta) -> Result<bool> {
    if strides::is_contiguous(meta) {
        return Ok(true);
    }
    if meta.strides.len() == meta.sizes.len() {
        return Ok(false);
    }
    // What depends on the layout gives the same values either way.
    Ok(true)
}

/// The number of a quantized dtype.
fn quantized_number(dtype: Dtype) -> i64 {
    match dtype {
        Dtype::Int8 => 12,
        Dtype::Uint8 => 13,
        _ => 14,
    }
}
