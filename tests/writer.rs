//! The writer: what it writes is read back, checked by onnx, the same every time, and whole or not there.

use crate::host;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Kind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::{MappedFile, Storage, Weight};
use aten2onnx_onnx::graph::{Attr, Body, Constant, Graph, Node, Origin, Source, Type, Value, ValueInfo};
use aten2onnx_onnx::proto::{ModelProto, TensorProto};
use aten2onnx_onnx::{ExternalData, ModelOptions, Provenance, Written};

/// A graph under construction.
#[derive(Default)]
struct Hand(Graph);

impl Hand {
    fn value(&mut self, name: &str, ty: Type, source: Source) -> Value {
        self.0.values.push(ValueInfo { name: name.to_owned(), ty, source });
        Value::new(self.0.values.len() as u32 - 1)
    }

    fn input(&mut self, name: &str, ty: Type) -> Value {
        let value = self.value(name, ty, Source::Input);
        self.0.body.inputs.push(value);
        value
    }

    fn weight(&mut self, weight: &Arc<Weight>) -> Value {
        let ty = Type::sized(weight.dtype, &weight.sizes);
        let value = self.value(&weight.name, ty, Source::Weight(Arc::clone(weight)));
        self.0.initializers.push(value);
        value
    }

    fn constant(&mut self, name: &str, constant: Constant) -> Value {
        let ty = Type::sized(constant.dtype, &constant.sizes);
        let value = self.value(name, ty, Source::Constant(constant));
        self.0.initializers.push(value);
        value
    }

    fn node(&mut self, op: &'static str, inputs: &[Value], name: &str, ty: Type) -> Value {
        let output = self.value(name, ty, Source::Node);
        let inputs = inputs.iter().copied().map(Some).collect();
        let name = format!("{name}/{op}");
        let node = Node { op, name, inputs, outputs: vec![Some(output)], attrs: Vec::new(), origin: 0 };
        self.0.body.nodes.push(node);
        output
    }
}

fn floats(name: &str, sizes: &[i64], strides: &[i64], count: usize) -> Arc<Weight> {
    let bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
    Arc::new(Weight {
        name: name.to_owned(),
        dtype: Dtype::Float32,
        sizes: sizes.to_vec(),
        strides: strides.to_vec(),
        offset: 0,
        storage: Storage::Owned(bytes.into()),
    })
}

/// `y = (x @ a + b) * 2`, `a` being transposed in its storage, for `x` of `[batch, 40]`.
fn model() -> Graph {
    let f32s = |columns: i64| Type::tensor(Dtype::Float32, vec![SymInt::symbol("s77"), SymInt::from(columns)]);
    let mut hand = Hand::default();
    hand.0.opset = 18;
    hand.0.provenance.push(Origin {
        node_name: "linear".into(),
        module: Some("layer1.0".into()),
        module_type: Some("torch.nn.modules.linear.Linear".into()),
        source_line: Some(r#"File "/home/someone/net.py", line 3, in forward"#.into()),
        rule: "aten::linear".into(),
        metadata: Vec::new(),
    });
    let x = hand.input("x", f32s(40));
    let a = hand.weight(&floats("a", &[40, 30], &[1, 40], 1200));
    let b = hand.weight(&floats("b", &[30], &[1], 30));
    let two = hand.constant("two", Constant::new(Dtype::Float32, vec![], 2f32.to_le_bytes()));
    let product = hand.node("MatMul", &[x, a], "product", f32s(30));
    let sum = hand.node("Add", &[product, b], "sum", f32s(30));
    let y = hand.node("Mul", &[sum, two], "y", f32s(30));
    hand.0.body.outputs.push(y);
    hand.0
}

fn write(graph: &Graph, options: &ModelOptions, path: &Path, external: ExternalData) -> Result<Written> {
    let model = aten2onnx_onnx::model::build(graph, options)?;
    let mut progress = |done, total| {
        assert!(done <= total);
        Ok(())
    };
    aten2onnx_onnx::write_file(&model, path, external, &[], &mut progress)
}

fn read(path: &Path) -> ModelProto {
    aten2onnx_onnx::read::read_file(path).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn initializer<'a>(model: &'a ModelProto, name: &str) -> &'a TensorProto {
    model.graph.as_ref().unwrap().initializer.iter().find(|t| t.name() == name).unwrap()
}

