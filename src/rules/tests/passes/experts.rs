//! `passes/quantized/`: mixtures of experts, tables, exponents and convolutions.

use super::net::{Net, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::graph::{Constant, Graph, Node, Source, Type, Value};
use aten2onnx_onnx::targets;

const QMOE: &str = "com.microsoft::QMoE";

/// A graph of what is made for ONNX Runtime.
fn fast(opset: u32) -> Net {
    let mut net = Net::new(opset);
    net.builder.set_target(targets::find("onnxruntime").unwrap());
    net
}

fn node<'a>(graph: &'a Graph, op: &str) -> &'a Node {
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

fn sizes(graph: &Graph, op: &str, input: usize) -> Vec<i64> {
    graph.ty(node(graph, op).inputs[input].unwrap()).shape().unwrap().iter().map(|n| n.known().unwrap()).collect()
}

/// Which part of a mixture differs from what transformers writes.
#[derive(Clone, Copy, PartialEq)]
enum But {
    Nothing,
    UpIsTheFirstHalf,
    TheLeastExperts,
    EightBitBlocks,
    WeightsAreOthers,
    WeightsAreScores,
}

/// Three tokens of 32 numbers, four experts with 16 inner numbers, two experts for each token.
fn mixture(but: But) -> Graph {
    let mut net = fast(21);
    let (x, logits) = (net.input(&[3, 32]), net.input(&[3, 4]));
    let scores = net.with("Softmax", &[logits], vec![("axis", (-1).into())]);
    let two = net.ints(&[2]);
    let largest = i64::from(but != But::TheLeastExperts);
    let top = net.many("TopK", &[scores, two], vec![("largest", largest.into())], 2);
    let (chosen, experts) = (top[0], top[1]);
    let last = net.ints(&[-1]);
    let sum = net.with("ReduceSum", &[chosen, last], vec![("keepdims", 1.into())]);
    let weights = match but {
        But::WeightsAreScores => chosen,
        But::WeightsAreOthers => net.op("Sqrt", &[chosen]),
        _ => net.op("Div", &[chosen, sum]),
    };
    let line = net.ints(&[6]);
    let indices = net.op("Reshape", &[experts, line]);
    let (one, twice, rows) = (net.ints(&[3, 1, 32]), net.ints(&[3, 2, 32]), net.ints(&[6, 32, 1]));
    let repeated = net.op("Reshape", &[x, one]);
    let repeated = net.op("Expand", &[repeated, twice]);
    let columns = net.op("Reshape", &[repeated, rows]);
    let both = chosen_rows(&mut net, but, &[4, 32, 32], indices);
    let both = net.op("MatMul", &[both, columns]);
    let both = net.op("Squeeze", &[both, last]);
    let halves = net.ints(&[16, 16]);
    let halves = net.many("Split", &[both, halves], vec![("axis", 1.into())], 2);
    let (gate, up) = if but == But::UpIsTheFirstHalf { (halves[1], halves[0]) } else { (halves[0], halves[1]) };
    let sigmoid = net.op("Sigmoid", &[gate]);
    let silu = net.op("Mul", &[gate, sigmoid]);
    let inner = net.op("Mul", &[silu, up]);
    let inner = net.op("Unsqueeze", &[inner, last]);
    let down = chosen_rows(&mut net, but, &[4, 32, 16], indices);
    let down = net.op("MatMul", &[down, inner]);
    let down = net.op("Squeeze", &[down, last]);
    let (of_row, parts) = (net.ints(&[6, 1]), net.ints(&[3, 2, 32]));
    let weights = net.op("Reshape", &[weights, of_row]);
    let weighted = net.op("Mul", &[down, weights]);
    let weighted = net.op("Reshape", &[weighted, parts]);
    let middle = net.ints(&[1]);
    let y = net.with("ReduceSum", &[weighted, middle], vec![("keepdims", 0.into())]);
    net.finished(Passes::ALL, y)
}

