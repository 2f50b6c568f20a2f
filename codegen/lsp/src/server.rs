//! The server: takes messages, keeps the state, and answers.

use std::collections::BTreeMap;

use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::syntax::parse_file;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification as note;
use lsp_types::notification::Notification as _;
use lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, PublishDiagnosticsParams, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::analysis::is_of_syntax;
use crate::document::{Document, path_of};
use crate::errors;
use crate::lenses::Runner;
use crate::requests;
use crate::setup::{Observer, Setup};
use crate::state::State;
use crate::worker::{News, Work, check_states};

/// What the editor said of itself.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// It wants to know when all files are checked.
    pub wants_status: bool,
    /// It watches files when it is asked to.
    pub watches: bool,
}

/// The server between two messages.
pub struct Server<'c> {
    connection: &'c Connection,
    client: Client,
    /// What requests are answered from.
    pub state: State,
    runner: Option<Runner>,
    observer: Option<Observer>,
    states: Sender<Work>,
    /// The number of the newest state that the checker got, and of the last one that it is done with.
    sent: u64,
    done: u64,
    /// What the editor shows, by file, and of which version.
    shown: BTreeMap<String, (Option<i32>, Vec<Diagnostic>)>,
}

/// Answers until the editor says goodbye.
///
/// # Errors
/// A folder that cannot be read, or an editor that does not keep to the protocol.
pub fn serve_connection(connection: &Connection, client: Client, setup: Setup) -> Result<(), String> {
    let state = State::load(&setup.mappings, setup.own)?;
    let (states, waiting) = unbounded();
    let (tell, news) = unbounded();
    let schemas = state.schemas.clone();
    let worker = std::thread::spawn(move || check_states(schemas, &waiting, &tell));
    let runner = setup.program;
    let (observer, shown) = (setup.observer, BTreeMap::new());
    let mut server = Server { connection, client, state, runner, observer, states, sent: 0, done: 0, shown };
    server.watch();
    server.check();
    let end = server.run(&news);
    drop(server);
    // The thread ends when no states come any more.
    worker.join().map_err(|_| "the checker stopped".to_owned()).and(end)
}

