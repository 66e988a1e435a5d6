//! HTTP/1.1 over a plain socket, just enough for tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server that sends nothing for this long has lost the request.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body ended as its head announced.
    pub is_whole: bool,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// One request on a connection of its own.
pub fn request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut connection = Connection::open(address);
    connection.send(method, target, headers, body);
    connection.receive()
}

/// A connection that can be used for several requests, or dropped in the middle of one.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("not zero");
        Connection { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {target} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str("Host: localhost\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes()).expect("the server reads");
        // A server that has refused the head may have closed the connection. Its answer has the reason.
        let _ = stream.write_all(body);
    }

    /// Sends bytes without a head.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    /// Whether the server closes the connection. Waits for it.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
    }

    pub fn receive(&mut self) -> Response {
        let mut line = self.line().expect("a status line");
        let status =
            line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        let mut headers = Vec::new();
        loop {
            line = self.line().expect("a header");
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut answer = Response { status, headers, body: Vec::new(), is_whole: true };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.is_whole = self.read_chunks(&mut answer.body).is_some();
        } else if let Some(length) = answer.header("content-length").and_then(|text| text.parse().ok()) {
            answer.body = vec![0; length];
            answer.is_whole = self.stream.read_exact(&mut answer.body).is_ok();
        }
        answer
    }

    /// `None` if the connection ends before the last chunk.
    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let size = usize::from_str_radix(&self.line()?, 16).ok()?;
            let start = body.len();
            body.resize(start + size, 0);
            self.stream.read_exact(&mut body[start..]).ok()?;
            self.line()?;
            if size == 0 {
                return Some(());
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end().to_owned())
    }
}

/// `text` as the value of a URL parameter.
pub fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
