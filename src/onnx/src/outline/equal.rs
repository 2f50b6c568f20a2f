//! Decides what is inside of a function: an attribute or constant that all calls give alike. What differs stays what each call gives.
//!
//! Outer functions come first: what an inner one is given is then either known or given to the outer one.

use rustc_hash::FxHashMap;

use super::Class;
use crate::proto::{AttributeProto, NodeProto, TensorProto};

/// A place where a function is called: the index of a class, or none for the main graph, and the position of the node.
type Site = (Option<usize>, usize);

/// Moves into all functions what their calls give alike; `nodes` are those of the main graph, `constants` are outside.
pub fn fix_equal(nodes: &mut [NodeProto], classes: &mut [Class], constants: &FxHashMap<String, TensorProto>) {
    let by_name: FxHashMap<(String, String), usize> =
        classes.iter().enumerate().map(|(index, class)| ((class.domain.clone(), class.name.clone()), index)).collect();
    let called = |node: &NodeProto| by_name.get(&(node.domain().to_owned(), node.op_type().to_owned())).copied();
    let mut sites: Vec<Vec<Site>> = vec![Vec::new(); classes.len()];
    for (at, node) in nodes.iter().enumerate() {
        if let Some(class) = called(node) {
            sites[class].push((None, at));
        }
    }
    for (holder, class) in classes.iter().enumerate() {
        for (at, node) in class.form.nodes.iter().enumerate() {
            if let Some(inner) = called(node) {
                sites[inner].push((Some(holder), at));
            }
        }
    }
    for (index, sites) in sites.iter().enumerate().rev() {
        fix_attributes(nodes, classes, index, sites);
        fix_constants(nodes, classes, index, sites, constants);
    }
}

fn node<'a>(nodes: &'a [NodeProto], classes: &'a [Class], site: Site) -> Option<&'a NodeProto> {
    match site {
        (None, at) => nodes.get(at),
        (Some(class), at) => classes.get(class)?.form.nodes.get(at),
    }
}

fn node_mut<'a>(nodes: &'a mut [NodeProto], classes: &'a mut [Class], site: Site) -> Option<&'a mut NodeProto> {
    match site {
        (None, at) => nodes.get_mut(at),
        (Some(class), at) => classes.get_mut(class)?.form.nodes.get_mut(at),
    }
}

fn fix_attributes(nodes: &mut [NodeProto], classes: &mut [Class], index: usize, sites: &[Site]) {
    let (places, names) = (classes[index].form.slot_places(), classes[index].slots.clone());
    for (slot, ((at, attribute), name)) in places.into_iter().zip(names).enumerate() {
        let mut values = Vec::with_capacity(sites.len());
        for site in sites {
            let given = node(nodes, classes, *site).and_then(|node| node.attribute.iter().find(|a| a.name() == name));
            values.push(given.cloned());
        }
        let first = values.first().cloned().flatten().filter(|first| first.ref_attr_name.is_none());
        let is_fixed = first.is_some() && values.iter().all(|value| *value == first);
        if is_fixed {
            for site in sites {
                if let Some(node) = node_mut(nodes, classes, *site) {
                    node.attribute.retain(|a| a.name() != name);
                }
            }
            continue;
        }
        let class = &mut classes[index];
        class.given.push(slot);
        if let Some(own) = class.form.nodes.get_mut(at).and_then(|node| node.attribute.get_mut(attribute)) {
            *own = AttributeProto {
                name: own.name.clone(),
                r#type: own.r#type,
                ref_attr_name: Some(name),
                ..AttributeProto::default()
            };
        }
    }
}

fn fix_constants(
    nodes: &mut [NodeProto],
    classes: &mut [Class],
    index: usize,
    sites: &[Site],
    constants: &FxHashMap<String, TensorProto>,
) {
    let form = &classes[index].form;
    let (before, count) = (form.inputs.len() + form.weights.len(), form.constants.len());
    // From the last on, so that the positions of the others stay.
    for position in (0..count).rev() {
        let value = |site: &Site| {
            let name = node(nodes, classes, *site)?.input.get(before + position)?;
            let tensor = match site.0 {
                None => constants.get(name),
                Some(holder) => {
                    let number: usize = name.strip_prefix('c')?.parse().ok()?;
                    classes.get(holder)?.embedded.get(&number)
                }
            };
            tensor.map(|tensor| TensorProto { name: None, ..tensor.clone() })
        };
        let Some(first) = sites.first().and_then(value) else { continue };
        if sites.iter().any(|site| value(site).as_ref() != Some(&first)) {
            continue;
        }
        classes[index].embedded.insert(position, first);
        for site in sites {
            if let Some(node) = node_mut(nodes, classes, *site) {
                node.input.remove(before + position);
            }
        }
    }
}
