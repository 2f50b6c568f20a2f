//! Writes functions, and removes from the main graph what only they use.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Class, shared, visit_reads};
use crate::model::Model;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TypeProto, ValueInfoProto,
    attribute_proto::AttributeType,
};

/// The version of the domains of functions.
const VERSION: i64 = 1;

/// Puts the nodes and functions into the model.
pub fn emit(model: &mut Model, nodes: Vec<NodeProto>, classes: &[Class], with_types: bool) {
    let imports: FxHashMap<String, i64> =
        model.proto.opset_import.iter().map(|import| (import.domain().to_owned(), import.version())).collect();
    let Some(graph) = &mut model.proto.graph else { return };
    let types: FxHashMap<&str, &TypeProto> = match with_types {
        true => graph.value_info.iter().filter_map(|info| Some((info.name(), info.r#type.as_ref()?))).collect(),
        false => FxHashMap::default(),
    };
    let functions = classes.iter().map(|class| function(class, &imports, &types)).collect();
    graph.node = nodes;
    prune(graph);
    shared::rename(graph, &classes.iter().map(|class| class.domain.as_str()).collect());
    model.proto.functions = functions;
    let mut domains: Vec<&str> = classes.iter().map(|class| class.domain.as_str()).collect();
    domains.sort_unstable();
    domains.dedup();
    let import = |domain: &str| OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(VERSION) };
    model.proto.opset_import.extend(domains.into_iter().filter(|domain| !imports.contains_key(*domain)).map(import));
}

/// Removes constants that are not read and types of values that are not there.
fn prune(graph: &mut GraphProto) {
    let mut read: FxHashSet<String> = graph.output.iter().map(|value| value.name().to_owned()).collect();
    let mut made: FxHashSet<&str> = FxHashSet::default();
    for node in &graph.node {
        visit_reads(node, &mut |name| {
            read.insert(name.to_owned());
        });
        made.extend(node.output.iter().map(String::as_str));
    }
    graph.initializer.retain(|tensor| read.contains(tensor.name()));
    graph.value_info.retain(|info| made.contains(info.name()));
}

fn function(class: &Class, imports: &FxHashMap<String, i64>, types: &FxHashMap<&str, &TypeProto>) -> FunctionProto {
    let names = Display::of(class);
    let form = &class.form;
    let mut used: FxHashSet<String> = FxHashSet::default();
    for node in &form.nodes {
        visit_reads(node, &mut |name| {
            used.insert(name.to_owned());
        });
    }
    let constants = class.embedded.iter().filter(|(position, _)| used.contains(&format!("c{position}")));
    let constants = constants.map(|(position, tensor)| NodeProto {
        output: vec![names.of_or_own(&format!("c{position}"))],
        op_type: Some("Constant".to_owned()),
        attribute: vec![AttributeProto {
            name: Some("value".to_owned()),
            r#type: Some(AttributeType::Tensor.into()),
            t: Some(tensor.clone()),
            ..AttributeProto::default()
        }],
        ..NodeProto::default()
    });
    let mut node: Vec<NodeProto> = constants.collect();
    node.extend(form.nodes.iter().map(|node| names.node(node, &class.prefix)));
    let given = (0..form.inputs.len()).map(|i| format!("i{i}")).chain((0..form.weights.len()).map(|i| format!("w{i}")));
    let open = (0..form.constants.len()).filter(|i| !class.embedded.contains_key(i)).map(|i| format!("c{i}"));
    FunctionProto {
        name: Some(class.name.clone()),
        domain: Some(class.domain.clone()),
        input: given.chain(open).map(|name| names.of_or_own(&name)).collect(),
        output: form.results.iter().map(|name| names.of_or_own(name)).collect(),
        attribute: class.given.iter().filter_map(|slot| class.slots.get(*slot).cloned()).collect(),
        opset_import: opset_import(&node, imports),
        value_info: value_info(class, &names, types),
        node,
        ..FunctionProto::default()
    }
}

/// The domains of the nodes, those in subgraphs too.
fn opset_import(nodes: &[NodeProto], imports: &FxHashMap<String, i64>) -> Vec<OperatorSetIdProto> {
    let mut domains: Vec<String> = vec![String::new()];
    let mut lists = vec![nodes];
    while let Some(nodes) = lists.pop() {
        for node in nodes {
            if !domains.iter().any(|domain| domain == node.domain()) {
                domains.push(node.domain().to_owned());
            }
            let graphs = node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
            lists.extend(graphs.map(|graph| graph.node.as_slice()));
        }
    }
    domains.sort_unstable();
    let version = |domain: &str| imports.get(domain).copied().unwrap_or(VERSION);
    domains
        .into_iter()
        .map(|domain| OperatorSetIdProto { version: Some(version(&domain)), domain: Some(domain) })
        .collect()
}

/// The types of values inside, as far as all calls have the same.
fn value_info(class: &Class, names: &Display, types: &FxHashMap<&str, &TypeProto>) -> Vec<ValueInfoProto> {
    let count = class.inside.iter().map(Vec::len).min().unwrap_or(0);
    let info = |number: usize| {
        let of = |inside: &Vec<String>| types.get(inside.get(number)?.as_str()).copied();
        let first = of(class.inside.first()?)?;
        let same = class.inside.iter().all(|inside| of(inside) == Some(first));
        let name = names.of_or_own(&format!("t{number}"));
        same.then(|| ValueInfoProto { name: Some(name), r#type: Some(first.clone()), ..ValueInfoProto::default() })
    };
    (0..count).filter_map(info).collect()
}

/// The names of values inside of a function: those in its first call, without the path of the module.
struct Display {
    names: FxHashMap<String, String>,
}

impl Display {
    fn of(class: &Class) -> Display {
        let form = &class.form;
        let mut taken: FxHashSet<String> = FxHashSet::default();
        let mut names = FxHashMap::default();
        for (kind, list) in [("i", &form.inputs), ("w", &form.weights), ("c", &form.constants), ("t", &form.inside)] {
            for (number, own) in list.iter().enumerate() {
                let mut name = own.strip_prefix(&class.prefix).unwrap_or(own).to_owned();
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
                names.insert(format!("{kind}{number}"), name);
            }
        }
        Display { names }
    }

    fn of_or_own(&self, canonical: &str) -> String {
        self.names.get(canonical).cloned().unwrap_or_else(|| canonical.to_owned())
    }

    fn node(&self, node: &NodeProto, prefix: &str) -> NodeProto {
        let mut node = node.clone();
        // `layers.0.mlp/MatMul` of the module `layers.0` is `mlp/MatMul`.
        let own = node.name.take().unwrap_or_default();
        let bare = prefix.trim_end_matches('.');
        let inner = own.strip_prefix(prefix).or_else(|| own.strip_prefix(bare)?.strip_prefix('/')).unwrap_or(&own);
        node.name = Some(inner.to_owned());
        node.input.iter_mut().chain(&mut node.output).for_each(|name| *name = self.of_or_own(name));
        for graph in node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs))
        {
            self.graph(graph, prefix);
        }
        node
    }

    fn graph(&self, graph: &mut GraphProto, prefix: &str) {
        graph.node = graph.node.iter().map(|node| self.node(node, prefix)).collect();
        for value in graph.input.iter_mut().chain(&mut graph.output) {
            value.name = Some(self.of_or_own(value.name()));
        }
        for tensor in &mut graph.initializer {
            tensor.name = Some(self.of_or_own(tensor.name()));
        }
    }
}
