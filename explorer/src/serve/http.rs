//! Answers requests of browsers on this machine. Others are refused: pages of other sites could ask in the name of the user.

use aten2onnx_core::error::Result;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION, ORIGIN,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode, Uri};

use super::bench::page;
use super::call;
use super::state::{Now, State};
use super::view::{self, escaped};
use crate::site::{self, frame};

const SCRIPT: &str = include_str!("live.js");
const STYLE: &str = include_str!("live.css");
/// The editor and the libraries in it, made by `explorer/workbench`.
const WORKBENCH: &str = include_str!("../../assets/workbench.js");
const WORKBENCH_STYLE: &str = include_str!("bench/workbench.css");
const LICENSES: &str = include_str!("../../assets/workbench.licenses.txt");
/// A page that writes files runs no script but its own: documentation in rules, which it shows, may be anybody's.
const POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";
/// The opsets that are shown first.
const OPSETS: [u32; 2] = [13, 18];

/// An answer that is whole.
pub type Answer = Response<Vec<u8>>;

/// A request of this server's own pages, or of its user.
#[derive(Debug)]
pub struct Asked {
    /// GET or POST; others are refused.
    pub method: Method,
    /// The address.
    pub uri: Uri,
    /// What is sent.
    pub body: Vec<u8>,
}

/// Answers one request.
pub fn answer(asked: &Asked, state: &State) -> Answer {
    let path = asked.uri.path();
    let query = Query(asked.uri.query().unwrap_or_default());
    match (&asked.method, path) {
        (&Method::GET, "/live/") => live(state),
        (&Method::GET, "/edit/") => workbench(page::editor(state, OPSETS)),
        (&Method::GET, "/edit/new") => workbench(page::missing(state)),
        (&Method::GET, "/edit/workbench.js") => text(200, "text/javascript", WORKBENCH),
        (&Method::GET, "/edit/workbench.css") => text(200, "text/css", WORKBENCH_STYLE),
        (&Method::GET, "/edit/licenses.txt") => text(200, "text/plain", LICENSES),
        (&Method::GET, "/live/live.js") => text(200, "text/javascript", SCRIPT),
        (&Method::GET, "/live/live.css") => text(200, "text/css", &format!("{STYLE}\n{}", crate::draw::STYLE)),
        (&Method::GET, "/live/view") => html(&view::view(&state.now(), &shown(&query))),
        (&Method::POST, "/live/call" | "/live/compare") => match (std::str::from_utf8(&asked.body), state.now().good) {
            (Err(_), _) => text(400, "text/plain", "The call is not text."),
            (_, None) => html(&view::problem(&state.now())),
            (Ok(call), Some(set)) if path == "/live/call" => html(&call::draw_call(&set, call, &opsets(&query))),
            (Ok(call), Some(set)) => html(&call::compare(state, &set, call)),
        },
        (&Method::GET, "/") if state.now().pages.is_empty() => redirect("/live/"),
        (&Method::GET, path) => page(state, path),
        _ => text(405, "text/plain", "This address takes no such request."),
    }
}

/// Whether a request is for this server by its address, and from one of its pages or typed by the user.
pub fn is_own<B>(request: &Request<B>, port: u16) -> bool {
    let values = |name: &HeaderName| -> Vec<&[u8]> {
        request.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect()
    };
    let value = |name: &'static str| values(&HeaderName::from_static(name)).first().copied();
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_host = |host: &[u8]| hosts.iter().any(|own| own.as_bytes() == host);
    let is_origin = |origin: &&[u8]| origin.strip_prefix(b"http://").is_some_and(is_host);
    let host = matches!(values(&HOST).as_slice(), [host] if is_host(host));
    // An address with a host goes before the header.
    let address = request.uri().authority().is_none_or(|host| is_host(host.as_str().as_bytes()));
    let origin = values(&ORIGIN).iter().all(is_origin);
    // A link on another site may lead here, but not ask for anything but a page.
    let site = value("sec-fetch-site").is_none_or(|site| matches!(site, b"same-origin" | b"none"));
    let is_page = value("sec-fetch-mode") == Some(b"navigate") && *request.method() == Method::GET;
    host && address && origin && (site || is_page)
}