/// The dequantized weights of the experts of each token, in blocks of 16.
fn chosen_rows(net: &mut Net, but: But, sizes: &[i64; 3], indices: Value) -> Value {
    let count: i64 = sizes.iter().product();
    let span = if but == But::EightBitBlocks { 256 } else { 16 };
    let [experts, rows, columns] = *sizes;
    let code = |i: i64| ((i / columns % span) - span / 2) as u8;
    let codes = net.stored(Dtype::Int8, sizes, (0..count).map(code).collect());
    let scale = net.weight(&[experts, rows, columns / 16]);
    let weight = net.with("DequantizeLinear", &[codes, scale], vec![("axis", 2.into()), ("block_size", 16.into())]);
    net.op("Gather", &[weight, indices])
}

#[test]
fn a_mixture_of_quantized_experts_is_one_operator() {
    let graph = mixture(But::Nothing);
    assert_eq!(ops_of(&graph), [QMOE]);
    let made = node(&graph, QMOE);
    let attrs = ["k", "expert_weight_bits", "block_size", "swiglu_fusion", "normalize_routing_weights"];
    assert_eq!(attrs.map(|name| made.int(name).unwrap()), [2, 4, 16, 1, 1]);
    assert_eq!((sizes(&graph, QMOE, 2), sizes(&graph, QMOE, 3)), (vec![4, 32, 16], vec![4, 32, 2]));
    // A row of the gate, which is the first half, and then one of up, 16 rows later.
    assert_eq!(
        bytes(&graph, QMOE, 2).chunks(16).map(|row| row[0]).take(4).collect::<Vec<_>>(),
        [0x00, 0x00, 0x11, 0x11]
    );
    let scales: Vec<f32> =
        bytes(&graph, QMOE, 3).chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    assert_eq!(scales[..6], [1.0, 1.25, 9.0, 9.25, 1.5, 1.75]);
}

#[test]
fn the_router_may_weigh_experts_otherwise() {
    let graph = mixture(But::WeightsAreScores);
    assert_eq!(ops_of(&graph), ["Softmax", QMOE]);
    let made = node(&graph, QMOE);
    assert_eq!((made.int("normalize_routing_weights"), made.inputs[1]), (Some(0), made.inputs[14]));
    let graph = mixture(But::WeightsAreOthers);
    assert!(ops_of(&graph).ends_with(&["ScatterElements", QMOE]), "{:?}", ops_of(&graph));
}

#[test]
fn other_mixtures_stay() {
    // The operator multiplies the sigmoid with the first half, takes the largest scores, and rounds activations for blocks of 8 bits.
    for but in [But::UpIsTheFirstHalf, But::TheLeastExperts, But::EightBitBlocks] {
        let ops = ops_of(&mixture(but));
        assert!(!ops.contains(&QMOE) && ops.contains(&"DequantizeLinear"), "{ops:?}");
    }
}

/// `2 ** (byte - 127)` of a weight, or NaN for 255, times an input.
fn exponents(opset: u32, base: f32, largest: u8) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let x = net.input(&[8192]);
    let bytes =
        net.stored(Dtype::Uint8, &[8192], (0..8192).map(|i| if i == 0 { largest } else { i as u8 % 200 }).collect());
    let number = |net: &mut Net, dtype: Dtype, bytes: Vec<u8>| net.builder.intern(Constant::new(dtype, vec![], bytes));
    let whole = net.cast(bytes, Dtype::Int16);
    let bias = number(&mut net, Dtype::Int16, 127i16.to_le_bytes().to_vec());
    let difference = net.op("Sub", &[whole, bias]);
    let power = net.cast(difference, Dtype::Float32);
    let base = net.floats(&[], &[base]);
    let power = net.op("Pow", &[base, power]);
    let last = number(&mut net, Dtype::Uint8, vec![255]);
    let is_nan = net.op("Equal", &[bytes, last]);
    let nan = net.floats(&[], &[f32::NAN]);
    let scale = net.op("Where", &[is_nan, nan, power]);
    let y = net.op("Mul", &[x, scale]);
    ops_of(&net.finished(Passes::ALL, y))
}

#[test]
fn exponents_of_two_are_a_dtype_of_opset_24() {
    assert_eq!(exponents(24, 2.0, 255), ["Cast", "Mul"]);
    assert!(exponents(23, 2.0, 255).contains(&"Pow"));
    assert!(exponents(24, 3.0, 255).contains(&"Pow"));
}

