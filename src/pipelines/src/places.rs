//! What a user means by a name: a value, a node, or a module, by its path in PyTorch.
//!
//! Modules are known from the names of nodes (`layer1.0/Conv` of aten2onnx, `/layer1/layer1.0/Conv` of the TorchScript exporter) or from
//! their metadata (of the exporter of torch.export).

use super::index::{Index, bodies, place_of};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::{GraphProto, NodeProto};
use aten2onnx_schemas::nearest::nearest;

/// The metadata in which PyTorch's exporter writes the modules around a node.
const SCOPES: &str = "pkg.torch.onnx.name_scopes";

/// A place in a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedPlace<'a> {
    /// A value.
    Value(&'a str),
    /// A node, or the nodes of a module.
    Nodes(Vec<usize>),
}

/// Finds a place by its name. `value:`, `node:` and `module:` before a name say what it is of; else a value is preferred to a node, and a
/// node to a module.
///
/// # Errors
/// There is none, or it is inside of a body.
pub fn find<'a>(index: &Index<'a>, text: &str) -> Result<NamedPlace<'a>> {
    let kinds = [("value:", [true, false, false]), ("node:", [false, true, false]), ("module:", [false, false, true])];
    let given = kinds.iter().find_map(|(prefix, kind)| Some((text.strip_prefix(prefix)?, *kind)));
    // Such a prefix may also be part of a name.
    let found = search(index, text, [true; 3]).or_else(|| given.and_then(|(name, kind)| search(index, name, kind)));
    found.ok_or_else(|| missing(index, given.map_or(text, |(name, _)| name)))
}

fn search<'a>(index: &Index<'a>, name: &str, [value, node, module]: [bool; 3]) -> Option<NamedPlace<'a>> {
    let own = index.values().find(|own| value && *own == name);
    let nodes = |is: &dyn Fn(&NodeProto) -> bool| -> Option<NamedPlace<'a>> {
        let nodes: Vec<usize> = (0..).zip(index.nodes).filter(|(_, node)| is(node)).map(|(number, _)| number).collect();
        (!nodes.is_empty()).then_some(NamedPlace::Nodes(nodes))
    };
    own.map(NamedPlace::Value)
        .or_else(|| nodes(&|found| node && found.name() == name))
        .or_else(|| nodes(&|found| module && is_in(found, name)))
}

/// Whether a node is in a module, or a call of it.
pub fn is_in(node: &NodeProto, module: &str) -> bool {
    let module = module.trim_matches('/').replace('/', ".");
    let below = |path: &str| path.strip_prefix(&*module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    !module.is_empty() && (module_of(node).is_some_and(|path| below(&path)) || folded(node.name()) == module)
}

/// The path of the module that a node is of.
pub fn module_of(node: &NodeProto) -> Option<String> {
    let scopes = node.metadata_props.iter().find(|entry| entry.key() == SCOPES);
    if let Some(scopes) = scopes {
        // `['', 'layer1', 'layer1.0', 'conv2d']`: the last one is the operator.
        let names: Vec<&str> = scopes.value().split('\'').skip(1).step_by(2).collect();
        return names.iter().rev().nth(1).map(|name| (*name).to_owned());
    }
    node.name().rsplit_once('/').map(|(path, _)| folded(path))
}

/// `/layer1/layer1.0/conv` as `layer1.0.conv`
fn folded(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let within = |last: &&str| part.strip_prefix(*last).is_some_and(|rest| rest.starts_with('.'));
        if parts.last().is_some_and(within) {
            parts.pop();
        }
        parts.push(part);
    }
    parts.join(".")
}

/// The error of a name that the model does not have.
pub fn no_such<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    let help = match known.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", known.join(", ")),
    };
    Error::unsupported(format!("the model has no {what} `{name}`")).help(help)
}

fn missing(index: &Index<'_>, name: &str) -> Error {
    if let Some(node) = index.nodes.iter().find(|node| bodies(node).any(|body| is_inside(body, name))) {
        return Error::unsupported(format!("`{name}` is inside of a body, which cannot be cut"))
            .at(place_of(node))
            .help("name values and nodes of the main graph: the node with the body is computed as a whole");
    }
    let modules: Vec<String> = index.nodes.iter().filter_map(module_of).collect();
    let names = index.values().chain(index.nodes.iter().map(|node| node.name()));
    let error = Error::unsupported(format!("the model has no value, node or module `{name}`"));
    match nearest(name, names.chain(modules.iter().map(String::as_str)).filter(|name| !name.is_empty())) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`aten2onnx inspect` lists inputs, outputs and nodes"),
    }
}

fn is_inside(body: &GraphProto, name: &str) -> bool {
    let is_named = |node: &NodeProto| node.name() == name || node.output.iter().any(|output| output == name);
    body.node.iter().any(|node| is_named(node) || bodies(node).any(|body| is_inside(body, name)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use aten2onnx_onnx::proto::StringStringEntryProto;

    fn node(name: &str, scopes: Option<&str>) -> NodeProto {
        let entry = |value: &str| StringStringEntryProto { key: Some(SCOPES.into()), value: Some(value.into()) };
        NodeProto {
            name: Some(name.into()),
            metadata_props: scopes.into_iter().map(entry).collect(),
            ..NodeProto::default()
        }
    }

    #[test]
    fn modules_are_known_from_the_names_of_three_exporters() {
        for (node, path) in [
            (node("layer1.0.conv1/Conv", None), "layer1.0.conv1"),
            (node("/layer1/layer1.0/conv1/Conv", None), "layer1.0.conv1"),
            (node("node_conv2d_1", Some("['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_1']")), "layer1.0.conv1"),
        ] {
            assert_eq!(module_of(&node).as_deref(), Some(path));
            for (module, is) in
                [("layer1", true), ("layer1.0", true), ("layer1/0", true), ("layer", false), ("conv1", false)]
            {
                assert_eq!(is_in(&node, module), is, "{path} in {module}");
            }
        }
        assert_eq!(module_of(&node("Conv_0", None)), None);
        assert!(is_in(&node("layer1.0", None), "layer1.0") && !is_in(&node("x/Conv", None), ""));
    }
}
