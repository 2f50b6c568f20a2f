//! Mapping files of a user, over the rules of a package.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_lsp::{Runner, Setup};
use common::{Editor, folder, position};
use serde_json::{Value, json};

const BASE: &str = "//! Rules.\n\npub fn doubled(Tensor x) -> Tensor = x + x\n\nmap aten::relu(Tensor self) -> Tensor = doubled(Relu(self))\nexample aten::relu(f32[2])\n";
const OWN: &str = "//! My operators.\n\nmap mylib::twice(Tensor x) -> Tensor = doubled(x)\n\nmap aten::relu(Tensor self) -> Tensor = Relu(self)\n";

/// The rules of the package, and a folder of a user with files.
fn folders(files: &[(&str, &str)]) -> (tempfile::TempDir, tempfile::TempDir) {
    let base = folder(&[("aten/rules.opmap".to_owned(), BASE.to_owned())]);
    let user = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = user.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (base, user)
}

fn editor(base: &Path, root: &Path, own: Vec<PathBuf>) -> Editor {
    Editor::with(root, Setup { mappings: base.join("mappings"), own: Some(own), ..Setup::default() })
}

/// The path of a file of the user, as the editor takes it.
fn path(user: &Path, file: &str) -> String {
    user.canonicalize().unwrap().join(file).to_string_lossy().into_owned()
}

fn at(editor: &Editor, file: &str, text: &str, part: &str) -> Value {
    json!({"textDocument": {"uri": editor.uri(file)}, "position": position(text, text.find(part).unwrap() + 1)})
}

#[test]
fn own_files_are_checked_over_the_rules_of_the_package() {
    let (base, user) =
        folders(&[("ops/my.opmap", OWN), ("node_modules/x/bad.opmap", "map nonsense"), (".hidden/bad.opmap", "map")]);
    let mut editor = editor(base.path(), user.path(), Vec::new());
    assert!(editor.shown.values().all(|errors| *errors == json!([])), "{:?}", editor.shown);
    let file = path(user.path(), "ops/my.opmap");
    editor.open(&file, OWN);
    let begin = OWN.find("doubled(x)").unwrap();
    editor.change(&file, begin..begin + 7, "doubld");
    editor.wait_for_check();
    let uri = editor.uri(&file);
    assert_eq!(editor.shown.keys().collect::<Vec<_>>(), [&uri], "errors of other files");
    let errors = editor.shown[&uri].clone();
    assert!(errors[0]["message"].as_str().unwrap().contains("doubled"), "{errors}");
    let range = errors[0]["range"].clone();
    let asked = json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": errors}});
    let actions = editor.ask("textDocument/codeAction", asked).unwrap();
    assert_eq!(actions[0]["edit"]["changes"][&uri][0]["newText"], "doubled", "{actions}");
    editor.change(&file, begin..begin + 6, "doubled");
    editor.wait_for_check();
    assert_eq!(editor.shown[&uri], json!([]));
    editor.quit();
}

#[test]
fn built_in_helpers_are_found_and_stay_as_they_are() {
    let (base, user) = folders(&[("my.opmap", OWN)]);
    let file = path(user.path(), "my.opmap");
    let mut editor = editor(base.path(), user.path(), vec![user.path().join("my.opmap")]);
    editor.open(&file, OWN);
    editor.wait_for_check();
    let helper = at(&editor, &file, OWN, "doubled(x)");
    let hover = editor.ask("textDocument/hover", helper.clone()).unwrap();
    assert!(hover.to_string().contains("fn doubled(Tensor x) -> Tensor"), "{hover}");
    let found = editor.ask("textDocument/definition", helper.clone()).unwrap().to_string();
    assert!(found.contains("aten/rules.opmap"), "{found}");
    let mut rename = helper;
    rename["newName"] = json!("tripled");
    let refused = editor.ask("textDocument/rename", rename).unwrap_err();
    assert!(refused.contains("a built-in rule"), "{refused}");
    let lenses = editor.ask("textDocument/codeLens", json!({"textDocument": {"uri": editor.uri(&file)}})).unwrap();
    let titles: Vec<&str> =
        lenses.as_array().unwrap().iter().map(|l| l["command"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["try", "verify", "try", "verify"]);
    editor.quit();
}

#[test]
fn commands_are_those_of_the_package() {
    let (base, user) = folders(&[("my.opmap", OWN)]);
    let runner = Runner::Exporter {
        program: PathBuf::from("/bin/echo"),
        before: vec!["-m".to_owned(), "aten2onnx".to_owned()],
        imports: vec!["my_ops".to_owned()],
    };
    let own = Some(vec![user.path().join("my.opmap")]);
    let setup = Setup { mappings: base.path().join("mappings"), own, program: Some(runner), ..Setup::default() };
    let mut editor = Editor::with(user.path(), setup);
    let mut run = |command: &str| {
        let asked = json!({"command": command, "arguments": ["mylib::twice", 13]});
        editor.ask("workspace/executeCommand", asked)
    };
    let said = run("opmap.try").unwrap();
    let file = path(user.path(), "my.opmap");
    assert_eq!(said, format!("-m aten2onnx try mylib::twice --mappings {file} --import my_ops\n"));
    assert!(run("opmap.expand").unwrap_err().contains("aten2onnx-codegen"));
    editor.quit();
}

#[test]
fn an_override_comes_and_goes() {
    let (base, user) = folders(&[("my.opmap", OWN)]);
    let file = path(user.path(), "my.opmap");
    let mut editor = editor(base.path(), user.path(), Vec::new());
    editor.open(&file, OWN);
    let own = OWN.find("map aten::relu").unwrap();
    let place = at(&editor, &file, OWN, "Relu(self)");
    editor.change(&file, own..OWN.len(), "");
    editor.wait_for_check();
    assert!(editor.shown.values().all(|errors| *errors == json!([])), "{:?}", editor.shown);
    editor.change(&file, own..own, &OWN[own..]);
    editor.wait_for_check();
    assert!(editor.shown.values().all(|errors| *errors == json!([])), "{:?}", editor.shown);
    let hover = editor.ask("textDocument/hover", place).unwrap();
    assert!(hover.to_string().contains("Relu"), "{hover}");
    editor.quit();
}

#[test]
fn the_project_itself_is_edited_where_it_is_open() {
    let (base, _user) = folders(&[]);
    let elsewhere = PathBuf::from("/no/such/rules");
    let mut editor =
        Editor::with(base.path(), Setup { mappings: elsewhere, own: Some(Vec::new()), ..Setup::default() });
    editor.open("aten/rules.opmap", BASE);
    let begin = BASE.find("doubled(Relu").unwrap();
    editor.change("aten/rules.opmap", begin..begin + 7, "doubld");
    editor.wait_for_check();
    let uri = editor.uri("aten/rules.opmap");
    assert!(editor.shown[&uri].to_string().contains("doubld"), "{:?}", editor.shown);
    editor.quit();
}