/// The floats of 4-bit numbers, computed by a chain of operators on the low halves of bytes.
fn computed(mask: u8, links: usize, reads: usize) -> Graph {
    let mut net = Net::new(21);
    let packed = net.bytes(Dtype::Uint8, &[64, 32]);
    let number = |net: &mut Net, n: u8| net.builder.intern(Constant::new(Dtype::Uint8, vec![], vec![n]));
    let (mask, one) = (number(&mut net, mask), number(&mut net, 1));
    let low = net.op("BitwiseAnd", &[packed, mask]);
    let other = net.ints(&[32, 64]);
    let codes = net.op("Reshape", &[low, other]);
    let mut made = codes;
    for _ in 0..links {
        let less = net.op("Sub", &[made, one]);
        made = net.op("BitwiseXor", &[less, codes]);
    }
    let floats = net.cast(made, Dtype::Float32);
    let y = match reads {
        1 => floats,
        _ => {
            let codes = net.cast(codes, Dtype::Float32);
            net.op("Add", &[floats, codes])
        }
    };
    net.finished(Passes::ALL, y)
}

#[test]
fn what_is_computed_of_few_bits_is_looked_up() {
    let graph = computed(15, 4, 1);
    assert_eq!(ops_of(&graph), ["Cast", "Gather"]);
    let table: Vec<f32> =
        bytes(&graph, "Gather", 0).chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    // Differences below 0 wrap around.
    let expected = |x: u8| (0..4).fold(x, |y, _| y.wrapping_sub(1) ^ x);
    assert_eq!(table, (0..16).map(|x| f32::from(expected(x))).collect::<Vec<_>>());
    for (graph, reason) in [
        (computed(31, 4, 1), "the numbers have 5 bits"),
        (computed(15, 2, 1), "it is short"),
        (computed(15, 4, 2), "something else reads the numbers"),
    ] {
        assert!(!ops_of(&graph).contains(&"Gather"), "{reason}");
    }
}

/// A convolution with a scale for each of two channels, a Relu, and a quantization with this zero point.
fn convolution(opset: u32, zero: u8) -> Graph {
    let mut net = fast(opset);
    let x = net.typed(Type::sized(Dtype::Uint8, &[1, 3, 8, 8]));
    let (scale, other) = (net.floats(&[], &[0.5]), net.floats(&[], &[0.25]));
    let byte = |net: &mut Net, n: u8| net.builder.intern(Constant::new(Dtype::Uint8, vec![], vec![n]));
    let (given, zero) = (byte(&mut net, 3), byte(&mut net, zero));
    let x = net.op("DequantizeLinear", &[x, scale, given]);
    let codes = net.stored(Dtype::Int8, &[2, 3, 8, 8], vec![5; 384]);
    let floats = net.cast(codes, Dtype::Float32);
    let scales = net.floats(&[2, 1, 1, 1], &[2.0, 4.0]);
    let weight = net.op("Mul", &[floats, scales]);
    let bias = net.floats(&[2], &[10.0, -7.0]);
    let y = net.op("Conv", &[x, weight, bias]);
    let y = net.op("Relu", &[y]);
    let y = net.op("QuantizeLinear", &[y, other, zero]);
    net.finished(Passes::ALL, y)
}

#[test]
fn convolutions_keep_the_scales_of_their_channels_where_nothing_else_says_them() {
    let graph = convolution(11, 0);
    assert_eq!(ops_of(&graph), ["QLinearConv"]);
    let bias: Vec<i32> =
        bytes(&graph, "QLinearConv", 8).chunks(4).map(|x| i32::from_le_bytes(x.try_into().unwrap())).collect();
    // 10 / (0.5 * 2), and -7 / (0.5 * 4) rounded to the even neighbour.
    assert_eq!(bias, [10, -4]);
    // With another zero point numbers below 0 would not saturate; and from opset 13 on DequantizeLinear has the scales.
    assert!(ops_of(&convolution(11, 8)).contains(&"Relu"));
    assert!(!ops_of(&convolution(13, 0)).contains(&"QLinearConv"));
}
