//! Graphs that are built by hand, and what becomes of them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_onnx::graph::{Attr, Body, Constant, Graph, Node, Source, Type, Value, ValueInfo};

use crate::{Extent, Outside, Request, narrow};

/// Builds a graph of values of the shape [4].
#[derive(Default)]
struct Built {
    graph: Graph,
}

impl Built {
    fn of(opset: u32) -> Built {
        Built { graph: Graph { opset, ..Graph::default() } }
    }

    fn value(&mut self, name: &str, dtype: Dtype, source: Source) -> Value {
        let value = Value::new(self.graph.values.len() as u32);
        self.graph.values.push(ValueInfo { name: name.into(), ty: Type::sized(dtype, &[4]), source });
        value
    }

    fn input(&mut self, name: &str, dtype: Dtype) -> Value {
        let value = self.value(name, dtype, Source::Input);
        self.graph.body.inputs.push(value);
        value
    }

    fn constant(&mut self, name: &str, number: f32) -> Value {
        let bytes: Vec<u8> = [number; 4].iter().flat_map(|element| element.to_le_bytes()).collect();
        let value = self.value(name, Dtype::Float32, Source::Constant(Constant::new(Dtype::Float32, vec![4], bytes)));
        self.graph.initializers.push(value);
        value
    }

    fn node(&mut self, op: &'static str, inputs: &[Value]) -> Value {
        self.node_with(op, inputs, Dtype::Float32, Vec::new())
    }

    fn node_with(
        &mut self,
        op: &'static str,
        inputs: &[Value],
        dtype: Dtype,
        attrs: Vec<(&'static str, Attr)>,
    ) -> Value {
        let name = format!("{}_{}", op.to_lowercase(), self.graph.values.len());
        let output = self.value(&name, dtype, Source::Node);
        let inputs = inputs.iter().copied().map(Some).collect();
        self.graph.body.nodes.push(Node { op, name, inputs, outputs: vec![Some(output)], attrs, origin: 0 });
        output
    }

    fn outputs(mut self, outputs: &[Value]) -> Graph {
        self.graph.body.outputs = outputs.to_vec();
        self.graph
    }
}

fn request() -> Request {
    Request {
        dtype: Dtype::Float16,
        extent: Extent::Most,
        outside: Outside::Float32,
        keep: Vec::new(),
        target: None,
        ranges: Default::default(),
    }
}

/// `float32 MatMul float16`: each node with the dtypes of its inputs and its result.
fn text(graph: &Graph) -> Vec<String> {
    let dtype = |value: &Option<Value>| value.map_or("-".to_owned(), |value| graph.ty(value).dtype().to_string());
    let line = |node: &Node| {
        let inputs: Vec<String> = node.inputs.iter().map(dtype).collect();
        format!("{}({}) -> {}", node.op, inputs.join(", "), dtype(&node.outputs[0]))
    };
    graph.body.nodes.iter().map(line).collect()
}

#[test]
fn products_are_narrow_and_softmax_is_not() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let w = built.constant("w", 0.5);
    let product = built.node("MatMul", &[x, w]);
    let softmax = built.node("Softmax", &[product]);
    let mut graph = built.outputs(&[softmax]);
    narrow(&mut graph, &request()).unwrap();
    let expected = [
        "Cast(float32) -> float16",
        "MatMul(float16, float16) -> float16",
        "Cast(float16) -> float32",
        "Softmax(float32) -> float32",
    ];
    assert_eq!(text(&graph), expected);
    assert_eq!(graph.name(graph.body.outputs[0]), "softmax_3");
    assert_eq!(graph.constant(w).unwrap().bytes().len(), 8);
}

#[test]
fn a_value_is_cast_once_however_many_read_it() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let w = built.constant("w", 0.5);
    let product = built.node("MatMul", &[x, w]);
    let sums = [built.node("Softmax", &[product]), built.node("Exp", &[product]), built.node("MatMul", &[product, w])];
    let mut graph = built.outputs(&sums);
    narrow(&mut graph, &request()).unwrap();
    let casts = text(&graph).iter().filter(|line| line.starts_with("Cast")).count();
    assert_eq!(casts, 3, "{:?}", text(&graph));
}

