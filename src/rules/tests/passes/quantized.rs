//! `passes/quantized/`.

use super::net::{Net, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::graph::{Graph, Source, Type, Value};
use aten2onnx_onnx::targets::{self, Target};

/// 32 rows of 64 integers from -8 to 7, with a scale for 32 of them, and no zero point.
struct Quantized {
    net: Net,
    codes: Value,
    scale: Value,
}

impl Quantized {
    fn new(opset: u32) -> Quantized {
        let mut net = Net::new(opset);
        let codes = net.stored(Dtype::Int8, &[32, 64], (0..2048).map(|i| (i % 16 - 8) as u8).collect());
        let scale = net.weight(&[32, 2]);
        Quantized { net, codes, scale }
    }

    /// As rows of blocks minus zero points, times scales.
    fn spelled(&mut self, zero: Option<Value>) -> Value {
        let net = &mut self.net;
        let (blocks, of_block, whole) = (net.ints(&[32, 2, 32]), net.ints(&[32, 2, 1]), net.ints(&[32, 64]));
        let codes = net.op("Reshape", &[self.codes, blocks]);
        let scale = net.op("Reshape", &[self.scale, of_block]);
        let mut floats = net.cast(codes, Dtype::Float32);
        if let Some(zero) = zero {
            let zero = net.op("Reshape", &[zero, of_block]);
            let zero = net.cast(zero, Dtype::Float32);
            floats = net.op("Sub", &[floats, zero]);
        }
        let product = net.op("Mul", &[floats, scale]);
        net.op("Reshape", &[product, whole])
    }

    /// The product of an input with the transposed weight, after all passes.
    fn multiplied(mut self, weight: Value, passes: Passes) -> Graph {
        let x = self.net.input(&[5, 3, 64]);
        let columns = self.net.transposed(weight, &[1, 0]);
        let y = self.net.op("MatMul", &[x, columns]);
        self.net.finished(passes, y)
    }
}

/// The bytes of the input of the first node with this operator.
fn bytes(graph: &Graph, op: &str, input: usize) -> Vec<u8> {
    let node = graph.body.nodes.iter().find(|node| node.op == op).unwrap();
    let Source::Weight(weight) = &graph.info(node.inputs[input].unwrap()).source else { unreachable!("not a weight") };
    let mut all: Vec<u8> = Vec::new();
    Payload::new(weight).unwrap().write(&mut all).unwrap();
    all
}

fn dtype(graph: &Graph, op: &str, input: usize) -> Dtype {
    let node = graph.body.nodes.iter().find(|node| node.op == op).unwrap();
    graph.ty(node.inputs[input].unwrap()).dtype()
}

#[test]
fn blocks_become_dequantize_linear_with_four_bits() {
    let mut w = Quantized::new(21);
    let zero = w.net.stored(Dtype::Int8, &[32, 2], (0..64).map(|i| (i % 3) as u8).collect());
    let weight = w.spelled(Some(zero));
    let graph = w.multiplied(weight, Passes::ALL);
    assert_eq!(ops_of(&graph), ["DequantizeLinear", "Transpose", "MatMul"]);
    let node = &graph.body.nodes[0];
    assert_eq!((node.int("axis").unwrap_or(1), node.int("block_size")), (1, Some(32)));
    assert_eq!(
        (dtype(&graph, "DequantizeLinear", 0), dtype(&graph, "DequantizeLinear", 2)),
        (Dtype::Int4, Dtype::Int4)
    );
    assert_eq!(bytes(&graph, "DequantizeLinear", 0)[..4], [0x98, 0xba, 0xdc, 0xfe]);
    assert_eq!(bytes(&graph, "DequantizeLinear", 2)[..2], [0x10, 0x02]);
}

#[test]
fn zero_points_of_zero_are_left_out() {
    let mut w = Quantized::new(21);
    let zero = w.net.stored(Dtype::Int8, &[32, 2], vec![0; 64]);
    let weight = w.spelled(Some(zero));
    let graph = w.multiplied(weight, Passes::ALL);
    assert_eq!(graph.body.nodes[0].inputs.len(), 2);
}

#[test]
fn what_fits_decides_the_number_of_bits() {
    let narrowest = |opset: u32, least: i32, most: i32| {
        let mut net = Net::new(opset);
        let x = net.input(&[2048]);
        let span = most - least + 1;
        let codes = net.stored(Dtype::Int8, &[2048], (0..2048).map(|i| (i % span + least) as u8).collect());
        let floats = net.cast(codes, Dtype::Float32);
        let y = net.op("Mul", &[x, floats]);
        dtype(&net.finished(Passes::ALL, y), "Cast", 0)
    };
    assert_eq!(narrowest(25, -2, 1), Dtype::Int2);
    assert_eq!(narrowest(25, 0, 3), Dtype::Uint2);
    assert_eq!(narrowest(25, -1, 2), Dtype::Int4);
    assert_eq!(narrowest(21, -2, 1), Dtype::Int4);
    assert_eq!(narrowest(21, 0, 15), Dtype::Uint4);
    assert_eq!(narrowest(21, -1, 8), Dtype::Int8);
    assert_eq!(narrowest(21, -9, 0), Dtype::Int8);
}

#[test]
fn below_opset_21_several_integers_share_a_byte() {
    let mut w = Quantized::new(18);
    let weight = w.spelled(None);
    let graph = w.multiplied(weight, Passes::ALL);
    let unpacking = ["BitShift", "BitShift", "Reshape", "Cast", "Add", "Mul", "Reshape", "Transpose", "MatMul"];
    assert_eq!(ops_of(&graph), unpacking);
    assert_eq!(bytes(&graph, "BitShift", 0).len(), 1024);
    assert_eq!(bytes(&graph, "BitShift", 0)[..2], [0x10, 0x32]);
}

#[test]
fn an_axis_of_few_bits_is_packed_below_opset_21() {
    let written = |opset: u32| {
        let mut w = Quantized::new(opset);
        let scale = w.net.weight(&[32]);
        let weight = w.net.with("DequantizeLinear", &[w.codes, scale], vec![("axis", 0.into())]);
        ops_of(&w.multiplied(weight, Passes::ALL))
    };
    assert_eq!(written(18), ["BitShift", "BitShift", "Reshape", "Cast", "Add", "MatMul", "Mul"]);
    assert_eq!(written(21), ["Cast", "MatMul", "Mul"]);
}

#[test]
fn what_something_else_reads_stays() {
    let mut w = Quantized::new(21);
    let index = w.net.typed(Type::sized(Dtype::Int64, &[1]));
    let row = w.net.op("Gather", &[w.codes, index]);
    let (row, floats) = (w.net.cast(row, Dtype::Float32), w.net.cast(w.codes, Dtype::Float32));
    let weight = w.net.op("Add", &[floats, row]);
    let graph = w.multiplied(weight, Passes::ALL);
    assert_eq!(dtype(&graph, "Gather", 0), Dtype::Int8);
    assert_eq!(dtype(&graph, "Cast", 0), Dtype::Int8);
}

#[test]
fn weights_that_must_stay_are_not_packed() {
    let mut w = Quantized::new(21);
    let weight = w.spelled(None);
    let graph = w.multiplied(weight, Passes { keep_weights: true, ..Passes::ALL });
    assert!(!ops_of(&graph).contains(&"DequantizeLinear"));
}

#[test]
fn two_dimensional_blocks_stay_spelled_out() {
    let mut net = Net::new(21);
    let x = net.input(&[64, 5]);
    let codes = net.bytes(Dtype::Int8, &[8, 4, 8, 8]);
    let scale = net.weight(&[8, 1, 8, 1]);
    let floats = net.cast(codes, Dtype::Float32);
    let product = net.op("Mul", &[floats, scale]);
    let shape = net.ints(&[32, 64]);
    let weight = net.op("Reshape", &[product, shape]);
    let y = net.op("MatMul", &[weight, x]);
    assert_eq!(ops(net, y), ["Cast", "Mul", "Reshape", "MatMul"]);
}

fn onnxruntime() -> &'static Target {
    targets::find("onnxruntime").unwrap()
}

