//! Calls: of rules by a program, of lowerings by the builder, of rules and functions by each other.

use aten2onnx_opmap::tree::{Expr, Function, Lower, Map, Param};
use aten2onnx_opmap::types::Ty;

use super::MappingFiles;
use super::eval::Frame;
use crate::arguments::parameters::{Kind, Shape, argument};
use crate::arguments::{CallArgs, Val};
use aten2onnx_builder::{Args, Builder, NodeCall, Out};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema;

impl MappingFiles {
    /// Runs a `map` on the arguments of a call.
    pub(super) fn call_map(&self, cx: &mut Builder, map: &Map, args: &Args) -> Result<Vec<Out>> {
        let mut frame = Frame::new(self);
        let mut values = Vec::with_capacity(map.function.params.len());
        for param in &map.function.params {
            values.push(frame.parameter(cx, param, args)?);
        }
        frame.map(cx, map, values)?.into_outs()
    }

    /// Runs a `lower` on a call whose version is too new, or a `raise` on one whose version is too old.
    pub(super) fn call_lower(&self, cx: &mut Builder, lower: &Lower, call: &NodeCall) -> Result<Vec<Value>> {
        let mut frame = Frame::new(self);
        frame.outputs = call.outputs as i64;
        for (i, param) in lower.function.params.iter().enumerate() {
            let value = if i < lower.inputs { input(call, param, i)? } else { attribute(call, lower, param)? };
            frame.bind(&param.name, value);
        }
        frame.eval(cx, &lower.function.body)?.into_values()
    }
}

impl<'r> Frame<'r> {
    pub(super) fn rule_call(&mut self, cx: &mut Builder, name: &str, args: &'r [Expr]) -> Result<Val> {
        let rules = self.rules;
        let map = rules.program().map(name).ok_or_else(|| Error::internal(format!("there is no rule `{name}`")))?;
        let values = self.values(cx, args)?;
        Frame::new(rules).map(cx, map, values)
    }

    pub(super) fn fn_call(&mut self, cx: &mut Builder, name: &str, args: &'r [Expr]) -> Result<Val> {
        let rules = self.rules;
        let found = rules.program().helper(name);
        let function = found.ok_or_else(|| Error::internal(format!("there is no `fn {name}`")))?;
        let values = self.values(cx, args)?;
        Frame::new(rules).function(cx, function, values)
    }

    pub(super) fn extern_call(&mut self, cx: &mut Builder, name: &str, args: &'r [Expr]) -> Result<Val> {
        let missing = || Error::internal(format!("there is no `extern fn {name}`"));
        let function = self.rules.extern_fn(name).ok_or_else(missing)?;
        let params = self.rules.program().external(name).map(|f| f.params.as_slice()).ok_or_else(missing)?;
        let mut values = self.values(cx, args)?.into_iter();
        let taken = params.iter().zip(values.by_ref()).filter(|(p, _)| !is_opaque(&p.ty)).map(|(_, v)| v).collect();
        cx.trace().enter_extern(name);
        let result = function(cx, &mut CallArgs::new(taken));
        cx.trace().leave_extern(result.as_ref().err());
        result
    }

    fn values(&mut self, cx: &mut Builder, args: &'r [Expr]) -> Result<Vec<Val>> {
        args.iter().map(|arg| self.eval(cx, arg)).collect()
    }

    fn map(&mut self, cx: &mut Builder, map: &'r Map, values: Vec<Val>) -> Result<Val> {
        if let Some((opset, reason)) = map.since.as_ref().filter(|since| cx.opset() < i64::from(since.0)) {
            return Err(Error::refused(reason.as_str(), Some(*opset)));
        }
        self.function(cx, &map.function, values)
    }

    fn function(&mut self, cx: &mut Builder, function: &'r Function, values: Vec<Val>) -> Result<Val> {
        for (param, value) in function.params.iter().zip(values) {
            self.bind(&param.name, value);
        }
        self.eval(cx, &function.body)
    }

