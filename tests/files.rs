//! Files that are read and written by the command: what a model names outside of its folder, and what is no regular file.

use crate::common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{MODEL, done, failure, text};

/// A model whose weights are beside it, in a folder of its own: `model/m.onnx`.
fn beside() -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("model");
    fs::create_dir(&folder).unwrap();
    done(&["export", MODEL, "-o", text(&folder.join("m.onnx")), "--external-data", "always"]);
    (outer, folder)
}

/// The commands that read an ONNX model, each writing to `out`.
fn readers<'a>(model: &'a Path, out: &'a Path) -> [Vec<&'a str>; 3] {
    [
        vec!["convert", text(model), "-o", text(out), "--opset", "13"],
        vec!["pack", text(model), "-o", text(out)],
        vec!["inspect", text(model), "--opset", "13"],
    ]
}

/// What a command says that fails within seconds; one that hangs is ended.
fn prompt_failure(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{arguments:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    // `inspect` prints why an opset is impossible, and succeeds.
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

#[test]
fn a_link_out_of_the_folder_is_refused_unless_asked_for() {
    let (outer, folder) = beside();
    let (model, data) = (folder.join("m.onnx"), folder.join("m.onnx.data"));
    let elsewhere = outer.path().join("elsewhere.bin");
    fs::rename(&data, &elsewhere).unwrap();
    symlink(&elsewhere, &data).unwrap();
    for (i, arguments) in readers(&model, &outer.path().join("out.onnx")).iter().enumerate() {
        let said = prompt_failure(arguments);
        assert!(said.contains("symbolic link out of the model's folder"), "{said}");
        assert!(said.contains("elsewhere.bin") && said.contains("--follow-links"), "{said}");
        assert!(!outer.path().join("out.onnx").exists());
        let out = outer.path().join(format!("followed{i}.onnx"));
        done(&[&readers(&model, &out)[i][..], &["--follow-links"]].concat());
    }
}

#[test]
fn a_cache_of_hugging_face_is_read_with_its_links() {
    let (outer, folder) = beside();
    let (blobs, snapshot) = (outer.path().join("blobs"), outer.path().join("snapshots/0a1b"));
    fs::create_dir_all(&blobs).unwrap();
    fs::create_dir_all(&snapshot).unwrap();
    for (name, blob) in [("m.onnx", "1234"), ("m.onnx.data", "5678")] {
        fs::rename(folder.join(name), blobs.join(blob)).unwrap();
        symlink(Path::new("../../blobs").join(blob), snapshot.join(name)).unwrap();
    }
    let (model, whole) = (snapshot.join("m.onnx"), outer.path().join("whole.onnx"));
    assert!(failure(&["pack", text(&model), "-o", text(&whole)]).contains("--follow-links"));
    done(&["pack", text(&model), "-o", text(&whole), "--follow-links"]);
    assert!(
        fs::metadata(whole).unwrap().len() > fs::metadata(blobs.join("1234")).unwrap().len(),
        "the weights are inside"
    );
}

#[test]
fn what_is_no_regular_file_is_never_waited_for() {
    let (outer, folder) = beside();
    let (model, data) = (folder.join("m.onnx"), folder.join("m.onnx.data"));
    fs::remove_file(&data).unwrap();
    assert!(Command::new("mkfifo").arg(&data).status().unwrap().success());
    for arguments in readers(&model, &outer.path().join("out.onnx")) {
        for more in [&[][..], &["--follow-links"]] {
            let said = prompt_failure(&[&arguments[..], more].concat());
            assert!(said.contains("a FIFO (a named pipe), not a regular file"), "{said}");
        }
    }
    // The same where the file is named on the command line, or is one of safetensors.
    let fifo = text(&data);
    for arguments in readers(&data, &outer.path().join("out.onnx")).into_iter().chain([vec!["export", fifo]]) {
        assert!(prompt_failure(&arguments).contains("not a regular file"));
    }
    let index = folder.join("model.safetensors.index.json");
    fs::rename(&data, &index).unwrap();
    let source = common::root().join(MODEL);
    let out = outer.path().join("out.onnx");
    let said = prompt_failure(&["export", text(&source), "-o", text(&out), "--weights", text(&folder)]);
    assert!(said.contains("not a regular file"), "{said}");
    assert!(prompt_failure(&["inspect", "/dev/zero"]).contains("a device"));
}

#[test]
fn pieces_of_a_save_that_was_interrupted_are_named() {
    let (_outer, folder) = beside();
    let model = folder.join("m.onnx");
    fs::rename(&model, folder.join(".m.onnx.Ab12Cd.onnx.old")).unwrap();
    fs::write(folder.join(".m.onnx.data.Cd34Ef.onnx.tmp"), "half").unwrap();
    for arguments in readers(&model, &folder.join("out.onnx")) {
        let said = failure(&arguments);
        assert!(said.contains("a save was interrupted") && said.contains("`.m.onnx.Ab12Cd.onnx.old`"), "{said}");
    }
    let said = done(&["export", MODEL, "-o", text(&model), "--external-data", "always"]);
    assert!(said.contains("note: a save was interrupted"), "{said}");
    assert!(said.contains(".m.onnx.Ab12Cd.onnx.old") && said.contains(".m.onnx.data.Cd34Ef.onnx.tmp"), "{said}");
    fs::remove_file(folder.join(".m.onnx.Ab12Cd.onnx.old")).unwrap();
    fs::remove_file(folder.join(".m.onnx.data.Cd34Ef.onnx.tmp")).unwrap();
    let said = done(&["export", MODEL, "-o", text(&model), "--external-data", "always"]);
    assert!(!said.contains("interrupted"), "{said}");
}

#[test]
fn a_file_of_another_kind_is_answered_with_the_command_that_helps() {
    let (_outer, folder) = beside();
    let (model, data, program) = (folder.join("m.onnx"), folder.join("m.onnx.data"), common::root().join(MODEL));
    let out = folder.join("out.onnx");
    let says = |arguments: &[&str], wanted: &[&str]| {
        let said = failure(arguments);
        wanted.iter().for_each(|text| assert!(said.contains(text), "{arguments:?}: {said}"));
    };
    says(
        &["export", text(&model), "-o", text(&out)],
        &["it is an ONNX model already", "aten2onnx convert", "aten2onnx inspect"],
    );
    for command in ["convert", "pack"] {
        says(&[command, text(&program), "-o", text(&out)], &["a program of torch.export", "aten2onnx export"]);
        says(&[command, text(&data), "-o", text(&out)], &["not an ONNX model", "read through the model"]);
        says(&[command, text(&folder), "-o", text(&out)], &["a directory", "m.onnx"]);
    }
    says(&["inspect", text(&data)], &["it is not a zip archive", "read through the model"]);
    says(&["export", text(&folder)], &["a directory", "m.onnx"]);
    says(&["verify", text(&model)], &["is a file", "verify=True"]);
    let empty = folder.join("empty.pt2");
    fs::write(&empty, "").unwrap();
    says(&["export", text(&empty), "-o", text(&out)], &["it is empty", "save or download it again"]);
    assert!(!out.exists());
}
