//! What is removed from a model because only people read it.

use std::str::FromStr;

use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{GraphProto, NodeProto, TensorProto};

use super::super::names::{self, Names};

/// What to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// All documentation.
    Docs,
    /// All metadata.
    Metadata,
    /// The names of nodes, and those of values that are neither inputs, outputs nor weights: values get short ones.
    Names,
    /// The types of values that are neither inputs nor outputs.
    Types,
}

impl FromStr for Strip {
    type Err = String;

    fn from_str(text: &str) -> Result<Strip, String> {
        match text {
            "docs" => Ok(Strip::Docs),
            "metadata" => Ok(Strip::Metadata),
            "names" => Ok(Strip::Names),
            "types" => Ok(Strip::Types),
            _ => Err("one of `docs`, `metadata`, `names` and `types` is expected".to_owned()),
        }
    }
}

/// Removes it, also from bodies and functions.
pub fn strip(model: &mut Model, what: &[Strip]) {
    for what in what {
        let proto = &mut model.proto;
        match what {
            Strip::Docs => proto.doc_string = None,
            Strip::Metadata => proto.metadata_props.clear(),
            Strip::Names => short_names(model),
            Strip::Types => {}
        }
        let proto = &mut model.proto;
        proto.graph.iter_mut().for_each(|graph| of_graph(graph, *what));
        for function in &mut proto.functions {
            match what {
                Strip::Docs => function.doc_string = None,
                Strip::Metadata => function.metadata_props.clear(),
                Strip::Types => function.value_info.clear(),
                Strip::Names => {}
            }
            function.node.iter_mut().for_each(|node| of_node(node, *what));
        }
    }
}

fn of_graph(graph: &mut GraphProto, what: Strip) {
    let values = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    match what {
        Strip::Docs => {
            graph.doc_string = None;
            values.for_each(|value| value.doc_string = None);
            graph.initializer.iter_mut().for_each(|tensor: &mut TensorProto| tensor.doc_string = None);
        }
        Strip::Metadata => {
            graph.metadata_props.clear();
            values.for_each(|value| value.metadata_props.clear());
            graph.initializer.iter_mut().for_each(|tensor| tensor.metadata_props.clear());
        }
        Strip::Types => graph.value_info.clear(),
        Strip::Names => {}
    }
    graph.node.iter_mut().for_each(|node| of_node(node, what));
}

fn of_node(node: &mut NodeProto, what: Strip) {
    match what {
        Strip::Docs => node.doc_string = None,
        Strip::Metadata => node.metadata_props.clear(),
        Strip::Names => node.name = None,
        Strip::Types => {}
    }
    for attribute in &mut node.attribute {
        if what == Strip::Docs {
            attribute.doc_string = None;
        }
        attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(|graph| of_graph(graph, what));
    }
}

/// Gives the values that nodes of the main graph compute short names, except outputs.
fn short_names(model: &mut Model) {
    let Some(graph) = &model.proto.graph else { return };
    let is_output = |name: &String| graph.output.iter().any(|output| output.name() == name);
    let inner = graph.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty() && !is_output(name));
    let inner: Vec<String> = inner.cloned().collect();
    let mut taken = names::taken(model);
    for name in &inner {
        taken.remove(name);
    }
    let mut renamed = Names::default();
    for (number, name) in inner.into_iter().enumerate() {
        renamed.insert(name, names::free(&format!("v{number}"), &mut taken));
    }
    names::rename(model, &renamed);
}
