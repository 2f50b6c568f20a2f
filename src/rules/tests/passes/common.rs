//! `passes/common.rs`.

use super::net::{Net, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Graph, Type, Value};

#[test]
fn equal_nodes_are_one() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 3]);
    let (a, b) = (net.op("Exp", &[x]), net.op("Exp", &[x]));
    let y = net.op("Sub", &[a, b]);
    assert_eq!(ops(net, y), ["Exp", "Sub"]);
}

#[test]
fn random_nodes_and_other_inputs_stay() {
    let mut net = Net::new(18);
    let (x, y) = (net.input(&[2, 3]), net.input(&[2, 3]));
    let (a, b) = (net.op("RandomNormalLike", &[x]), net.op("RandomNormalLike", &[x]));
    let (c, d) = (net.op("Exp", &[x]), net.op("Exp", &[y]));
    let left = net.op("Mul", &[a, c]);
    let right = net.op("Mul", &[b, d]);
    let y = net.op("Add", &[left, right]);
    assert_eq!(ops(net, y).len(), 7);
}

/// The sum of one output each of two equal calls, and the nodes that remain.
fn of_two(
    op: &'static str,
    inputs: usize,
    attrs: &[(&'static str, Attr)],
    sizes: &[&[i64]],
    read: [usize; 2],
) -> Graph {
    let mut net = Net::new(18);
    let inputs: Vec<Value> = (0..inputs).map(|i| net.input(sizes[i])).collect();
    let count = read[0].max(read[1]) + 1;
    let (first, second) =
        (net.many(op, &inputs, attrs.to_vec(), count)[read[0]], net.many(op, &inputs, attrs.to_vec(), count)[read[1]]);
    let [a, b] = [first, second].map(|value| net.cast(value, Dtype::Float32));
    let [a, b] = [a, b].map(|value| net.with("ReduceMax", &[value], vec![("keepdims", Attr::Int(0))]));
    let y = net.op("Add", &[a, b]);
    net.finished(Passes::ALL, y)
}

/// ONNX Runtime merges such nodes in a way that leaves a graph without the outputs that only one of them has.
#[test]
fn equal_nodes_with_other_optional_outputs_are_one_with_all() {
    let lstm = [("hidden_size", Attr::Int(2))];
    let layer: [&[i64]; 3] = [&[3, 1, 4], &[1, 8, 4], &[1, 8, 2]];
    let pool = [("kernel_shape", Attr::Ints(vec![2, 2]))];
    for read in [[2, 3], [3, 2], [0, 3], [1, 0]] {
        let graph = of_two("Unique", 1, &[], &[&[6]], read);
        assert_eq!(ops_of(&graph).iter().filter(|op| **op == "Unique").count(), 1, "{read:?}");
        let outputs = &graph.body.nodes[0].outputs;
        assert!(read.iter().all(|i| outputs.get(*i).is_some_and(Option::is_some)), "{read:?}: {outputs:?}");
    }
    for read in [[0, 1], [1, 0], [2, 1]] {
        let graph = of_two("LSTM", 3, &lstm, &layer, read);
        assert_eq!(ops_of(&graph).iter().filter(|op| **op == "LSTM").count(), 1, "{read:?}");
    }
    for read in [[0, 1], [1, 0]] {
        let graph = of_two("MaxPool", 1, &pool, &[&[1, 2, 4, 4]], read);
        assert_eq!(ops_of(&graph).iter().filter(|op| **op == "MaxPool").count(), 1, "{read:?}");
    }
}

/// A third one finds what the second added, and a body cannot add to a node around it.
#[test]
fn outputs_are_added_in_the_same_graph_only() {
    let mut net = Net::new(18);
    let x = net.input(&[6]);
    let of = |net: &mut Net, i: usize| {
        let value = net.many("Unique", &[x], vec![], 4)[i];
        net.cast(value, Dtype::Float32)
    };
    let parts: Vec<Value> = [0, 3, 2, 3].into_iter().map(|i| of(&mut net, i)).collect();
    let y = net.with("Concat", &parts, vec![("axis", Attr::Int(0))]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph).iter().filter(|op| **op == "Unique").count(), 1);

    let mut net = Net::new(18);
    let (x, condition) = (net.input(&[6]), net.typed(Type::sized(Dtype::Bool, &[])));
    let outer = net.many("Unique", &[x], vec![], 4)[0];
    let inner = net.choice(condition, |builder| {
        let counts = builder.node("Unique", vec![x.into()], vec![], 4).unwrap()[3];
        builder.cast(counts, Dtype::Float32).unwrap()
    });
    let y = net.with("Concat", &[outer, inner], vec![("axis", Attr::Int(0))]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["Unique", "If", "Concat"]);
    assert_eq!(graph.body.nodes[0].outputs.len(), 1);
}

/// Up to opset 13, more outputs choose the training mode.
#[test]
fn a_normalization_that_trains_is_another_one() {
    let mut net = Net::new(13);
    let x = net.input(&[2, 3, 4]);
    let weights: Vec<Value> = (0..4).map(|_| net.input(&[3])).collect();
    let inputs = [x, weights[0], weights[1], weights[2], weights[3]];
    let plain = net.many("BatchNormalization", &inputs, vec![], 1)[0];
    // Rules write no such node, but models that are converted have it.
    let mut trained = net.builder.nodes_mut().last().unwrap().clone();
    let results = [net.op("Exp", &[x]), net.op("Exp", &[weights[0]]), net.op("Exp", &[weights[1]])];
    net.builder.nodes_mut().truncate(1);
    trained.outputs = results.into_iter().map(Some).collect();
    net.builder.nodes_mut().push(trained);
    let moved = {
        let axes = net.ints(&[1]);
        net.op("Unsqueeze", &[results[1], axes])
    };
    let y = net.op("Add", &[plain, results[0]]);
    let y = net.op("Add", &[y, moved]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph).iter().filter(|op| **op == "BatchNormalization").count(), 2);
}

/// Without the passes, equal nodes stay: each then has a name for every output before its last.
#[test]
fn equal_nodes_without_passes_have_all_outputs_between() {
    for passes in [Passes::NONE, Passes::ALL] {
        let mut net = Net::new(18);
        let x = net.input(&[6]);
        let (inverse, counts) = (net.many("Unique", &[x], vec![], 4)[2], net.many("Unique", &[x], vec![], 4)[3]);
        let alone = net.op("Exp", &[x]);
        let other = net.many("Unique", &[alone], vec![], 4)[3];
        let y = net.with("Concat", &[inverse, counts, other], vec![("axis", Attr::Int(0))]);
        let graph = net.finished(passes, y);
        let outputs = graph.body.nodes.iter().filter(|node| node.op == "Unique");
        let outputs: Vec<Vec<bool>> = outputs.map(|node| node.outputs.iter().map(Option::is_some).collect()).collect();
        let merged = passes == Passes::ALL;
        let first = if merged { vec![vec![true, false, true, true]] } else { vec![vec![true; 3], vec![true; 4]] };
        assert_eq!(outputs, [first, vec![vec![true, false, false, true]]].concat());
    }
}
