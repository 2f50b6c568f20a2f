//! An editor that talks to the server in memory, and a folder of rules for it. Each test program uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use aten2onnx_lsp::{Runner, Setup};
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest wait for an answer: only a server that hangs needs it.
const PATIENCE: Duration = Duration::from_secs(120);

/// The project's own folder of rules.
pub fn own_mappings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")
}

/// A folder with the project's schemas and these rules. Its operators need no lowerings unless a rule calls them.
pub fn folder(files: &[(String, String)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mappings = folder.path().join("mappings");
    copy(&own_mappings(), &mappings);
    let opsets = fs::read_to_string(own_mappings().join("opsets.toml")).unwrap();
    fs::write(mappings.join("opsets.toml"), opsets.replace("complete = true", "complete = false")).unwrap();
    for (path, text) in files {
        let path = mappings.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Copies the facts: all but rules and Rust.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() && !path.ends_with("src") {
            copy(&path, &target);
        } else if path.extension().is_some_and(|extension| extension == "toml" || extension == "txt") {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// An editor and the server behind it.
pub struct Editor {
    connection: Connection,
    server: Option<JoinHandle<Result<(), String>>>,
    next: i32,
    /// Everything is checked.
    is_quiet: bool,
    root: PathBuf,
    /// What the server said when it began.
    pub capabilities: Value,
    /// The files that are open, with their versions.
    pub open: BTreeMap<String, (String, i32)>,
    /// The errors that are shown, by file.
    pub shown: BTreeMap<String, Value>,
}

impl Editor {
    /// Starts the server for a folder that has `mappings`.
    pub fn new(root: &Path, program: Option<PathBuf>) -> Editor {
        let program = program.map(Runner::Codegen);
        Editor::with(root, Setup { mappings: PathBuf::from("mappings"), program, ..Setup::default() })
    }

    /// Starts the server with what is given for a folder.
    pub fn with(root: &Path, setup: Setup) -> Editor {
        let root = root.canonicalize().unwrap();
        let (connection, other) = Connection::memory();
        let server = std::thread::spawn(move || aten2onnx_lsp::serve(&other, setup));
        let mut editor = Editor {
            connection,
            server: Some(server),
            next: 0,
            is_quiet: false,
            root,
            capabilities: Value::Null,
            open: BTreeMap::new(),
            shown: BTreeMap::new(),
        };
        let root = editor.uri("");
        let capabilities = json!({"experimental": {"serverStatusNotification": true}});
        let params = json!({"processId": null, "rootUri": root, "capabilities": capabilities});
        editor.capabilities = editor.ask("initialize", params).unwrap()["capabilities"].clone();
        editor.tell("initialized", json!({}));
        editor.wait_for_check();
        editor
    }

    /// The address of a file of the rules.
    pub fn uri(&self, path: &str) -> String {
        match path {
            "" => format!("file://{}", self.root.display()),
            path if path.starts_with('/') => format!("file://{path}"),
            path => format!("file://{}/mappings/{path}", self.root.display()),
        }
    }

    /// A text without the place of the folder.
    pub fn without_root(&self, text: &str) -> String {
        text.replace(&self.uri(""), "").replace(&*self.root.to_string_lossy(), "")
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.connection.sender.send(Message::Notification(Notification { method: method.to_owned(), params })).unwrap();
    }

    /// The answer to a request, or the error's text.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(Message::Request(request)).unwrap();
        loop {
            match self.connection.receiver.recv_timeout(PATIENCE).unwrap() {
                Message::Response(response) if response.id == id => {
                    return response.response_result.map_err(|error| error.message);
                }
                Message::Notification(notification) => self.note(notification),
                _ => {}
            }
        }
    }

    /// Waits until everything is checked.
    pub fn wait_for_check(&mut self) {
        // The server has taken what was sent before it answers.
        let _ = self.ask("workspace/symbol", json!({"query": "?"}));
        while !self.is_quiet {
            if let Message::Notification(notification) = self.connection.receiver.recv_timeout(PATIENCE).unwrap() {
                self.note(notification);
            }
        }
    }

    fn note(&mut self, notification: Notification) {
        let params = notification.params;
        match notification.method.as_str() {
            "textDocument/publishDiagnostics" => {
                self.shown.insert(params["uri"].as_str().unwrap().to_owned(), params["diagnostics"].clone());
            }
            "experimental/serverStatus" => self.is_quiet = params["quiescent"] == true,
            _ => {}
        }
    }

    /// Opens a file with a text.
    pub fn open(&mut self, path: &str, text: &str) {
        let document = json!({"uri": self.uri(path), "languageId": "opmap", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.open.insert(path.to_owned(), (text.to_owned(), 1));
    }

    /// Replaces a part of an open file.
    pub fn change(&mut self, path: &str, range: std::ops::Range<usize>, new: &str) {
        let (text, version) = self.open.get_mut(path).unwrap();
        let (start, end) = (position(text, range.start), position(text, range.end));
        text.replace_range(range, new);
        *version += 1;
        let version = *version;
        let change = json!({"range": {"start": start, "end": end}, "text": new});
        let document = json!({"uri": self.uri(path), "version": version});
        self.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    /// Says goodbye.
    pub fn quit(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Ok(Value::Null));
        self.tell("exit", Value::Null);
        self.server.take().unwrap().join().unwrap().unwrap();
    }
}

/// The line and the UTF-16 unit of a byte.
pub fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap();
    json!({"line": before.matches('\n').count(), "character": line.encode_utf16().count()})
}
