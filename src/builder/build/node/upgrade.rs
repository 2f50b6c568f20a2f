//! Upgrades calls whose form is older than the target's, where the changes in between are mechanical.
//!
//! Most changes turn an attribute into an input, or add an attribute whose default keeps the old meaning. A change of meaning
//! does not matter if the call does not depend on it; other calls are refused.

use crate::build::node::lowerings::Difference;
use crate::build::{Builder, Call, Form, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Constant, Value};
use aten2onnx_onnx::schema::{Change, Op, Version};

impl Builder {
    /// Emits a call in the form of the target.
    pub(crate) fn upgraded(
        &mut self,
        schema: &'static Op,
        version: &'static Version,
        call: &Call,
    ) -> Result<Vec<Value>> {
        if version.deprecated {
            return self.replaced(call);
        }
        if self.is_flattening(version, call) {
            return self.flattened(version, call);
        }
        let mut upgraded = call.clone();
        let between = schema.versions.iter().filter(|v| v.since > call.form.since && v.since <= version.since);
        for step in between {
            if self.difference(call.op, step) == Difference::Schema(Change::Shape) {
                self.upgrade(step, version.since, &mut upgraded)
                    .map_err(|reason| not_upgraded(call, step.since, reason))?;
            }
            upgraded.form = step;
        }
        while upgraded.inputs.last() == Some(&None) {
            upgraded.inputs.pop();
        }
        let inferred = self.infer(&upgraded)?;
        self.native(schema, version, upgraded, &inferred)
    }

