//! Local functions: they are kept if their bodies are valid at the target opset, and inlined otherwise. One that is called where the types
//! of its results are not stated is inlined too, because nodes after it may need them.

use std::collections::{HashMap, HashSet};

use super::graph::Conversion;
use super::node::operator;
use super::scope::{Function, Scope};
use aten2onnx_builder::Known;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto};
use aten2onnx_onnx::schema;

/// The limit of nodes that inlining adds: nested calls could otherwise multiply.
const MAX_INLINED: usize = 1 << 20;

/// If the call chains of functions are longer, all functions are inlined.
const MAX_ROUNDS: usize = 64;

/// Domain, name and overload.
type Id<'a> = (&'a str, &'a str, &'a str);

/// The local functions of a model.
#[derive(Debug)]
pub struct Functions<'a> {
    all: HashMap<Id<'a>, &'a FunctionProto>,
    kept: HashSet<Id<'a>>,
    inlined: usize,
}

impl<'a> Functions<'a> {
    /// The functions of a model, and which of them are kept.
    pub fn new(model: &'a ModelProto, opset: u32, target: u32, inline: bool) -> Result<Functions<'a>> {
        let mut all = HashMap::new();
        for function in &model.functions {
            if all.insert(id(function), function).is_some() {
                return Err(Error::input(format!("the function `{}` is defined twice", function.name())));
            }
        }
        let mut functions = Functions { all, kept: HashSet::new(), inlined: 0 };
        if !inline {
            functions.keep(model, opset, target);
        }
        Ok(functions)
    }

    /// Keeps all functions that are valid at the target and whose calls have results of known types.
    fn keep(&mut self, model: &'a ModelProto, opset: u32, target: u32) {
        let untyped = self.untyped(model);
        let candidates = model.functions.iter().filter(|f| f.overload().is_empty() && !untyped.contains(&id(f)));
        self.kept = candidates.map(id).collect();
        // A function is valid if those that it calls are; invalid ones are removed until nothing changes.
        for _ in 0..MAX_ROUNDS {
            let valid = |id: &Id<'a>| self.all.get(id).is_some_and(|f| self.is_valid(f, opset, target));
            let mut kept: HashSet<Id<'a>> = self.kept.iter().copied().filter(valid).collect();
            let exposed = self.exposed(&kept);
            kept.retain(|id| !exposed.contains(id));
            if kept.len() == self.kept.len() {
                return;
            }
            self.kept = kept;
        }
        self.kept.clear();
    }

    /// Functions with a call whose results have unknown types.
    fn untyped(&self, model: &'a ModelProto) -> HashSet<Id<'a>> {
        let mut untyped = HashSet::new();
        let mut graphs: Vec<&GraphProto> = model.graph.iter().collect();
        while let Some(graph) = graphs.pop() {
            let infos = graph.value_info.iter().chain(&graph.output).filter(|info| info.r#type.is_some());
            let typed: HashSet<&str> = infos.map(|info| info.name()).collect();
            for node in &graph.node {
                graphs.extend(node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)));
                let lacks = |name: &String| !name.is_empty() && !typed.contains(name.as_str());
                if self.all.contains_key(&called_id(node)) && node.output.iter().any(lacks) {
                    untyped.insert(called_id(node));
                }
            }
        }
        untyped
    }

    /// Functions that are called from others which are inlined, where the types of their results are not stated.
    fn exposed(&self, kept: &HashSet<Id<'a>>) -> HashSet<Id<'a>> {
        let mut exposed = HashSet::new();
        for function in self.all.iter().filter(|(id, _)| !kept.contains(*id)).map(|(_, function)| *function) {
            let mut infos = vec![&function.value_info];
            let mut lists = vec![&function.node];
            let mut calls = Vec::new();
            while let Some(nodes) = lists.pop() {
                for graph in nodes.iter().flat_map(|node| &node.attribute).flat_map(|a| a.g.iter().chain(&a.graphs)) {
                    infos.extend([&graph.value_info, &graph.output]);
                    lists.push(&graph.node);
                }
                calls.extend(nodes.iter().filter(|node| kept.contains(&called_id(node))));
            }
            let infos = infos.into_iter().flatten().filter(|info| info.r#type.is_some());
            let typed: HashSet<&str> = infos.map(|info| info.name()).collect();
            let lacks = |name: &String| !name.is_empty() && !typed.contains(name.as_str());
            exposed.extend(calls.into_iter().filter(|call| call.output.iter().any(lacks)).map(called_id));
        }
        exposed
    }

    fn is_valid(&self, function: &FunctionProto, opset: u32, target: u32) -> bool {
        let opset = function_opset(function).unwrap_or(opset);
        let mut lists = vec![&function.node];
        while let Some(nodes) = lists.pop() {
            for node in nodes {
                lists.extend(node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)).map(|g| &g.node));
                let stands = match self.all.contains_key(&called_id(node)) {
                    true => self.kept.contains(&called_id(node)),
                    false => is_same(operator(node), opset, target),
                };
                if !stands {
                    return false;
                }
            }
        }
        true
    }

    /// The function that a node calls, if it is inlined.
    pub fn called(&self, node: &NodeProto) -> Option<&'a FunctionProto> {
        let (all, kept): (&HashMap<Id<'_>, &'a FunctionProto>, &HashSet<Id<'_>>) = (&self.all, &self.kept);
        let id = called_id(node);
        all.get(&id).copied().filter(|_| !kept.contains(&id))
    }

    /// The functions that are kept, in the order of the model.
    pub fn kept<'m>(&self, model: &'m ModelProto) -> impl Iterator<Item = &'m FunctionProto> {
        model.functions.iter().filter(|function| self.kept.iter().any(|kept| *kept == id(function)))
    }
}

