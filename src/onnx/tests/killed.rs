//! A process that is killed while it saves models leaves a model with its own data, or no model and pieces that are named.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_onnx::proto::{GraphProto, ModelProto};
use aten2onnx_onnx::{ExternalData, Initializer, Model, pieces, read, write_file, write_files};

/// Names the folder in which [`a_process_that_saves`] saves.
const FOLDER: &str = "ATEN2ONNX_TEST_SAVES_IN";
/// The bytes of the data, some of which the writer writes in one piece and some in several.
const BYTES: usize = 200_000;

/// A model that has a number in its text and in each byte of its data.
fn model(number: u8) -> Model {
    let sizes = vec![BYTES as i64];
    let storage = Storage::Owned(vec![number; BYTES].into());
    let weight = Weight { name: "w".into(), dtype: Dtype::Uint8, sizes, strides: vec![1], offset: 0, storage };
    let proto = ModelProto {
        graph: Some(GraphProto::default()),
        doc_string: Some(number.to_string()),
        ..ModelProto::default()
    };
    Model { proto, weights: vec![Initializer { name: "w".into(), dtype: Dtype::Uint8, weight: Arc::new(weight) }] }
}

/// Saves one model and its data, and two models that share theirs, again and again. Does nothing unless another test starts it.
#[test]
fn a_process_that_saves() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    // Each process starts at another number.
    for number in (0..=u8::MAX).cycle().skip(std::process::id() as usize % 256) {
        let model = model(number);
        let external = ExternalData::Always;
        write_file(&model, &folder.join("m.onnx"), external, &[], &mut |_, _| Ok(())).unwrap();
        let both = [(&model, folder.join("a.onnx")), (&model, folder.join("b.onnx"))];
        write_files(&both, "w.data", external, &[], &mut |_, _| Ok(())).unwrap();
    }
}

fn started(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_that_saves"]).env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Fails if a model has other data than its own.
fn check(model: &Path, data: &Path) {
    if !model.exists() {
        return;
    }
    let number: u8 = read::read_file(model).unwrap().doc_string().parse().unwrap();
    let bytes = fs::read(data).unwrap();
    let (model, found) = (model.display(), bytes.first());
    assert!(bytes == [number; BYTES], "{model} has the number {number}, its data {found:?}");
}

/// Kills at this many moments: how often pieces were left, and how often no model.
fn kill(moments: usize) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let pairs = [("m.onnx", "m.onnx.data"), ("a.onnx", "w.data"), ("b.onnx", "w.data")];
    let (mut left, mut absent) = (0, 0);
    for _ in 0..moments {
        // Only files of this process tell that it saves.
        pairs.iter().for_each(|(model, _)| drop(fs::remove_file(at(model))));
        let mut child = started(folder.path());
        while !pairs.iter().any(|(model, _)| at(model).exists()) {
            thread::sleep(Duration::from_micros(200));
        }
        let random = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
        thread::sleep(Duration::from_micros(u64::from(random / 7 % 6000)));
        child.kill().unwrap();
        child.wait().unwrap();
        pairs.iter().for_each(|(model, data)| check(&at(model), &at(data)));
        let names = ["m.onnx", "m.onnx.data", "a.onnx", "b.onnx", "w.data"];
        let found: Vec<_> = names.iter().flat_map(|name| pieces::left_behind(&at(name))).collect();
        left += usize::from(!found.is_empty());
        let gone = ["m.onnx", "a.onnx"].iter().filter(|model| !at(model).exists());
        for model in gone {
            absent += 1;
            let help = read::read_file(&at(model)).unwrap_err().help.clone().unwrap_or_default();
            // A model that was never there has no pieces; those of the other model do not concern it.
            let names = [(*model).to_owned(), format!("{model}.data")];
            let own: Vec<_> = names.iter().flat_map(|name| pieces::left_behind(&at(name))).collect();
            assert!(help.contains(pieces::NEW) || help.contains(pieces::ASIDE) || own.is_empty(), "{help}: {own:?}");
        }
        let hidden = |name: &str| name.ends_with(pieces::NEW) || name.ends_with(pieces::ASIDE);
        let all = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let pieces: Vec<_> = all.filter(|path| hidden(path.file_name().unwrap().to_str().unwrap())).collect();
        assert_eq!(pieces.len(), found.len(), "each piece is named");
        pieces.iter().for_each(|piece| fs::remove_file(piece).unwrap());
    }
    (left, absent)
}

#[test]
fn a_kill_leaves_a_model_with_its_own_data() {
    let (left, _) = kill(40);
    assert!(left > 0, "no kill came in the middle of a save");
}

mod slow {
    #[test]
    fn a_thousand_kills_leave_a_model_with_its_own_data() {
        let (left, absent) = super::kill(1000);
        assert!(left > 100 && absent > 10, "{left} kills came in the middle of a save, {absent} left no model");
    }
}