fn external(tensor: &TensorProto) -> HashMap<&str, &str> {
    tensor.external_data.iter().map(|entry| (entry.key(), entry.value())).collect()
}

#[test]
fn one_file_holds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let written = write(&model(), &ModelOptions::default(), &path, ExternalData::Auto).unwrap();
    assert_eq!(names(folder.path()), ["m.onnx"]);
    assert_eq!(written.model, fs::metadata(&path).unwrap().len());
    assert_eq!((written.data.clone(), written.weights), (None, 4 * 1230));
    let model = read(&path);
    assert_eq!((model.ir_version(), model.producer_name()), (4, "aten2onnx"));
    assert_eq!(model.opset_import[0].version(), 18);
    let a = initializer(&model, "a").raw_data().to_vec();
    let a: Vec<f32> = a.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!(a[..3], [0.0, 40.0, 80.0], "the transposed weight is in row-major order");
    let graph = model.graph.unwrap();
    let inner: Vec<&str> = graph.value_info.iter().map(|v| v.name()).collect();
    assert_eq!(inner, ["product", "sum"]);
    assert!(format!("{:?}", graph.input[0]).contains("s77"));
}

#[test]
fn external_data_is_aligned_and_shared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let shared = Storage::Owned(vec![7u8; 2 << 20].into());
    let weight = |name: &str, storage: &Storage, len: i64| {
        let (sizes, strides) = (vec![len], vec![1]);
        Weight { name: name.into(), dtype: Dtype::Int8, sizes, strides, offset: 0, storage: storage.clone() }
    };
    let mut hand = Hand::default();
    hand.0.opset = 9;
    for weight in [
        weight("small", &shared, 1023),
        weight("page", &Storage::Owned(vec![1; 5000].into()), 5000),
        weight("large", &shared, 2 << 20),
        weight("again", &shared, 2 << 20),
        weight("last", &Storage::Owned(vec![2; 1024].into()), 1024),
    ] {
        hand.weight(&Arc::new(weight));
    }
    let written = write(&hand.0, &ModelOptions::default(), &path, ExternalData::Always).unwrap();
    let model = read(&path);
    let place = |name: &str| {
        let entries = external(initializer(&model, name));
        assert_eq!(entries["location"], "m.onnx.data");
        (entries["offset"].parse::<u64>().unwrap(), entries["length"].parse::<u64>().unwrap())
    };
    assert_eq!(initializer(&model, "small").raw_data().len(), 1023);
    assert_eq!(place("page"), (0, 5000));
    assert_eq!(place("large"), (64 << 10, 2 << 20));
    assert_eq!(place("again"), place("large"));
    let end = (64 << 10) + (2 << 20);
    assert_eq!(place("last"), (end, 1024));
    let data = fs::read(folder.path().join("m.onnx.data")).unwrap();
    assert_eq!(data.len() as u64, end + 1024);
    assert_eq!(written.data.unwrap().1, end + 1024);
    assert_eq!((data[4999], data[5000], data[64 << 10], data[end as usize]), (1, 0, 7, 2));
}

#[test]
fn a_stream_gets_the_same_bytes_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let model = aten2onnx_onnx::model::build(&model(), &ModelOptions::default()).unwrap();
    aten2onnx_onnx::write_to(&model, &mut bytes, &mut |_, _| Ok(())).unwrap();
    for name in ["a.onnx", "another name.onnx"] {
        let path = folder.path().join(name);
        aten2onnx_onnx::write_file(&model, &path, ExternalData::Never, &[], &mut |_, _| Ok(())).unwrap();
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
}