    /// Applies one change of an operator. The error is the reason why it cannot be applied.
    fn upgrade(&mut self, step: &Version, target: u32, call: &mut Call) -> Result<(), &'static str> {
        let one_output = call.outputs <= 1;
        let is = |call: &Call, name: &str, value: &str| call.str(name).as_deref() == Some(value);
        match (call.op, step.since) {
            ("Squeeze" | "Unsqueeze", 13) => self.ints_input(call, "axes", 1),
            (op, 13 | 18) if op.starts_with("Reduce") => self.ints_input(call, "axes", 1),
            ("Split", 13) => self.ints_input(call, "split", 1),
            ("Split", 18) if call.optional(1).is_none() => {
                let outputs = call.outputs as i64;
                call.attrs.push(("num_outputs", Attr::Int(outputs)));
            }
            ("Slice", 10) => {
                self.ints_input(call, "starts", 1);
                self.ints_input(call, "ends", 2);
                self.ints_input(call, "axes", 3);
            }
            ("TopK", 10) => {
                let k = take_attr(call, "k").and_then(|attr| if let Attr::Int(k) = attr { Some(k) } else { None });
                let k = self.ints(&[k.unwrap_or(0)]);
                set_input(call, 1, Some(k));
            }
            ("Clip", 11) => {
                self.number_input(call, "min", 1)?;
                self.number_input(call, "max", 2)?;
            }
            ("Pad", 11) => {
                self.ints_input(call, "pads", 1);
                self.number_input(call, "value", 2)?;
            }
            ("Dropout", 12) => {
                let ratio = match take_attr(call, "ratio") {
                    Some(Attr::Float(ratio)) => ratio,
                    _ => 0.5,
                };
                let ratio =
                    self.scalar(&Scalar::Float(ratio), Dtype::Float32).map_err(|_| "its ratio is not a number")?;
                set_input(call, 1, Some(ratio));
            }
            ("DFT", 20) => {
                let axis = call.int("axis").unwrap_or(1);
                take_attr(call, "axis");
                let axis = self.scalar(&Scalar::Int(axis), Dtype::Int64).map_err(|_| "its axis is not a number")?;
                set_input(call, 2, Some(axis));
            }
            ("GridSample", 20) => rename_values(call, "mode", &[("bilinear", "linear"), ("bicubic", "cubic")]),
            ("RoiAlign", 16) => {
                call.attrs.push(("coordinate_transformation_mode", Attr::Str("output_half_pixel".into())))
            }
            ("Resize", 11) => self.resize_input(target, call),
            ("Dropout", 10) if !one_output => return Err("the mask has another type"),
            ("BatchNormalization", 14) if !one_output => return Err("the meaning of its optional outputs changed"),
            ("ConvTranspose", 11) if call.attr("output_shape").is_some() || !is(call, "auto_pad", "NOTSET") => {
                return Err("the padding derived from the output shape is on the other side");
            }
            ("MaxPool" | "AveragePool", 22) if call.int("ceil_mode") == Some(1) => {
                return Err("with `ceil_mode`, windows that start in the padding are dropped");
            }
            ("OneHot", 11) => return Err("negative indices count from the end"),
            ("GroupNormalization", 21) => return Err("scale and bias are per channel, not per group"),
            // What changed does not affect this call.
            ("Softmax" | "LogSoftmax" | "Hardmax", 13)
            | ("BatchNormalization", 14)
            | ("ConvTranspose", 11)
            | ("Dropout", 10)
            | ("MaxPool" | "AveragePool", 22) => {}
            _ if !step.extends => return Err("its meaning changed"),
            _ => {}
        }
        Ok(())
    }

    /// Turns an attribute of integers into an input.
    fn ints_input(&mut self, call: &mut Call, name: &str, at: usize) {
        if let Some(Attr::Ints(ints)) = take_attr(call, name) {
            let ints = self.ints(&ints);
            set_input(call, at, Some(ints));
        }
    }

    /// Turns a float attribute into an input with the dtype of the first input, unless it has its default value.
    fn number_input(&mut self, call: &mut Call, name: &'static str, at: usize) -> Result<(), &'static str> {
        let default = call.form.attribute(name).and_then(|a| a.default);
        let Some(attr) = take_attr(call, name).filter(|attr| !default.is_some_and(|d| d.is(attr))) else {
            return Ok(());
        };
        let Attr::Float(number) = attr else { return Err("its attribute is not a number") };
        let dtype = call.optional(0).map_or(Dtype::Float32, |x| self.dtype(x));
        let number = self.scalar(&Scalar::Float(number), dtype).map_err(|_| "its attribute does not fit the dtype")?;
        set_input(call, at, Some(number));
        Ok(())
    }

    /// Up to opset 10, Resize samples at the left edge of pixels.
    fn resize_input(&mut self, target: u32, call: &mut Call) {
        let scales = call.optional(1);
        let roi = (target < 13).then(|| self.intern(Constant::new(Dtype::Float32, vec![0], Vec::new())));
        set_input(call, 1, roi);
        set_input(call, 2, scales);
        call.attrs.push(("coordinate_transformation_mode", Attr::Str("asymmetric".into())));
        call.attrs.push(("nearest_mode", Attr::Str("floor".into())));
    }

    /// Replaces an operator that was removed.
    fn replaced(&mut self, call: &Call) -> Result<Vec<Value>> {
        let inputs = call.inputs.iter().map(|input| (*input).into()).collect();
        match call.op {
            "Scatter" => self.node_in(Form::before(16), "ScatterElements", inputs, call.attrs.clone(), 1),
            "Upsample" => self.node_in(Form::before(11), "Resize", inputs, call.attrs.clone(), 1),
            _ => Err(Error::unsupported(format!("`{}` is deprecated and has no known replacement", call.op))),
        }
    }

    /// Whether the call flattens its input to two dimensions, as softmax operators did up to opset 12.
    fn is_flattening(&self, version: &'static Version, call: &Call) -> bool {
        let is_softmax = matches!(call.op, "Softmax" | "LogSoftmax" | "Hardmax");
        is_softmax && call.form.since < 13 && version.since >= 13
    }

    fn flattened(&mut self, version: &'static Version, call: &Call) -> Result<Vec<Value>> {
        let (x, axis) = (call.input(0)?, call.int("axis").unwrap_or(1));
        let rank = self.rank(x).ok();
        let last = rank.is_some_and(|rank| axis == rank - 1) || axis == -1;
        let attrs = vec![("axis", Attr::Int(-1))];
        let op = call.op;
        if last {
            return self.node_in(Form::before(version.since + 1), op, vec![x.into()], attrs, 1);
        }
        let flat = self.node1("Flatten", vec![x.into()], vec![("axis", Attr::Int(axis))])?;
        let flat = self.node1(op, vec![flat.into()], attrs)?;
        let shape = self.node1("Shape", vec![x.into()], vec![])?;
        Ok(vec![self.node1("Reshape", vec![flat.into(), shape.into()], vec![])?])
    }
}

fn not_upgraded(call: &Call, since: u32, reason: &str) -> Error {
    Error::unsupported(format!(
        "`{}` of opset {} cannot be upgraded to opset {since}: {reason}",
        call.op, call.form.since
    ))
}

fn take_attr(call: &mut Call, name: &str) -> Option<Attr> {
    let at = call.attrs.iter().position(|(n, _)| *n == name)?;
    Some(call.attrs.remove(at).1)
}

fn set_input(call: &mut Call, at: usize, value: Option<Value>) {
    while call.inputs.len() <= at {
        call.inputs.push(None);
    }
    call.inputs[at] = value;
}

fn rename_values(call: &mut Call, name: &str, names: &[(&str, &str)]) {
    for (attr, value) in &mut call.attrs {
        if let Attr::Str(value) = value
            && *attr == name
            && let Some((_, new)) = names.iter().find(|(old, _)| old == value)
        {
            *value = (*new).to_owned();
        }
    }
}
