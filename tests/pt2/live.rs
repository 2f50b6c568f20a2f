//! A program whose weights lie in memory of the caller is the program of the file.

use std::collections::HashMap;
use std::sync::Arc;

use aten2onnx::export::export_program;
use aten2onnx::frontend::pt2;
use aten2onnx::program::Program;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::weights::{MappedFile, Memory, Storage, Weight};

/// Memory that is not the library's.
#[derive(Debug)]
struct Elsewhere(Vec<u8>);

impl Memory for Elsewhere {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn mobilenet() -> std::path::PathBuf {
    crate::common::root().join("tests/data/models/mobilenet_like.pt2")
}

/// The weights of a program by name, their bytes copied elsewhere.
fn lent(program: &Program) -> HashMap<String, Weight> {
    let lend = |weight: &Weight| {
        let memory = Elsewhere(weight.storage.bytes().to_vec());
        Weight { storage: Storage::Lent(Arc::new(memory)), ..weight.clone() }
    };
    program.weights.iter().map(|bound| (bound.weight.name.clone(), lend(&bound.weight))).collect()
}

fn written(program: Program) -> Vec<u8> {
    let exported = export_program(program, aten2onnx::Exporter::new().options()).unwrap();
    let mut bytes = Vec::new();
    exported.write_to(&mut bytes, &mut |_, _| Ok(())).unwrap();
    bytes
}

#[test]
fn lent_weights_give_the_same_model() {
    let read = pt2::read(&mobilenet()).unwrap();
    let archive = Archive::of_file(MappedFile::open(&mobilenet()).unwrap()).unwrap();
    let json = archive.bytes("models/model.json").unwrap();
    let live = pt2::read_live("mobilenet", json, lent(&read), HashMap::new()).unwrap();
    assert_eq!(live.source, "mobilenet");
    assert!(written(live) == written(read));
}

#[test]
fn a_weight_that_is_not_lent_is_named() {
    let archive = Archive::of_file(MappedFile::open(&mobilenet()).unwrap()).unwrap();
    let json = archive.bytes("models/model.json").unwrap();
    let error = pt2::read_live("mobilenet", json, HashMap::new(), HashMap::new()).unwrap_err();
    assert!(error.to_string().contains("weight `features.0.0.weight`"), "{error}");
}

#[test]
fn who_is_told_of_the_progress_may_stop_the_writing() {
    let folder = tempfile::tempdir().unwrap();
    let exported = export_program(pt2::read(&mobilenet()).unwrap(), aten2onnx::Exporter::new().options()).unwrap();
    let stop = || aten2onnx_core::error::Error::new(aten2onnx_core::error::Kind::Stopped, "enough");
    let path = folder.path().join("m.onnx");
    let error = exported.write_file(&path, &mut |done, _| if done > 1000 { Err(stop()) } else { Ok(()) }).unwrap_err();
    assert_eq!(error, stop());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
