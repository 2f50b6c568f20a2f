//! Dtypes that a version does not support: the node is wrapped in casts to a dtype that holds every value.

use crate::build::target::ABSENT;
use crate::build::{Builder, NodeCall};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::facts::wider;
use aten2onnx_onnx::graph::{Source, Type, Value};
use aten2onnx_onnx::schema::{Op, Port, PortKind, TypeSet, Version};
use aten2onnx_onnx::targets::Missing;

/// The casts around a node.
#[derive(Debug, Default)]
pub(crate) struct Casts {
    /// Positions of inputs and the dtype to cast each to.
    pub(crate) inputs: Vec<(usize, Dtype)>,
    /// Type variables that changed; outputs that share them are cast back.
    pub(crate) variables: Vec<(u8, Dtype)>,
}

impl Builder {
    /// Whether a version supports the dtypes of a call's inputs, and its sequences and optionals.
    pub(crate) fn takes_types(&self, version: &'static Version, call: &NodeCall, outputs: &[Type]) -> bool {
        let set_of = |port: Option<&Port>| port.and_then(|port| version.types.get(usize::from(port.ty)));
        let whole = |ty: &Type, port: Option<&Port>| {
            ty.is_tensor() || ty.is_unknown() || set_of(port).is_none_or(|set| set.others)
        };
        let given = |ty: &Type, port: Option<&Port>| {
            whole(ty, port)
                && (!ty.is_tensor() || ty.is_unknown() || set_of(port).is_none_or(|set| set.has(ty.dtype())))
        };
        let mut inputs = call.inputs.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?)));
        let mut outputs = outputs.iter().enumerate();
        self.tensors(version, call).all(|(_, value, _, set)| set.has(self.dtype(value)))
            && inputs.all(|(i, value)| whole(self.ty(value), version.input_port(i)))
            && outputs.all(|(i, ty)| given(ty, version.output_port(i)))
    }

    /// The casts that a call needs in a version.
    pub(crate) fn legalise(&self, schema: &'static Op, version: &'static Version, call: &NodeCall) -> Result<Casts> {
        self.check_variables(version, call)?;
        let mut casts = Casts::default();
        for (i, value, port, set) in self.tensors(version, call) {
            let dtype = self.dtype(value);
            let variable = is_variable(port, set);
            if set.has(dtype) && (!variable || self.has_kernel(call.op, dtype)) {
                continue;
            }
            let to = match self.wider_kernel(call, port, set, dtype) {
                Some(to) => to,
                // A runtime may add the kernel later; the standard does not change.
                None if set.has(dtype) => continue,
                None => {
                    return Err(self.refused_dtype(schema, dtype, "take", |v| {
                        v.input_port(i).and_then(|p| v.types.get(usize::from(p.ty)))
                    }));
                }
            };
            casts.inputs.push((i, to));
            if variable && !casts.variables.contains(&(port.ty, to)) {
                casts.variables.push((port.ty, to));
            }
        }
        Ok(casts)
    }

    /// Checks that the version supports the sequences and optionals of the call.
    pub(crate) fn check_kinds(&self, schema: &'static Op, version: &'static Version, call: &NodeCall) -> Result<()> {
        for (i, value) in call.inputs.iter().enumerate() {
            let Some(ty) = value.map(|value| self.ty(value)).filter(|ty| !ty.is_tensor() && !ty.is_unknown()) else {
                continue;
            };
            let takes = |version: &'static Version| {
                let port = version.input_port(i)?;
                Some(version.types.get(usize::from(port.ty))?.others)
            };
            if takes(version) == Some(false) {
                return Err(self.refused_kind(schema, version, ty, "take", takes));
            }
        }
        Ok(())
    }

    /// The error for a sequence or optional that the target does not support; names the first opset that does.
    pub(crate) fn refused_kind(
        &self,
        schema: &'static Op,
        version: &'static Version,
        ty: &Type,
        verb: &str,
        can: impl Fn(&'static Version) -> Option<bool>,
    ) -> Error {
        let what = if matches!(ty, Type::Optional(_)) { "optionals" } else { "sequences" };
        let newer = schema.versions.iter().find(|v| v.since > version.since && can(v) == Some(true));
        let since = newer.map(|v| v.since);
        let when = since.map_or_else(|| "at any opset".to_owned(), |opset| format!("before opset {opset}"));
        Error::refused(format!("`{}` does not {verb} {what} {when}", schema.name), since)
    }

    /// Whether the runtime has no kernel for a call, not even for wider dtypes.
    pub(crate) fn has_no_kernel(&self, version: &'static Version, call: &NodeCall) -> bool {
        let Some(avoided) = self.limits.avoided.get(call.op) else { return false };
        *avoided == ABSENT
            || self.tensors(version, call).filter(|(_, _, port, set)| is_variable(port, set)).any(
                |(_, value, port, set)| {
                    let dtype = self.dtype(value);
                    !self.has_kernel(call.op, dtype) && self.wider_kernel(call, port, set, dtype).is_none()
                },
            )
    }

    /// The dtype of a call that the runtime was measured to lack or to get wrong, and that no wider dtype replaces.
    pub(crate) fn missing_dtype(&self, schema: &'static Op, call: &NodeCall) -> Option<(&'static Missing, Dtype)> {
        let measured = self.limits.measured.get(schema.name)?;
        let version = schema.at(self.target_of(schema.name))?;
        let first = version.input_port(0)?.ty;
        let of_first = |(_, _, port, set): &(usize, Value, &'static Port, &'static TypeSet)| {
            port.ty == first && is_variable(port, set)
        };
        self.tensors(version, call).filter(of_first).find_map(|(_, value, port, set)| {
            let dtype = self.dtype(value);
            if dtype == Dtype::Int32 && call.op == "Cast" && self.is_widened(value) {
                return None;
            }
            let missing = measured.iter().copied().find(|missing| missing.dtypes.contains(&dtype))?;
            self.wider_kernel(call, port, set, dtype).is_none().then_some((missing, dtype))
        })
    }

    /// Whether the runtime keeps a value of int32 as int64.
    fn is_widened(&self, value: Value) -> bool {
        self.limits.widens_int32 && matches!(self.data(value).source, Source::Node)
    }

    /// Whether a node of a converted model should change because the runtime has no kernel for it.
    pub(crate) fn avoids(&self, version: &'static Version, call: &NodeCall) -> bool {
        let mut tensors =
            self.tensors(version, call).filter(|(_, _, port, set)| is_variable(port, set)).map(|(_, v, ..)| v);
        let is_absent = self.limits.avoided.get(call.op) == Some(&ABSENT);
        self.limits.for_runtime && (is_absent || tensors.any(|value| !self.has_kernel(call.op, self.dtype(value))))
    }

    fn has_kernel(&self, op: &str, dtype: Dtype) -> bool {
        self.limits.avoided.get(op).is_none_or(|avoided| avoided & (1 << dtype as u32) == 0)
    }

    /// A wider dtype to compute in, or a narrower one if the runtime has no wide kernels.
    fn wider_kernel(&self, call: &NodeCall, port: &Port, set: &TypeSet, dtype: Dtype) -> Option<Dtype> {
        let is_kept = |to: Dtype| to != Dtype::Int32 || !self.limits.widens_int32;
        let kernel =
            |to: &Dtype| set.has(*to) && is_kept(*to) && (!is_variable(port, set) || self.has_kernel(call.op, *to));
        let narrower = (dtype == Dtype::Float64 && self.limits.narrows_float64).then_some(Dtype::Float32);
        wider(dtype).iter().copied().chain(narrower).find(kernel).filter(|_| may_be_cast(call, port))
    }

    /// Two dtypes for one type variable are an error of the rule.
    fn check_variables(&self, version: &'static Version, call: &NodeCall) -> Result<()> {
        let mut seen: [Option<(Dtype, &'static str)>; 16] = [None; 16];
        for (_, value, port, set) in self.tensors(version, call).filter(|(_, _, port, set)| is_variable(port, set)) {
            let dtype = self.dtype(value);
            let Some(slot) = seen.get_mut(usize::from(port.ty)) else { continue };
            match *slot {
                Some((other, name)) if other != dtype => {
                    let what =
                        format!("takes {other} for `{name}` and {dtype} for `{}`: both are {}", port.name, set.name);
                    return Err(self.contradiction(format!("`{}` {what}", call.op)));
                }
                _ => *slot = Some((dtype, port.name)),
            }
        }
        Ok(())
    }

    /// The inputs that are tensors, each with its position, port and type set.
    fn tensors<'a>(
        &'a self,
        version: &'static Version,
        call: &'a NodeCall,
    ) -> impl Iterator<Item = (usize, Value, &'static Port, &'static TypeSet)> + 'a {
        call.inputs.iter().enumerate().filter_map(|(i, value)| {
            let value = (*value).filter(|v| self.ty(*v).is_tensor())?;
            let port = version.input_port(i)?;
            Some((i, value, port, version.types.get(usize::from(port.ty))?))
        })
    }

    /// The error for a dtype that the target does not support; names the first opset that does.
    pub(crate) fn refused_dtype(
        &self,
        schema: &'static Op,
        dtype: Dtype,
        verb: &str,
        set: impl Fn(&'static Version) -> Option<&'static TypeSet>,
    ) -> Error {
        let target = self.target_of(schema.name);
        let newer = schema.versions.iter().filter(|v| v.since > target);
        let needs = newer.filter(|v| set(v).is_some_and(|s| s.has(dtype))).map(|v| v.since).next();
        let when = needs.map_or_else(|| "at any opset".to_owned(), |opset| format!("before opset {opset}"));
        Error::refused(format!("`{}` does not {verb} {dtype} {when}", schema.name), needs)
    }
}

/// Whether the input may be cast. The input of a Cast may not, nor inputs whose types a body fixes.
fn may_be_cast(call: &NodeCall, port: &Port) -> bool {
    call.op != "Cast" && (port.kind != PortKind::Variadic || port.homogeneous)
}

/// Whether all inputs and outputs of this type share one dtype.
fn is_variable(port: &Port, set: &TypeSet) -> bool {
    set.only().is_none() && (port.kind != PortKind::Variadic || port.homogeneous)
}
