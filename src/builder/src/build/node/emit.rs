//! Emits a node in a native version: checks attributes, outputs and their types.

use crate::build::node::Inferred;
use crate::build::node::legalise::Casts;
use crate::build::{Builder, Event, NodeCall};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Node, Source, Type, Value};
use aten2onnx_onnx::schema::{Op, PortKind, Version};

/// Attributes that are written even at their default: onnx 1.23's shape inference assumes another one of STFT, burn-onnx 0.22 reads no mode of
/// a Resize and 0 as the epsilon of a BatchNormalization, and pnnx 20261020 does not know the other defaults, either.
const SPELLED_OUT: &[(&str, &str)] =
    &[("STFT", "onesided"), ("Resize", "mode"), ("BatchNormalization", "epsilon"), ("Pad", "mode"), ("Split", "axis")];

impl Builder {
    /// Emits the node, with casts around it if the version does not take these dtypes.
    pub(crate) fn native(
        &mut self,
        schema: &'static Op,
        version: &'static Version,
        mut call: NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        if version.deprecated {
            return Err(call.fault(self, format!("is deprecated since opset {}", version.since)));
        }
        self.check_ports(version, &call)?;
        for input in call.inputs.iter_mut().flatten() {
            *input = self.unpacked(*input)?;
        }
        self.check_bodies(&call.attrs)?;
        self.check_kinds(schema, version, &call)?;
        let form = self.form_to_tell(schema.name, version, &call);
        let mut attrs = self.native_attrs(version, &mut call)?;
        self.nonnegative_axes(version, &mut call, &mut attrs)?;
        let casts = self.legalise(schema, version, &call)?;
        for (i, to) in &casts.inputs {
            if let Some(input) = call.inputs.get(*i).copied().flatten() {
                let cast = self.cast(input, *to)?;
                call.inputs[*i] = Some(cast);
            }
        }
        let types = self.native_types(schema, version, &casts, &inferred.types)?;
        let values = self.push(call, attrs, types, &inferred.contents);
        self.lowerings.warned.extend(form.map(|form| (values.clone(), form)));
        let dtypes: Vec<Dtype> = inferred.types.iter().map(Type::dtype).collect();
        values.into_iter().zip(dtypes).map(|(v, dtype)| self.cast(v, dtype)).collect()
    }

    fn check_ports(&self, version: &'static Version, call: &NodeCall) -> Result<()> {
        if let Some(i) = (0..call.inputs.len()).find(|i| version.input_port(*i).is_none()) {
            return Err(call.fault(self, format!("takes no more than {i} inputs")));
        }
        if (0..call.outputs).any(|i| version.output_port(i).is_none()) {
            return Err(call.fault(self, format!("has fewer than {} outputs", call.outputs)));
        }
        let required = version.inputs.iter().enumerate().filter(|(_, p)| p.kind == PortKind::Single);
        match required.into_iter().find(|(i, _)| call.optional(*i).is_none()) {
            Some((_, port)) => Err(call.fault(self, format!("needs its input `{}`", port.name))),
            None => Ok(()),
        }
    }

    /// The attributes to write. Omits attributes that equal the default of this version; writes those that equal the
    /// default of the caller's version.
    fn native_attrs(&self, version: &'static Version, call: &mut NodeCall) -> Result<Vec<(&'static str, Attr)>> {
        let mut given = std::mem::take(&mut call.attrs);
        let mut attrs = Vec::with_capacity(given.len());
        let meant = |name: &str| call.form.attribute(name).and_then(|a| a.default);
        for attribute in version.attributes {
            let position = given.iter().position(|(name, _)| *name == attribute.name);
            let attr = position.map(|i| given.swap_remove(i).1);
            match attr.or_else(|| meant(attribute.name).map(|d| d.to_attr())) {
                Some(attr)
                    if attribute.default.is_some_and(|d| d.is(&attr))
                        && !SPELLED_OUT.contains(&(call.op, attribute.name)) => {}
                Some(attr) => attrs.push((attribute.name, attr)),
                None if attribute.required => {
                    return Err(call.fault(self, format!("needs its attribute `{}`", attribute.name)));
                }
                None => {}
            }
        }
        match given.into_iter().find(|(name, attr)| !meant(name).is_some_and(|d| d.is(attr))) {
            Some((name, _)) => Err(call.fault(self, format!("has no attribute `{name}` in version {}", version.since))),
            None => Ok(attrs),
        }
    }

    /// The output types of the node before they are cast back. Types that the version does not support are refused.
    fn native_types(
        &self,
        schema: &'static Op,
        version: &'static Version,
        casts: &Casts,
        inferred: &[Type],
    ) -> Result<Vec<Type>> {
        let mut types = Vec::with_capacity(inferred.len());
        for (i, ty) in inferred.iter().enumerate() {
            let mut ty = ty.clone();
            let port = version.output_port(i);
            let cast = port.and_then(|p| casts.variables.iter().find(|(variable, _)| *variable == p.ty));
            if let (Type::Tensor { dtype, .. }, Some((_, to))) = (&mut ty, cast) {
                *dtype = *to;
            }
            let set = port.and_then(|p| version.types.get(usize::from(p.ty)));
            if let Type::Tensor { dtype, .. } = ty
                && !set.is_some_and(|set| set.has(dtype))
            {
                return Err(self.refused_dtype(schema, dtype, "give", |v| {
                    v.output_port(i).and_then(|p| v.types.get(usize::from(p.ty)))
                }));
            }
            if !ty.is_tensor() && !ty.is_unknown() && set.is_some_and(|set| !set.others) {
                let gives = |version: &'static Version| {
                    let port = version.output_port(i)?;
                    Some(version.types.get(usize::from(port.ty))?.others)
                };
                return Err(self.refused_kind(schema, version, &ty, "give", gives));
            }
            types.push(ty);
        }
        Ok(types)
    }

    /// Whether the outputs follow from constants and weights alone. A body may read any value.
    pub(crate) fn is_folded_call(&self, call: &NodeCall, attrs: &[(&'static str, Attr)]) -> bool {
        let mut inputs = call.inputs.iter().flatten().peekable();
        inputs.peek().is_some()
            && inputs.all(|input| self.data(*input).is_folded)
            && !attrs.iter().any(|(_, attr)| matches!(attr, Attr::Graph(_) | Attr::Graphs(_)))
    }

    fn push(
        &mut self,
        call: NodeCall,
        attrs: Vec<(&'static str, Attr)>,
        types: Vec<Type>,
        contents: &[Option<Vec<SymInt>>],
    ) -> Vec<Value> {
        self.trace.event(Event::Node(call.op));
        let is_folded = self.is_folded_call(&call, &attrs);
        let mut values = Vec::with_capacity(types.len());
        for (ty, content) in types.into_iter().zip(contents) {
            let value = self.add_value(ty, Source::Node, content.as_deref().map(Into::into));
            self.bind_sizes(value, false);
            self.data_mut(value).is_folded = is_folded;
            values.push(value);
        }
        let node = Node {
            op: call.op,
            name: String::new(),
            inputs: call.inputs,
            outputs: values.iter().copied().map(Some).collect(),
            attrs,
            origin: self.origins.current,
        };
        self.scope_mut().nodes.push(node);
        values
    }
}