    /// An argument of a call, converted to the type in the header.
    fn parameter(&mut self, cx: &mut Builder, param: &'r Param, args: &Args) -> Result<Val> {
        if is_opaque(&param.ty) {
            return Ok(Val::None);
        }
        match &param.default {
            Some(default) if !args.has(&param.name) => self.eval(cx, default),
            _ => {
                let (kind, shape) = kind_of(&param.ty).ok_or_else(|| unknown_type(param))?;
                argument(cx, args, &param.name, kind, shape, param.size.map(|n| n as usize))
            }
        }
    }
}

/// The kind and shape of a type that calls can pass.
fn kind_of(ty: &Ty) -> Option<(Kind, Shape)> {
    let plain = |ty: &Ty| match ty {
        Ty::Tensor => Some(Kind::Tensor),
        Ty::Int => Some(Kind::Int),
        Ty::Float => Some(Kind::Float),
        Ty::Bool => Some(Kind::Bool),
        Ty::Str => Some(Kind::Str),
        Ty::Scalar => Some(Kind::Scalar),
        Ty::SymInt => Some(Kind::SymInt),
        Ty::ScalarType => Some(Kind::Dtype),
        _ => None,
    };
    match ty {
        Ty::List(of) => match &**of {
            Ty::Optional(of) => Some((plain(of)?, Shape::OptionalItems)),
            of => Some((plain(of)?, Shape::List)),
        },
        Ty::Optional(of) => match &**of {
            Ty::List(of) => Some((plain(of)?, Shape::OptionalList)),
            of => Some((plain(of)?, Shape::Optional)),
        },
        ty => Some((plain(ty)?, Shape::One)),
    }
}

fn unknown_type(param: &Param) -> Error {
    Error::internal(format!("the argument `{}` is of type {}, which no call can pass", param.name, param.ty))
}

pub(super) fn is_opaque(ty: &Ty) -> bool {
    match ty {
        Ty::Opaque(_) => true,
        Ty::Optional(of) => is_opaque(of),
        _ => false,
    }
}

fn input(call: &NodeCall, param: &Param, i: usize) -> Result<Val> {
    Ok(match &param.ty {
        Ty::Tensor => call.input(i)?.into(),
        Ty::Optional(_) => call.optional(i).into(),
        _ => call.variadic(i).into(),
    })
}

/// An attribute of a call, or its default in the version in the header of the rule.
fn attribute(call: &NodeCall, lower: &Lower, param: &Param) -> Result<Val> {
    let stem = param.name.rsplit_once('_').map_or(param.name.as_str(), |(stem, _)| stem);
    let (ty, optional) = match &param.ty {
        Ty::Optional(inner) => (&**inner, true),
        ty => (ty, false),
    };
    let given: Val = match ty {
        Ty::Float => call.float(stem).into(),
        Ty::Str => call.str(stem).into(),
        Ty::Tensor => call.tensor(stem).into(),
        Ty::Graph => call.graph(stem).into(),
        Ty::List(of) => match &**of {
            Ty::Float => call.floats(stem).into(),
            Ty::Int => call.ints(stem).into(),
            _ => call.strs(stem).into(),
        },
        _ => call.int(stem).into(),
    };
    match given {
        Val::None if optional => Ok(Val::None),
        Val::None => default_of(lower, stem).ok_or_else(|| call.missing_attribute(stem)),
        given => Ok(given),
    }
}

fn default_of(lower: &Lower, name: &str) -> Option<Val> {
    let versions = schema::find(&lower.op)?.versions;
    let version = versions.iter().find(|version| version.since == lower.form)?;
    Some(match version.attributes.iter().find(|a| a.name == name)?.default? {
        schema::Default::Float(x) => f64::from(x).into(),
        schema::Default::Int(n) => n.into(),
        schema::Default::Str(s) => s.to_owned().into(),
        schema::Default::Floats(xs) => xs.iter().copied().map(f64::from).collect::<Vec<_>>().into(),
        schema::Default::Ints(ns) => ns.to_vec().into(),
        schema::Default::Strs(ss) => ss.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>().into(),
    })
}