fn is_same(op: &str, opset: u32, target: u32) -> bool {
    if op.contains("::") {
        return true;
    }
    let versions = schema::find(op).map(|schema| (schema.at(opset), schema.at(target)));
    matches!(versions, Some((Some(a), Some(b))) if a.since == b.since && !b.deprecated)
}

fn id(function: &FunctionProto) -> Id<'_> {
    (function.domain(), function.name(), function.overload())
}

fn called_id(node: &NodeProto) -> Id<'_> {
    (node.domain(), node.op_type(), node.overload())
}

/// The opset of the default domain that a function is written for.
pub fn function_opset(function: &FunctionProto) -> Option<u32> {
    let imports = function.opset_import.iter().filter(|import| matches!(import.domain(), "" | "ai.onnx"));
    imports.filter_map(|import| u32::try_from(import.version()).ok()).max()
}

impl<'a> Conversion<'a> {
    /// Inlines a call of a function.
    pub(super) fn function_call(
        &mut self,
        call: &NodeProto,
        function: &'a FunctionProto,
        inputs: Vec<Option<Known>>,
    ) -> Result<()> {
        if self.scopes.depth() >= super::graph::MAX_DEPTH {
            return Err(Error::input(format!("the function `{}` is recursive or nested too deeply", function.name())));
        }
        self.functions.inlined = self.functions.inlined.saturating_add(function.node.len());
        if self.functions.inlined > MAX_INLINED {
            return Err(Error::input(format!("inlining the model's functions adds more than {MAX_INLINED} nodes")));
        }
        let mut scope = self.function_scope(call, function, inputs)?;
        for info in &function.value_info {
            let ty = info.r#type.as_ref().and_then(|ty| self.types.read(&self.builder, ty));
            scope.declared.extend(ty.map(|ty| (info.name().to_owned(), ty)));
        }
        self.scopes.push(scope);
        let results = self.function_body(function);
        self.scopes.pop();
        for (name, known) in call.output.iter().zip(results?).filter(|(name, _)| !name.is_empty()) {
            let known = known.ok_or_else(|| Error::input(format!("`{name}` is undefined")))?;
            self.bind_name(name, known)?;
        }
        Ok(())
    }

    fn function_scope(
        &self,
        call: &NodeProto,
        function: &'a FunctionProto,
        inputs: Vec<Option<Known>>,
    ) -> Result<Scope> {
        if inputs.len() > function.input.len() || call.output.len() > function.output.len() {
            let message = format!("a call of the function `{}` has too many inputs or outputs", function.name());
            return Err(Error::input(message));
        }
        let mut scope = Scope::default();
        for (i, name) in function.input.iter().enumerate() {
            scope.names.insert(name.clone(), inputs.get(i).copied().flatten());
        }
        let mut attributes: HashMap<String, AttributeProto> =
            function.attribute_proto.iter().map(|a| (a.name().to_owned(), a.clone())).collect();
        for attribute in &call.attribute {
            if let Some(given) = self.resolved(attribute) {
                attributes.insert(given.name().to_owned(), given);
            }
        }
        let label = super::node::label(call);
        let prefix = match self.scopes.function() {
            Some(outer) => format!("{}/{label}", outer.prefix),
            None => label,
        };
        let opset = function_opset(function).unwrap_or(self.opset);
        scope.function = Some(Function { opset, attributes, prefix });
        Ok(scope)
    }

    fn function_body(&mut self, function: &FunctionProto) -> Result<Vec<Option<Known>>> {
        for node in &function.node {
            self.node(node)?;
        }
        function.output.iter().map(|name| self.scopes.find(name)).collect()
    }

    /// The value of an attribute in the call of the innermost function.
    pub(super) fn function_attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.scopes.function()?.attributes.get(name)
    }
}
