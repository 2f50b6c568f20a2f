//! A call of an operator, as lowerings receive it.

use crate::build::graph::function::Graph;
use crate::build::{Builder, LowerFn};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Value};
use aten2onnx_onnx::schema::{Default, Version};

/// A call in one form of an operator. Literals are already tensors.
#[derive(Debug, Clone)]
pub struct NodeCall {
    /// The operator.
    pub op: &'static str,
    /// The version of the schema that the call is written for.
    pub form: &'static Version,
    /// In the order of the schema, without trailing absent ones.
    pub inputs: Vec<Option<Value>>,
    /// Attributes; those with default values may be absent.
    pub attrs: Vec<(&'static str, Attr)>,
    /// The number of requested outputs.
    pub outputs: usize,
    /// The lowering before an opset, if the caller provides it.
    pub lower: Option<(u32, LowerFn)>,
}

impl NodeCall {
    /// A required input.
    pub fn input(&self, i: usize) -> Result<Value> {
        let name = || self.form.inputs.get(i).map_or("?", |p| p.name);
        self.optional(i)
            .ok_or_else(|| Error::internal(format!("`{}` is called without its input `{}`", self.op, name())))
    }

    /// An optional input.
    pub fn optional(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// The inputs from `i` on.
    pub fn variadic(&self, i: usize) -> Vec<Value> {
        self.inputs.iter().skip(i).copied().flatten().collect()
    }

    /// The attribute as given.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|(n, _)| *n == name).map(|(_, a)| a)
    }

    fn default(&self, name: &str) -> Option<Default> {
        self.form.attribute(name).and_then(|a| a.default)
    }

    /// A FLOAT attribute or its default.
    pub fn float(&self, name: &str) -> Option<f64> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Float(v)), _) => Some(*v),
            (None, Some(Default::Float(v))) => Some(v.into()),
            _ => None,
        }
    }

    /// An INT attribute or its default.
    pub fn int(&self, name: &str) -> Option<i64> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Int(v)), _) => Some(*v),
            (None, Some(Default::Int(v))) => Some(v),
            _ => None,
        }
    }

    /// A STRING attribute or its default.
    pub fn str(&self, name: &str) -> Option<String> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Str(v)), _) => Some(v.clone()),
            (None, Some(Default::Str(v))) => Some(v.to_owned()),
            _ => None,
        }
    }

    /// A FLOATS attribute or its default.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Floats(v)), _) => Some(v.clone()),
            (None, Some(Default::Floats(v))) => Some(v.iter().copied().map(f64::from).collect()),
            _ => None,
        }
    }

    /// An INTS attribute or its default.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Ints(v)), _) => Some(v.clone()),
            (None, Some(Default::Ints(v))) => Some(v.to_vec()),
            _ => None,
        }
    }

    /// A STRINGS attribute or its default.
    pub fn strs(&self, name: &str) -> Option<Vec<String>> {
        match (self.attr(name), self.default(name)) {
            (Some(Attr::Strs(v)), _) => Some(v.clone()),
            (None, Some(Default::Strs(v))) => Some(v.iter().map(|s| (*s).to_owned()).collect()),
            _ => None,
        }
    }

    /// A TENSOR attribute.
    pub fn tensor(&self, name: &str) -> Option<Value> {
        match self.attr(name) {
            Some(Attr::Tensor(v)) => Some(*v),
            _ => None,
        }
    }

    /// A GRAPH attribute.
    pub fn graph(&self, name: &str) -> Option<Graph> {
        match self.attr(name) {
            Some(Attr::Graph(body)) => Some(Graph::Built(body.clone())),
            _ => None,
        }
    }

    /// The error for a missing required attribute.
    pub fn missing_attribute(&self, name: &str) -> Error {
        Error::internal(format!("`{}` is called without its attribute `{name}`", self.op))
    }

    /// An error about the call that names the current rule.
    pub(crate) fn fault(&self, cx: &Builder, what: impl std::fmt::Display) -> Error {
        cx.fault(format!("`{}` {what}", self.op))
    }
}