#[test]
fn onnxruntime_multiplies_with_the_integers() {
    for opset in [18, 21] {
        let mut w = Quantized::new(opset);
        w.net.builder.set_target(onnxruntime());
        let zero = w.net.stored(Dtype::Int8, &[32, 2], (0..64).map(|i| (i % 3) as u8).collect());
        let weight = w.spelled(Some(zero));
        let graph = w.multiplied(weight, Passes::ALL);
        let op = "com.microsoft::MatMulNBits";
        assert_eq!(ops_of(&graph), [op]);
        let node = &graph.body.nodes[0];
        let attrs = ["K", "N", "bits", "block_size"].map(|name| node.int(name).unwrap());
        assert_eq!(attrs, [64, 32, 4, 32]);
        // The integers are unsigned, and so are the zero points: one byte for the two of a row.
        assert_eq!(bytes(&graph, op, 1)[..4], [0x10, 0x32, 0x54, 0x76]);
        assert_eq!(bytes(&graph, op, 3)[..3], [0x98, 0x8a, 0xa9]);
    }
}

#[test]
fn a_scale_after_the_product_belongs_to_the_integers() {
    let made = |span: i32| {
        let mut net = Net::new(18);
        net.builder.set_target(onnxruntime());
        let bytes = (0..32 * 512).map(|i| (i % span - span / 2) as u8).collect();
        let (x, codes, scale) = (net.input(&[5, 512]), net.stored(Dtype::Int8, &[32, 512], bytes), net.weight(&[32]));
        let columns = net.transposed(codes, &[1, 0]);
        let floats = net.cast(columns, Dtype::Float32);
        let product = net.op("MatMul", &[x, floats]);
        let y = net.op("Mul", &[product, scale]);
        net.finished(Passes::ALL, y)
    };
    let graph = made(16);
    let op = "com.microsoft::MatMulNBits";
    assert_eq!(ops_of(&graph), [op]);
    assert_eq!(graph.body.nodes[0].int("block_size"), Some(256));
    assert_eq!(bytes(&graph, op, 1)[..3], [0x10, 0x32, 0x54]);
    assert_eq!(bytes(&graph, op, 2).len(), 32 * 2 * 4);
    // With 8 bits the operator is slower than a product of floats.
    assert!(!ops_of(&made(256)).contains(&op));
}

