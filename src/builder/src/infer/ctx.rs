//! The call that is inferred: inputs, attributes, and outputs by the schema.

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Body, Type, Value};
use aten2onnx_onnx::schema::{self, Default as SchemaDefault, Facts, Port, PortKind, Version};

use super::{Const, InferCx, TypedInput};

/// Sizes; None if the rank is unknown.
pub(super) type Shape = Option<Vec<SymInt>>;

/// A parameter that is an attribute in old forms and an input in newer ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Param<T> {
    Absent,
    Known(T),
    /// Given, but not known.
    Unknown,
}

/// A call that conforms to the schema: required arguments are present, and each type variable has one dtype.
pub(super) struct Ctx<'a> {
    pub cx: &'a dyn InferCx,
    pub op: &'a str,
    /// What the operator does.
    pub facts: &'static Facts,
    pub version: &'static Version,
    pub inputs: &'a [Option<TypedInput<'a>>],
    pub attrs: &'a [(&'static str, Attr)],
    pub outputs: usize,
    pub opset: u32,
    /// By type variable.
    dtypes: Vec<Option<Dtype>>,
}

impl<'a> Ctx<'a> {
    pub fn new(
        cx: &'a dyn InferCx,
        op: &'a str,
        version: &'static Version,
        inputs: &'a [Option<TypedInput<'a>>],
        attrs: &'a [(&'static str, Attr)],
        outputs: usize,
        opset: u32,
    ) -> Result<Self> {
        let dtypes = vec![None; version.types.len()];
        let mut c = Ctx { cx, op, facts: schema::facts(op), version, inputs, attrs, outputs, opset, dtypes };
        c.check_presence()?;
        for (i, input) in inputs.iter().enumerate() {
            if let Some(input) = input {
                c.bind(i, input.ty)?;
            }
        }
        Ok(c)
    }

    fn check_presence(&self) -> Result<()> {
        for (i, port) in self.version.inputs.iter().enumerate() {
            if port.kind == PortKind::Single && !self.has(i) {
                return Err(self.error(format!("input {} is missing", port.name)));
            }
        }
        let missing = self.version.attributes.iter().find(|a| a.required && self.attr(a.name).is_none());
        match missing {
            Some(attribute) => Err(self.error(format!("attribute {} is missing", attribute.name))),
            None => Ok(()),
        }
    }

    /// Records the dtype of an input for its type variable.
    fn bind(&mut self, i: usize, ty: &Type) -> Result<()> {
        let Some(port) = port(self.version.inputs, i) else {
            return Err(self.error(format!("takes no input {i}")));
        };
        let set = self.version.types.get(usize::from(port.ty));
        let Type::Tensor { dtype, .. } = ty else {
            return match set {
                Some(set) if !set.others => Err(self.error(format!("input {} must be a tensor", port.name))),
                _ => Ok(()),
            };
        };
        if port.kind == PortKind::Variadic && !port.homogeneous {
            return Ok(());
        }
        let Some(known) = self.dtypes.get_mut(usize::from(port.ty)) else { return Ok(()) };
        match *known {
            Some(other) if other != *dtype => {
                let variable = set.map_or("T", |s| s.name);
                Err(self.error(format!("{} is {dtype}, but {variable} is {other}", port.name)))
            }
            _ => {
                *known = Some(*dtype);
                Ok(())
            }
        }
    }

    /// The error for a call that violates the contract of the operator.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        let inputs: Vec<String> = self.inputs.iter().map(|i| i.map_or("-".into(), |i| i.ty.to_string())).collect();
        Error::contradiction(format!("{} at opset {}: {what} (inputs: {})", self.op, self.opset, inputs.join(", ")))
    }

    // Inputs.

    pub fn input(&self, i: usize) -> Option<&'a TypedInput<'a>> {
        self.inputs.get(i)?.as_ref()
    }

    pub fn has(&self, i: usize) -> bool {
        self.input(i).is_some()
    }

    pub fn ty(&self, i: usize) -> Result<&'a Type> {
        self.input(i).map(|input| input.ty).ok_or_else(|| self.error(format!("input {i} is missing")))
    }

    pub fn input_dtype(&self, i: usize) -> Option<Dtype> {
        match self.input(i)?.ty {
            Type::Tensor { dtype, .. } => Some(*dtype),
            _ => None,
        }
    }

    /// None if the input is absent, not a tensor, or of unknown rank.
    pub fn shape(&self, i: usize) -> Option<&'a [SymInt]> {
        match self.input(i)?.ty {
            Type::Tensor { shape, .. } => shape.as_deref(),
            _ => None,
        }
    }

    pub fn owned_shape(&self, i: usize) -> Shape {
        self.shape(i).map(<[SymInt]>::to_vec)
    }

    /// The elements of an integer tensor with at most one dimension.
    pub fn content(&self, i: usize) -> Option<Vec<SymInt>> {
        let input = self.input(i)?;
        match input.content {
            Some(content) => Some(content.to_vec()),
            None => {
                let constant = input.constant.filter(|c| c.sizes.len() <= 1)?;
                Some(constant.ints()?.into_iter().map(SymInt::from).collect())
            }
        }
    }

    /// The elements, if all are known.
    pub fn ints(&self, i: usize) -> Option<Vec<i64>> {
        self.content(i)?.iter().map(SymInt::known).collect()
    }

    /// The only element.
    pub fn scalar(&self, i: usize) -> Option<SymInt> {
        match self.content(i)?.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    pub fn floats(&self, i: usize) -> Option<Vec<f64>> {
        self.input(i)?.constant?.floats()
    }

    /// The number of elements of a 1-dimensional input.
    pub fn length(&self, i: usize) -> Option<usize> {
        if let Some(content) = self.content(i) {
            return Some(content.len());
        }
        match self.shape(i)? {
            [length] => usize::try_from(length.known()?).ok(),
            _ => None,
        }
    }

    // Attributes, with the schema's defaults.

    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.attrs.iter().find(|(n, _)| *n == name).map(|(_, attr)| attr)
    }

    fn default(&self, name: &str) -> Option<SchemaDefault> {
        self.version.attributes.iter().find(|a| a.name == name)?.default
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Int(n)), _) => Some(*n),
            (None, Some(SchemaDefault::Int(n))) => Some(n),
            _ => None,
        }
    }

    /// A boolean attribute.
    pub fn flag(&self, name: &str) -> bool {
        self.int(name).unwrap_or(0) != 0
    }

    pub fn int_list(&self, name: &str) -> Option<Vec<i64>> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Ints(list)), _) => Some(list.clone()),
            (None, Some(SchemaDefault::Ints(list))) => Some(list.to_vec()),
            _ => None,
        }
    }

    pub fn string(&self, name: &str) -> Option<&'a str> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Str(text)), _) => Some(text),
            (None, Some(SchemaDefault::Str(text))) => Some(text),
            _ => None,
        }
    }

    pub fn tensor(&self, name: &str) -> Option<Value> {
        match self.attr(name)? {
            Attr::Tensor(value) => Some(*value),
            _ => None,
        }
    }

    pub fn body(&self, name: &str) -> Result<&'a Body> {
        match self.attr(name) {
            Some(Attr::Graph(body)) => Ok(body),
            _ => Err(self.error(format!("attribute {name} is not a graph"))),
        }
    }

    /// An attribute with the number of an element type; 0 counts as absent.
    pub fn dtype_attr(&self, name: &str) -> Result<Option<Dtype>> {
        match i32::try_from(self.int(name).unwrap_or(0)) {
            Ok(0) => Ok(None),
            Ok(number) if Dtype::from_onnx(number).is_some() => Ok(Dtype::from_onnx(number)),
            _ => Err(self.error(format!("attribute {name} is not an element type"))),
        }
    }

    /// An attribute of old forms, or input `i` of newer ones.
    pub fn param(&self, name: &str, i: usize) -> Param<Vec<SymInt>> {
        if let Some(list) = self.int_list(name) {
            return Param::Known(list.into_iter().map(SymInt::from).collect());
        }
        match (self.has(i), self.content(i)) {
            (false, _) => Param::Absent,
            (true, Some(content)) => Param::Known(content),
            (true, None) => Param::Unknown,
        }
    }

    /// The same for parameters such as axes, which must be known integers.
    pub fn int_param(&self, name: &str, i: usize) -> Param<Vec<i64>> {
        match self.param(name, i) {
            Param::Known(list) => {
                list.iter().map(SymInt::known).collect::<Option<_>>().map_or(Param::Unknown, Param::Known)
            }
            Param::Absent => Param::Absent,
            Param::Unknown => Param::Unknown,
        }
    }

    /// Normalizes an axis to count from the front.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        counted_from_start(axis, rank).ok_or_else(|| self.error(format!("axis {axis} is out of range for rank {rank}")))
    }

    /// The attribute `axis`, counting from the front.
    pub fn axis_attr(&self, default: i64, rank: usize) -> Result<usize> {
        self.axis(self.int("axis").unwrap_or(default), rank)
    }

    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        axes.iter().map(|a| self.axis(*a, rank)).collect()
    }

    // Outputs.

    pub fn fresh(&self) -> SymInt {
        self.cx.fresh()
    }

    pub fn fresh_shape(&self, rank: usize) -> Vec<SymInt> {
        (0..rank).map(|_| self.fresh()).collect()
    }

    /// The dtype of output `i` by the schema: that of its type variable, or the only one allowed.
    pub fn dtype(&self, i: usize) -> Result<Dtype> {
        let port = port(self.version.outputs, i).ok_or_else(|| self.error(format!("has no output {i}")))?;
        let variable = usize::from(port.ty);
        let bound = self.dtypes.get(variable).copied().flatten();
        bound
            .or_else(|| self.version.types.get(variable)?.only())
            .ok_or_else(|| self.error(format!("the dtype of {} is unknown", port.name)))
    }

    /// One output with the schema's dtype.
    pub fn one_output(&self, shape: Shape) -> Result<Vec<Type>> {
        self.outputs_typed(vec![shape])
    }

    /// One output of this dtype.
    pub fn typed(&self, dtype: Dtype, shape: Shape) -> Result<Vec<Type>> {
        Ok(vec![Type::Tensor { dtype, shape }])
    }

    /// Outputs with the schema's dtypes, as many as the call has.
    pub fn outputs_typed(&self, shapes: Vec<Shape>) -> Result<Vec<Type>> {
        let shapes = shapes.into_iter().take(self.outputs.max(1)).enumerate();
        shapes.map(|(i, shape)| Ok(Type::Tensor { dtype: self.dtype(i)?, shape })).collect()
    }

    /// The outputs as far as the schema determines them.
    pub fn by_schema(&self) -> Result<Vec<Type>> {
        self.outputs_typed(vec![None; self.outputs])
    }
}