#[test]
fn the_limit_of_protobuf_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    // 3 GiB in a storage of 48 MiB.
    let weight = Weight {
        name: "w".into(),
        dtype: Dtype::Int8,
        sizes: vec![64, 48 << 20],
        strides: vec![0, 1],
        offset: 0,
        storage: Storage::Owned(vec![1; 48 << 20].into()),
    };
    let mut hand = Hand::default();
    hand.weight(&Arc::new(weight));
    let error = write(&hand.0, &ModelOptions::default(), &path, ExternalData::Never).unwrap_err();
    assert!(error.message.ends_with("but protobuf's limit is 2 GiB"), "{error}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_failure_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    fs::create_dir(folder.path().join("m.onnx.data")).unwrap();
    let error = write(&model(), &ModelOptions::default(), &path, ExternalData::Always).unwrap_err();
    assert_eq!(error.kind, Kind::Io);
    assert_eq!(names(folder.path()), ["m.onnx.data"]);
    let error = write(&model(), &ModelOptions::default(), &folder.path().join("no/m.onnx"), ExternalData::Auto);
    assert!(error.unwrap_err().message.contains("does not exist"));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_never_replaced() {
    let full = write(&model(), &ModelOptions::default(), Path::new("/dev/full"), ExternalData::Auto).unwrap_err();
    assert_eq!((full.kind, full.message.as_str()), (Kind::Io, "cannot write `/dev/full`: the disk is full"));
    write(&model(), &ModelOptions::default(), Path::new("/dev/null"), ExternalData::Auto).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let beside = write(&model(), &ModelOptions::default(), Path::new("/dev/null"), ExternalData::Always).unwrap_err();
    assert!(beside.message.contains("cannot have external data"), "{beside}");
}

#[test]
fn the_source_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.pt2");
    fs::write(&path, [0u8; 16]).unwrap();
    let storage = Storage::Mapped { file: MappedFile::open(&path).unwrap(), start: 4, len: 8 };
    let weight =
        Weight { name: "w".into(), dtype: Dtype::Float32, sizes: vec![2], strides: vec![1], offset: 0, storage };
    let mut hand = Hand::default();
    hand.weight(&Arc::new(weight));
    let error = write(&hand.0, &ModelOptions::default(), &path, ExternalData::Auto).unwrap_err();
    assert!(error.message.ends_with("the model is read from it"), "{error}");
    write(&hand.0, &ModelOptions::default(), &folder.path().join("m.onnx"), ExternalData::Auto).unwrap();
}

#[test]
fn the_ir_version_is_the_lowest_that_will_do() {
    let version = |graph: &Graph, ir: Option<u32>| {
        let options = ModelOptions { ir, ..ModelOptions::default() };
        aten2onnx_onnx::model::build(graph, &options).map(|model| model.proto.ir_version())
    };
    assert_eq!(version(&model(), None), Ok(4));
    assert_eq!(version(&model(), Some(8)), Ok(8));
    assert_eq!(version(&model(), Some(14)), Ok(14));
    let refused = version(&model(), Some(3)).unwrap_err();
    assert_eq!(refused.help.clone().unwrap(), "the model needs IR version 4 for initializers that are not inputs");
    assert!(version(&model(), Some(15)).is_err());
    for (dtype, ir) in [(Dtype::Float8E5M2, 9), (Dtype::Int4, 10), (Dtype::Float4E2M1, 11), (Dtype::Float8E8M0, 12)] {
        let mut hand = Hand::default();
        hand.input("x", Type::sized(dtype, &[2]));
        assert_eq!(version(&hand.0, None), Ok(ir), "{dtype}");
    }
    let mut hand = Hand::default();
    hand.input("x", Type::Optional(Box::new(Type::sized(Dtype::Float32, &[2]))));
    assert_eq!(version(&hand.0, None), Ok(8));
}

