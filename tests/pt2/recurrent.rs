//! Recurrent layers with a dynamic batch as PyTorch 2.6, 2.8 and 2.10 saved them: they record states of LSTM with a dimension too many.

use aten2onnx::program::{Graph, NodeOutput};
use aten2onnx::{Exporter, frontend::pt2};

use super::sample;

const VERSIONS: [&str; 3] = ["v26", "v28", "v210"];

/// The notes of an export that speak of records.
fn contradictions(name: &str) -> Vec<String> {
    let out = tempfile::tempdir().unwrap();
    let summary = Exporter::new()
        .export(sample(name), out.path().join("model.onnx"))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    summary.notes.into_iter().filter(|note| note.contains("PyTorch recorded")).collect()
}

#[test]
fn the_operator_is_believed_with_a_note() {
    for version in VERSIONS {
        let notes = contradictions(&format!("{version}_lstm"));
        assert_eq!(notes.len(), 2, "{notes:?}"); // both states are read
        for note in &notes {
            assert!(note.contains("float32[1, 1, ") && note.contains("the operator returns float32[1, "), "{note}");
        }
    }
}

#[test]
fn what_is_recorded_right_needs_no_note() {
    for version in VERSIONS {
        for kind in ["gru", "rnn"] {
            assert_eq!(contradictions(&format!("{version}_{kind}")), [""; 0]);
        }
    }
}

/// A sample with a changed graph, as an error or the notes of the export.
fn changed(name: &str, change: impl Fn(&mut Graph)) -> Result<Vec<String>, String> {
    let mut program = pt2::read(&sample(name)).unwrap();
    change(&mut program.graph);
    let exported = aten2onnx::export::export_program(program, &super::options());
    exported
        .map(|exported| exported.notes)
        .map_err(|error| format!("{error}\n{}", error.help.clone().unwrap_or_default()))
}

#[test]
fn where_nothing_is_known_the_record_is_believed() {
    let longer = |graph: &mut Graph| {
        let node = graph.nodes.iter().find(|node| node.target.contains("relu")).unwrap();
        let NodeOutput::Tensor(name) = node.outputs[0].clone() else { panic!("{node:?}") };
        graph.tensors.get_mut(&name).unwrap().sizes.push(7.into());
    };
    let error = changed("static_conv", longer).unwrap_err();
    assert!(error.contains("where PyTorch recorded") && error.contains("the record is believed, because"), "{error}");
}

#[test]
fn of_values_that_nobody_reads_nothing_is_said() {
    let only_the_sequence = |graph: &mut Graph| {
        graph.outputs.truncate(1);
        graph.nodes.retain(|node| !node.target.contains("mul") && !node.target.contains("add"));
    };
    let notes = changed("v26_lstm", only_the_sequence).unwrap();
    assert!(!notes.iter().any(|note| note.contains("PyTorch recorded")), "{notes:?}");
}

mod python {
    use crate::common::{python, root};

    /// Exports every sample and compares it with what the old PyTorch computed, at batches 1, 2 and 5.
    #[test]
    fn the_numbers_are_those_of_the_pytorch_that_saved_them() {
        let program = r#"
import json, pathlib, subprocess, sys, tempfile
import numpy as np, onnxruntime as ort
command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
compared = 0
for sample in sorted(folder.glob("v*_*.results.json")):
    pt2 = sample.with_name(sample.name.replace(".results.json", ".pt2"))
    for opset in (9, 14, 18, 23):
        with tempfile.TemporaryDirectory() as made:
            out = f"{made}/m.onnx"
            subprocess.run([command, "export", pt2, "-o", out, "--opset", str(opset)], check=True, capture_output=True)
            session = ort.InferenceSession(out, providers=["CPUExecutionProvider"])
            for case in json.loads(sample.read_text()):
                found = session.run(None, {session.get_inputs()[0].name: np.array(case["x"], np.float32)})
                assert len(found) == len(case["outputs"])
                for got, wanted in zip(found, case["outputs"]):
                    wanted = np.array(wanted, np.float32)
                    assert got.shape == wanted.shape, (pt2, opset, got.shape, wanted.shape)
                    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
                    compared += 1
print(compared)
"#;
        let folder = root().join("tests/data/pt2");
        let compared = python(program, &[env!("CARGO_BIN_EXE_aten2onnx"), folder.to_str().unwrap()]);
        // 4 opsets, 3 batches, 3 versions; 5 outputs of LSTM and 4 of the others.
        assert_eq!(compared, (4 * 3 * 3 * (5 + 4 + 4)).to_string());
    }
}
