//! Models that point into their archive, and what makes them whole again.

use crate::common;
use crate::host;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::command::{MODEL, aten2onnx, done, failure, text};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Links, MappedFile, Storage, Weight};
use aten2onnx_onnx::graph::{Graph, Source, Type, Value, ValueInfo};
use aten2onnx_onnx::proto::ModelProto;
use aten2onnx_onnx::{ExternalData, ModelOptions, pack};
use prost::Message;

/// The archive in a folder of its own.
fn archive() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("m.pt2");
    fs::copy(common::root().join(MODEL), &copy).unwrap();
    (folder, copy)
}

#[test]
fn a_model_whose_weights_lie_beside_it_converts_into_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let (beside, whole) = (folder.path().join("beside.onnx"), folder.path().join("whole.onnx"));
    assert!(aten2onnx(&["export", MODEL, "-o", text(&beside), "--external-data", "always"]).status.success());
    assert!(aten2onnx(&["export", MODEL, "-o", text(&whole)]).status.success());
    let streamed = |path| aten2onnx(&["convert", path, "-o", "-", "--opset", "13"]).stdout;
    let expected = streamed(text(&whole));
    assert!(!expected.is_empty());
    assert!(streamed(text(&beside)) == expected);
}

#[test]
fn a_packed_model_keeps_its_functions() {
    let folder = tempfile::tempdir().unwrap();
    let [beside, packed, whole] = ["beside", "packed", "whole"].map(|name| folder.path().join(format!("{name}.onnx")));
    let export = ["export", MODEL, "--functions", "modules", "-o"];
    done(&[&export[..], &[text(&beside), "--external-data", "always"]].concat());
    done(&[&export[..], &[text(&whole)]].concat());
    done(&["pack", text(&beside), "-o", text(&packed)]);
    let read = |path| ModelProto::decode(fs::read(path).unwrap().as_slice()).unwrap();
    let (packed, whole) = (read(packed), read(whole));
    assert!(!whole.functions.is_empty());
    assert_eq!(packed.functions, whole.functions);
    assert_eq!(packed.graph.unwrap().node, whole.graph.unwrap().node);
}

#[test]
fn archives_that_readers_would_refuse_are_refused() {
    let (folder, copy) = archive();
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("m.onnx");
    let refused = failure(&["export", text(&copy), "-o", text(&out), "--external-data", "link"]);
    assert!(refused.contains("it is not in the folder of the model"), "{refused}");
    let refused = failure(&["export", text(&copy), "-o", "-", "--external-data", "link"]);
    assert!(refused.contains("omit `--external-data link`"), "{refused}");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.pt2");
        std::os::unix::fs::symlink(&copy, &link).unwrap();
        let out = folder.path().join("m.onnx");
        let refused = failure(&["export", text(&link), "-o", text(&out), "--external-data", "link"]);
        assert!(refused.contains("symbolic link"), "{refused}");
        fs::hard_link(&copy, folder.path().join("hard.pt2")).unwrap();
        let refused = failure(&["export", text(&copy), "-o", text(&out), "--external-data", "link"]);
        assert!(refused.contains("hard links"), "{refused}");
        assert!(!out.exists());
    }
}

/// A graph that reads a weight of a mapped file, plain and transposed, and one that was made here.
fn strided(path: &Path) -> Graph {
    let bytes: Vec<u8> = (0..1200).flat_map(|i| (i as f32).to_le_bytes()).collect();
    fs::write(path, [&[7u8; 64][..], &bytes].concat()).unwrap();
    let file = MappedFile::open(path).unwrap();
    let mapped = Storage::Mapped { file, start: 64, len: bytes.len() };
    let mut graph = Graph { opset: 18, ..Graph::default() };
    let mut add = |name: &str, sizes: [i64; 2], strides: [i64; 2], storage: &Storage| {
        let weight = Weight {
            name: name.into(),
            dtype: Dtype::Float32,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            offset: 0,
            storage: storage.clone(),
        };
        let ty = Type::sized(Dtype::Float32, &sizes);
        graph.values.push(ValueInfo { name: name.into(), ty, source: Source::Weight(Arc::new(weight)) });
        graph.initializers.push(Value::new(graph.values.len() as u32 - 1));
    };
    add("plain", [30, 40], [40, 1], &mapped);
    add("turned", [40, 30], [1, 40], &mapped);
    add("made", [30, 40], [40, 1], &Storage::Owned(bytes.into()));
    graph
}