fn port(ports: &[Port], i: usize) -> Option<&Port> {
    ports.get(i).or_else(|| ports.last().filter(|p| p.kind == PortKind::Variadic))
}

impl Const<'_> {
    /// The elements of a tensor of integers or booleans.
    pub fn ints(&self) -> Option<Vec<i64>> {
        let read: fn(&[u8]) -> Option<i64> = match self.dtype {
            Dtype::Int64 => |b| Some(i64::from_le_bytes(b.try_into().ok()?)),
            Dtype::Int32 => |b| Some(i32::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Int16 => |b| Some(i16::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Int8 => |b| Some(i8::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Uint8 | Dtype::Bool => |b| Some(u8::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Uint16 => |b| Some(u16::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Uint32 => |b| Some(u32::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Uint64 => |b| i64::try_from(u64::from_le_bytes(b.try_into().ok()?)).ok(),
            _ => return None,
        };
        self.elements(read)
    }

    /// The elements of a tensor of floats.
    pub fn floats(&self) -> Option<Vec<f64>> {
        let read: fn(&[u8]) -> Option<f64> = match self.dtype {
            Dtype::Float64 => |b| Some(f64::from_le_bytes(b.try_into().ok()?)),
            Dtype::Float32 => |b| Some(f32::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Float16 => |b| Some(half::f16::from_le_bytes(b.try_into().ok()?).into()),
            Dtype::Bfloat16 => |b| Some(half::bf16::from_le_bytes(b.try_into().ok()?).into()),
            _ => return None,
        };
        self.elements(read)
    }

    fn elements<T>(&self, read: fn(&[u8]) -> Option<T>) -> Option<Vec<T>> {
        let width = usize::try_from(self.dtype.bits() / 8).ok().filter(|w| *w > 0)?;
        self.bytes.chunks(width).map(read).collect()
    }
}
