//! A request to an HTTP server, and the body of its answer.

use std::io::Read;
use std::time::Duration;

use basalt_base::{Error, ErrorCode, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::Limits;
use crate::limits::timed_out;

/// How much of the body of an answer that is an error is told.
const ERROR_BYTES_MAX: u64 = 1000;

/// A body may take as long as this: the library knows no limit for the time between two reads.
const BODY: Duration = Duration::from_secs(3600);

/// A request: GET, or POST if there is a body.
#[derive(Clone, Debug, Default)]
pub struct HttpRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// Adds a name and a password as HTTP's basic authentication.
    pub fn authorize(&mut self, user: &str, password: &str) {
        let credentials = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.headers.push(("Authorization".to_owned(), format!("Basic {credentials}")));
    }

    /// Adds a parameter to the URL.
    pub fn add_parameter(&mut self, name: &str, value: &str) {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(&format!("{}={}", encoded(name), encoded(value)));
    }

    /// Sends the request; the body of the answer comes as it is read.
    pub fn send(&self, limits: &Limits) -> Result<Box<dyn Read + Send>> {
        check_url(&self.url)?;
        let whole = limits.wait(Duration::from_secs(1_000_000_000), &self.url)?;
        let agent = ureq::Agent::config_builder()
            .timeout_connect(Some(limits.connect))
            .timeout_recv_response(Some(limits.silence.min(whole)))
            .timeout_recv_body(Some(BODY.min(whole)))
            .timeout_global(limits.deadline.map(|_| whole))
            .http_status_as_error(false)
            .build()
            .new_agent();
        let answer = match &self.body {
            None => {
                let request = agent.get(&self.url);
                self.headers.iter().fold(request, |request, (name, value)| request.header(name, value)).call()
            }
            Some(body) => {
                let request = agent.post(&self.url);
                let headers = self.headers.iter();
                headers.fold(request, |request, (name, value)| request.header(name, value)).send(&body[..])
            }
        };
        let answer = answer.map_err(|error| failed(&self.url, &error))?;
        let status = answer.status();
        let body = answer.into_body().into_reader();
        if !status.is_success() {
            let mut text = String::new();
            // What cannot be read cannot be told.
            let _ = body.take(ERROR_BYTES_MAX).read_to_string(&mut text);
            bail!(NetworkError, "{} answers with status {}: {}", self.url, status.as_u16(), text.trim());
        }
        Ok(Box::new(body))
    }
}

/// An error if the URL is none that this build can reach.
pub fn check_url(url: &str) -> Result<()> {
    if url.starts_with("http://") {
        return Ok(());
    }
    if url.starts_with("https://") {
        bail!(
            NotImplemented,
            "{url}: https is not implemented, this build has no TLS; put a proxy before it"
        );
    }
    bail!(BadArguments, "`{url}` is no URL of the form http://host:port/path");
}

fn failed(url: &str, error: &ureq::Error) -> Error {
    match error {
        ureq::Error::Timeout(_) => timed_out(url),
        other => Error::new(ErrorCode::NetworkError, format!("{url}: {other}")),
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Random text that nobody can guess.
pub(crate) fn random_text() -> Result<String> {
    let mut bytes = [0; 18];
    let mut source = std::fs::File::open("/dev/urandom")
        .map_err(|error| Error::io(std::path::Path::new("/dev/urandom"), &error))?;
    source.read_exact(&mut bytes).map_err(|error| Error::io(std::path::Path::new("/dev/urandom"), &error))?;
    Ok(BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_refused_by_name() {
        assert_eq!(check_url("https://a/").map_err(|error| error.code()), Err(ErrorCode::NotImplemented));
        assert_eq!(check_url("ftp://a/").map_err(|error| error.code()), Err(ErrorCode::BadArguments));
        assert!(check_url("http://a/").is_ok());
    }

    #[test]
    fn parameters_are_encoded() {
        let mut request = HttpRequest { url: "http://a/b".into(), ..HttpRequest::default() };
        request.add_parameter("since", "2026-01-01 00:00:00");
        request.add_parameter("x", "&");
        assert_eq!(request.url, "http://a/b?since=2026-01-01%2000%3A00%3A00&x=%26");
    }
}
