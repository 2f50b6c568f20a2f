//! What a small file can demand.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Links, Storage, Weight};
use aten2onnx_onnx::proto::tensor_proto::DataLocation;
use aten2onnx_onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, StringStringEntryProto, TensorProto,
};
use aten2onnx_onnx::{ExternalData, Initializer, Model, pack, write_file};
use prost::Message;

/// The bytes of the data, which take no space on the disk.
const DATA: u64 = 64 << 20;

fn external() -> TensorProto {
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    TensorProto {
        dims: vec![DATA as i64],
        data_type: Some(2),
        data_location: Some(DataLocation::External.into()),
        external_data: vec![entry("location", "w.bin")],
        ..TensorProto::default()
    }
}

/// A model with sparse constants, all of which have the whole data as their values, each in the body of the one before.
fn nested(depth: usize) -> ModelProto {
    let mut graph = GraphProto::default();
    for _ in 0..depth {
        let sparse = SparseTensorProto { values: Some(external()), ..SparseTensorProto::default() };
        let value = AttributeProto { sparse_tensor: Some(sparse), g: Some(graph), ..AttributeProto::default() };
        graph = GraphProto {
            node: vec![NodeProto { attribute: vec![value], ..NodeProto::default() }],
            ..GraphProto::default()
        };
    }
    ModelProto { graph: Some(graph), ..ModelProto::default() }
}

fn packed(model: &ModelProto, folder: &Path) -> String {
    let path = folder.join("m.onnx");
    fs::write(&path, model.encode_to_vec()).unwrap();
    pack::open(&path, Links::Stay).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn data_that_is_copied_again_and_again_is_refused_with_the_figure() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("w.bin")).unwrap().set_len(DATA).unwrap();
    assert_eq!(packed(&nested(2), folder.path()), "");
    let message = packed(&nested(20), folder.path());
    assert!(
        message.contains(&format!("come from {DATA} bytes, for which at most {}", 4 * DATA + (1 << 28))),
        "{message}"
    );
}

#[test]
fn weights_that_repeat_their_bytes_are_bounded_together() {
    let folder = tempfile::tempdir().unwrap();
    // Each is small enough alone.
    let model = |count: usize| {
        let storage = Storage::Owned(Arc::new([0; 4]));
        let weight = Weight {
            name: "w".into(),
            dtype: Dtype::Float32,
            sizes: vec![1 << 26],
            strides: vec![0],
            offset: 0,
            storage,
        };
        let initializer =
            |i: usize| Initializer { name: format!("w{i}"), dtype: Dtype::Float32, weight: Arc::new(weight.clone()) };
        let proto = ModelProto { graph: Some(GraphProto::default()), ..ModelProto::default() };
        Model { proto, weights: (0..count).map(initializer).collect() }
    };
    // It stops before anything is written.
    let stop = |_: u64, _: u64| Err(aten2onnx_core::error::Error::internal("stopped"));
    let save =
        |model: &Model| write_file(model, &folder.path().join("m.onnx"), ExternalData::Always, &[], &mut { stop });
    assert_eq!(save(&model(4)).unwrap_err().message, "stopped");
    let message = save(&model(5)).unwrap_err().message.clone();
    assert!(message.contains("take 1342177280 bytes") && message.contains("come from 4 bytes"), "{message}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}
