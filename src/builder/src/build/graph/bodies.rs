//! Bodies of Loop, Scan, If and SequenceMap: subgraphs.

use rustc_hash::FxHashMap;

use crate::build::{Builder, In, OperatorForm, Scope};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Body, Node, Source, Type, Value};
use aten2onnx_onnx::schema::{self, Version};

impl Builder {
    /// Builds a body for a `_g` attribute; `params` are the types of its inputs.
    pub fn body(
        &mut self,
        params: &[Type],
        f: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Attr> {
        self.open_scope();
        let inputs: Vec<Value> = params.iter().map(|ty| self.body_param(ty)).collect();
        let result = f(self, &inputs).and_then(|outputs| self.body_outputs(outputs));
        let scope = self.close_scope();
        let inputs = self.unfolded(&inputs);
        Ok(Attr::Graph(Body { inputs, nodes: scope.nodes, outputs: result? }))
    }

    pub(crate) fn open_scope(&mut self) {
        self.scopes.push(Scope { id: self.scope_count, ..Scope::default() });
        self.scope_count = self.scope_count.saturating_add(1);
    }

    pub(crate) fn close_scope(&mut self) -> Scope {
        if self.scopes.len() > 1 { self.scopes.pop().unwrap_or_default() } else { Scope::default() }
    }

    /// An input of a body as its nodes see it.
    pub(crate) fn body_param(&mut self, ty: &Type) -> Value {
        self.packed_input(ty).unwrap_or_else(|| self.body_input(ty.clone()))
    }

    pub(crate) fn body_input(&mut self, ty: Type) -> Value {
        let value = self.add_value(ty, Source::Input, None);
        self.scope_mut().inputs.push(value);
        self.bind_sizes(value, true);
        value
    }

    /// Prepares the outputs of a body: distinct results of its own nodes.
    pub(crate) fn body_outputs(&mut self, outputs: Vec<Value>) -> Result<Vec<Value>> {
        let mut own: Vec<Value> = Vec::with_capacity(outputs.len());
        for output in outputs {
            let output = self.plain(output);
            if self.is_complex(output) {
                return Err(Error::unsupported("complex numbers as results of a branch or a loop"));
            }
            self.check_visible(output)?;
            // The code that made the node ensures that its outputs are in the graph.
            if self.is_bundle(output) {
                own.push(output);
                continue;
            }
            let data = self.data(output);
            let is_own = matches!(data.source, Source::Node) && Some(data.scope) == self.scope().map(|s| s.id);
            let output = if is_own && !own.contains(&output) { output } else { self.copy(output) };
            own.push(output);
        }
        Ok(own)
    }

    /// A copy of a loop body that carries one more value unchanged.
    pub fn with_carried(&mut self, body: &Body) -> Body {
        let mut body = body.clone();
        let ty = Type::sized(Dtype::Int64, &[]);
        let before = self.add_value(ty.clone(), Source::Input, None);
        let after = self.add_value(ty, Source::Node, None);
        body.inputs.insert(2.min(body.inputs.len()), before);
        body.outputs.insert(1.min(body.outputs.len()), after);
        body.nodes.push(Node {
            op: "Identity",
            name: String::new(),
            inputs: vec![Some(before)],
            outputs: vec![Some(after)],
            attrs: Vec::new(),
            origin: self.origins.current,
        });
        body
    }

    /// Makes the nodes of a body in the current scope with its inputs replaced, and what follows from them known. Returns the outputs.
    pub fn inline_body(&mut self, body: &Body, inputs: &[Value]) -> Vec<Value> {
        let mut places: FxHashMap<Value, Value> = body.inputs.iter().copied().zip(inputs.iter().copied()).collect();
        for node in &body.nodes {
            if !self.inline_node(node, &mut places) {
                let copies = self.copied_nodes(std::slice::from_ref(node), &mut places);
                self.scope_mut().nodes.extend(copies);
            }
        }
        let outputs = body.outputs.iter();
        outputs
            .map(|output| self.placed_bundle(&places, *output).unwrap_or_else(|| replacement(&places, *output)))
            .collect()
    }

    /// Makes a node of tensors as a rule would: its sizes are inferred, and constants are folded. Whether it could be made.
    fn inline_node(&mut self, node: &Node, places: &mut FxHashMap<Value, Value>) -> bool {
        let values = || node.inputs.iter().chain(&node.outputs).flatten();
        let has_bodies = node.attrs.iter().any(|(_, attr)| matches!(attr, Attr::Graph(_) | Attr::Graphs(_)));
        if has_bodies || schema::find(node.op).is_none() || !values().all(|value| self.ty(*value).is_tensor()) {
            return false;
        }
        let inputs: Vec<Option<Value>> =
            node.inputs.iter().map(|input| input.map(|v| replacement(places, v))).collect();
        let made = match inputs.as_slice() {
            [Some(only)] if node.op == "Identity" => Ok(vec![*only]),
            _ => {
                let inputs = inputs.into_iter().map(In::from).collect();
                let form = OperatorForm::before(self.limits.opset.saturating_add(1));
                // The rule that made the body named the operator.
                self.trace.announce_node();
                self.node_in(form, node.op, inputs, node.attrs.clone(), node.outputs.len())
            }
        };
        let Ok(made) = made else { return false };
        places.extend(node.outputs.iter().zip(made).filter_map(|(before, after)| Some(((*before)?, after))));
        true
    }

    fn placed_bundle(&mut self, places: &FxHashMap<Value, Value>, bundle: Value) -> Option<Value> {
        if let (Some(parts), Type::Sequence(of)) = (self.packed(bundle), self.ty(bundle).clone()) {
            return Some(self.packed_sequence(parts.map(|part| replacement(places, part)), *of));
        }
        let items: Vec<Value> = self.items(bundle)?.into_iter().map(|item| replacement(places, item)).collect();
        let ty = self.ty(bundle).clone();
        Some(self.bundle(ty, &items))
    }

    fn copied_nodes(&mut self, nodes: &[Node], places: &mut FxHashMap<Value, Value>) -> Vec<Node> {
        let mut copies = Vec::with_capacity(nodes.len());
        for node in nodes {
            let attrs = node.attrs.iter().map(|(name, attr)| (*name, self.copied_attr(attr, places))).collect();
            let inputs = node.inputs.iter().map(|input| input.map(|value| replacement(places, value))).collect();
            let outputs =
                node.outputs.iter().map(|output| output.map(|value| self.cloned_value(value, places))).collect();
            copies.push(Node { inputs, outputs, attrs, ..node.clone() });
        }
        copies
    }

    fn copied_attr(&mut self, attr: &Attr, places: &mut FxHashMap<Value, Value>) -> Attr {
        let mut copy = attr.clone();
        for body in copy.bodies_mut() {
            *body = self.copied_body(body, places);
        }
        copy
    }

    fn copied_body(&mut self, body: &Body, places: &mut FxHashMap<Value, Value>) -> Body {
        let inputs = body.inputs.iter().map(|input| self.cloned_value(*input, places)).collect();
        let nodes = self.copied_nodes(&body.nodes, places);
        let outputs = body.outputs.iter().map(|output| replacement(places, *output)).collect();
        Body { inputs, nodes, outputs }
    }

    /// A new value of the same type; its sizes may differ.
    fn cloned_value(&mut self, value: Value, places: &mut FxHashMap<Value, Value>) -> Value {
        let ty = self.any_sizes(&self.data(value).ty);
        let source = self.data(value).source.clone();
        let copy = self.add_value(ty, source, None);
        self.bind_sizes(copy, false);
        places.insert(value, copy);
        copy
    }

    /// An error if Identity does not take the dtype at this opset.
    pub(crate) fn check_copied(&self, value: Value) -> Result<()> {
        let Some(schema) = schema::find("Identity") else { return Ok(()) };
        let set = |version: &'static Version| version.types.first();
        let ty = self.ty(value);
        match schema.at(self.limits.opset).and_then(set) {
            Some(set) if ty.is_tensor() && !ty.is_unknown() && !set.has(ty.dtype()) => {
                Err(self.refused_dtype(schema, ty.dtype(), "take", |version| version.types.first()))
            }
            _ => Ok(()),
        }
    }

    /// An Identity node, or an equivalent for sequences at opsets where Identity does not take them.
    pub(crate) fn copy(&mut self, value: Value) -> Value {
        if self.is_bundle(value) {
            return value;
        }
        if matches!(self.ty(value), Type::Sequence(_)) && (11..14).contains(&self.limits.opset) {
            return self.copied_sequence(value).unwrap_or(value);
        }
        let data = self.data(value);
        let (ty, content) = (data.ty.clone(), data.content.clone());
        let copy = self.add_value(ty, Source::Node, content);
        let origin = self.origins.current;
        self.scope_mut().nodes.push(Node {
            op: "Identity",
            name: String::new(),
            inputs: vec![Some(value)],
            outputs: vec![Some(copy)],
            attrs: Vec::new(),
            origin,
        });
        copy
    }

    /// The types of a body's inputs, derived from the inputs and other attributes of its node.
    pub fn body_params(
        &mut self,
        op: &str,
        attr: &str,
        inputs: &[In],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Vec<Type>> {
        let values: Vec<Option<Value>> = inputs.iter().flat_map(values).collect();
        match op {
            "If" => Ok(Vec::new()),
            "Loop" => {
                let mut params = vec![Type::sized(Dtype::Int64, &[]), Type::sized(Dtype::Bool, &[])];
                for carried in self.types(op, values.get(2..).unwrap_or_default())? {
                    // A loop-carried value may change its shape between iterations.
                    params.push(self.any_sizes(&carried));
                }
                Ok(params)
            }
            "SequenceMap" => {
                let types = self.types(op, &values)?;
                Ok(types.into_iter().map(|ty| if let Type::Sequence(of) = ty { *of } else { ty }).collect())
            }
            "Scan" => {
                let types = self.types(op, &values)?;
                let given = |name: &str| attrs.iter().find(|a| a.0 == name).map(|a| &a.1);
                let Some(Attr::Int(scanned)) = given("num_scan_inputs") else {
                    return Err(self.fault("a Scan without `num_scan_inputs`"));
                };
                let axes = match given("scan_input_axes") {
                    Some(Attr::Ints(axes)) => axes.as_slice(),
                    _ => &[],
                };
                let states = types.len().saturating_sub(usize::try_from(*scanned).unwrap_or(0));
                let element = |(i, ty): (usize, Type)| match i.checked_sub(states) {
                    Some(i) => without_dim(ty, axes.get(i).copied().unwrap_or(0)),
                    None => ty,
                };
                Ok(types.into_iter().enumerate().map(element).collect())
            }
            _ => Err(self.fault(format!("the inputs of `{attr}` of `{op}` are not known"))),
        }
    }

    fn types(&self, op: &str, values: &[Option<Value>]) -> Result<Vec<Type>> {
        let types = values.iter().map(|v| v.map(|v| self.ty(v).clone()));
        types.collect::<Option<_>>().ok_or_else(|| self.fault(format!("the body inputs of `{op}` must be tensors")))
    }

    fn any_sizes(&self, ty: &Type) -> Type {
        match ty {
            Type::Tensor { dtype, shape: Some(shape) } => {
                Type::tensor(*dtype, shape.iter().map(|_| self.fresh_symbol()).collect())
            }
            Type::Sequence(of) => Type::Sequence(Box::new(self.any_sizes(of))),
            other => other.clone(),
        }
    }
}

/// The replacement of a value.
fn replacement(places: &FxHashMap<Value, Value>, value: Value) -> Value {
    places.get(&value).copied().unwrap_or(value)
}

/// A tensor type with one dimension removed.
fn without_dim(ty: Type, axis: i64) -> Type {
    match ty {
        Type::Tensor { dtype, shape: Some(mut shape) } if !shape.is_empty() => {
            shape.remove(counted_from_start(axis, shape.len()).unwrap_or(0));
            Type::tensor(dtype, shape)
        }
        other => other,
    }
}

fn values(input: &In) -> Vec<Option<Value>> {
    match input {
        In::Value(v) => vec![Some(*v)],
        In::Values(vs) => vs.iter().copied().map(Some).collect(),
        _ => vec![None],
    }
}
