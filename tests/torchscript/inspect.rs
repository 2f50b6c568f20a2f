//! What `inspect` tells of TorchScript files, with and without descriptions of their inputs.

use std::process::Command;

use aten2onnx::frontend;
use aten2onnx::options::SourceOptions;
use aten2onnx::weights::MappedFile;

use super::samples;

fn inspected(name: &str, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let output = command.current_dir(samples::folder()).args(["inspect", name]).args(more).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn expect(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

#[test]
fn recorded_inputs_are_shown_and_opsets_are_known() {
    let text = inspected("traced_cnn.pt", &[]);
    expect(
        &text,
        &[
            "traced_cnn.pt, a TorchScript archive of version 3\n",
            "Methods\n  forward(x: Tensor) -> Tensor\n    x  recorded: float32[1, 3, 16, 16]\n",
            "Outputs\n  output  float32[1, 5]\n",
            "13 tensors, 1029 elements, 4.1 kB (13 float32)",
            "      2  aten::batch_norm           bn1, bn2\n",
            "Opsets\n  9-28: yes\n",
        ],
    );
}

#[test]
fn inputs_that_are_not_recorded_are_asked_for() {
    let text = inspected("script_for.pt", &[]);
    expect(
        &text,
        &[
            "  forward(x: Tensor, n: int) -> Tensor\n",
            "    x  to be described, such as --input \"x:f32[batch,3,224,224]\"\n",
            "    n  to be described, such as --input \"n:int\"\n",
            "2 tensors, 20 elements, 80 bytes (2 float32)",
            "      1  aten::linear          torch.nn.modules.linear.Linear.forward\n",
            "9-28: no\n    the file does not say what the inputs of",
        ],
    );
    let text = inspected("script_for.pt", &["--input", "x:f32[3,4]", "--input", "n=2", "--opset", "18"]);
    expect(&text, &["Inputs\n  x  float32[3, 4]\n", "  18: yes\n"]);
}

#[test]
fn methods_defaults_and_dtypes_are_shown() {
    expect(&inspected("trace_methods.pt", &[]), &["  encode(", "  decode("]);
    let text = inspected("quantized_scripted.pt", &["--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let method = &value["torchscript"]["methods"][0];
    assert_eq!(method["parameters"][0]["describe"], "x:f32[batch,3,224,224]");
    assert_eq!(value["torchscript"]["version"], 3);
    assert!(value["weights"]["dtypes"]["int8"].as_u64() > Some(0), "{}", value["weights"]);
    assert!(text.contains("quantized::conv2d"));
    let value: serde_json::Value = serde_json::from_str(&inspected("nms_roi.pt", &["--json"])).unwrap();
    assert_eq!(value["opsets"].as_array().unwrap().len(), 20);
}

#[test]
fn every_sample_has_methods_and_operators() {
    let rules = aten2onnx::rules();
    for entry in std::fs::read_dir(samples::folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pt") {
            let contents = frontend::contents(MappedFile::open(&path).unwrap(), &SourceOptions::default(), &rules);
            let contents = contents.unwrap_or_else(|error| panic!("{error}"));
            let about = contents.about.unwrap();
            assert!(!about.facts.methods.is_empty(), "{}", path.display());
            // Without descriptions of inputs there may be no program, but there is a reason.
            assert!(contents.program.is_ok() || !about.operators.is_empty(), "{}", path.display());
        }
    }
}