#[test]
fn external_data_that_is_not_whole_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("m.pt2"), folder.path().join("m.onnx"));
    let model = aten2onnx_onnx::model::build(&strided(&source), &ModelOptions::default()).unwrap();
    aten2onnx_onnx::write_file(&model, &path, ExternalData::Link, &[], &mut |_, _| Ok(())).unwrap();
    let refusal = || pack::open(&path, Links::Stay).unwrap_err().to_string();
    fs::File::options().write(true).open(&source).unwrap().set_len(1000).unwrap();
    assert!(refusal().contains("exceed the 1000 bytes of `m.pt2`"), "{}", refusal());
    fs::remove_file(&source).unwrap();
    assert!(refusal().contains("No such file"), "{}", refusal());
    let bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|w| w == b"m.pt2").unwrap();
    let mut outside = bytes.clone();
    outside[at..at + 5].copy_from_slice(b"../pt");
    fs::write(&path, outside).unwrap();
    assert!(refusal().contains("outside of the model's folder"), "{}", refusal());
}

/// Judged by onnx and ONNX Runtime.
mod python {
    use super::*;

    const COMPUTES: &str = r#"
import sys, numpy as np, onnx, onnxruntime as ort
data, path = sys.argv[1:]
onnx.checker.check_model(path, full_check=True)
session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
inputs, expected = np.load(f"{data}.inputs.npz"), np.load(f"{data}.expected.npz")
for size in ("1", "3"):
    found, = session.run(None, {"x": inputs["x" + size]})
    np.testing.assert_allclose(found, expected["y" + size], rtol=1e-3, atol=1e-4)
"#;

    #[test]
    fn a_linked_model_is_small_and_computes_what_pytorch_does() {
        let (folder, copy) = archive();
        let linked = folder.path().join("linked.onnx");
        let output = aten2onnx(&["export", text(&copy), "-o", text(&linked), "--external-data", "link"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let weights = fs::metadata(&copy).unwrap().len();
        let written: u64 = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert!(written - weights < weights / 8, "{} bytes beside {weights}", written - weights);
        let data = MODEL.trim_end_matches(".pt2");
        host::python(COMPUTES, &[data, text(&linked)]);

        let elsewhere = tempfile::tempdir().unwrap();
        let whole = elsewhere.path().join("whole.onnx");
        let output = aten2onnx(&["pack", text(&linked), "-o", text(&whole)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        host::python(COMPUTES, &[data, text(&whole)]);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);

        // In its place, after which the archive is not needed.
        assert!(aten2onnx(&["pack", text(&linked), "--quiet"]).status.success());
        fs::remove_file(&copy).unwrap();
        host::python(COMPUTES, &[data, text(&linked)]);
    }

    #[test]
    fn what_cannot_be_linked_goes_to_a_side_file() {
        let folder = tempfile::tempdir().unwrap();
        let (source, path) = (folder.path().join("m.pt2"), folder.path().join("m.onnx"));
        let model = aten2onnx_onnx::model::build(&strided(&source), &ModelOptions::default()).unwrap();
        let written = aten2onnx_onnx::write_file(&model, &path, ExternalData::Link, &[], &mut |_, _| Ok(())).unwrap();
        assert_eq!((written.linked, written.weights), (4800, 3 * 4800));
        assert_eq!(written.data, Some((folder.path().join("m.onnx.data"), 8192 + 4800)));
        const CHECK: &str = r#"
import sys, numpy as np, onnx
from onnx.external_data_helper import ExternalDataInfo
path, locations = sys.argv[1:]
found = onnx.load(path, load_external_data=False).graph.initializer
assert [ExternalDataInfo(t).location for t in found] == locations.split(","), found
plain = np.arange(1200, dtype=np.float32).reshape(30, 40)
for tensor, want in zip(onnx.load(path).graph.initializer, [plain, plain.T, plain]):
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), want)
"#;
        host::python(CHECK, &[text(&path), "m.pt2,m.onnx.data,m.onnx.data"]);
        let packed = folder.path().join("p.onnx");
        let model = pack::open(&path, Links::Stay).unwrap();
        aten2onnx_onnx::write_file(&model, &packed, ExternalData::Always, &[], &mut |_, _| Ok(())).unwrap();
        host::python(CHECK, &[text(&packed), "p.onnx.data,p.onnx.data,p.onnx.data"]);
        // A file is not written over while it is read.
        let error =
            aten2onnx_onnx::write_file(&model, &path, ExternalData::Always, &[], &mut |_, _| Ok(())).unwrap_err();
        assert!(error.message.ends_with("the model is read from it"), "{error}");
    }
}
