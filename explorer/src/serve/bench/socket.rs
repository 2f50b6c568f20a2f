//! The WebSocket of a page: messages of the language server's protocol, without its headers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aten2onnx_lsp::Setup;
use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use lsp_server::{Connection, Message, RequestId};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message as Frame};

use super::Session;
use super::files;
use super::requests;
use crate::serve::http::{self, Answer};
use crate::serve::state::State;

/// A longer message ends the connection. Files are up to 40 kB.
const LONGEST: usize = 8 << 20;
/// Pages that are open at once. Each has a language server of its own.
const MOST: usize = 4;

/// Makes a connection of a request, and talks on it until the page is gone.
pub fn upgrade(mut request: Request<Incoming>, state: &Arc<State>) -> Answer {
    let Ok(answer) = create_response_with_body(&request, Vec::new) else {
        return http::text(400, "text/plain", "This address takes WebSockets alone.");
    };
    let Some(place) = SocketPlace::take(state) else {
        return http::text(503, "text/plain", "Too many pages of the workbench are open: close one.");
    };
    let state = Arc::clone(state);
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            talk(upgraded, state).await;
        }
        drop(place);
    });
    let (head, body) = answer.into_parts();
    Response::from_parts(head, body)
}

/// One of the pages that may be open.
struct SocketPlace(Arc<State>);

impl SocketPlace {
    fn take(state: &Arc<State>) -> Option<SocketPlace> {
        let next = |open: usize| (open < MOST).then_some(open + 1);
        state.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(SocketPlace(Arc::clone(state)))
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn talk(upgraded: Upgraded, state: Arc<State>) {
    let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let (mut sink, mut stream) = socket.split();
    let (out, mut waiting) = unbounded_channel::<String>();
    let session = Arc::new(Session::new(state));
    let server = language_server(&session, &out);
    watch_disk(&session, &server, &out);
    loop {
        let done = tokio::select! {
            text = waiting.recv() => match text {
                Some(text) => sink.send(Frame::text(text)).await,
                None => return,
            },
            frame = stream.next() => match frame {
                Some(Ok(Frame::Text(text))) => {
                    take(text.as_str(), &session, &server, &out);
                    Ok(())
                }
                Some(Ok(Frame::Close(_))) | None => Err(tungstenite::Error::ConnectionClosed),
                Some(Ok(_)) => Ok(()),
                Some(Err(error)) => Err(error),
            },
        };
        // The page is gone. The language server ends with the connection to it.
        if done.is_err() {
            return;
        }
    }
}

/// Starts the language server of a page, which tells the session what it finds. What it says goes to the page.
fn language_server(session: &Arc<Session>, out: &UnboundedSender<String>) -> crossbeam_channel::Sender<Message> {
    let (here, there) = Connection::memory();
    let observing = Arc::clone(session);
    let observer = Box::new(move |checked: &Arc<_>| observing.learn(checked));
    let setup = Setup { mappings: session.state.rules.clone(), observer: Some(observer), ..Setup::default() };
    let failed = out.clone();
    std::thread::spawn(move || {
        if let Err(text) = aten2onnx_lsp::serve(&there, setup) {
            let params = json!({"type": 1, "message": text});
            let _ =
                failed.send(json!({"jsonrpc": "2.0", "method": "window/showMessage", "params": params}).to_string());
        }
    });
    let out = out.clone();
    let (sender, receiver) = (here.sender, here.receiver);
    std::thread::spawn(move || {
        for message in receiver {
            let Ok(Value::Object(mut message)) = serde_json::to_value(&message) else { continue };
            message.insert("jsonrpc".to_owned(), Value::from("2.0"));
            if out.send(Value::Object(message).to_string()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Takes a message of the page.
fn take(
    text: &str,
    session: &Arc<Session>,
    server: &crossbeam_channel::Sender<Message>,
    out: &UnboundedSender<String>,
) {
    // What cannot be read has no number that an answer could name.
    let Ok(message) = serde_json::from_str::<Message>(text) else { return };
    match message {
        Message::Request(request) if request.method.starts_with("workbench/") => {
            let (session, out) = (Arc::clone(session), out.clone());
            tokio::task::spawn_blocking(move || {
                let answer = requests::answer(&session, &request.method, request.params);
                let _ = out.send(answered(&request.id, answer).to_string());
            });
        }
        // If the language server has ended, the page was told why.
        message => drop(server.send(message)),
    }
}

fn answered(id: &RequestId, answer: aten2onnx_core::error::Result<Value>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let help = error.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
            let message = format!("{error}{help}");
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32803, "message": message}})
        }
    }
}

/// Tells the language server and the page that files changed on disk, until the page is gone.
fn watch_disk(session: &Arc<Session>, server: &crossbeam_channel::Sender<Message>, out: &UnboundedSender<String>) {
    let (session, server, out) = (Arc::clone(session), server.clone(), out.downgrade());
    std::thread::spawn(move || {
        let mut version = session.state.now().version;
        loop {
            let now = session.state.after(version).version;
            let Some(out) = out.upgrade().filter(|out| !out.is_closed()) else { return };
            if now == version {
                continue;
            }
            version = now;
            let _ = server.send(Message::Notification(changed_files(&session)));
            let _ = out.send(json!({"jsonrpc": "2.0", "method": "workbench/disk", "params": {}}).to_string());
        }
    });
}

/// All files may have changed: those that did not are only read.
fn changed_files(session: &Session) -> lsp_server::Notification {
    let rules = session.state.rules.as_path();
    let folder = rules.canonicalize().unwrap_or_else(|_| rules.to_owned());
    let paths = files::list(rules).unwrap_or_default();
    let uris = paths.iter().filter_map(|path| aten2onnx_lsp::address(&folder.join(path)));
    let changes: Vec<Value> = uris.map(|uri| json!({"uri": uri, "type": 2})).collect();
    lsp_server::Notification::new("workspace/didChangeWatchedFiles".to_owned(), json!({"changes": changes}))
}
