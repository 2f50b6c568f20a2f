//! `passes/quantized/`: lookups in quantized tables, and operators on quantized activations.

use super::net::{Net, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::graph::{Graph, Source, Type, Value};
use aten2onnx_onnx::targets;

/// A graph of what is made for ONNX Runtime.
fn fast(opset: u32) -> Net {
    let mut net = Net::new(opset);
    net.builder.set_target(targets::find("onnxruntime").unwrap());
    net
}

fn node<'a>(graph: &'a Graph, op: &str) -> &'a aten2onnx_onnx::graph::Node {
    graph.body.nodes.iter().find(|node| node.op == op).unwrap()
}

fn bytes(graph: &Graph, op: &str, input: usize) -> Vec<u8> {
    match &graph.info(node(graph, op).inputs[input].unwrap()).source {
        Source::Weight(weight) => {
            let mut all: Vec<u8> = Vec::new();
            Payload::new(weight).unwrap().write(&mut all).unwrap();
            all
        }
        Source::Constant(constant) => constant.bytes().to_vec(),
        _ => unreachable!("neither a weight nor a constant"),
    }
}

/// The rows of a table of 32 x 64 integers from -8 to 7, with scales of these sizes.
fn looked_up(mut net: Net, scale: &[i64], axis: i64, block: i64) -> Graph {
    let codes = net.stored(Dtype::Int8, &[32, 64], (0..2048).map(|i| (i % 16 - 8) as u8).collect());
    let scale = net.weight(scale);
    let mut attrs = vec![("axis", axis.into())];
    attrs.extend((block > 0).then_some(("block_size", block.into())));
    let table = net.with("DequantizeLinear", &[codes, scale], attrs);
    let indices = net.typed(Type::sized(Dtype::Int64, &[2, 3]));
    let rows = net.op("Gather", &[table, indices]);
    net.finished(Passes::ALL, rows)
}

#[test]
fn rows_of_a_quantized_table_are_looked_up() {
    let op = "com.microsoft::GatherBlockQuantized";
    for (scale, axis, block, written) in [(&[32, 2][..], 1, 32, 32), (&[32], 0, 0, 64)] {
        let graph = looked_up(fast(21), scale, axis, block);
        assert_eq!(ops_of(&graph), [op]);
        let attrs =
            ["bits", "block_size", "gather_axis", "quantize_axis"].map(|name| node(&graph, op).int(name).unwrap());
        assert_eq!(attrs, [4, written, 0, 1]);
        assert_eq!(node(&graph, op).inputs.len(), 3);
        assert_eq!(bytes(&graph, op, 0)[..3], [0x10, 0x32, 0x54]);
        assert_eq!(bytes(&graph, op, 0).len(), 1024);
    }
}

#[test]
fn tables_that_the_operator_lacks_stay() {
    // Scales for columns, blocks of 8, and a runtime without the operator.
    for graph in [
        looked_up(fast(21), &[64], 1, 0),
        looked_up(fast(21), &[32, 8], 1, 8),
        looked_up(Net::new(21), &[32, 2], 1, 32),
    ] {
        assert_eq!(ops_of(&graph), ["DequantizeLinear", "Gather"]);
    }
}

/// An activation that is quantized with this scale, and dequantized.
fn rounded(net: &mut Net, x: Value, scale: Value, zero: Value) -> Value {
    let quantized = net.op("QuantizeLinear", &[x, scale, zero]);
    net.op("DequantizeLinear", &[quantized, scale, zero])
}

/// A product with 32 rows of 64 integers as columns, and a sum.
fn product(mut net: Net, is_dynamic: bool) -> Graph {
    let x = net.input(&[5, 64]);
    let scale = if is_dynamic { net.input(&[]) } else { net.floats(&[], &[0.5]) };
    let zero = net.builder.constant(Dtype::Int8, &[], vec![3]).unwrap();
    let x = rounded(&mut net, x, scale, zero);
    let (codes, factors) = (net.bytes(Dtype::Int8, &[32, 64]), net.weight(&[32]));
    let zeros = net.stored(Dtype::Int8, &[32], vec![0; 32]);
    let weight = net.with("DequantizeLinear", &[codes, factors, zeros], vec![("axis", 0.into())]);
    let sum = net.weight(&[32]);
    let y = net.with("Gemm", &[x, weight, sum], vec![("transB", 1.into())]);
    net.finished(Passes::ALL, y)
}

