//! Keeps what a program asserts of its numbers, before the assertions are dropped: records of numbers are true where it holds.

use aten2onnx_core::sym::{Relation, Special, SymInt};
use aten2onnx_program::{Arg, Graph, Node, NodeOutput, Program, SymNumber};
use rustc_hash::FxHashMap;

/// What asserts that a truth value is true.
const ASSERTS: [&str; 2] = ["aten::_assert_scalar", "aten::_functional_assert_scalar"];

/// Notes the conditions of the top-level graph. Nested graphs have symbols of their own.
pub fn keep(program: &mut Program) {
    let graph = &program.graph;
    let asserted: Vec<&Node> = graph.nodes.iter().filter(|node| ASSERTS.contains(&node.target.as_str())).collect();
    if asserted.is_empty() {
        return;
    }
    let makers = makers(graph);
    program.assertions = asserted.into_iter().map(|node| condition(node.args.first(), graph, &makers)).collect();
}

/// The node of each number, by the name of the number.
fn makers(graph: &Graph) -> FxHashMap<&str, &Node> {
    let mut makers = FxHashMap::default();
    for node in &graph.nodes {
        if let [NodeOutput::Sym(name)] = node.outputs.as_slice() {
            makers.insert(name.as_str(), node);
        }
    }
    makers
}

/// A comparison of integers, or one that is known to be true.
fn condition(arg: Option<&(String, Arg)>, graph: &Graph, makers: &FxHashMap<&str, &Node>) -> Option<SymInt> {
    let name = match arg {
        Some((_, Arg::Bool(true))) => return Some(1.into()),
        Some((_, Arg::Sym(name) | Arg::Tensor(name))) => name,
        _ => return None,
    };
    if matches!(graph.sym_bools.get(name), Some(SymNumber::Bool(true))) {
        return Some(1.into());
    }
    let node = makers.get(name.as_str())?;
    let [(_, a), (_, b)] = node.args.as_slice() else { return None };
    let operands = vec![integer(a, graph)?, integer(b, graph)?];
    Some(SymInt::special(Special::Relation(relation(&node.target)?), operands))
}

fn relation(target: &str) -> Option<Relation> {
    match target.strip_prefix("_operator::")? {
        "eq" => Some(Relation::Equal),
        "ne" => Some(Relation::Unequal),
        "lt" => Some(Relation::Less),
        "le" => Some(Relation::LessOrEqual),
        "gt" => Some(Relation::Greater),
        "ge" => Some(Relation::GreaterOrEqual),
        _ => None,
    }
}

fn integer(arg: &Arg, graph: &Graph) -> Option<SymInt> {
    match arg {
        Arg::Int(number) => Some((*number).into()),
        Arg::Sym(name) | Arg::Tensor(name) => graph.sym_ints.get(name).filter(|size| !size.has_anonymous()).cloned(),
        _ => None,
    }
}