#[test]
fn provenance_is_as_much_as_asked_for_and_never_a_path() {
    let text = |provenance, ir| {
        let options = ModelOptions { provenance, ir, ..ModelOptions::default() };
        format!("{:?}", aten2onnx_onnx::model::build(&model(), &options).unwrap().proto)
    };
    let none = text(Provenance::None, None);
    assert!(none.contains("MatMul_0") && none.contains("v0") && !none.contains("product"));
    let compact = text(Provenance::Compact, None);
    assert!(compact.contains("product/MatMul") && !compact.contains("aten::linear"));
    for ir in [None, Some(10)] {
        let full = text(Provenance::Full, ir);
        assert!(full.contains("aten::linear") && full.contains("net.py") && !full.contains("/home"), "{full}");
        assert_eq!(full.contains("aten2onnx.source"), ir.is_some());
    }
}

#[test]
fn attributes_with_their_default_are_written_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut hand = Hand::default();
    hand.0.opset = 18;
    let x = hand.input("x", Type::sized(Dtype::Float32, &[2]));
    let y = hand.node("LeakyRelu", &[x], "y", Type::sized(Dtype::Float32, &[2]));
    let z = hand.node("Elu", &[y], "z", Type::sized(Dtype::Float32, &[2]));
    hand.0.body.nodes[1].attrs.push(("alpha", Attr::Float(2.0)));
    hand.0.body.outputs.push(z);
    let attributes = |explicit_attributes| {
        let options = ModelOptions { explicit_attributes, ..ModelOptions::default() };
        write(&hand.0, &options, &path, ExternalData::Auto).unwrap();
        let nodes = read(&path).graph.unwrap_or_default().node.into_iter();
        let of = |node: aten2onnx_onnx::proto::NodeProto| {
            node.attribute.iter().map(|attribute| (attribute.name().to_owned(), attribute.f())).collect::<Vec<_>>()
        };
        nodes.map(of).collect::<Vec<_>>()
    };
    let elu = vec![("alpha".to_owned(), 2.0)];
    assert_eq!(attributes(false), [Vec::new(), elu.clone()]);
    assert_eq!(attributes(true), [vec![("alpha".to_owned(), 0.01)], elu]);
}

#[test]
fn strides_of_each_axis_are_written_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut hand = Hand::default();
    hand.0.opset = 18;
    let x = hand.input("x", Type::sized(Dtype::Float32, &[1, 2, 5, 6]));
    let y = hand.node("AveragePool", &[x], "y", Type::sized(Dtype::Float32, &[1, 2, 3, 5]));
    hand.0.body.nodes[0].attrs.push(("kernel_shape", Attr::Ints(vec![3, 2])));
    hand.0.body.outputs.push(y);
    let strides = |explicit_attributes| {
        let options = ModelOptions { explicit_attributes, ..ModelOptions::default() };
        write(&hand.0, &options, &path, ExternalData::Auto).unwrap();
        let node = read(&path).graph.unwrap_or_default().node.remove(0);
        node.attribute.into_iter().find(|attribute| attribute.name() == "strides").map(|attribute| attribute.ints)
    };
    assert_eq!(strides(false), None);
    assert_eq!(strides(true), Some(vec![1, 1]), "schemas say in their text alone that strides are 1");
}

#[test]
fn dimensions_inputs_and_outputs_take_the_names_of_the_user() {
    let graph = model();
    let options = ModelOptions {
        dims: HashMap::from([("s77".to_owned(), SymInt::symbol("batch"))]),
        names: HashMap::from([(graph.body.inputs[0], "sum".to_owned()), (graph.body.outputs[0], "logits".to_owned())]),
        ..ModelOptions::default()
    };
    let proto = aten2onnx_onnx::model::build(&graph, &options).unwrap().proto;
    let text = format!("{proto:?}");
    assert!(text.contains("batch") && !text.contains("s77"));
    let graph = proto.graph.unwrap();
    assert_eq!((graph.input[0].name(), graph.output[0].name()), ("sum", "logits"));
    assert_eq!(graph.node[1].output, ["sum_"], "the inner value of this name makes way");
}

