//! `aten2onnx lsp` as an editor starts it: on stdin and stdout, over the built-in rules.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::common;

/// An editor that waits for each answer.
struct Editor {
    process: Child,
    out: BufReader<ChildStdout>,
}

impl Editor {
    fn start(arguments: &[&str]) -> Editor {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
        command.current_dir(common::root()).arg("lsp").args(arguments);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        Editor { process, out }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let mut input = self.process.stdin.as_ref().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        input.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        self.until(|message| message["id"] == 1)
    }

    /// The next message that is wanted.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut head = String::new();
            assert!(self.out.read_line(&mut head).unwrap() > 0, "the server ended");
            let length = head.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
            self.out.read_line(&mut String::new()).unwrap();
            let mut body = vec![0; length];
            self.out.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            if wanted(&message) {
                return message;
            }
        }
    }
}

#[test]
fn mapping_files_of_users_are_checked_over_the_built_in_rules() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().canonicalize().unwrap().join("my_ops.opmap");
    let text = "//! Mine.\n\nmap mylib::half(Tensor x) -> Tensor = aten::relu(x) * 0.5\n";
    std::fs::write(&file, text).unwrap();
    let mut editor = Editor::start(&["--mappings", file.to_str().unwrap()]);
    editor.ask("initialize", &json!({"processId": null, "rootUri": null, "capabilities": {}}));
    editor.tell("initialized", &json!({}));
    let uri = format!("file://{}", file.display());
    let broken = text.replace("aten::relu(", "aten::reluu(");
    let document = json!({"uri": uri, "languageId": "opmap", "version": 1, "text": broken});
    editor.tell("textDocument/didOpen", &json!({"textDocument": document}));
    let shown = editor.until(|message| message["method"] == "textDocument/publishDiagnostics");
    assert_eq!(shown["params"]["uri"], uri);
    let errors = shown["params"]["diagnostics"].to_string();
    assert!(errors.contains("aten::relu"), "{errors}");
    let place = json!({"textDocument": {"uri": uri}, "position": {"line": 2, "character": 5}});
    let hover = editor.ask("textDocument/hover", &place).to_string();
    assert!(hover.contains("mylib::half(Tensor x) -> Tensor"), "{hover}");
    editor.ask("shutdown", &Value::Null);
    editor.tell("exit", &Value::Null);
    assert!(editor.process.wait().unwrap().success());
}

#[test]
fn a_file_that_does_not_exist_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx"));
    let output = command.args(["lsp", "--mappings", "no/such.opmap"]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text.contains("no/such.opmap") && output.stdout.is_empty(), "{text}");
}
