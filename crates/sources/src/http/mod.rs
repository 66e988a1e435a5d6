//! A request to an HTTP server, and the body of its response.

mod connector;
mod decoding;
mod retries;

use std::io::Read;
use std::time::Duration;

use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};

use self::connector::TlsConnector;
use self::decoding::decoded;
use self::retries::Failure;
pub use self::retries::Retries;
use crate::limits::timed_out;
use crate::tls::{explained, handshake_timed_out, is_of_tls};
use crate::{Limits, TlsMode, TlsOptions};

/// Bytes of an error response's body that the error message quotes.
const ERROR_BYTES_MAX: u64 = 1000;

/// Permanent failures; a request with another error status may succeed on a retry.
const PERMANENT: [u16; 6] = [400, 401, 403, 404, 405, 501];

/// A request: GET, or POST if there is a body.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// TLS of an https address.
    pub tls: TlsOptions,
    /// The most redirects to follow.
    pub redirects_max: u32,
    pub retries: Retries,
}

impl HttpRequest {
    /// Adds HTTP basic authentication.
    pub fn authorize(&mut self, user: &str, password: &str) {
        let credentials = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.headers.push(("Authorization".to_owned(), format!("Basic {credentials}")));
    }

    /// Adds a parameter to the URL.
    pub fn add_parameter(&mut self, name: &str, value: &str) {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(&format!("{}={}", encoded(name), encoded(value)));
    }

    /// Sends the request. The body of the response is streamed and decompressed.
    pub fn send(&self, limits: &Limits) -> Result<Box<dyn Read + Send>> {
        check_url(&self.url)?;
        self.retries.run(limits, &self.url, || self.send_once(limits))
    }

    fn send_once(&self, limits: &Limits) -> Result<Box<dyn Read + Send>, Failure> {
        let agent = self.agent(limits)?;
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
        let answer = answer.map_err(|error| failure(&self.url, error))?;
        let status = answer.status();
        let encoding = answer.headers().get("content-encoding").and_then(|value| value.to_str().ok());
        let encoding = encoding.map(str::to_owned);
        let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
        if status.is_success() {
            let body = Body { body, url: self.url.clone() };
            return Ok(decoded(body, encoding.as_deref(), &self.url)?);
        }
        if status.is_redirection() {
            return Err(too_many_redirects(&self.url).into());
        }
        let mut text = Vec::new();
        // An unreadable body is not quoted.
        let _ = body.take(ERROR_BYTES_MAX).read_to_end(&mut text);
        let (text, code) = (String::from_utf8_lossy(&text), status.as_u16());
        let message = format!("{} answers with status {code}: {}", self.url, text.trim());
        let error = Error::new(ErrorCode::ReceivedErrorFromRemoteIoServer, message.trim_end());
        Err(Failure { error, is_transient: !PERMANENT.contains(&code) })
    }

    fn agent(&self, limits: &Limits) -> Result<ureq::Agent> {
        let whole = limits.wait(Duration::MAX, &self.url)?;
        let is_https = self.url.starts_with("https:");
        let settings = ureq::Agent::config_builder()
            .timeout_connect(Some(limits.connect.min(whole)))
            .timeout_recv_response(Some(limits.receive.min(whole)))
            .timeout_per_read(Some(limits.receive.min(whole)))
            .timeout_per_write(Some(limits.send.min(whole)))
            .timeout_global(limits.deadline.map(|_| whole))
            // A request sent over TLS must not be redirected to plain text.
            .https_only(is_https)
            .max_redirects(self.redirects_max)
            .http_status_as_error(false)
            .build();
        let config = match (self.tls.config(), is_https) {
            (Ok(config), _) => Some(config),
            (Err(error), true) => return Err(error),
            // A redirect to https is refused.
            (Err(_), false) => None,
        };
        let connector = ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default());
        let connector = connector.chain(TlsConnector { config });
        Ok(ureq::Agent::with_parts(settings, connector, DefaultResolver::default()))
    }
}

