//! Converts one node: it is kept, lowered, or recorded as a problem.

use super::attributes::{attribute_name, kind};
use super::graph::Conversion;
use super::tensors::Tensor;
use aten2onnx_builder::{Known, Scalar, SourceNode};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_onnx::graph::intern;
use aten2onnx_onnx::graph::{Attr, Origin, Type, Value};
use aten2onnx_onnx::proto::{NodeProto, attribute_proto::AttributeType};
use aten2onnx_onnx::schema::{self, Op, Version};

impl<'a> Conversion<'a> {
    /// Converts a node.
    ///
    /// # Errors
    /// Only errors that make the model unusable. Anything that the target does not support is recorded.
    pub(super) fn node(&mut self, proto: &NodeProto) -> Result<()> {
        let label = label(proto);
        self.convert_node(proto).map_err(|error| error.at(format!("node `{label}` ({})", proto.op_type())))
    }

    fn convert_node(&mut self, proto: &NodeProto) -> Result<()> {
        let mut inputs = self.inputs(proto)?;
        if self.is_large_constant(proto)? {
            return Ok(());
        }
        if let Some(function) = self.functions.called(proto) {
            return self.function_call(proto, function, inputs);
        }
        let op = operator(proto);
        let found = schema::find(op).filter(|_| !op.contains("::"));
        let form = found.and_then(|schema| schema.at(self.form_opset()));
        if found.is_none() {
            self.as_values(proto, &mut inputs);
        }
        let mut node = self.source_node(proto, op, form, inputs)?;
        // After the bodies, because their nodes set origins too.
        self.set_origin(proto);
        let Some(schema) = found else {
            if !op.contains("::") {
                self.problem(proto, Error::input("no known opset has this operator"));
            }
            if let Err(error) = self.builder.check_bodies(&node.attrs) {
                self.problem(proto, error);
            }
            let results = self.builder.keep(&node, None);
            return self.bind(proto, results);
        };
        let Some(form) = form else {
            self.problem(proto, self.no_form(schema));
            let results = self.builder.keep(&node, None);
            return self.bind(proto, results);
        };
        if self.builder.stays(&node, schema, form) {
            let results = self.builder.keep(&node, Some(form));
            return self.bind(proto, results);
        }
        self.without_unread(proto, &mut node);
        self.as_tensor(&mut node);
        let problem = match self.unknown_input(proto, &node) {
            // The result of a node with a problem is not reported again.
            Some(None) => {
                self.problems.follow(op);
                None
            }
            Some(Some(problem)) => Some(problem),
            None => match self.builder.convert(&node, schema, form) {
                Ok(values) => {
                    let known = values.into_iter().map(|value| Known { value, constant: self.as_constant(value) });
                    let known = known.collect();
                    return self.bind(proto, known);
                }
                Err(error) => Some(error),
            },
        };
        if let Some(problem) = problem {
            self.problem(proto, problem);
        }
        let results = self.builder.keep(&node, Some(form));
        self.bind(proto, results)
    }

    /// Sequences of which only the parts are in the graph become values, for operators without rules.
    fn as_values(&mut self, proto: &NodeProto, inputs: &mut [Option<Known>]) {
        for known in inputs.iter_mut().flatten() {
            match self.builder.unpacked(known.value) {
                Ok(value) => known.value = value,
                Err(error) => self.problem(proto, error),
            }
        }
    }

    /// The opset of the innermost graph or function.
    fn form_opset(&self) -> u32 {
        self.scopes.function().map_or(self.opset, |function| function.opset)
    }

    fn inputs(&self, proto: &NodeProto) -> Result<Vec<Option<Known>>> {
        let find = |name: &String| if name.is_empty() { Ok(None) } else { self.scopes.find(name) };
        proto.input.iter().map(find).collect()
    }