#[test]
fn products_of_dynamic_activations_are_those_of_integers() {
    let graph = product(fast(21), true);
    assert_eq!(ops_of(&graph), ["QuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul", "Add"]);
    // The zero point of unsigned integers is 128 more, and the weight is written by columns.
    assert_eq!(bytes(&graph, "MatMulInteger", 2), [131]);
    assert_eq!(bytes(&graph, "QuantizeLinear", 2), [131]);
    assert_eq!(node(&graph, "MatMulInteger").inputs.len(), 3);
    let graph = product(Net::new(21), true);
    assert!(!ops_of(&graph).contains(&"MatMulInteger"));
}

#[test]
fn static_activations_are_left_to_the_runtime_as_unsigned_integers() {
    let graph = product(fast(21), false);
    let mut ops = ops_of(&graph);
    ops.sort_unstable();
    assert_eq!(ops, ["DequantizeLinear", "DequantizeLinear", "Gemm", "QuantizeLinear"]);
    assert_eq!(bytes(&graph, "QuantizeLinear", 2), [131]);
    let graph = product(Net::new(21), false);
    assert_eq!(bytes(&graph, "QuantizeLinear", 2), [3]);
}

#[test]
fn integers_that_a_result_keeps_stay_signed() {
    let mut net = fast(21);
    let (x, scale) = (net.input(&[5]), net.floats(&[], &[0.5]));
    let zero = net.builder.constant(Dtype::Int8, &[], vec![3]).unwrap();
    let quantized = net.op("QuantizeLinear", &[x, scale, zero]);
    let graph = net.finished(Passes::ALL, quantized);
    assert_eq!(ops_of(&graph), ["QuantizeLinear"]);
    assert_eq!(bytes(&graph, "QuantizeLinear", 2), [3]);
}

/// torchao's product of rows that are moved to unsigned integers, minus what the move adds.
fn moved(opset: u32, number: i32) -> Graph {
    let mut net = Net::new(opset);
    let (x, scale, codes) = (net.input(&[5, 64]), net.input(&[5]), net.bytes(Dtype::Int8, &[64, 32]));
    let zero = net.stored(Dtype::Int8, &[5], vec![0; 5]);
    let quantized = net.with("QuantizeLinear", &[x, scale, zero], vec![("axis", 0.into())]);
    let wide = net.cast(quantized, Dtype::Int32);
    let middle = net.builder.constant(Dtype::Int32, &[], number.to_le_bytes().to_vec()).unwrap();
    let sum = net.op("Add", &[wide, middle]);
    let unsigned = net.cast(sum, Dtype::Uint8);
    let product = net.op("MatMulInteger", &[unsigned, codes]);
    let (axes, codes) = (net.ints(&[0]), net.cast(codes, Dtype::Int64));
    let sums = net.op("ReduceSum", &[codes, axes]);
    let sums = net.cast(sums, Dtype::Int32);
    let added = net.op("Mul", &[sums, middle]);
    let y = net.op("Sub", &[product, added]);
    net.finished(Passes::ALL, y)
}

#[test]
fn a_product_with_moved_rows_has_a_zero_point() {
    for opset in [13, 21] {
        let graph = moved(opset, 128);
        assert!(!ops_of(&graph).contains(&"ReduceSum"), "{:?}", ops_of(&graph));
        assert_eq!(ops_of(&graph).last(), Some(&"MatMulInteger"));
        assert_eq!(bytes(&graph, "MatMulInteger", 2), [128]);
        assert!(!ops_of(&graph).contains(&"Sub"));
    }
    // Another number may wrap: the rows stay as they are moved.
    let graph = moved(21, 100);
    assert!(ops_of(&graph).contains(&"Add"));
    assert_eq!(bytes(&graph, "MatMulInteger", 2), [100]);
}
