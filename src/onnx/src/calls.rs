//! Which functions of a model call which: none may call itself, also not by way of others.

use rustc_hash::FxHashMap;

use crate::proto::{FunctionProto, ModelProto, NodeProto};
use aten2onnx_core::error::{Error, Result};

/// Domain, name and overload.
type Id<'a> = (&'a str, &'a str, &'a str);

/// How far a function is looked at.
#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

/// Checks that the calls of functions end.
///
/// # Errors
/// A cycle, which is named.
pub fn check(model: &ModelProto) -> Result<()> {
    let ids = model.functions.iter().enumerate().map(|(index, function)| (id(function), index));
    let by_id: FxHashMap<Id<'_>, usize> = ids.collect();
    let calls: Vec<Vec<usize>> = model.functions.iter().map(|function| called(&function.node, &by_id)).collect();
    let mut states = vec![State::New; calls.len()];
    (0..calls.len()).try_for_each(|start| follow(start, &calls, &mut states).map_err(|cycle| refused(model, &cycle)))
}

/// The functions that nodes call, also in their bodies.
fn called(nodes: &[NodeProto], by_id: &FxHashMap<Id<'_>, usize>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut lists = vec![nodes];
    while let Some(nodes) = lists.pop() {
        for node in nodes {
            found.extend(by_id.get(&(node.domain(), node.op_type(), node.overload())));
            lists.extend(node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)).map(|graph| &graph.node[..]));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Follows the calls of a function in depth, without recursion; a chain that returns to itself is the error.
fn follow(start: usize, calls: &[Vec<usize>], states: &mut [State]) -> std::result::Result<(), Vec<usize>> {
    // The chain of open functions, each with the number of its calls that were followed.
    let mut chain: Vec<(usize, usize)> = Vec::new();
    enter(start, states, &mut chain);
    while let Some((function, next)) = chain.last_mut() {
        let callee = calls.get(*function).and_then(|calls| calls.get(*next)).copied();
        *next += 1;
        let Some(callee) = callee else {
            if let Some(state) = states.get_mut(*function) {
                *state = State::Done;
            }
            chain.pop();
            continue;
        };
        if states.get(callee) == Some(&State::Open) {
            let from = chain.iter().position(|(open, _)| *open == callee).unwrap_or(0);
            return Err(chain.iter().skip(from).map(|(open, _)| *open).chain([callee]).collect());
        }
        enter(callee, states, &mut chain);
    }
    Ok(())
}

fn enter(function: usize, states: &mut [State], chain: &mut Vec<(usize, usize)>) {
    if let Some(state) = states.get_mut(function).filter(|state| **state == State::New) {
        *state = State::Open;
        chain.push((function, 0));
    }
}

fn refused(model: &ModelProto, cycle: &[usize]) -> Error {
    let names: Vec<&str> =
        cycle.iter().filter_map(|index| model.functions.get(*index)).map(FunctionProto::name).collect();
    let chain = match names.as_slice() {
        [first, .., last] if names.len() > 8 => format!("{first} -> ({} others) -> {last}", names.len() - 2),
        names => names.join(" -> "),
    };
    Error::input(format!("its functions call each other without end: {chain}")).help("ONNX has no recursion")
}

fn id(function: &FunctionProto) -> Id<'_> {
    (function.domain(), function.name(), function.overload())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::proto::{AttributeProto, GraphProto};

    /// Functions named by numbers, with those that they call.
    fn model(calls: &[&[usize]]) -> ModelProto {
        let call = |callee: &usize| NodeProto { op_type: Some(callee.to_string()), ..NodeProto::default() };
        // Every second call is in a body.
        let function = |(index, calls): (usize, &&[usize])| FunctionProto {
            name: Some(index.to_string()),
            node: calls
                .iter()
                .map(|callee| match callee % 2 {
                    0 => call(callee),
                    _ => {
                        let graph = GraphProto { node: vec![call(callee)], ..GraphProto::default() };
                        let body = AttributeProto { g: Some(graph), ..AttributeProto::default() };
                        NodeProto { op_type: Some("If".into()), attribute: vec![body], ..NodeProto::default() }
                    }
                })
                .collect(),
            ..FunctionProto::default()
        };
        ModelProto { functions: calls.iter().enumerate().map(function).collect(), ..ModelProto::default() }
    }

    #[test]
    fn calls_end() {
        for fine in [&[&[][..]][..], &[&[1, 2], &[2], &[]], &[&[], &[0, 0], &[0, 1], &[2, 1, 0]]] {
            check(&model(fine)).unwrap();
        }
        let cycles: [(&[&[usize]], &str); 4] = [
            (&[&[0]], "0 -> 0"),
            (&[&[1], &[2], &[1]], "1 -> 2 -> 1"),
            (&[&[], &[0, 2], &[0, 3], &[1]], "1 -> 2 -> 3 -> 1"),
            (&[&[1], &[]], ""),
        ];
        for (calls, cycle) in cycles {
            let message = check(&model(calls)).map_or_else(|error| error.message.clone(), |()| String::new());
            assert!(message.ends_with(cycle) && message.is_empty() == cycle.is_empty(), "{message}");
        }
    }

    #[test]
    fn long_chains_take_no_stack() {
        let calls: Vec<Vec<usize>> = (0..100_000).map(|index| vec![(index + 1) % 100_000]).collect();
        let calls: Vec<&[usize]> = calls.iter().map(Vec::as_slice).collect();
        let message = check(&model(&calls)).unwrap_err().message.clone();
        assert!(message.contains("others"), "{message}");
    }
}
