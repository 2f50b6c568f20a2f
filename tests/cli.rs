//! The command line as a user meets it: messages, exit codes, streams.

use crate::common;
use crate::host;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const MODEL: &str = "tests/data/models/mobilenet_like.pt2";

fn aten2onnx(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    command.current_dir(common::root()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The exit code and what went to stderr.
fn failure(arguments: &[&str]) -> (i32, String) {
    let output = aten2onnx(arguments);
    assert!(output.stdout.is_empty(), "an error belongs on stderr");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn an_opset_that_we_do_not_have_is_wrong_usage() {
    for (opset, why) in [("8", "opset 8 is too old"), ("29", "opset 29 is not supported yet"), ("new", "not a number")]
    {
        let (code, text) = failure(&["export", MODEL, "--opset", opset]);
        assert_eq!(code, 2);
        assert!(text.contains(why) && text.contains("supported opsets: 9–28 (default: 18)"), "{text}");
    }
}

#[test]
fn missing_and_damaged_files_have_their_codes() {
    let (code, text) = failure(&["export", "no/such.pt2"]);
    assert_eq!(code, 3);
    assert_eq!(
        text,
        "error: No such file or directory\n  --> no/such.pt2\nhelp: the folder `no` does not exist, or cannot be read\n"
    );
    let (code, text) = failure(&["inspect", "Cargo.toml"]);
    assert_eq!(code, 4);
    assert!(text.starts_with("error: ") && text.contains("--> Cargo.toml"), "{text}");
}

#[test]
fn a_program_of_a_package_is_chosen_by_name() {
    const PACKAGE: &str = "tests/data/pt2/multi_model.pt2";
    let (code, text) = failure(&["inspect", PACKAGE]);
    assert_eq!(code, 4);
    assert!(text.contains("choose one of `dec/er`, `enc`") && text.contains("`--model NAME`"), "{text}");
    let shown = |name: &str| String::from_utf8(aten2onnx(&["inspect", PACKAGE, "--model", name]).stdout).unwrap();
    assert_ne!(shown("enc"), shown("dec/er"));
    let folder = tempfile::tempdir().unwrap();
    let target = path(folder.path(), "enc.onnx");
    assert!(aten2onnx(&["export", PACKAGE, "--model", "enc", "-o", &target]).status.success());
    assert!(fs::metadata(&target).unwrap().len() > 0);
}

#[test]
fn a_model_from_stdin_needs_a_name() {
    let (code, text) = failure(&["export", "-"]);
    assert_eq!(code, 3);
    assert!(text.contains("help: give the output"), "{text}");
}

#[test]
fn an_unknown_error_code_is_told() {
    let (code, text) = failure(&["explain-error", "E9999"]);
    assert_eq!(code, 5);
    assert!(text.contains("unknown error code `E9999`"), "{text}");
}

#[test]
fn an_error_code_has_a_page() {
    let output = aten2onnx(&["explain-error", "e0001"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("# E0001: "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let mut child = command.args(["ops", "--help"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let inspect = ["inspect", "--json", MODEL];
    let mut child = command
        .current_dir(common::root())
        .args(inspect)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &b""[..]));
}

#[test]
fn inspect_tells_what_is_in_a_model() {
    let output = aten2onnx(&["inspect", MODEL]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["Inputs\n  x  float32[s77, 3, 64, 64]\n", "  s77  1 to 1024\n", "     52  aten::conv2d", "244 tensors"]
    {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    let output = aten2onnx(&["inspect", MODEL, "--json", "--opset", "13"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["operators"][0]["calls"].as_array().unwrap().len(), 52);
    assert_eq!(value["opsets"][0]["opset"], 13);
    assert!(!value.to_string().contains("/torchvision/"), "source lines have no folders");
}

#[test]
fn inspect_tells_what_is_replaced_for_a_runtime() {
    let output = aten2onnx(&["inspect", MODEL, "--target", "tract", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["target"], "tract-0.23");
    assert_eq!(value["opsets"].as_array().unwrap().len(), 1);
    assert_eq!(value["opsets"][0]["ok"], true);
    let (code, error) = failure(&["inspect", MODEL, "--target", "tract", "--opset", "28"]);
    assert_eq!(code, 5, "{error}");
}

#[test]
fn the_facts_about_a_runtime_are_shown() {
    let output = aten2onnx(&["targets", "tract"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "opsets    9 to 26\n",
        "source    measured: ",
        "Avoided forms\n",
        "  Celu: alpha_f != 1\n    wrong numbers (0.23.9)\n",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert_eq!(failure(&["targets", "trakt"]).0, 2);
    let document = String::from_utf8(aten2onnx(&["targets", "tensorrt-8.6"]).stdout).unwrap();
    assert!(document.contains("a document: nothing was run"), "{document}");
    let all = String::from_utf8(aten2onnx(&["targets"]).stdout).unwrap();
    let facts = |name: &str| all.lines().find(|line| line.starts_with(name)).unwrap().contains("measured");
    assert!(facts("tract-") && facts("onnxruntime-1.15") && !facts("tensorrt-8.6") && !facts("onnxruntime-1.14"));
}

#[test]
fn the_packages_of_a_runtime_are_targets_of_their_own() {
    let output = aten2onnx(&["targets", "onnxruntime-web"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["source    measured: ", "in/out    not bfloat16\n", "Avoided forms\n  MaxPool: ", "  QuantizeLinear: "]
    {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains("NonZero"), "only of older releases\n{text}");
}

#[test]
fn sizes_become_constant() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "out.onnx");
    let exported = |options: &[&str]| {
        let arguments = [&["export", MODEL, "-o", &out], options].concat();
        let output = aten2onnx(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(&out).unwrap()
    };
    let (symbolic, fixed) = (exported(&[]), exported(&["--static"]));
    let has_symbol = |model: &[u8]| model.windows(3).any(|bytes| bytes == b"s77");
    assert!(has_symbol(&symbolic) && !has_symbol(&fixed));
    assert_eq!(exported(&["--dim", "s77=3"]), exported(&["--dim", "x:0=3"]));
    let refused = |dim: &str| failure(&["export", MODEL, "-o", &out, "--dim", dim]);
    assert!(refused("s78=3").1.contains("the model has no dimension `s78`"));
    assert!(refused("y:0=3").1.contains("no tensor input `y`"));
    assert!(refused("x:9=3").1.contains("has no axis 9"));
    assert!(refused("x:1=4").1.contains("is not a single symbol: it is 3"));
    assert!(refused("s77=2000").1.contains("`s77` cannot be 2000: the model was exported for 1 to 1024"));
    assert_eq!(refused("s77=2000").0, 5);
    assert!(refused("s77=a b").1.contains("nor a size"));
    for dim in ["s77=batch", "x:0=batch"] {
        let text = failure(&["export", MODEL, "-o", &out, "--static", "--dim", dim]).1;
        let which = dim.split('=').next().unwrap();
        assert!(text.contains(&format!("`--static` makes all sizes numbers, so `{which}` cannot be named")), "{text}");
        assert!(text.contains(&format!("leave out `--static` or `--dim {dim}`")), "{text}");
    }
    assert_eq!(
        exported(&["--static", "--dim", "s77=batch", "--dim", "batch=3"]),
        exported(&["--static", "--dim", "s77=3"])
    );
}

#[test]
fn a_stream_gets_what_a_file_gets_and_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (path(folder.path(), "one.onnx"), path(folder.path(), "two.onnx"));
    assert_eq!(aten2onnx(&["export", MODEL, "-o", &one, "--quiet"]).stderr, b"");
    let copy = path(folder.path(), "copy.pt2");
    fs::copy(common::root().join(MODEL), &copy).unwrap();
    assert!(aten2onnx(&["export", &copy, "-o", &two]).status.success());
    let streamed = aten2onnx(&["export", MODEL, "-o", "-"]).stdout;
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let from_stdin =
        command.args(["export", "-", "-o", "-"]).stdin(File::open(&copy).unwrap()).output().unwrap().stdout;
    let one = fs::read(&one).unwrap();
    assert!(!one.is_empty());
    assert!(one == fs::read(&two).unwrap() && one == streamed && one == from_stdin);
    let text = String::from_utf8_lossy(&one);
    assert!(!text.contains(folder.path().to_str().unwrap()) && !text.contains("site-packages"));
}

#[test]
fn names_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "m.onnx");
    for (arguments, why) in [
        (["--dim", "s1=batch"], "the model has no dimension `s1`"),
        (["--dim", "x:1=batch"], "axis 1 of the input `x` is not a single symbol"),
        (["--input-name", "y=z"], "the model has no input `y`"),
        (["--ir", "3"], "IR version 3 is too old for this model"),
    ] {
        let (code, text) = failure(&[&["export", MODEL, "-o", &out], &arguments[..]].concat());
        assert_eq!(code, 5);
        assert!(text.contains(why), "{text}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn options_that_exclude_one_another_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "m.onnx");
    let page = path(folder.path(), "page.html");
    for (arguments, first, second) in [
        (vec!["export", MODEL, "-o", &out, "--all", "--model", "a"], "--all", "--model"),
        (vec!["export", MODEL, "-o", &out, "--all", "--report", &page], "--report", "--all"),
        (vec!["export", MODEL, "-o", &out, "--all", "--adapter", "a=b"], "--adapter", "--all"),
        (vec!["inspect", MODEL, "--json", "--html", &page], "--html", "--json"),
        (vec!["export", MODEL, "-o", &out, "--opset", "13", "--opset", "14"], "--opset", "multiple times"),
    ] {
        let (code, text) = failure(&arguments);
        assert!(code == 2 && text.contains(first) && text.contains(second), "{arguments:?} ends with {code}: {text}");
    }
    let twice = ["export", MODEL, "-o", &out, "--input-name", "x=a", "--input-name", "x=b"];
    let (code, text) = failure(&twice);
    assert!(code == 5 && text.contains("two names are given for the input `x`: `a` and `b`"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Judged by onnx and ONNX Runtime.
mod python {
    use super::*;

    #[test]
    fn export_writes_a_model_that_computes_what_pytorch_does() {
        const CHECK: &str = r#"
import sys, numpy as np, onnx, onnxruntime as ort
folder, path, opset = sys.argv[1:]
onnx.checker.check_model(path, full_check=True)
model = onnx.load(path)
assert model.opset_import[0].version == int(opset)
assert model.graph.input[0].name == "image" and model.graph.output[0].name == "scores"
assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
inputs, expected = np.load(f"{folder}.inputs.npz"), np.load(f"{folder}.expected.npz")
for size in ("1", "3"):
    found, = session.run(None, {"image": inputs["x" + size]})
    np.testing.assert_allclose(found, expected["y" + size], rtol=1e-3, atol=1e-4)
"#;
        let folder = tempfile::tempdir().unwrap();
        let data = MODEL.trim_end_matches(".pt2");
        let names = ["--dim", "x:0=batch", "--input-name", "image", "--output-name", "scores"];
        for (opset, external) in [("9", "auto"), ("13", "always"), ("18", "auto"), ("26", "never")] {
            let out = path(folder.path(), &format!("{opset}.onnx"));
            let choices = ["export", MODEL, "-o", &out, "--opset", opset, "--external-data", external];
            let output = aten2onnx(&[&choices[..], &names[..]].concat());
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{text}");
            assert!(text.contains(&format!("opset {opset}, IR ")), "{text}");
            host::python(CHECK, &[data, &out, opset]);
        }
    }
}

#[test]
fn the_page_of_what_is_missing_is_current() {
    let output = aten2onnx(&["ops", "--missing", "--format", "md"]);
    let table = String::from_utf8(output.stdout).unwrap();
    let page = fs::read_to_string(common::root().join("docs/missing.md")).unwrap();
    let at = page.find("| operator |").unwrap();
    assert!(
        page[at..] == table,
        "docs/missing.md is not what `aten2onnx ops --missing --format md` writes: replace its table by that"
    );
    // Each has a reason or is open, and a line to start with.
    for row in table.lines().skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (reason, start) = (cells[cells.len() - 2], cells[cells.len() - 1]);
        assert!(!reason.is_empty() && (start.starts_with("`map ") || start.ends_with("control.rs`")), "{row}");
    }
}
