//! A source that changes while a model is written ends in an error, and in no file.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Kind};
use aten2onnx_core::weights::{Links, MappedFile, Storage, Weight};
use aten2onnx_onnx::proto::{GraphProto, ModelProto};
use aten2onnx_onnx::{ExternalData, Initializer, Model, pack, write_file, write_files, write_to};

const COLUMNS: i64 = 1 << 10;
const LEN: usize = 4 << 20;

/// A model with a weight of a file: as it lies there, or transposed.
fn model(source: &Path, transposed: bool) -> Model {
    let file = MappedFile::open(source).unwrap();
    let rows = LEN as i64 / COLUMNS;
    let (sizes, strides) = match transposed {
        false => (vec![rows, COLUMNS], vec![COLUMNS, 1]),
        true => (vec![COLUMNS, rows], vec![1, COLUMNS]),
    };
    let storage = Storage::Mapped { file, start: 0, len: LEN };
    let weight = Weight { name: "w".into(), dtype: Dtype::Uint8, sizes, strides, offset: 0, storage };
    let proto = ModelProto { graph: Some(GraphProto::default()), ..ModelProto::default() };
    Model { proto, weights: vec![Initializer { name: "w".into(), dtype: Dtype::Uint8, weight: Arc::new(weight) }] }
}

/// What somebody else does to the source.
type Change = fn(&Path);

const CHANGES: [(&str, Change); 3] = [
    ("shorter", |path| File::options().write(true).open(path).unwrap().set_len(100).unwrap()),
    ("written", |path| {
        use std::io::Write;
        File::options().write(true).open(path).unwrap().write_all(b"other bytes").unwrap();
    }),
    ("longer", |path| File::options().write(true).open(path).unwrap().set_len(2 * LEN as u64).unwrap()),
];

#[test]
fn a_change_is_an_error_and_leaves_no_file() {
    for (name, change) in CHANGES {
        for transposed in [false, true] {
            for external in [ExternalData::Always, ExternalData::Never] {
                let folder = tempfile::tempdir().unwrap();
                let source = folder.path().join("w.bin");
                fs::write(&source, vec![7; LEN]).unwrap();
                let model = model(&source, transposed);
                let out = folder.path().join("m.onnx");
                let mut early = Some(());
                // The first bytes that are written are the model's own, or the weight's.
                let mut progress = |_: u64, _: u64| {
                    early.take().into_iter().for_each(|()| change(&source));
                    Ok(())
                };
                let error = write_file(&model, &out, external, &[], &mut progress).unwrap_err();
                let case = format!("{name} {transposed} {external:?}: {error}");
                assert!(error.kind == Kind::Io && error.message.contains("changed while it was read"), "{case}");
                assert!(error.to_string().contains("w.bin"), "{case}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{case}");
            }
        }
    }
}

#[test]
fn a_change_before_the_first_byte_is_found_too() {
    for (name, change) in CHANGES {
        for transposed in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let source = folder.path().join("w.bin");
            fs::write(&source, vec![7; LEN]).unwrap();
            let model = model(&source, transposed);
            change(&source);
            let both = [(&model, folder.path().join("a.onnx")), (&model, folder.path().join("b.onnx"))];
            let errors: [Error; 2] = [
                write_files(&both, "w.data", ExternalData::Always, &[], &mut |_, _| Ok(())).unwrap_err(),
                write_to(&model, &mut Vec::new(), &mut |_, _| Ok(())).unwrap_err(),
            ];
            for error in errors {
                assert!(error.message.contains("changed while it was read"), "{name} {transposed}: {error}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn what_does_not_change_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("w.bin");
    let bytes: Vec<u8> = (0..LEN).map(|i| (i / 3) as u8).collect();
    fs::write(&source, &bytes).unwrap();
    let out = folder.path().join("m.onnx");
    write_file(&model(&source, true), &out, ExternalData::Always, &[], &mut |_, _| Ok(())).unwrap();
    let rows = LEN / COLUMNS as usize;
    let wanted = (0..LEN).map(|i| bytes[(i % rows) * COLUMNS as usize + i / rows]);
    assert!(fs::read(folder.path().join("m.onnx.data")).unwrap() == wanted.collect::<Vec<u8>>());
    // Data of a packed model, too.
    let packed = pack::open(&out, Links::Stay).unwrap();
    File::options().write(true).open(folder.path().join("m.onnx.data")).unwrap().set_len(5).unwrap();
    let error = write_file(&packed, &folder.path().join("n.onnx"), ExternalData::Never, &[], &mut |_, _| Ok(()));
    assert!(error.unwrap_err().message.contains("changed while it was read"));
}