impl Server<'_> {
    fn run(&mut self, news: &Receiver<(u64, News)>) -> Result<(), String> {
        loop {
            select! {
                recv(self.connection.receiver) -> message => match message {
                    Err(_) => return Ok(()),
                    Ok(Message::Request(request)) => {
                        if self.connection.handle_shutdown(&request).map_err(|e| e.to_string())? {
                            return Ok(());
                        }
                        self.answer(request);
                    }
                    Ok(Message::Notification(notification)) => self.take(notification),
                    Ok(Message::Response(_)) => {}
                },
                recv(news) -> told => match told {
                    Ok((number, told)) => self.learn(number, told),
                    Err(_) => return Err("the checker stopped".to_owned()),
                },
            }
        }
    }

    fn send(&self, message: Message) {
        // If the editor is gone, the next read says so.
        let _ = self.connection.sender.send(message);
    }

    fn answer(&self, request: Request) {
        if request.method == "workspace/executeCommand" {
            return self.execute(request);
        }
        let response = match requests::answer(&self.state, &request.method, request.params) {
            Ok(value) => Response::new_ok(request.id, value),
            Err((code, text)) => Response::new_err(request.id, code as i32, text),
        };
        self.send(Message::Response(response));
    }

    /// Runs a command beside the server, because it may take long.
    fn execute(&self, request: Request) {
        let sender = self.connection.sender.clone();
        let runner = self.runner.clone();
        let rules = self.state.own.clone().unwrap_or_else(|| vec![self.state.mappings.clone()]);
        let id: RequestId = request.id.clone();
        let run = move || -> Result<String, String> {
            let params = serde_json::from_value(request.params).map_err(|e| e.to_string())?;
            let runner = runner.ok_or("this server cannot run commands")?;
            runner.run(&rules, &params)
        };
        std::thread::spawn(move || {
            let response = match run() {
                Ok(text) => Response::new_ok(id, text),
                Err(text) => Response::new_err(id, ErrorCode::RequestFailed as i32, text),
            };
            let _ = sender.send(Message::Response(response));
        });
    }

    fn take(&mut self, notification: Notification) {
        let params = notification.params;
        match notification.method.as_str() {
            note::DidOpenTextDocument::METHOD => read(params).into_iter().for_each(|p| self.open(p)),
            note::DidChangeTextDocument::METHOD => read(params).into_iter().for_each(|p| self.change(p)),
            note::DidCloseTextDocument::METHOD => read(params).into_iter().for_each(|p| self.close(&p)),
            note::DidSaveTextDocument::METHOD => read(params).into_iter().for_each(|p| self.saved(&p)),
            note::DidChangeWatchedFiles::METHOD => read(params).into_iter().for_each(|p| self.watched(&p)),
            _ => {}
        }
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let opened = params.text_document;
        match self.state.file(&opened.uri) {
            Some(id) => {
                let Some(file) = self.state.files.get_mut(id.0 as usize) else { return };
                let is_other = file.text != opened.text;
                *file = Document::new(opened.uri, opened.text, Some(opened.version));
                if is_other {
                    self.check();
                } else {
                    self.show_again(id);
                }
            }
            None => {
                let document = Document::new(opened.uri, opened.text, Some(opened.version));
                self.check_alone(&document);
                self.state.others.insert(document.uri.as_str().to_owned(), document);
            }
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let (uri, version) = (params.text_document.uri, params.text_document.version);
        match self.state.file(&uri) {
            Some(id) => {
                let Some(file) = self.state.files.get_mut(id.0 as usize) else { return };
                file.change(params.content_changes, version);
                self.check();
            }
            None => {
                let Some(mut document) = self.state.others.remove(uri.as_str()) else { return };
                document.change(params.content_changes, version);
                self.check_alone(&document);
                self.state.others.insert(uri.as_str().to_owned(), document);
            }
        }
    }

    /// A closed file has the text on disk again.
    fn close(&mut self, params: &DidCloseTextDocumentParams) {
        let uri = &params.text_document.uri;
        match self.state.file(uri) {
            Some(id) => {
                if let Some(file) = self.state.files.get_mut(id.0 as usize) {
                    file.version = None;
                }
                self.read_from_disk(uri);
            }
            None => {
                if self.state.others.remove(uri.as_str()).is_some() {
                    self.show(uri, None, Vec::new());
                }
            }
        }
    }

    /// A file that was saved may be a new one of the folder.
    fn saved(&mut self, params: &DidSaveTextDocumentParams) {
        let is_other = self.state.file(&params.text_document.uri).is_none();
        let is_in_folder = path_of(&params.text_document.uri).is_some_and(|path| self.state.is_edited(&path));
        if is_other && is_in_folder {
            self.read_folder();
        }
    }

    fn watched(&mut self, params: &DidChangeWatchedFilesParams) {
        for change in &params.changes {
            let is_known = self.state.file(&change.uri).is_some();
            let exists = path_of(&change.uri).is_some_and(|path| path.exists());
            if is_known != exists {
                return self.read_folder();
            }
            self.read_from_disk(&change.uri);
        }
    }

    /// Takes the text on disk of a file that is not open.
    fn read_from_disk(&mut self, uri: &Uri) {
        let Some(id) = self.state.file(uri) else { return };
        let Some(text) = path_of(uri).and_then(|path| std::fs::read_to_string(path).ok()) else {
            return self.read_folder();
        };
        let Some(file) = self.state.files.get_mut(id.0 as usize) else { return };
        if file.version.is_none() && file.text != text {
            *file = Document::new(file.uri.clone(), text, None);
            self.check();
        }
    }

    fn read_folder(&mut self) {
        if self.state.read_files() == Ok(true) {
            self.check();
        }
    }

    /// Asks the editor to watch the mapping files.
    fn watch(&self) {
        if !self.client.watches {
            return;
        }
        let options = serde_json::json!({"watchers": [{"globPattern": "**/*.opmap"}]});
        let method = note::DidChangeWatchedFiles::METHOD;
        let params =
            serde_json::json!({"registrations": [{"id": "opmap", "method": method, "registerOptions": options}]});
        let id = RequestId::from("watch".to_owned());
        self.send(Message::Request(Request { id, method: "client/registerCapability".to_owned(), params }));
    }

    /// Gives the files as they are to the checker.
    fn check(&mut self) {
        self.sent += 1;
        if self.sent == self.done + 1 {
            self.tell_status(false);
        }
        let _ = self.states.send(Work { number: self.sent, first: self.state.first, sources: self.state.sources() });
    }

    fn learn(&mut self, number: u64, news: News) {
        match news {
            News::Early(sources, files, found) => {
                let mut by_file = errors::by_file(&self.state, &sources, &found);
                for file in files {
                    let mut early = by_file.remove(&file).unwrap_or_default();
                    early.extend(self.proved_before(file, &sources, &early));
                    self.show_file(file, &sources, early);
                }
            }
            News::Done(analysis) => {
                self.done = number;
                self.observer.iter().for_each(|observer| observer(&analysis.checked));
                let mut by_file =
                    errors::by_file(&self.state, &analysis.checked.sources, &analysis.checked.diagnostics);
                for i in 0..self.state.files.len() {
                    let file = FileId(i as u32);
                    self.show_file(file, &analysis.checked.sources, by_file.remove(&file).unwrap_or_default());
                }
                if self.state.files.len() == analysis.checked.sources.files.len() {
                    self.state.learn(analysis);
                }
                if self.done == self.sent {
                    self.tell_status(true);
                }
            }
        }
    }

    /// The errors of the proof in a file, as they were before it changed: they stay until the proof is done again.
    fn proved_before(&self, file: FileId, now: &Sources, early: &[Diagnostic]) -> Vec<Diagnostic> {
        let Some(latest) = &self.state.latest else { return Vec::new() };
        let is_broken = early
            .iter()
            .any(|error| matches!(&error.code, Some(lsp_types::NumberOrString::String(code)) if is_of_syntax(code)));
        let Some(new) = now.files.get(file.0 as usize).filter(|_| !is_broken) else { return Vec::new() };
        let difference = latest.difference(file, &new.text);
        let of_proof =
            latest.checked.diagnostics.iter().filter(|error| error.primary.0.file == file && is_of_proof(error.code));
        let moved = of_proof.filter_map(|error| {
            let range = difference.range_to_new(error.primary.0.range())?;
            let mut error = error.clone();
            (error.primary.0.start, error.primary.0.end) = (range.start as u32, range.end as u32);
            Some(error)
        });
        let moved: Vec<_> = moved.collect();
        errors::by_file(&self.state, now, &moved).remove(&file).unwrap_or_default()
    }

    /// Shows the errors of a file, unless there is a newer text of it: they come with its check.
    fn show_file(&mut self, file: FileId, sources: &Sources, errors: Vec<Diagnostic>) {
        let Some(document) = self.state.by_id(file) else { return };
        let is_newest = sources.files.get(file.0 as usize).is_some_and(|checked| checked.text == document.text);
        if is_newest {
            let (uri, version) = (document.uri.clone(), document.version);
            self.show(&uri, version, errors);
        }
    }

    /// An editor that opens a file may have forgotten what it was told of it.
    fn show_again(&mut self, file: FileId) {
        let Some(document) = self.state.by_id(file) else { return };
        let (uri, version) = (document.uri.clone(), document.version);
        if let Some((_, errors)) = self.shown.remove(uri.as_str()) {
            self.show(&uri, version, errors);
        }
    }

    fn show(&mut self, uri: &Uri, version: Option<i32>, errors: Vec<Diagnostic>) {
        let before = self.shown.get(uri.as_str());
        let is_same = match before {
            Some((shown, before)) => *shown == version && *before == errors,
            None => errors.is_empty() && version.is_none(),
        };
        if is_same {
            return;
        }
        self.shown.insert(uri.as_str().to_owned(), (version, errors.clone()));
        self.notify(note::PublishDiagnostics::METHOD, &PublishDiagnosticsParams::new(uri.clone(), errors, version));
    }

    /// The syntax errors of a file that is not in the folder.
    fn check_alone(&mut self, document: &Document) {
        let mut sources = Sources::default();
        let id = sources.add(document.uri.as_str(), document.text.clone());
        let mut found = Vec::new();
        parse_file(&sources, id, &mut found);
        let errors = errors::by_file(&self.state, &sources, &found).remove(&id).unwrap_or_default();
        self.show(&document.uri, document.version, errors);
    }

    fn tell_status(&self, quiescent: bool) {
        if self.client.wants_status {
            self.notify("experimental/serverStatus", &serde_json::json!({"health": "ok", "quiescent": quiescent}));
        }
    }

    fn notify(&self, method: &str, params: &impl serde::Serialize) {
        self.send(Message::Notification(Notification::new(method.to_owned(), params)));
    }
}

/// Errors that only the proof of all rules finds.
fn is_of_proof(code: &str) -> bool {
    matches!(code.get(..3), Some("E06" | "E07" | "E08" | "E09"))
        || matches!(code, "E0503" | "E0310" | "E0311" | "E0312")
        || matches!(code, "E0313" | "E0314" | "E0315" | "E0316" | "E0317")
}

/// What a message says. None if it cannot be read: a notification has no answer that could say so.
fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
