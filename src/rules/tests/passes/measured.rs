//! `passes/quantize/measured.rs`: values are rounded with ranges that were measured.

use super::net::{Net, ops_of};
use aten2onnx_builder::passes::{BlockLength, Operands, Passes, ValueRanges, WeightQuantization};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{CodeFormat, ScaleSearch};
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::targets;

const Q: &str = "QuantizeLinear";
const D: &str = "DequantizeLinear";

/// A net for a runtime, an input of it, and what becomes of the input.
struct Chain {
    net: Net,
    values: Vec<Value>,
}

impl Chain {
    fn new(target: Option<&str>) -> Chain {
        let mut net = Net::new(18);
        if let Some(target) = target {
            net.builder.set_target(targets::find(target).unwrap());
        }
        let x = net.input(&[1, 4, 8, 8]);
        Chain { net, values: vec![x] }
    }

    fn last(&self) -> Value {
        *self.values.last().unwrap()
    }

    fn then(mut self, op: &'static str) -> Chain {
        let x = self.last();
        let value = match op {
            "Conv" => {
                let weight = self.net.weight(&[4, 4, 1, 1]);
                self.net.op(op, &[x, weight])
            }
            "Add" => self.net.op(op, &[x, *self.values.first().unwrap()]),
            "Transpose" => self.net.transposed(x, &[0, 1, 3, 2]),
            _ => self.net.op(op, &[x]),
        };
        self.values.push(value);
        self
    }

    /// The graph where the values have these ranges.
    fn rounded(mut self, range: impl Fn(usize) -> [f64; 2], skip: &[&str]) -> (Graph, Vec<String>) {
        let ranges: ValueRanges = self.values.iter().enumerate().map(|(i, value)| (*value, range(i))).collect();
        let last = self.last();
        let wanted = WeightQuantization {
            format: CodeFormat::Int8,
            block: BlockLength::Channel,
            search: ScaleSearch::Nearest,
            operands: Operands::Measured(ranges),
            skip: skip.iter().map(|text| (*text).to_owned()).collect(),
            half: None,
        };
        self.net.builder.output("y", last);
        let mut notes = Vec::new();
        let graph = self.net.builder.finish_after(|builder| notes = Passes::NONE.quantize(builder, &wanted).unwrap());
        (graph.unwrap(), notes)
    }
}

fn unit(_: usize) -> [f64; 2] {
    [-1.0, 1.0]
}

#[test]
fn products_read_rounded_values_everywhere() {
    let (graph, notes) = Chain::new(None).then("Conv").then("Relu").then("Conv").rounded(unit, &[]);
    assert_eq!(ops_of(&graph), [Q, D, D, "Conv", "Relu", Q, D, D, "Conv"]);
    assert_eq!(notes[1], "static: 2 nodes compute with integers, 2 values between them are rounded to uint8");
}

#[test]
fn a_runtime_that_computes_with_integers_gets_rounded_results() {
    let (graph, _) = Chain::new(Some("onnxruntime")).then("Conv").then("Relu").then("Add").rounded(unit, &[]);
    assert_eq!(ops_of(&graph), [Q, D, D, "Conv", "Relu", Q, D, "Add", Q, D]);
}

#[test]
fn what_is_moved_keeps_its_scale() {
    let (graph, _) = Chain::new(Some("onnxruntime"))
        .then("Conv")
        .then("Transpose")
        .then("Conv")
        .rounded(|i| [-1.0, 1.0 + i as f64], &[]);
    let scales: Vec<Value> =
        graph.body.nodes.iter().filter(|node| node.op == Q).map(|node| node.inputs[1].unwrap()).collect();
    // The input, the first result, what is moved of it, the second result.
    assert_eq!(scales.len(), 4);
    assert_eq!(scales[1], scales[2]);
    assert!(scales[0] != scales[1] && scales[2] != scales[3]);
}

#[test]
fn a_value_without_a_finite_range_stays() {
    let infinite = |i: usize| [if i == 1 { f64::NEG_INFINITY } else { -1.0 }, 1.0];
    let (graph, notes) = Chain::new(None).then("Conv").then("Conv").rounded(infinite, &[]);
    assert_eq!(ops_of(&graph), [Q, D, D, "Conv", D, "Conv"]);
    assert!(
        notes.contains(&"`Conv` stay floats where a value has no finite range in the measured runs".to_owned()),
        "{notes:?}"
    );
}

#[test]
fn what_is_skipped_stays() {
    let (graph, _) = Chain::new(Some("onnxruntime")).then("Conv").then("Relu").then("Add").rounded(unit, &["Conv"]);
    assert_eq!(ops_of(&graph), ["Conv", "Relu", "Add"]);
}

#[test]
fn tensorrt_gets_signed_integers_without_a_zero_point() {
    let (graph, _) = Chain::new(Some("tensorrt")).then("Conv").rounded(|_| [0.0, 5.0], &[]);
    let node = graph.body.nodes.iter().find(|node| node.op == Q).unwrap();
    let zero = graph.info(node.inputs[2].unwrap());
    assert_eq!(zero.ty.dtype(), Dtype::Int8);
}