#[test]
fn what_lies_between_follows_its_neighbours() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let exp = built.node("Exp", &[x]);
    let neg = built.node("Neg", &[exp]);
    let log = built.node("Log", &[neg]);
    let mut graph = built.outputs(&[log]);
    let notes = narrow(&mut graph, &request()).unwrap();
    assert_eq!(text(&graph), ["Exp(float32) -> float32", "Neg(float32) -> float32", "Log(float32) -> float32"]);
    assert!(notes.iter().any(|note| note.contains("1 Neg") && note.contains("fewer values")), "{notes:?}");
}

#[test]
fn constants_that_do_not_fit_keep_their_readers_wide() {
    for number in [1e9, 70_000.0, 1e-7] {
        let mut built = Built::of(18);
        let x = built.input("x", Dtype::Float32);
        let w = built.constant("w", 0.5);
        let large = built.constant("large", number);
        let product = built.node("MatMul", &[x, w]);
        let sum = built.node("Add", &[product, large]);
        let again = built.node("MatMul", &[sum, w]);
        let mut graph = built.outputs(&[again]);
        narrow(&mut graph, &request()).unwrap();
        assert!(text(&graph).contains(&"Add(float32, float32) -> float32".to_owned()), "{number}: {:?}", text(&graph));
    }
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let infinite = built.constant("infinite", f32::NEG_INFINITY);
    let product = built.node("MatMul", &[x, infinite]);
    let mut graph = built.outputs(&[product]);
    narrow(&mut graph, &request()).unwrap();
    assert!(text(&graph).contains(&"MatMul(float16, float16) -> float16".to_owned()));
}

#[test]
fn positions_stay_wide_until_a_matrix_makes_features_of_them() {
    let mut built = Built::of(18);
    let ids = built.input("ids", Dtype::Int64);
    let x = built.input("x", Dtype::Float32);
    let step = built.constant("step", 0.5);
    let float = built.node_with("Cast", &[ids], Dtype::Float32, vec![("to", Attr::Int(1))]);
    let angle = built.node("MatMul", &[float, step]);
    let product = built.node("MatMul", &[angle, x]);
    let mut graph = built.outputs(&[product]);
    narrow(&mut graph, &request()).unwrap();
    let expected =
        ["Cast(int64) -> float32", "MatMul(float32, float32) -> float32", "MatMul(float16, float16) -> float16"];
    assert!(expected.iter().all(|line| text(&graph).contains(&(*line).to_owned())), "{:?}", text(&graph));
}

#[test]
fn states_of_loops_have_one_precision() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let turns = built.input("turns", Dtype::Int64);
    let go = built.input("go", Dtype::Bool);
    let w = built.constant("w", 0.5);
    let first = built.node("MatMul", &[x, w]);
    let number = built.value("number", Dtype::Int64, Source::Input);
    let again = built.value("again", Dtype::Bool, Source::Input);
    let state = built.value("state", Dtype::Float32, Source::Input);
    let more = built.value("more", Dtype::Bool, Source::Node);
    let next = built.value("next", Dtype::Float32, Source::Node);
    let node = |op, input: Value, output| Node {
        op,
        name: String::new(),
        inputs: vec![Some(input)],
        outputs: vec![Some(output)],
        attrs: vec![],
        origin: 0,
    };
    let body = Body {
        inputs: vec![number, again, state],
        nodes: vec![node("Identity", again, more), node("Exp", state, next)],
        outputs: vec![more, next],
    };
    let last = built.node_with("Loop", &[turns, go, first], Dtype::Float32, vec![("body", Attr::Graph(body))]);
    let product = built.node("MatMul", &[last, w]);
    let mut graph = built.outputs(&[product]);
    narrow(&mut graph, &request()).unwrap();
    let Some(Attr::Graph(body)) = graph.body.nodes.iter().find(|node| node.op == "Loop").unwrap().attr("body") else {
        panic!()
    };
    let dtype = |value: Value| graph.ty(value).dtype();
    let node = graph.body.nodes.iter().find(|node| node.op == "Loop").unwrap();
    let all = [node.input(2).unwrap(), body.inputs[2], body.outputs[1], node.outputs[0].unwrap()].map(dtype);
    assert_eq!(all, [Dtype::Float32; 4], "{:?}", text(&graph));
}

