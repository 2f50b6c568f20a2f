//! `passes/dead.rs`.

use super::net::{Net, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Graph, Type};

/// `x` through an unused node, and a node whose second result is optional.
fn pooled(passes: Passes, reads_indices: bool) -> Graph {
    let mut net = Net::new(18);
    let x = net.input(&[1, 2, 4, 4]);
    let unread = net.op("Exp", &[x]);
    net.op("Neg", &[unread]);
    let kernel = vec![("kernel_shape", Attr::Ints(vec![2, 2]))];
    let pooled = net.many("MaxPool", &[x], kernel, 2);
    let result = pooled[usize::from(reads_indices)];
    net.finished(passes, result)
}

#[test]
fn nodes_and_optional_outputs_that_nobody_reads_go() {
    for passes in [Passes::ALL, Passes::NONE] {
        let graph = pooled(passes, false);
        assert_eq!(ops_of(&graph), ["MaxPool"]);
        assert_eq!(graph.body.nodes[0].outputs.len(), 1);
    }
}

#[test]
fn what_is_read_and_required_outputs_stay() {
    let graph = pooled(Passes::ALL, true);
    assert_eq!(ops_of(&graph), ["MaxPool"]);
    assert!(graph.body.nodes[0].outputs.iter().all(Option::is_some) && graph.body.nodes[0].outputs.len() == 2);
    let mut net = Net::new(18);
    let (x, parts) = (net.input(&[6]), net.ints(&[2, 4]));
    let split = net.many("Split", &[x, parts], vec![("axis", Attr::Int(0))], 2);
    let y = net.op("Exp", &[split[1]]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(graph.body.nodes.iter().map(|node| node.outputs.len()).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn bodies_are_swept_and_what_they_read_stays() {
    let mut net = Net::new(18);
    let (x, condition) = (net.input(&[3]), net.typed(Type::sized(Dtype::Bool, &[])));
    let outer = net.op("Exp", &[x]);
    let y = net.choice(condition, |builder| {
        builder.node1("Neg", vec![outer.into()], vec![]).unwrap();
        builder.node1("Relu", vec![outer.into()], vec![]).unwrap()
    });
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["Exp", "If"]);
    let bodies: Vec<_> = graph.body.nodes[1].bodies().collect();
    assert!(bodies.iter().all(|body| body.nodes.len() == 1 && body.nodes[0].op == "Relu"));
}