/// The page on which rules are seen while they are edited.
fn live(state: &State) -> Answer {
    let now = state.now();
    let mut body = String::from(
        "<link rel=\"stylesheet\" href=\"/live/live.css\"><h1>Live</h1>\
         <p>Save a file under the folder of rules: what it changes is shown here. \
         <a href=\"/edit/\">Edit rules in this browser</a>, or <a href=\"/edit/new\">begin a new one</a>.</p>\
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

/// A page of the workbench.
fn workbench(page: Result<String>) -> Answer {
    match page {
        Ok(page) => {
            let mut answer = html(&page);
            answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
            answer
        }
        Err(error) => text(500, "text/plain", &error.to_string()),
    }
}

/// Links of pages to those of the server. The page of an operator leads to its rule in the editor.
fn links(now: &Now, path: &str) -> String {
    let mut links = "<a href=\"/live/\">Live</a> <a href=\"/edit/new\">New rule</a>".to_owned();
    if let Some(op) = view::ops(now).find(|op| site::urls::operator(op) == path) {
        links.push_str(&format!(" <a href=\"/edit/?op={}\">Edit this rule</a>", escaped(&op.replace("::", "%3A%3A"))));
    }
    format!("<p class=\"live\">{links}</p>")
}

/// A page of the site, with the script that loads it again when it changes.
fn page(state: &State, path: &str) -> Answer {
    let now = state.now();
    let path = percent_decoded(path.trim_start_matches('/'));
    let path = if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path };
    match now.pages.get(&path) {
        Some(bytes) if path.ends_with(".html") => {
            let more = format!("{}<script src=\"/live/live.js\"></script></body>", links(&now, &path));
            html(&String::from_utf8_lossy(bytes).replacen("</body>", &more, 1))
        }
        Some(bytes) => with_type(Response::new(bytes.clone()), kind(&path)),
        None if now.pages.is_empty() && path.starts_with("assets/") => match site::assets().remove(&path) {
            Some(bytes) => with_type(Response::new(bytes), kind(&path)),
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

/// An answer of text.
pub fn text(status: u16, kind: &str, body: &str) -> Answer {
    let mut answer = Response::new(body.as_bytes().to_vec());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_type(answer, &format!("{kind}; charset=utf-8"))
}

fn redirect(to: &'static str) -> Answer {
    let mut answer = text(302, "text/plain", to);
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
    answer
}

/// Says what an answer is. Browsers keep none, and do not guess.
pub fn with_type<B>(mut answer: Response<B>, kind: &str) -> Response<B> {
    let headers = answer.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// The part of an address after `?`.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn all(&self, name: &str) -> Vec<String> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| percent_decoded(&value.replace('+', " "))).collect()
    }
}

fn shown(query: &Query<'_>) -> view::Asked {
    let first = |name| query.all(name).into_iter().next().unwrap_or_default();
    view::Asked {
        op: first("op").trim().to_owned(),
        example: first("example").parse().unwrap_or(0),
        opsets: opsets(query),
    }
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
    fn the_page_of_an_operator_leads_to_its_rule_in_the_editor() {
        let rules = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
        let good = aten2onnx_rules::interpret::MappingFiles::replacing(&rules).ok().map(std::sync::Arc::new);
        let now = Now { good, ..Now::default() };
        assert!(links(&now, "aten/add.Tensor/index.html").contains("href=\"/edit/?op=aten%3A%3Aadd.Tensor\""));
        assert!(links(&now, "onnx/Gelu/index.html").contains("href=\"/edit/?op=Gelu\""));
        assert!(!links(&now, "coverage/index.html").contains("op="));
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query("op=aten%3A%3Agelu&opset=13&opset=99&opset=x&example=1");
        let asked = shown(&query);
        assert_eq!((asked.op.as_str(), asked.example, asked.opsets), ("aten::gelu", 1, vec![13]));
        assert_eq!(opsets(&Query("")), OPSETS);
        assert_eq!(percent_decoded("a%2Fb%zz%"), "a/b%zz%");
    }
}
