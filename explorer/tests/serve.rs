//! The server answers its own pages and its user, and nobody else.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server on a free port, which ends with the test.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
        let mut process = Command::new(env!("CARGO_BIN_EXE_aten2onnx-explorer"))
            .args(["--rules", rules.to_str().unwrap(), "serve", "--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let port = said.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split('/').next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        Server { process, port }
    }

    fn connection(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.replace("PORT", &self.port.to_string()).as_bytes()).unwrap();
        stream
    }

    /// The answer to a request: `GET /live/` and header lines.
    fn answer(&self, line: &str, headers: &[&str], body: &str) -> String {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let request =
            format!("{line} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        let mut text = Vec::new();
        // A request that is refused before it is read may end the connection.
        let _ = self.connection(&request).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn status(&self, line: &str, headers: &[&str]) -> u16 {
        let answer = self.answer(line, headers, "");
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const HOST: &str = "Host: 127.0.0.1:PORT";

#[test]
fn other_sites_and_other_names_are_refused() {
    let server = Server::start();
    let status = |headers: &[&str]| server.status("GET /live/", headers);
    assert_eq!(status(&[HOST]), 200);
    assert_eq!(status(&["Host: localhost:PORT"]), 200);
    assert_eq!(status(&[HOST, "Origin: http://127.0.0.1:PORT"]), 200);
    assert_eq!(status(&[HOST, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]), 200);
    for refused in [
        &["Host: example.org"][..],
        &[],
        &[HOST, "Host: example.org"],
        &["Host: 127.0.0.1"],
        &[HOST, "Origin: https://example.org"],
        &[HOST, "Origin: null"],
        &[HOST, "Origin: http://127.0.0.1:PORT", "Origin: http://example.org"],
        &[HOST, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        &[HOST, "Sec-Fetch-Site: same-site"],
    ] {
        assert_eq!(status(refused), 403, "{refused:?}");
    }
    let foreign = [HOST, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
    assert_eq!(server.status("POST /live/call", &foreign), 403);
    assert_eq!(server.status("POST /live/call", &[HOST, "Origin: https://example.org"]), 403);
    assert_eq!(server.status("GET /live/events", &[HOST, "Origin: https://example.org"]), 403);
    assert_eq!(server.status("GET http://example.org/live/", &[HOST]), 403);
}

#[test]
fn requests_are_answered_or_refused_by_what_they_ask() {
    let server = Server::start();
    assert_eq!(server.status("DELETE /live/", &[HOST]), 405);
    assert_eq!(server.status("POST /live/", &[HOST]), 405);
    assert_eq!(server.status("GET /", &[HOST]), 302);
    assert!(matches!(server.status("GET /../../etc/passwd", &[HOST]), 404 | 503));
    let page = server.answer("GET /live/", &[HOST], "").to_ascii_lowercase();
    for header in
        ["content-type: text/html; charset=utf-8", "cache-control: no-store", "x-content-type-options: nosniff"]
    {
        assert!(page.contains(header), "{page}");
    }
    let called = server.answer("POST /live/call?opset=13", &[HOST], "aten::gelu(f32[2])");
    assert!(called.starts_with("HTTP/1.1 200") && called.contains("opset 13"), "{called}");
    let long = "x".repeat((64 << 10) + 1);
    assert!(server.answer("POST /live/call", &[HOST], &long).starts_with("HTTP/1.1 413"));
}

const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

#[test]
fn the_socket_of_the_workbench_is_for_own_pages_alone() {
    let server = Server::start();
    let first_line = |headers: &[&str]| {
        let headers: String = headers.iter().chain(&UPGRADE).map(|header| format!("{header}\r\n")).collect();
        let stream = server.connection(&format!("GET /edit/socket HTTP/1.1\r\n{headers}\r\n"));
        let mut line = String::new();
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut line).unwrap();
        (line, reader)
    };
    for refused in [
        &[HOST, "Origin: https://example.org"][..],
        &[HOST, "Origin: null"],
        &["Host: example.org", "Origin: http://127.0.0.1:PORT"],
        &[HOST, "Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: websocket"],
        &[HOST, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: websocket"],
    ] {
        let (line, _) = first_line(refused);
        assert!(line.starts_with("HTTP/1.1 403"), "{refused:?}: {line}");
    }
    let own = [HOST, "Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: websocket"];
    let mut open: Vec<_> = (0..4).map(|_| first_line(&own)).collect();
    assert!(open.iter().all(|(line, _)| line.starts_with("HTTP/1.1 101")), "{open:?}");
    // Each has a language server of its own, so there are not any number of them.
    assert!(first_line(&own).0.starts_with("HTTP/1.1 503"));
    open.pop();
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !first_line(&own).0.starts_with("HTTP/1.1 101") {
        assert!(std::time::Instant::now() < until, "the place of a page that is gone is not free");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.status("GET /edit/socket", &[HOST]), 400);
}

#[test]
fn pages_of_the_workbench_run_no_foreign_script() {
    let server = Server::start();
    for (page, part) in [("/edit/", "id=\"editor\""), ("/edit/new", "aten::_add_relu.Tensor")] {
        let answer = server.answer(&format!("GET {page}"), &[HOST], "");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(part), "{answer}");
        let policy = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("content-security-policy:"));
        assert!(policy.is_some_and(|policy| policy.contains("default-src 'self'")), "{policy:?}");
        assert!(!answer.contains("<script>"), "{answer}");
    }
    for file in ["workbench.js", "workbench.css", "licenses.txt"] {
        assert_eq!(server.status(&format!("GET /edit/{file}"), &[HOST]), 200);
    }
}

#[test]
fn news_go_on_while_other_requests_are_answered() {
    let server = Server::start();
    let request = format!("GET /live/events HTTP/1.1\r\n{HOST}\r\n\r\n");
    let news: Vec<TcpStream> = (0..4).map(|_| server.connection(&request)).collect();
    for stream in news {
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        assert_eq!(lines.next().unwrap(), "HTTP/1.1 200 OK");
        assert!(lines.any(|line| line == "retry: 500"));
        assert_eq!(server.status("GET /live/", &[HOST]), 200);
    }
}