impl Default for HttpRequest {
    fn default() -> HttpRequest {
        let tls = TlsOptions { mode: TlsMode::VerifyFull, ..TlsOptions::default() };
        HttpRequest {
            url: String::new(),
            headers: Vec::new(),
            body: None,
            tls,
            redirects_max: 0,
            retries: Retries::default(),
        }
    }
}

/// The body of a response, with this crate's errors.
struct Body<R> {
    body: R,
    url: String,
}

impl<R: Read> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.body.read(buffer);
        read.map_err(|error| std::io::Error::other(failed(&self.url, ureq::Error::from(error))))
    }
}

/// Fails if the text is no http or https URL.
pub fn check_url(url: &str) -> Result<()> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(());
    }
    bail!(BadArguments, "`{url}` is no URL of the form http://host:port/path or https://host:port/path");
}

/// The host and the port of `url`, parsed as the client parses it.
pub fn host_of(url: &str) -> Result<(String, u16)> {
    check_url(url)?;
    let uri: Option<ureq::http::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(|uri| uri.host());
    let Some((uri, host)) = uri.as_ref().zip(host) else {
        bail!(BadArguments, "`{url}` is no URL of the form http://host:port/path or https://host:port/path");
    };
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Ok((host.to_owned(), uri.port_u16().unwrap_or(usual)))
}

/// A refused or broken connection may succeed on a retry. A request that timed out has used up its time.
fn failure(url: &str, error: ureq::Error) -> Failure {
    let is_transient = match &error {
        ureq::Error::Io(error) => !is_of_tls(error),
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound | ureq::Error::Protocol(_) => true,
        _ => false,
    };
    let error = failed(url, error);
    if is_transient { Failure::transient(error) } else { error.into() }
}

fn too_many_redirects(url: &str) -> Error {
    let message = format!(
        "{url} sends the request elsewhere: that is followed as often as max_http_get_redirects in the SETTINGS of the \
         dictionary says (0 unless set), and never with keys in its body"
    );
    Error::new(ErrorCode::TooManyRedirects, message)
}

fn failed(url: &str, error: ureq::Error) -> Error {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect) if url.starts_with("https:") => handshake_timed_out(url),
        ureq::Error::Timeout(_) => timed_out(url),
        ureq::Error::Io(error) if is_of_tls(&error) => explained(url, &error),
        ureq::Error::TooManyRedirects | ureq::Error::RedirectFailed => too_many_redirects(url),
        ureq::Error::RequireHttpsOnly(to) => Error::new(
            ErrorCode::NetworkError,
            format!("{url} sends the request to {to}, which is not protected by TLS"),
        ),
        other => Error::new(ErrorCode::NetworkError, format!("{url}: {other}")),
    }
}

/// The bytes that a URL parameter escapes.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ENCODED)
}

/// Random text that cannot be guessed.
pub(crate) fn random_text() -> Result<String> {
    let mut bytes = [0; 18];
    let mut source = std::fs::File::open("/dev/urandom")
        .map_err(|error| Error::io(FileAction::Open, std::path::Path::new("/dev/urandom"), &error))?;
    source
        .read_exact(&mut bytes)
        .map_err(|error| Error::io(FileAction::Read, std::path::Path::new("/dev/urandom"), &error))?;
    Ok(BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_protocols_are_refused() {
        assert_eq!(check_url("ftp://a/").map_err(|error| error.code()), Err(ErrorCode::BadArguments));
        assert!(check_url("http://a/").is_ok());
        assert!(check_url("https://a/").is_ok());
    }

    #[test]
    fn parameters_are_encoded() {
        let mut request = HttpRequest { url: "http://a/b".into(), ..HttpRequest::default() };
        request.add_parameter("since", "2026-01-01 00:00:00");
        request.add_parameter("x", "&");
        assert_eq!(request.url, "http://a/b?since=2026-01-01%2000%3A00%3A00&x=%26");
    }
}
