//! Data that other models read is not replaced.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_onnx::proto::{GraphProto, ModelProto};
use aten2onnx_onnx::{ExternalData, Initializer, Model, write_file, write_files};

fn model(byte: u8) -> Model {
    let storage = Storage::Owned(vec![byte; 5000].into());
    let weight =
        Weight { name: "w".into(), dtype: Dtype::Uint8, sizes: vec![5000], strides: vec![1], offset: 0, storage };
    let proto = ModelProto { graph: Some(GraphProto::default()), ..ModelProto::default() };
    Model { proto, weights: vec![Initializer { name: "w".into(), dtype: Dtype::Uint8, weight: Arc::new(weight) }] }
}

fn save(byte: u8, path: &Path) -> Result<()> {
    write_file(&model(byte), path, ExternalData::Always, &[], &mut |_, _| Ok(())).map(drop)
}

fn save_both(byte: u8, folder: &Path, names: [&str; 2]) -> Result<()> {
    let model = model(byte);
    let files = names.map(|name| (&model, folder.join(name)));
    write_files(&files, "w.data", ExternalData::Always, &[], &mut |_, _| Ok(())).map(drop)
}

#[test]
fn a_model_that_was_renamed_keeps_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let (model, kept) = (folder.path().join("m.onnx"), folder.path().join("best.onnx"));
    save(1, &model).unwrap();
    fs::rename(&model, &kept).unwrap();
    let error = save(2, &model).unwrap_err();
    assert!(error.message.contains("another model") && error.message.contains("best.onnx"), "{error}");
    assert!(error.help.clone().unwrap().contains("aten2onnx pack"));
    assert!(!model.exists());
    assert_eq!(fs::read(folder.path().join("m.onnx.data")).unwrap(), [1; 5000]);
    // The same weights are no danger, nor is the model where nothing else reads them.
    save(1, &model).unwrap();
    fs::remove_file(kept).unwrap();
    save(2, &model).unwrap();
    save(3, &model).unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 2);
}

#[test]
fn models_that_share_weights_are_replaced_together() {
    let folder = tempfile::tempdir().unwrap();
    save_both(1, folder.path(), ["a.onnx", "b.onnx"]).unwrap();
    save_both(2, folder.path(), ["a.onnx", "b.onnx"]).unwrap();
    let error = save_both(3, folder.path(), ["a.onnx", "c.onnx"]).unwrap_err();
    assert!(error.message.contains("b.onnx"), "{error}");
    assert_eq!(fs::read(folder.path().join("w.data")).unwrap(), [2; 5000]);
    assert_eq!(folder.path().read_dir().unwrap().count(), 3);
}
