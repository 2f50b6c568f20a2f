//! Answers requests of browsers on this machine. Others are refused: pages of other sites could ask in the name of the user.

use std::io::{Cursor, Read, Write};

use tiny_http::{Header, Method, Request, Response};

use super::call;
use super::state::State;
use super::view::{self, Asked, escaped};
use crate::site::{self, frame};

/// A longer request is cut.
const LONGEST: u64 = 64 << 10;
const SCRIPT: &str = include_str!("live.js");
const STYLE: &str = include_str!("live.css");
/// The opsets that are shown first.
const OPSETS: [u32; 2] = [13, 18];

type Answer = Response<Cursor<Vec<u8>>>;

/// Answers one request.
pub fn answer(mut request: Request, state: &State, port: u16) {
    // If the browser is gone, nobody needs the answer.
    if !is_own(&request, port) {
        let _ = request.respond(text(403, "text/plain", "Only pages of this server may ask it."));
        return;
    }
    let url = request.url().to_owned();
    let (path, query) = url.split_once('?').unwrap_or((&url, ""));
    let query = Query(query);
    let made = match (request.method(), path) {
        (Method::Get, "/live/events") => return events(request, state),
        (Method::Get, "/live/") => live(state),
        (Method::Get, "/live/live.js") => text(200, "text/javascript", SCRIPT),
        (Method::Get, "/live/live.css") => text(200, "text/css", &format!("{STYLE}\n{}", crate::draw::STYLE)),
        (Method::Get, "/live/view") => html(&view::view(&state.now(), &asked(&query))),
        (Method::Post, "/live/call" | "/live/compare") => {
            let mut call = String::new();
            let read = request.as_reader().take(LONGEST).read_to_string(&mut call);
            match (read, state.now().good) {
                (Err(_), _) => text(400, "text/plain", "The call is not text."),
                (_, None) => html(&view::problem(&state.now())),
                (_, Some(set)) if path == "/live/call" => html(&call::run(&set, &call, &opsets(&query))),
                (_, Some(set)) => html(&call::compare(state, &set, &call)),
            }
        }
        (Method::Get, "/") if state.now().pages.is_empty() => redirect("/live/"),
        (Method::Get, path) => page(state, path),
        _ => text(405, "text/plain", "This address takes no such request."),
    };
    let _ = request.respond(made);
}

/// Whether a request is for this server by its address, and from one of its pages or typed by the user.
fn is_own(request: &Request, port: u16) -> bool {
    let value = |name: &'static str| {
        let found = request.headers().iter().find(|header| header.field.equiv(name));
        found.map(|header| header.value.as_str())
    };
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host = value("Host").is_some_and(|host| hosts.iter().any(|own| own == host));
    let origin = value("Origin").is_none_or(|origin| hosts.iter().any(|own| origin == format!("http://{own}")));
    // A link on another site may lead here, but not ask for anything but a page.
    let site = value("Sec-Fetch-Site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let is_page = value("Sec-Fetch-Mode") == Some("navigate") && *request.method() == Method::Get;
    host && origin && (site || is_page)
}

/// News as Server-Sent Events: each check, with the rules that changed.
fn events(request: Request, state: &State) {
    let mut out = request.into_writer();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\nretry: 500\n\n";
    let mut version = state.now().version;
    let mut sent = out.write_all(head.as_bytes()).and_then(|()| out.flush());
    while sent.is_ok() {
        let now = state.after(version);
        let news = if now.version > version {
            let data = serde_json::json!({"version": now.version, "edited": now.edited, "ok": now.problem.is_none()});
            format!("data: {data}\n\n")
        } else {
            ":\n\n".to_owned()
        };
        version = now.version;
        sent = out.write_all(news.as_bytes()).and_then(|()| out.flush());
    }
}