#[test]
fn blocks_that_the_operator_lacks_stay() {
    let mut net = Net::new(21);
    net.builder.set_target(onnxruntime());
    let (x, codes, scale) = (net.input(&[5, 64]), net.bytes(Dtype::Int8, &[32, 64]), net.weight(&[32, 8]));
    let attrs = vec![("axis", 1.into()), ("block_size", 8.into())];
    let weight = net.with("DequantizeLinear", &[codes, scale], attrs);
    let columns = net.transposed(weight, &[1, 0]);
    let y = net.op("MatMul", &[x, columns]);
    assert_eq!(ops(net, y), ["DequantizeLinear", "Gemm"]);
}

/// Two integers in each byte, unpacked along a new last axis and moved by 8.
fn unpacked(net: &mut Net, packed: Value) -> Value {
    let number = |net: &mut Net, n: u8| net.builder.constant(Dtype::Uint8, &[], vec![n]).unwrap();
    let (mask, four) = (number(net, 15), number(net, 4));
    let low = net.op("BitwiseAnd", &[packed, mask]);
    let high = net.with("BitShift", &[packed, four], vec![("direction", "RIGHT".into())]);
    let last = net.ints(&[-1]);
    let (low, high) = (net.op("Unsqueeze", &[low, last]), net.op("Unsqueeze", &[high, last]));
    let pairs = net.with("Concat", &[low, high], vec![("axis", (-1).into())]);
    let shape = net.ints(&[32, 64]);
    let codes = net.op("Reshape", &[pairs, shape]);
    let signed = net.cast(codes, Dtype::Int8);
    let eight = net.builder.constant(Dtype::Int8, &[], vec![8u8]).unwrap();
    net.op("Sub", &[signed, eight])
}

/// Packed bytes, their product with an input, and what else reads them.
fn of_packed(reads: usize) -> Graph {
    let mut net = Net::new(21);
    let (x, packed, scale) = (net.input(&[5, 3, 64]), net.bytes(Dtype::Uint8, &[32, 32]), net.weight(&[32, 1]));
    let codes = unpacked(&mut net, packed);
    let floats = net.cast(codes, Dtype::Float32);
    let weight = net.op("Mul", &[floats, scale]);
    let columns = net.transposed(weight, &[1, 0]);
    let mut y = net.op("MatMul", &[x, columns]);
    if reads > 1 {
        let index = net.typed(Type::sized(Dtype::Int64, &[1]));
        let row = net.op("Gather", &[packed, index]);
        let row = net.cast(row, Dtype::Float32);
        y = net.op("Add", &[y, row]);
    }
    net.finished(Passes::ALL, y)
}

#[test]
fn packed_bytes_become_four_bits() {
    let graph = of_packed(1);
    assert_eq!(ops_of(&graph), ["Cast", "MatMul", "Mul"]);
    assert_eq!(dtype(&graph, "Cast", 0), Dtype::Int4);
    // The first halves of 0x00, 0x20, 0x40 minus 8: columns of the weight are rows of what is written.
    assert_eq!(bytes(&graph, "Cast", 0)[..2], [0x88, 0x88]);
}

#[test]
fn packed_bytes_that_something_else_reads_stay_packed() {
    let graph = of_packed(2);
    assert!(ops_of(&graph).contains(&"BitShift"), "{:?}", ops_of(&graph));
    assert!(!ops_of(&graph).contains(&"DequantizeLinear"));
}

/// Rows in blocks of 64, with scales and zero points that indices repeat for each row.
fn indexed(groups: &[i64]) -> Vec<&'static str> {
    let mut net = Net::new(21);
    let x = net.input(&[5, 3, 128]);
    let codes = net.stored(Dtype::Uint8, &[128, 64], (0..8192).map(|i| (i % 16) as u8).collect());
    let (scale, zero) = (net.weight(&[2, 64]), net.stored(Dtype::Int16, &[2, 64], [7, 0].repeat(128)));
    let indices = net.ints(groups);
    let (scales, zeros) = (net.op("Gather", &[scale, indices]), net.op("Gather", &[zero, indices]));
    let codes = net.cast(codes, Dtype::Int16);
    let difference = net.op("Sub", &[codes, zeros]);
    let floats = net.cast(difference, Dtype::Float32);
    let weight = net.op("Mul", &[scales, floats]);
    let y = net.op("MatMul", &[x, weight]);
    ops(net, y)
}

#[test]
fn repeated_scales_are_those_of_blocks() {
    let blocks: Vec<i64> = (0..128).map(|i| i / 64).collect();
    assert_eq!(indexed(&blocks), ["DequantizeLinear", "Transpose", "MatMul"]);
    let unordered: Vec<i64> = (0..128).map(|i| i % 2).collect();
    assert!(!indexed(&unordered).contains(&"DequantizeLinear"));
}