#[test]
fn a_pattern_that_names_nothing_is_an_error() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let relu = built.node("Relu", &[x]);
    let mut graph = built.outputs(&[relu]);
    let error = narrow(&mut graph, &Request { keep: vec!["Gelu".into()], ..request() }).unwrap_err();
    assert!(error.to_string().contains("`Gelu`"), "{error}");
}

#[test]
fn inputs_and_outputs_change_if_asked_for() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let relu = built.node("Relu", &[x]);
    let mut graph = built.outputs(&[relu]);
    narrow(&mut graph, &Request { outside: Outside::Half, ..request() }).unwrap();
    assert_eq!(text(&graph), ["Relu(float16) -> float16"]);
}

#[test]
fn a_mean_of_squares_stays_float32_up_to_its_root() {
    // From a root of 256 on, float16 does not hold the mean.
    let mut built = Built::of(18);
    let (x, two, small) = (built.input("x", Dtype::Float32), built.constant("two", 2.0), built.constant("small", 1e-3));
    let weight = square(&mut built, 10.0);
    let before = built.node("MatMul", &[x, weight]);
    let power = built.node("Pow", &[before, two]);
    let mean = built.node("ReduceMean", &[power]);
    let sum = built.node("Add", &[mean, small]);
    let root = built.node("Sqrt", &[sum]);
    let quotient = built.node("Div", &[before, root]);
    let after = built.node("MatMul", &[quotient, weight]);
    let mut graph = built.outputs(&[after]);
    narrow(&mut graph, &request()).unwrap();
    let read = graph.body.nodes.iter().find(|node| node.op == "Sqrt").unwrap().inputs[0].unwrap();
    assert_eq!(graph.ty(read).dtype(), Dtype::Float32);
    assert!(
        graph
            .body
            .nodes
            .iter()
            .any(|node| node.op == "Div" && graph.ty(node.inputs[1].unwrap()).dtype() == Dtype::Float16)
    );
}

/// A weight of the shape [4, 4] whose elements are all the same.
fn square(built: &mut Built, number: f32) -> Value {
    let bytes: Vec<u8> = [number; 16].iter().flat_map(|element| element.to_le_bytes()).collect();
    let weight = Weight {
        name: "w".into(),
        dtype: Dtype::Float32,
        sizes: vec![4, 4],
        strides: vec![4, 1],
        offset: 0,
        storage: Storage::Owned(bytes.into()),
    };
    built.value("w", Dtype::Float32, Source::Weight(Arc::new(weight)))
}

fn reach(graph: &mut Graph) -> String {
    narrow(graph, &request()).unwrap().into_iter().find(|note| note.contains("whatever the inputs are")).unwrap()
}

#[test]
fn bounds_follow_from_weights_and_bounded_functions() {
    // A product of a norm: 2 (the root of 4 elements) times 1, times 4 rows of 10.
    let mut built = Built::of(18);
    let (x, one) = (built.input("x", Dtype::Float32), built.constant("one", 1.0));
    let norm = built.node("LayerNormalization", &[x, one]);
    let weight = square(&mut built, 10.0);
    let product = built.node("MatMul", &[norm, weight]);
    let relu = built.node("Relu", &[product]);
    assert_eq!(super::bounds::Bounds::of(&built.graph).get(relu), Some(80.0));
    let mut graph = built.outputs(&[relu]);
    let note = reach(&mut graph);
    assert!(note.starts_with("float16: 3 of 3 values in it fit whatever the inputs are"), "{note}");
}

#[test]
fn what_is_not_bounded_is_named() {
    let mut built = Built::of(18);
    let x = built.input("x", Dtype::Float32);
    let weight = square(&mut built, 10.0);
    let bounded = built.node("Tanh", &[x]);
    let large = square(&mut built, 60000.0);
    let product = built.node("MatMul", &[bounded, large]);
    let plain = built.node("MatMul", &[x, weight]);
    let sum = built.node("Add", &[product, plain]);
    assert_eq!(super::bounds::Bounds::of(&built.graph).get(product), Some(240_000.0));
    assert_eq!(super::bounds::Bounds::of(&built.graph).get(sum), None);
    let mut graph = built.outputs(&[sum]);
    let note = reach(&mut graph);
    assert!(note.starts_with("float16: 1 of 4 values"), "{note}");
    assert!(note.contains("`matmul_4`, `matmul_5`, `add_6`"), "{note}");
}