    fn source_node(
        &mut self,
        proto: &NodeProto,
        op: &'static str,
        form: Option<&'static Version>,
        mut inputs: Vec<Option<Known>>,
    ) -> Result<SourceNode> {
        if op == "Loop" {
            for known in inputs.iter_mut().skip(2).flatten() {
                known.value = self.builder.pack(known.value)?;
            }
        }
        let mut declared: Vec<Option<Type>> =
            proto.output.iter().map(|name| self.scopes.declared(name).cloned()).collect();
        let mut attrs = self.plain_attributes(&proto.attribute, form)?;
        let known: Vec<Option<Value>> = inputs.iter().map(|k| k.map(|k| k.constant.unwrap_or(k.value))).collect();
        for attribute in &proto.attribute {
            let Some(attribute) = self.resolved(attribute) else { continue };
            if kind(&attribute) == AttributeType::Graphs {
                let bodies = attribute.graphs.iter().map(|graph| self.graph_body(graph, None)).collect::<Result<_>>();
                let name = attribute_name(form, attribute.name());
                attrs.push((name, Attr::Graphs(bodies.map_err(|error| error.at(format!("attribute `{name}`")))?)));
            }
            if kind(&attribute) == AttributeType::Graph {
                let name = attribute_name(form, attribute.name());
                let params = self.params(op, name, &known, &attrs);
                let body = match op {
                    "Loop" => self.loop_body(&attribute, params, &known),
                    _ => self.body(&attribute, params).map(|body| (body, Vec::new())),
                };
                let (body, found) = body.map_err(|error| error.at(format!("attribute `{name}`")))?;
                attrs.push((name, body));
                for (declared, found) in declared.iter_mut().zip(found) {
                    *declared = found.or(declared.take());
                }
            }
        }
        let name = self.node_name(proto);
        let inputs = inputs.iter().map(|known| known.map(|known| known.value)).collect();
        Ok(SourceNode { op, name, inputs, known, attrs, declared })
    }