/// A loop that doubles `x` three times, with a sequence and absent inputs on the way.
fn with_a_body() -> Graph {
    let mut hand = Hand::default();
    hand.0.opset = 13;
    let f32s = Type::sized(Dtype::Float32, &[2]);
    let boolean = Type::sized(Dtype::Bool, &[]);
    let x = hand.input("x", f32s.clone());
    let trips = hand.constant("trips", Constant::new(Dtype::Int64, vec![], 3i64.to_le_bytes()));
    let i = hand.value("i", Type::sized(Dtype::Int64, &[]), Source::Input);
    let cond = hand.value("cond", boolean.clone(), Source::Input);
    let state = hand.value("state", f32s.clone(), Source::Input);
    let node = |op, inputs: &[Value], output| Node {
        op,
        name: op.to_owned(),
        inputs: inputs.iter().copied().map(Some).collect(),
        outputs: vec![Some(output)],
        attrs: Vec::new(),
        origin: 0,
    };
    let more = hand.value("more", boolean, Source::Node);
    let doubled = hand.value("doubled", f32s.clone(), Source::Node);
    let nodes = vec![node("Identity", &[cond], more), node("Add", &[state, state], doubled)];
    let body = Body { inputs: vec![i, cond, state], nodes, outputs: vec![more, doubled] };
    let looped = hand.node("Loop", &[trips, x], "looped", f32s.clone());
    if let Some(node) = hand.0.body.nodes.last_mut() {
        node.inputs.insert(1, None);
        node.attrs.push(("body", Attr::Graph(body)));
    }
    let clipped = hand.node("Clip", &[looped, looped], "clipped_to_first", Type::sized(Dtype::Float32, &[2]));
    if let Some(node) = hand.0.body.nodes.last_mut() {
        node.inputs = vec![Some(looped), None, None];
    }
    hand.0.body.outputs.push(clipped);
    hand.0
}

/// Judged by onnx and ONNX Runtime.
mod python {
    use super::*;

    #[test]
    fn onnx_and_onnxruntime_take_what_is_written() {
        const CHECK: &str = r#"
import sys, numpy as np, onnx, onnxruntime as ort
paths = sys.argv[1:]
for path in paths:
    onnx.checker.check_model(path, full_check=True)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0]
    if feed.shape == [2]:
        x = np.array([1, -3], np.float32)
        wanted = 8 * x
    else:
        x = np.arange(80, dtype=np.float32).reshape(2, 40)
        wanted = (x @ np.arange(1200, dtype=np.float32).reshape(30, 40).T + np.arange(30, dtype=np.float32)) * 2
    found, = session.run(None, {feed.name: x})
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
print(len(paths))
"#;
        let folder = tempfile::tempdir().unwrap();
        let options = |provenance, ir| ModelOptions { provenance, ir, ..ModelOptions::default() };
        let cases = [
            (model(), options(Provenance::Compact, None), ExternalData::Never),
            (model(), options(Provenance::Compact, None), ExternalData::Always),
            (model(), options(Provenance::None, Some(13)), ExternalData::Auto),
            (model(), options(Provenance::Full, None), ExternalData::Auto),
            (model(), options(Provenance::Full, Some(10)), ExternalData::Auto),
            (with_a_body(), options(Provenance::Compact, None), ExternalData::Auto),
            (with_a_body(), options(Provenance::None, None), ExternalData::Always),
        ];
        let mut paths = Vec::new();
        for (i, (graph, options, external)) in cases.iter().enumerate() {
            let path = folder.path().join(format!("{i}.onnx"));
            write(graph, options, &path, *external).unwrap();
            paths.push(path.to_str().unwrap().to_owned());
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(host::python(CHECK, &paths), cases.len().to_string());
    }
}
