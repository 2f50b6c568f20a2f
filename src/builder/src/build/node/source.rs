//! Nodes of a model that is converted: they stay unchanged where the target supports them.
//!
//! Nothing is folded, shared or elided here, so that users recognize their nodes in the result. Known constants are
//! passed separately: [`SourceNode::known`] holds constants that are equal to [`SourceNode::inputs`].

use std::sync::Arc;

use crate::build::node::{Inferred, Step};
use crate::build::{Builder, NodeCall};
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Body, Constant, Graph, Node, Source, Type, Value};
use aten2onnx_onnx::schema::{self, Op, Version};

/// A node of the source model.
#[derive(Debug, Clone)]
pub struct SourceNode {
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub op: &'static str,
    /// The name of the node; may be empty.
    pub name: String,
    /// The inputs in order; None if absent.
    pub inputs: Vec<Option<Value>>,
    /// The inputs, with constants for those whose elements are known.
    pub known: Vec<Option<Value>>,
    /// The attributes as given.
    pub attrs: Vec<(&'static str, Attr)>,
    /// The declared type of each output.
    pub declared: Vec<Option<Type>>,
}

/// A result of a node.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The result.
    pub value: Value,
    /// An equal constant, if known.
    pub constant: Option<Value>,
}

impl SourceNode {
    fn call(&self, schema: &'static Op, form: &'static Version) -> NodeCall {
        let mut inputs = self.known.clone();
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        NodeCall { op: schema.name, form, inputs, attrs: self.attrs.clone(), outputs: self.declared.len(), lower: None }
    }
}

impl Builder {
    /// Emits the node unchanged. Its types are those declared and inferred.
    pub fn keep(&mut self, node: &SourceNode, form: Option<&'static Version>) -> Vec<Known> {
        let found = schema::find(node.op).zip(form);
        let call = found.map(|(schema, form)| node.call(schema, form));
        let inferred = call.as_ref().and_then(|call| self.infer(call).ok());
        let constants = call.as_ref().zip(inferred.as_ref()).map(|(call, i)| self.known_results(call, i));
        let types = inferred.as_ref().map_or(&[][..], |i| &i.types);
        let mut results = Vec::with_capacity(node.declared.len());
        for (i, declared) in node.declared.iter().enumerate() {
            let found = types.get(i).filter(|ty| !ty.is_unknown());
            let ty = found.or(declared.as_ref()).cloned().unwrap_or_else(Type::unknown);
            let content = inferred.as_ref().and_then(|inferred| inferred.contents.get(i)?.as_deref());
            let value = self.add_value(ty, Source::Node, content.map(Into::into));
            self.bind_sizes(value, false);
            self.refine_declared(value, declared.as_ref());
            let constant = constants.as_ref().and_then(|c| c.get(i).copied().flatten());
            results.push(Known { value, constant });
        }
        let outputs = results.iter().map(|known| Some(known.value)).collect();
        let (op, name, inputs, attrs) = (node.op, node.name.clone(), node.inputs.clone(), node.attrs.clone());
        let origin = self.origins.current;
        self.scope_mut().nodes.push(Node { op, name, inputs, outputs, attrs, origin });
        results
    }

    /// Converts the node to the target opset.
    pub fn convert(&mut self, node: &SourceNode, schema: &'static Op, form: &'static Version) -> Result<Vec<Value>> {
        let call = node.call(schema, form);
        known_attributes(&call)?;
        self.check_inputs(&call)?;
        let inferred = self.infer(&call).map_err(not_as_specified)?;
        let values = match self.step(schema, &call, &inferred.types)? {
            Step::Native(version) => {
                let call = self.with_own_inputs(node, call);
                let values = self.native(schema, version, call, &inferred)?;
                self.keep_name(node);
                values
            }
            Step::Upgrade(version) => self.upgraded(schema, version, &call, &inferred)?,
            Step::Lower(lower, since) => self.lowered(lower, since, &call, &inferred)?,
            Step::Instead(lower, since, version) => match self.lowered(lower, since, &call, &inferred) {
                Ok(values) => values,
                Err(_) => self.native(schema, version, call, &inferred)?,
            },
        };
        for (value, declared) in values.iter().zip(&node.declared) {
            self.refine_declared(*value, declared.as_ref());
        }
        Ok(values)
    }

    /// Keeps the name of a node of which only the version changes.
    fn keep_name(&mut self, node: &SourceNode) {
        let made = self.scope_mut().nodes.iter_mut().rev().find(|made| made.op == node.op && made.name.is_empty());
        if let Some(made) = made {
            made.name.clone_from(&node.name);
        }
    }

    /// Restores the original inputs of a node of which only the version changes. Old opsets need constant axes, to make
    /// them nonnegative.
    fn with_own_inputs(&self, node: &SourceNode, call: NodeCall) -> NodeCall {
        if self.limits.opset < 11 {
            return call;
        }
        let inputs = node.inputs.iter().take(call.inputs.len()).copied().collect();
        NodeCall { inputs, ..call }
    }

