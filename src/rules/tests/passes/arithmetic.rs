//! `passes/arithmetic.rs`.

use super::net::{Net, floats_of, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_onnx::graph::{Attr, Graph, Source};

/// `x @ (w * (g / norm(w)))`, as weight_norm spells it, of a weight that is more than is held as a constant.
fn weight_norm(passes: Passes, reads_again: bool) -> Graph {
    let mut net = Net::new(18);
    let (x, w, g) = (net.input(&[5, 400]), net.weight(&[400, 300]), net.weight(&[400, 1]));
    let axes = net.ints(&[1]);
    let norm = net.op("ReduceL2", &[w, axes]);
    let factor = net.op("Div", &[g, norm]);
    let scaled = net.op("Mul", &[w, factor]);
    let mut y = net.op("MatMul", &[x, scaled]);
    if reads_again {
        let turned = net.transposed(w, &[1, 0]);
        y = net.op("MatMul", &[y, turned]);
    }
    net.finished(passes, y)
}

/// The numbers of a weight in `Net`, and the norm of its first row.
fn first_row() -> (Vec<f64>, f64) {
    let row: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i) / 4.0).collect();
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    (row, norm)
}

#[test]
fn a_norm_and_a_scaled_weight_leave_one_product() {
    let graph = weight_norm(Passes::ALL, false);
    assert_eq!(ops_of(&graph), ["MatMul"]);
    let weight = graph.body.nodes[0].inputs[1].unwrap();
    assert!(matches!(graph.info(weight).source, Source::Weight(_)), "it is computed when it is written");
    let (row, norm) = first_row();
    // The first number of `g` is 1.
    for (have, want) in floats_of(&graph, weight).iter().zip(&row) {
        assert!((f64::from(*have) - want / norm).abs() < 1e-6, "{have} {want}");
    }
}

#[test]
fn weights_that_stay_or_that_others_read_are_not_scaled() {
    let graph = weight_norm(Passes { keep_weights: true, ..Passes::ALL }, false);
    assert_eq!(ops_of(&graph), ["Mul", "MatMul"]);
    let ops = ops_of(&weight_norm(Passes::ALL, true));
    assert!(ops.contains(&"Mul") && !ops.contains(&"ReduceL2"), "{ops:?}");
}

#[test]
fn products_of_weights_alone_are_folded() {
    // `w / (u . (flat(w) @ v))`, as spectral_norm spells it.
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 100, 9]), net.weight(&[50, 100, 8]));
    let (u, v, sizes) = (net.weight(&[50]), net.weight(&[800]), net.ints(&[50, 800]));
    let flat = net.op("Reshape", &[w, sizes]);
    let most = net.op("MatMul", &[flat, v]);
    let sigma = net.op("MatMul", &[u, most]);
    let weight = net.op("Div", &[w, sigma]);
    let y = net.op("Conv", &[x, weight]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["Conv"]);
    let at = |i: i32| 1.0 + f64::from(i) / 4.0;
    let sigma: f64 = (0..50).map(|r| at(r) * (0..800).map(|c| at(r * 800 + c) * at(c)).sum::<f64>()).sum();
    let have = f64::from(floats_of(&graph, graph.body.nodes[0].inputs[1].unwrap())[7]);
    assert!((have * sigma / at(7) - 1.0).abs() < 1e-6, "{have}");
}

#[test]
fn tables_are_folded_unless_the_file_grows() {
    let table = |elements: i64| {
        let mut net = Net::new(18);
        let (x, w) = (net.input(&[elements]), net.weight(&[elements]));
        let waves = net.op("Sin", &[w]);
        let shifted = net.op("Exp", &[waves]);
        let y = net.op("Mul", &[x, shifted]);
        ops_of(&net.finished(Passes::ALL, y))
    };
    assert_eq!(table(100_000), ["Mul"]);
    assert_eq!(table(2_000_000), ["Sin", "Exp", "Mul"]);
}

#[test]
fn integers_and_empty_reductions_stay() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[3]), net.weight(&[0, 3]));
    let axes = net.ints(&[0]);
    let most = net.with("ReduceSum", &[w, axes], vec![("keepdims", Attr::Int(0))]);
    let y = net.op("Add", &[x, most]);
    assert_eq!(ops_of(&net.finished(Passes::ALL, y)), ["ReduceSum", "Add"]);
}

#[test]
fn low_ranks_are_added_to_their_weight() {
    let folded = |reads: usize| {
        let mut net = Net::new(18);
        let (x, w) = (net.input(&[5, 300]), net.weight(&[300, 200]));
        let (a, b, half) = (net.weight(&[300, 2]), net.weight(&[2, 200]), net.floats(&[], &[0.5]));
        let low = net.op("MatMul", &[a, b]);
        let low = net.op("Mul", &[low, half]);
        let sum = net.op("Add", &[w, low]);
        let mut y = net.op("MatMul", &[x, sum]);
        if reads > 1 {
            let other = net.input(&[5, 300]);
            let again = net.op("MatMul", &[other, w]);
            y = net.op("Add", &[y, again]);
        }
        net.finished(Passes::ALL, y)
    };
    let graph = folded(1);
    assert_eq!(ops_of(&graph), ["MatMul"]);
    // The first row of `a` is 1, 1.25, the second column of `b` 1.25, 51.25; the second element of `w` is 1.25.
    let have = floats_of(&graph, graph.body.nodes[0].inputs[1].unwrap())[1];
    assert_eq!(have, 1.25 + 0.5 * (1.0 * 1.25 + 1.25 * 51.25));
    let ops = ops_of(&folded(2));
    assert!(ops.contains(&"Add") && ops.len() > 4, "the weight would be written twice: {ops:?}");
}
