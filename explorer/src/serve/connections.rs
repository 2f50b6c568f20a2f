//! Connections of browsers, by hyper: requests are read here, and answers that wait for Python or for an edit are made on threads of their own.

use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::mpsc;

use super::bench::socket;
use super::http::{self, Answer, Asked};
use super::state::State;

/// A longer request is refused.
const LONGEST: usize = 64 << 10;
/// Who has not sent the head of a request by then is not waited for.
const HEAD: Duration = Duration::from_secs(30);
/// Where no connection can be accepted, such as without a file descriptor, it is tried again after this time.
const LATER: Duration = Duration::from_millis(100);

type Sent = BoxBody<Bytes, Infallible>;

/// Answers requests until the process ends.
///
/// # Errors
/// The listener cannot be used.
pub fn listen(listener: TcpListener, state: &Arc<State>, port: u16) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(connection(stream, Arc::clone(state), port))),
                Err(_) => tokio::time::sleep(LATER).await,
            }
        }
    })
}

async fn connection(stream: tokio::net::TcpStream, state: Arc<State>, port: u16) {
    let service = service_fn(move |request| respond(request, Arc::clone(&state), port));
    let mut connections = http1::Builder::new();
    connections.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // If the browser is gone, nobody needs the answer.
    let _ = connections.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

async fn respond(request: Request<Incoming>, state: Arc<State>, port: u16) -> Result<Response<Sent>, Infallible> {
    if !http::is_own(&request, port) {
        return Ok(sent(http::text(403, "text/plain", "Only pages of this server may ask it.")));
    }
    if (request.method(), request.uri().path()) == (&Method::GET, "/edit/socket") {
        return Ok(sent(socket::upgrade(request, &state)));
    }
    let (head, body) = request.into_parts();
    if (&head.method, head.uri.path()) == (&Method::GET, "/live/events") {
        return Ok(events(state));
    }
    let body = match Limited::new(body, LONGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Ok(sent(http::text(413, "text/plain", "The request is too long.")));
        }
        Err(_) => return Ok(sent(http::text(400, "text/plain", "The request is not whole."))),
    };
    let asked = Asked { method: head.method, uri: head.uri, body: body.to_vec() };
    let answer = tokio::task::spawn_blocking(move || http::answer(&asked, &state)).await;
    Ok(sent(answer.unwrap_or_else(|_| http::text(500, "text/plain", "The answer could not be made."))))
}

fn sent(answer: Answer) -> Response<Sent> {
    answer.map(|body| Full::new(Bytes::from(body)).boxed())
}

/// News as Server-Sent Events: each check, with the rules that changed.
fn events(state: Arc<State>) -> Response<Sent> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        let mut version = state.now().version;
        let mut news = "retry: 500\n\n".to_owned();
        // The receiver is dropped with the connection.
        while sender.blocking_send(Bytes::from(news)).is_ok() {
            let now = state.after(version);
            news = if now.version > version {
                let data =
                    serde_json::json!({"version": now.version, "edited": now.edited, "ok": now.problem.is_none()});
                format!("data: {data}\n\n")
            } else {
                ":\n\n".to_owned()
            };
            version = now.version;
        }
    });
    let answer = http::with_type(Response::new(()), "text/event-stream");
    answer.map(|()| News(receiver).boxed())
}

/// A body that goes on for as long as there is news.
struct News(mpsc::Receiver<Bytes>);

impl Body for News {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|news| news.map(|bytes| Ok(Frame::data(bytes))))
    }
}