    /// Whether the node can stay unchanged: the target has the same version, or one that differs only in types that it
    /// does not use.
    pub fn stays(&self, node: &SourceNode, schema: &'static Op, form: &'static Version) -> bool {
        let target = self.target_of(schema.name);
        let Some(version) = schema.at(target).filter(|version| !version.deprecated) else { return false };
        let call = node.call(schema, form);
        let is_tracked = call.inputs.iter().flatten().any(|value| self.is_bundle(*value));
        version.since == form.since
            && !is_tracked
            && self.avoidance(schema, &call).is_none()
            && !self.avoids(version, &call)
    }

    /// A constant of the model, which keeps its name and is not shared.
    pub fn source_constant(&mut self, name: &str, constant: Constant) -> Value {
        let value = self.add_constant(constant);
        self.data_mut(value).name = Some(Arc::from(name));
        value
    }

    /// A copy of a value, made by an Identity.
    pub fn copied(&mut self, value: Value) -> Value {
        self.copy(value)
    }

    /// The number of the current origin: [`Node::origin`].
    pub fn origin_number(&self) -> u32 {
        self.origins.current
    }

    /// A size that is not known.
    pub fn unknown_size(&self) -> SymInt {
        self.fresh_symbol()
    }

    /// Opens a body and returns its inputs; [`Builder::close_body`] returns it.
    pub fn open_body(&mut self, params: &[Type]) -> Vec<Value> {
        self.open_scope();
        params.iter().map(|ty| self.body_param(ty)).collect()
    }

    /// Closes the innermost body.
    pub fn close_body(&mut self, inputs: Vec<Value>, outputs: Result<Vec<Value>>) -> Result<Body> {
        let outputs = outputs.and_then(|outputs| self.body_outputs(outputs));
        let scope = self.close_scope();
        let inputs = self.unfolded(&inputs);
        Ok(Body { inputs, nodes: scope.nodes, outputs: outputs? })
    }

    /// Whether the value is the result of a node in the current scope.
    pub fn is_own_result(&self, value: Value) -> bool {
        let data = self.data(value);
        matches!(data.source, Source::Node) && Some(data.scope) == self.scope().map(|s| s.id)
    }

    /// The values of the graph's outputs, in order.
    pub fn output_values(&self) -> Vec<Value> {
        self.outputs.iter().map(|(_, value)| *value).collect()
    }

    /// The finished graph after passes, with outputs as given; `pinned` values stay even if unused.
    pub fn finish_as_given(mut self, passes: impl FnOnce(&mut Builder), pinned: &[Value]) -> Result<Graph> {
        let given = self.output_values();
        given.iter().try_for_each(|output| self.check_in_graph(*output))?;
        passes(&mut self);
        let mut outputs: Vec<Value> = Vec::with_capacity(given.len());
        for (value, given) in self.output_values().into_iter().zip(given) {
            // An output that was the result of a node stays one, and is not shared with another output.
            let stays = value == given || (self.is_own_result(value) && !outputs.contains(&value));
            outputs.push(if stays { value } else { self.copy(value) });
        }
        self.finished(outputs, pinned)
    }

    /// Applies a declared type, unless it contradicts the inferred one.
    fn refine_declared(&mut self, value: Value, declared: Option<&Type>) {
        if let Some(declared) = declared {
            let _ = self.refine(value, declared);
        }
    }

    /// Constants that equal the results of a call, if known.
    fn known_results(&mut self, call: &NodeCall, inferred: &Inferred) -> Vec<Option<Value>> {
        if let Some(value) = self.elided(call).filter(|value| self.constant_of(*value).is_some()) {
            return vec![Some(value)];
        }
        if let Some(constant) = inferred.types.first().and_then(|ty| self.folded(call, ty)) {
            return vec![Some(self.intern(constant))];
        }
        self.known_contents(inferred).unwrap_or_default().into_iter().map(Some).collect()
    }
}

/// A model may contain unknown attributes; rules were checked at build time.
fn known_attributes(call: &NodeCall) -> Result<()> {
    let Some((name, _)) = call.attrs.iter().find(|(name, _)| call.form.attribute(name).is_none()) else {
        return Ok(());
    };
    let error = Error::input(format!("`{}` has no attribute `{name}` in version {}", call.op, call.form.since));
    let names: Vec<&str> = call.form.attributes.iter().map(|a| a.name).collect();
    Err(if names.is_empty() { error } else { error.help(format!("it has: {}", names.join(", "))) })
}

/// A violation of the schema is an error of the model, not of a rule.
fn not_as_specified(error: Error) -> Error {
    match error.kind {
        Kind::Internal => error.of_kind(Kind::Input),
        _ => error,
    }
}