/// The page on which rules are seen while they are edited.
fn live(state: &State) -> Answer {
    let now = state.now();
    let mut body = String::from(
        "<link rel=\"stylesheet\" href=\"/live/live.css\"><h1>Live</h1>\
         <p>Save a file under the folder of rules: what it changes is shown here.</p>\
         <form id=\"ask\"><label>Rule <input name=\"op\" list=\"ops\" placeholder=\"the edited one\" autocomplete=\"off\"></label>",
    );
    let newest = now.good.as_ref().map_or(0, |set| set.checked().schemas.opsets.max);
    let oldest = now.good.as_ref().map_or(0, |set| set.checked().schemas.opsets.min);
    for (i, chosen) in OPSETS.iter().enumerate() {
        body.push_str(&format!(" <label>Opset <select name=\"opset\" id=\"opset{i}\">"));
        for opset in oldest..=newest {
            let selected = if opset == *chosen { " selected" } else { "" };
            body.push_str(&format!("<option{selected}>{opset}</option>"));
        }
        body.push_str("</select></label>");
    }
    body.push_str("</form><datalist id=\"ops\">");
    let mut names: Vec<&str> = (now.good.iter())
        .flat_map(|set| set.checked().program.examples.iter().map(aten2onnx_examples::target))
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        body.push_str(&format!("<option value=\"{}\"></option>", escaped(name)));
    }
    body.push_str(
        "</datalist><form id=\"call\"><label>Call <input name=\"call\" size=\"60\" autocomplete=\"off\" \
         placeholder='aten::gelu(f16[2, n], approximate = \"tanh\")'></label> <button>Run</button> \
         <button type=\"button\" id=\"compare\">Compare with PyTorch</button></form>\
         <div id=\"called\" aria-live=\"polite\"></div><p id=\"state\" role=\"status\"></p><div id=\"view\"></div>\
         <script src=\"/live/live.js\"></script>",
    );
    match frame("Live", "/", &body) {
        Ok(page) => html(&page),
        Err(error) => text(500, "text/plain", &error.to_string()),
    }
}

/// A page of the site, with the script that loads it again when it changes.
fn page(state: &State, path: &str) -> Answer {
    let now = state.now();
    let path = percent_decoded(path.trim_start_matches('/'));
    let path = if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path };
    match now.pages.get(&path) {
        Some(bytes) if path.ends_with(".html") => {
            let link =
                "<p class=\"live\"><a href=\"/live/\">Live</a></p><script src=\"/live/live.js\"></script></body>";
            html(&String::from_utf8_lossy(bytes).replacen("</body>", link, 1))
        }
        Some(bytes) => {
            let response = Response::from_data(bytes.clone());
            with_type(response, kind(&path))
        }
        None if now.pages.is_empty() && path.starts_with("assets/") => match site::assets().remove(&path) {
            Some(bytes) => with_type(Response::from_data(bytes), kind(&path)),
            // What the search knows is made with the pages.
            None => text(200, kind(&path), ""),
        },
        None if now.pages.is_empty() => {
            let why = now.no_pages.as_deref().unwrap_or("The pages are being made, which takes a while.");
            text(503, "text/plain", why)
        }
        None => text(404, "text/plain", "There is no such page."),
    }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        _ => "application/octet-stream",
    }
}

fn html(body: &str) -> Answer {
    text(200, "text/html", body)
}

fn text(status: u16, kind: &str, body: &str) -> Answer {
    with_type(Response::from_data(body.as_bytes()).with_status_code(status), &format!("{kind}; charset=utf-8"))
}

fn redirect(to: &str) -> Answer {
    let answer = text(302, "text/plain", to);
    match Header::from_bytes("Location", to) {
        Ok(header) => answer.with_header(header),
        Err(()) => answer,
    }
}

fn with_type(answer: Answer, kind: &str) -> Answer {
    let headers = [("Content-Type", kind), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")];
    headers
        .into_iter()
        .filter_map(|(name, value)| Header::from_bytes(name, value).ok())
        .fold(answer, Response::with_header)
}

/// The part of an address after `?`.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn all(&self, name: &str) -> Vec<String> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| percent_decoded(&value.replace('+', " "))).collect()
    }
}

fn asked(query: &Query<'_>) -> Asked {
    let first = |name| query.all(name).into_iter().next().unwrap_or_default();
    Asked { op: first("op").trim().to_owned(), example: first("example").parse().unwrap_or(0), opsets: opsets(query) }
}

fn opsets(query: &Query<'_>) -> Vec<u32> {
    let range = aten2onnx_onnx::facts::MIN_OPSET..=aten2onnx_onnx::facts::MAX_OPSET;
    let mut found: Vec<u32> = query.all("opset").iter().filter_map(|text| text.parse().ok()).collect();
    found.retain(|opset| range.contains(opset));
    found.truncate(4);
    found.dedup();
    if found.is_empty() { OPSETS.to_vec() } else { found }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let query = Query("op=aten%3A%3Agelu&opset=13&opset=99&opset=x&example=1");
        let asked = asked(&query);
        assert_eq!((asked.op.as_str(), asked.example, asked.opsets), ("aten::gelu", 1, vec![13]));
        assert_eq!(opsets(&Query("")), OPSETS);
        assert_eq!(percent_decoded("a%2Fb%zz%"), "a/b%zz%");
    }
}
