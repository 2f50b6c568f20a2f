//! Models that are rare or wrong: attributes of all kinds, elements in typed fields, and what damaged files contain.

use aten2onnx::ConvertOptions;
use aten2onnx::convert::convert;
use aten2onnx_onnx::proto::attribute_proto::AttributeType;
use aten2onnx_onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto, TensorProto, TypeProto,
    ValueInfoProto, type_proto,
};
use aten2onnx_onnx::read::Source;
use prost::Message;
use prost::bytes::Bytes;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn info(name: &str, dtype: i32) -> ValueInfoProto {
    let tensor = type_proto::Tensor { elem_type: Some(dtype), shape: None };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: text(name), r#type: Some(ty), ..ValueInfoProto::default() }
}

fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: text(op),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

fn model(nodes: Vec<NodeProto>, weights: Vec<TensorProto>) -> ModelProto {
    let import = |domain: &str, version| OperatorSetIdProto { domain: text(domain), version: Some(version) };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![import("", 18), import("mine", 1)],
        graph: Some(GraphProto {
            node: nodes,
            input: vec![info("x", 1)],
            output: vec![info("y", 1)],
            initializer: weights,
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

fn converted(bytes: Vec<u8>, opset: u32) -> Result<ModelProto, String> {
    let mut options = ConvertOptions::default();
    options.output.rules = aten2onnx::rules();
    options.output.opset = Some(opset);
    let source = Source::from_bytes("odd.onnx", bytes).map_err(|error| error.to_string())?;
    convert(&source, &options).map(|done| done.model.proto).map_err(|error| format!("{:?}: {error}", error.kind))
}

fn refused(model: &ModelProto) -> String {
    converted(model.encode_to_vec(), 13).unwrap_err()
}

fn packed(elements: &[u8]) -> Vec<Bytes> {
    vec![Bytes::copy_from_slice(elements)]
}

fn floats(name: &str, elements: &[f32]) -> TensorProto {
    let bytes: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
    let dims = vec![elements.len() as i64];
    TensorProto { name: text(name), data_type: Some(1), dims, float_data: packed(&bytes), ..TensorProto::default() }
}

/// A node of an unknown operator with one attribute, and that attribute after the conversion.
fn kept(attribute: AttributeProto, opset: u32) -> AttributeProto {
    let own = NodeProto { domain: text("mine"), attribute: vec![attribute], ..node("Own", &["x"], "y") };
    let made = converted(model(vec![own], Vec::new()).encode_to_vec(), opset).unwrap();
    made.graph.unwrap().node[0].attribute[0].clone()
}

#[test]
fn attributes_of_all_kinds_are_kept() {
    let named =
        |ty: AttributeType| AttributeProto { name: text("a"), r#type: Some(ty.into()), ..AttributeProto::default() };
    let sparse = SparseTensorProto { values: Some(floats("v", &[1.0])), indices: None, dims: vec![4] };
    let tp = info("x", 1).r#type;
    let given = [
        AttributeProto { tensors: vec![floats("t", &[1.0, 2.0])], ..named(AttributeType::Tensors) },
        AttributeProto { sparse_tensor: Some(sparse.clone()), ..named(AttributeType::SparseTensor) },
        AttributeProto { sparse_tensors: vec![sparse; 2], ..named(AttributeType::SparseTensors) },
        AttributeProto { tp: tp.clone(), ..named(AttributeType::TypeProto) },
        AttributeProto { type_protos: tp.into_iter().collect(), ..named(AttributeType::TypeProtos) },
    ];
    for attribute in given {
        assert_eq!(kept(attribute.clone(), 13), attribute);
        // Old models leave out the kind.
        let untyped = AttributeProto { r#type: None, ..attribute.clone() };
        let kept = kept(untyped, 13);
        assert_eq!(AttributeProto { r#type: attribute.r#type, ..kept }, attribute);
    }
}

#[test]
fn lists_of_graphs_are_converted() {
    let graph = |op: &str| GraphProto {
        name: text(op),
        node: vec![node(op, &["x"], "inner")],
        output: vec![info("inner", 1)],
        ..GraphProto::default()
    };
    for ty in [Some(AttributeType::Graphs.into()), None] {
        let graphs = vec![graph("Mish"), graph("Relu")];
        let attribute = AttributeProto { name: text("a"), r#type: ty, graphs, ..AttributeProto::default() };
        let kept = kept(attribute, 13);
        assert_eq!(kept.r#type(), AttributeType::Graphs);
        let ops: Vec<Vec<&str>> = kept.graphs.iter().map(|g| g.node.iter().map(NodeProto::op_type).collect()).collect();
        assert_eq!(ops[1], ["Relu"]);
        assert!(ops[0].len() > 1 && !ops[0].contains(&"Mish"), "{ops:?}: Mish is newer than opset 13");
    }
}

/// The raw data of a weight after the conversion.
fn raw_of(tensor: TensorProto) -> Vec<u8> {
    let cast = NodeProto {
        attribute: vec![AttributeProto { name: text("to"), i: Some(1), r#type: Some(2), ..AttributeProto::default() }],
        ..node("Cast", &["w"], "y")
    };
    let made = converted(model(vec![cast], vec![tensor]).encode_to_vec(), 25).unwrap();
    made.graph.unwrap().initializer[0].raw_data.clone().unwrap_or_default().to_vec()
}

#[test]
fn elements_in_typed_fields_are_those_of_raw_data() {
    let of = |data_type: i32, count: i64| TensorProto {
        name: text("w"),
        data_type: Some(data_type),
        dims: vec![count],
        ..TensorProto::default()
    };
    // float16 and bfloat16: the bits as numbers, here 1.0 and -2.0.
    assert_eq!(
        raw_of(TensorProto { int32_data: packed(&[0x80, 0x78, 0x80, 0x80, 0x03]), ..of(10, 2) }),
        [0, 0x3c, 0, 0xc0]
    );
    assert_eq!(raw_of(TensorProto { int32_data: packed(&[0x80, 0x7f]), ..of(16, 1) }), [0x80, 0x3f]);
    // int8: negative numbers have ten bytes. bool, uint16, and int64 of several chunks.
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(raw_of(TensorProto { int32_data: packed(&minus_one), ..of(3, 1) }), [0xff]);
    assert_eq!(raw_of(TensorProto { int32_data: packed(&[1, 0]), ..of(9, 2) }), [1, 0]);
    assert_eq!(raw_of(TensorProto { int32_data: packed(&[0xff, 0xff, 0x03]), ..of(4, 1) }), [0xff, 0xff]);
    let chunks = vec![Bytes::from_static(&[5]), Bytes::copy_from_slice(&minus_one)];
    let eight = [[5u8, 0, 0, 0, 0, 0, 0, 0], [0xff; 8]].concat();
    assert_eq!(raw_of(TensorProto { int64_data: chunks, ..of(7, 2) }), eight);
    assert_eq!(raw_of(TensorProto { uint64_data: packed(&[0x80, 0x01]), ..of(12, 1) }), [0x80, 0, 0, 0]);
    // int4: two in a byte; three take two bytes.
    assert_eq!(raw_of(TensorProto { int32_data: packed(&[0xa1, 0x01, 0x0f]), ..of(22, 3) }), [0xa1, 0x0f]);
    // complex64: pairs of floats.
    let pair = [1.0f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat();
    let complex = TensorProto { float_data: packed(&pair), ..of(14, 1) };
    let own = NodeProto { domain: text("mine"), ..node("Own", &["w"], "y") };
    let made = converted(model(vec![own], vec![complex]).encode_to_vec(), 13).unwrap();
    assert_eq!(made.graph.unwrap().initializer[0].raw_data.clone().unwrap(), pair);
}

#[test]
fn elements_that_are_not_packed_are_read() {
    // TensorProto with dims [2], float, name "w" and two fields 4 of the wire type of a float.
    let mut tensor =
        TensorProto { name: text("w"), data_type: Some(1), dims: vec![2], ..TensorProto::default() }.encode_to_vec();
    for x in [1.5f32, -2.5] {
        tensor.push(4 << 3 | 5);
        tensor.extend(x.to_le_bytes());
    }
    let whole = model(vec![node("Add", &["x", "w"], "y")], Vec::new());
    let mut graph = whole.graph.clone().unwrap().encode_to_vec();
    graph.extend([5 << 3 | 2, tensor.len() as u8]);
    graph.extend(&tensor);
    let mut bytes = ModelProto { graph: None, ..whole }.encode_to_vec();
    bytes.extend([7 << 3 | 2, graph.len() as u8]);
    bytes.extend(&graph);
    assert!(graph.len() < 128 && tensor.len() < 128, "lengths of one byte");
    let made = converted(bytes, 13).unwrap();
    let raw = made.graph.unwrap().initializer[0].raw_data.clone().unwrap();
    assert_eq!(raw, [1.5f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat());
}

#[test]
fn wrong_models_are_refused_by_place_and_reason() {
    let add = || vec![node("Add", &["x", "w"], "y")];
    let short = TensorProto { dims: vec![3], ..floats("w", &[1.0, 2.0]) };
    let negative = TensorProto { dims: vec![-2], ..floats("w", &[1.0, 2.0]) };
    let huge = TensorProto { dims: vec![i64::MAX, 8], ..floats("w", &[1.0, 2.0]) };
    let none = TensorProto { float_data: Vec::new(), ..floats("w", &[1.0]) };
    let cut = TensorProto { data_type: Some(7), int64_data: packed(&[0x80]), ..floats("w", &[1.0]) };
    let unknown = TensorProto { data_type: Some(99), ..floats("w", &[1.0]) };
    let texts = TensorProto { data_type: Some(8), ..floats("w", &[1.0]) };
    let cases = [
        (model(add(), vec![short]), "weight `w`", "takes 12 bytes, but has 8"),
        (model(add(), vec![negative]), "weight `w`", "invalid sizes [-2]"),
        (model(add(), vec![huge]), "weight `w`", "invalid sizes"),
        (model(add(), vec![none]), "weight `w`", "it has no data"),
        (model(add(), vec![cut]), "weight `w`", "its `int64_data` is damaged"),
        (model(add(), vec![unknown]), "weight `w`", "unknown element type 99"),
        (model(add(), vec![texts]), "weight `w`", "expected 1 strings, found 0"),
        (model(add(), vec![floats("w", &[1.0]), floats("w", &[2.0])]), "weight `w`", "`w` is defined twice"),
        (
            model(vec![node("Relu", &["x"], "y"), node("Neg", &["x"], "y")], vec![]),
            "node `y` (Neg)",
            "`y` is defined twice",
        ),
        (
            model(vec![node("Relu", &["b"], "a"), node("Neg", &["a"], "b"), node("Abs", &["b"], "y")], vec![]),
            "node `a` (Relu)",
            "`b` is used before it is defined",
        ),
        (model(vec![node("Relu", &["x"], "z")], vec![]), "output `y`", "never defined"),
    ];
    for (model, place, reason) in cases {
        let message = refused(&model);
        assert!(message.starts_with("Input") && message.contains(place) && message.contains(reason), "{message}");
    }
    let whole = model(add(), vec![floats("w", &[1.0])]).encode_to_vec();
    for len in 1..whole.len() {
        // Some prefixes are whole messages.
        if let Err(error) = converted(whole[..len].to_vec(), 13) {
            assert!(!error.starts_with("Internal"), "{error}");
        }
    }
}
