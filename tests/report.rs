//! Pages about models: `inspect --html` and `export --report`.

use crate::common;

use std::fs;
use std::path::Path;

use crate::command::{MODEL, aten2onnx, done, failure, text};
use aten2onnx_report::{EXPLORER, page_of};

/// The page that a command writes.
fn page(folder: &Path, arguments: &[&str], option: &str) -> String {
    let path = folder.join("page.html");
    let arguments = [arguments, &[option, text(&path)]].concat();
    done(&arguments);
    let page = fs::read_to_string(&path).unwrap();
    check(&page);
    page
}

/// Elements are nested, and nothing is loaded from elsewhere.
fn check(page: &str) {
    const VOID: [&str; 4] = ["meta", "br", "!DOCTYPE", "link"];
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    let body = page.split_once("</style>").unwrap().1;
    let mut open = vec!["html", "head"];
    for tag in body.split('<').skip(1) {
        let name = tag.split([' ', '>', '/']).next().unwrap();
        match tag.strip_prefix('/') {
            Some(end) => assert_eq!(open.pop(), end.split('>').next(), "near `{tag}`"),
            None if VOID.contains(&name) || tag.split('>').next().unwrap().ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("url("));
}

fn has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "`{text}` is missing");
    }
}

/// What stands above the inputs.
fn top(page: &str) -> &str {
    page.split("<h2>Inputs</h2>").next().unwrap()
}

#[test]
fn the_files_of_weights_are_on_top() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    let page = page(folder.path(), &["export", MODEL, "-o", text(&model), "--external-data", "always"], "--report");
    has(top(&page), &["<code>model.onnx</code>, ", "<code>model.onnx.data</code>, "]);
}

#[test]
fn notes_are_on_top() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), &["inspect", "tests/data/pt2/v26_lstm.pt2"], "--html");
    has(top(&page), &["<h2>Notes</h2>", "<dt>opset</dt><dd>18</dd>", "<code>v26_lstm.pt2</code>, "]);
}

#[test]
fn a_page_of_a_program_has_all_parts() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), &["inspect", MODEL], "--html");
    has(
        &page,
        &["<h2>Inputs</h2>", "float32[s77, 3, 64, 64]", "<h2>Opsets</h2>", "<h2>Modules</h2>", "<h2>Weights</h2>"],
    );
    has(&page, &["classifier.0.weight", "Each module unfolds", "The model at opset 18", "nodes as the rules build it"]);
    // The page of the functional operator is that of the one in place.
    has(&page, &[&format!("{EXPLORER}aten/hardswish/"), &format!("{EXPLORER}onnx/Conv/")]);
    assert!(!page.contains(text(common::root())), "the page has the path of a folder");
}

#[test]
fn the_same_model_has_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let write = || page(folder.path(), &["inspect", MODEL], "--html");
    assert_eq!(write(), write());
}

#[test]
fn an_export_writes_the_model_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    let page = page(folder.path(), &["export", MODEL, "-o", text(&model), "--opset", "13"], "--report");
    has(&page, &["The model at opset 13", "<h2>Operators</h2>"]);
    let size = fs::metadata(&model).unwrap().len();
    let file = format!("<code>model.onnx</code>, {:.1} MB</dd>", size as f64 / 1e6);
    has(top(&page), &["<dt>opset</dt><dd>13</dd>", "<dt>IR version</dt><dd>4</dd>", &file, "<dt>time</dt><dd>"]);
    let page = self::page(folder.path(), &["inspect", text(&model)], "--html");
    has(&page, &["<code>features</code>", "<h2>Weights</h2>"]);
    let own =
        ["<dt>opset</dt><dd>13</dd>", "<dt>IR version</dt><dd>4</dd>", &file, "<li>the model is at opset 13</li>"];
    has(top(&page), &own);
    assert!(!page.contains("<dt>time</dt>"), "an inspection has no time");
}

#[test]
fn a_failed_export_has_a_page_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (page, model) = (folder.path().join("page.html"), folder.path().join("model.onnx"));
    let wanted = ["export", "tests/data/pt2/lstm.pt2", "-o", text(&model), "--opset", "13", "--input-name", "no=x"];
    let said = failure(&[&wanted[..], &["--report", text(&page)]].concat());
    let page = fs::read_to_string(&page).unwrap();
    check(&page);
    let first = said.lines().next().unwrap().trim_start_matches("error: ");
    has(&page, &["<h2>Error</h2>", &first.replace('\'', "&#39;")]);
    assert!(!page.contains("<dt>"), "there is no model to speak of");
    assert!(!model.exists());
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("no/page.html");
    assert!(failure(&["inspect", MODEL, "--html", text(&page)]).contains("does not exist"));
    assert!(failure(&["inspect", "Cargo.toml", "--html", text(&folder.path().join("page.html"))]).contains("error"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let two = ["export", MODEL, MODEL, "-o", text(folder.path()), "--report", "page.html"];
    assert!(failure(&two).contains("`--report` is for one model"));
}

#[test]
fn pages_are_by_the_rule() {
    assert_eq!(page_of("aten::add_.Tensor"), "aten/add.Tensor/");
    assert_eq!(page_of("aten::add.Tensor"), "aten/add.Tensor/");
    assert_eq!(page_of("mylib::op_"), "mylib/op_/");
}

mod slow {
    use super::*;

    #[test]
    fn every_archive_and_program_of_the_tests_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = 0;
        for kind in ["torchscript", "pt2"] {
            for entry in fs::read_dir(common::root().join("tests/data").join(kind)).unwrap() {
                let path = entry.unwrap().path();
                if !path.extension().is_some_and(|extension| extension == "pt" || extension == "pt2") {
                    continue;
                }
                let written = folder.path().join("page.html");
                let output = aten2onnx(&["inspect", text(&path), "--opset", "18", "--html", text(&written)]);
                // Files with damage on purpose, and packages of several programs.
                if !output.status.success() {
                    assert!(!written.exists(), "{}", path.display());
                    continue;
                }
                check(&fs::read_to_string(&written).unwrap());
                fs::remove_file(&written).unwrap();
                pages += 1;
            }
        }
        assert!(pages >= 40, "{pages} pages");
    }
}