    /// The types of a body's inputs; None for unknown operators.
    fn params(
        &mut self,
        op: &str,
        attr: &str,
        inputs: &[Option<Value>],
        attrs: &[(&'static str, Attr)],
    ) -> Option<Vec<Type>> {
        let ins: Vec<aten2onnx_builder::In> = inputs.iter().map(|v| (*v).into()).collect();
        match op {
            // An absent condition or trip count is still a parameter of the body.
            "Loop" | "If" | "Scan" | "SequenceMap" => self.builder.body_params(op, attr, &ins, attrs).ok(),
            _ => None,
        }
    }

    /// The name in the result; inside functions it is prefixed with the name of the call.
    fn node_name(&self, proto: &NodeProto) -> String {
        match self.scopes.function() {
            Some(function) if !proto.name().is_empty() => format!("{}/{}", function.prefix, proto.name()),
            _ => proto.name().to_owned(),
        }
    }

    fn set_origin(&mut self, proto: &NodeProto) {
        let name = match (self.node_name(proto), proto.output.iter().find(|name| !name.is_empty())) {
            (name, Some(output)) if name.is_empty() => output.clone(),
            (name, _) => name,
        };
        self.builder.set_origin(Origin { node_name: name, ..Origin::default() });
    }

    /// Binds the results of a node to their names.
    pub(super) fn bind(&mut self, proto: &NodeProto, results: Vec<Known>) -> Result<()> {
        for (name, known) in proto.output.iter().zip(results) {
            if !name.is_empty() {
                self.bind_name(name, known)?;
            }
        }
        Ok(())
    }

    /// Binds a value to a name; an output gets the name exclusively.
    pub(super) fn bind_name(&mut self, name: &str, known: Known) -> Result<()> {
        let mut known = known;
        let in_function = self.scopes.last().is_some_and(|scope| scope.function.is_some());
        let is_output = !in_function && self.scopes.last().is_some_and(|scope| scope.outputs.contains(name));
        let is_free = self.builder.is_own_result(known.value) && !self.names.has(known.value);
        if is_output && !is_free {
            known.value = self.builder.copied(known.value);
        }
        if is_output || (is_free && !in_function) {
            self.give_name(known.value, name);
        } else if is_free {
            self.builder.name_value(known.value, name);
        }
        self.scopes.define(name, Some(known))?;
        if !in_function {
            self.pin_unread(name, known.value);
        }
        Ok(())
    }

    fn give_name(&mut self, value: Value, name: &str) {
        match self.scopes.depth() {
            1 => self.names.name_outermost(value, name),
            _ => self.names.assign(value, name),
        }
    }

    /// Whether it is a large constant, which is kept as a weight without being read.
    fn is_large_constant(&mut self, proto: &NodeProto) -> Result<bool> {
        let ("Constant", [name]) = (operator(proto), proto.output.as_slice()) else { return Ok(false) };
        let Some(tensor) = proto.attribute.iter().find(|a| a.name() == "value").and_then(|a| a.t.as_ref()) else {
            return Ok(false);
        };
        let tensor = self.tensors.read(tensor)?;
        if matches!(tensor, Tensor::Constant(_)) {
            return Ok(false);
        }
        let known = self.weight(name, tensor);
        let in_function = self.scopes.last().is_some_and(|scope| scope.function.is_some());
        let is_output = self.scopes.last().is_some_and(|scope| scope.outputs.contains(name));
        if !in_function && !is_output {
            self.give_name(known.value, name);
        }
        self.bind_name(name, known)?;
        Ok(true)
    }

    /// Up to opset 11, Constant only has tensor values, no numbers.
    fn as_tensor(&mut self, node: &mut SourceNode) {
        let value = match node.attrs.as_slice() {
            [(_, Attr::Float(number))] => self.builder.scalar(&(*number).into(), Dtype::Float32).ok(),
            [(_, Attr::Int(number))] => self.builder.scalar(&(*number).into(), Dtype::Int64).ok(),
            [(_, Attr::Ints(numbers))] => Some(self.builder.ints(numbers)),
            [(_, Attr::Floats(numbers))] => {
                let numbers: Vec<Scalar> = numbers.iter().map(|number| (*number).into()).collect();
                self.builder.numbers(&numbers, Dtype::Float32).ok()
            }
            _ => None,
        };
        if let Some(value) = value.filter(|_| node.op == "Constant") {
            node.attrs = vec![("value", Attr::Tensor(value))];
        }
    }

    /// Omits trailing unused outputs, so that lowerings do not have to return them.
    fn without_unread(&self, proto: &NodeProto, node: &mut SourceNode) {
        let wanted = |name: &String| !name.is_empty() && self.is_read(name);
        let len = proto.output.iter().rposition(wanted).map_or(1, |last| last + 1);
        node.declared.truncate(len.max(1));
    }

    /// The first input with an unknown type, with an error unless it was already reported.
    fn unknown_input(&self, proto: &NodeProto, node: &SourceNode) -> Option<Option<Error>> {
        let at = node.known.iter().position(|value| value.is_some_and(|v| self.builder.ty(v).is_unknown()))?;
        if !self.problems.is_empty() {
            return Some(None);
        }
        let name = proto.input.get(at).map_or("", String::as_str);
        let error = Error::unsupported(format!("the type of its input `{name}` is unknown"));
        Some(Some(
            error.help("declare it in the model's `value_info`; for results of functions, use `--inline-functions`"),
        ))
    }

    /// The constant that a lowering folded a value to.
    fn as_constant(&self, value: Value) -> Option<Value> {
        self.builder.constant_of(value).map(|_| value)
    }

    fn no_form(&self, schema: &'static Op) -> Error {
        let opset = self.form_opset();
        match schema.versions.first() {
            Some(first) if first.since > opset => {
                let since = first.since;
                Error::unsupported(format!("its version of opset {opset} is not supported, only those since {since}"))
            }
            _ => Error::input(format!("opset {opset} does not have it")),
        }
    }

    pub(super) fn problem(&mut self, proto: &NodeProto, error: Error) {
        // An invalid model is not a bug of this program, but a rule that returns a wrong type is.
        let error = if error.kind == Kind::Io { error.of_kind(Kind::Input) } else { error };
        self.problems.add(operator(proto), &label(proto), error);
    }
}

/// `Gelu`, or `com.microsoft::QuickGelu`.
pub fn operator(proto: &NodeProto) -> &'static str {
    match proto.domain() {
        "" | "ai.onnx" => schema::find(proto.op_type()).map_or_else(|| intern(proto.op_type()), |op| op.name),
        domain => intern(&format!("{domain}::{}", proto.op_type())),
    }
}

/// The name of a node in messages.
pub fn label(proto: &NodeProto) -> String {
    let output = || proto.output.iter().find(|name| !name.is_empty()).cloned();
    Some(proto.name().to_owned()).filter(|name| !name.is_empty()).or_else(output).unwrap_or_default()
}
