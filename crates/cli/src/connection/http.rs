//! A connection to a server over HTTP.
//!
//! Each request runs on a thread of its own, because the HTTP library blocks. Ctrl-C closes its connection, and the
//! server cancels the query of a closed connection.

use std::io::{self, Cursor, Read};
use std::time::Instant;

use basalt_engine::{ClientStatement, ErrorCode, Input, ProgressSnapshot};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use ureq::{Agent, SendBody};

use super::interrupt::Interrupt;
use super::{COMPLETION_QUERIES, Connection, Finished, Statement, cancelled_by_user};
use crate::arguments::Settings;
use crate::failure::Failure;
use crate::output::{Output, Sink};
use crate::progress::ProgressLine;

const PIECE_BYTES: usize = 64 << 10;
const PIPE_PIECES: usize = 16;
const ERROR_BYTES_MAX: u64 = 1 << 20;

/// How much of an answer's end is kept to find the error that broke it off.
const TAIL_BYTES: usize = 4 << 10;

/// Marks an answer that broke off.
const MARKER: &str = "__exception__";

const SESSION_TIMEOUT_SECONDS: &str = "3600";

/// The server's address, and the user.
pub(crate) struct HttpOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: Option<String>,
}

pub(crate) struct HttpConnection {
    target: Target,
    interrupt: Interrupt,
    runtime: Runtime,
}

/// The common part of a connection's requests.
#[derive(Clone)]
struct Target {
    url: String,
    headers: Vec<(&'static str, String)>,
    query: Vec<(String, String)>,
}

impl HttpConnection {
    /// Connects, and checks that the server answers.
    pub(crate) fn open(options: HttpOptions, settings: Settings) -> Result<HttpConnection, Failure> {
        let HttpOptions { host, port, user, password, database } = options;
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let url = format!("http://{host}:{port}/");
        agent().get(format!("{url}ping")).call().map_err(|e| unreachable_server(&url, &e))?;
        let user = user.map(|user| ("X-ClickHouse-User", user));
        let password = password.map(|password| ("X-ClickHouse-Key", password));
        let mut query = vec![
            ("session_id".to_owned(), uuid::Uuid::new_v4().to_string()),
            ("session_timeout".to_owned(), SESSION_TIMEOUT_SECONDS.to_owned()),
        ];
        query.extend(settings.settings);
        query.extend(settings.parameters.into_iter().map(|(name, value)| (format!("param_{name}"), value)));
        let target = Target { url, headers: user.into_iter().chain(password).collect(), query };
        let runtime = crate::commands::runtime()?;
        let mut connection = HttpConnection { target, interrupt: Interrupt::default(), runtime };
        if let Some(database) = database {
            connection.ask(&format!("USE `{}`", database.replace('\\', "\\\\").replace('`', "\\`")))?;
        }
        Ok(connection)
    }

    pub(crate) fn close(self) {
        self.runtime.shutdown_background();
    }

    /// The answer to an internal statement.
    fn ask(&mut self, text: &str) -> Result<String, Failure> {
        let mut answer = Vec::new();
        let statement = Statement {
            text: text.as_bytes().to_vec(),
            input: Input::None,
            default_format: "TabSeparatedRaw".to_owned(),
        };
        self.exchange(statement, || Ok(Sink::memory(&mut answer)), &mut ProgressLine::hidden())?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Sends the statement and writes its answer. `open` is called when the server has accepted the statement, so
    /// that a refused statement leaves no file.
    fn exchange<'o>(
        &mut self,
        statement: Statement,
        open: impl FnOnce() -> Result<Sink<'o>, Failure>,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure> {
        let HttpConnection { target, interrupt, runtime } = self;
        let started = Instant::now();
        let agent = agent();
        let (sender, mut receiver) = mpsc::channel(PIPE_PIECES);
        let (target, shared_agent) = (target.clone(), agent.clone());
        std::thread::spawn(move || target.send(&shared_agent, statement, &sender));
        let mut finished =
            Finished { has_rows: false, figures: ProgressSnapshot::default(), elapsed: started.elapsed() };
        progress.start();
        let (mut open, mut sink) = (Some(open), None);
        let result = runtime.block_on(async {
            interrupt.arm().map_err(|e| Failure::output(&e))?;
            let mut cancelled = false;
            loop {
                let tick = || progress.show(&ProgressSnapshot::default());
                let cancel = || {
                    cancelled = true;
                    agent.clone().shutdown();
                };
                let event = interrupt.watch(receiver.recv(), tick, cancel).await;
                match event {
                    Some(_) if cancelled => {}
                    Some(Event::Head { has_rows, figures }) => {
                        (finished.has_rows, finished.figures) = (has_rows, figures);
                        sink = open.take().map(|open| open()).transpose()?;
                    }
                    Some(Event::Piece(piece)) => {
                        progress.clear();
                        sink.as_mut().map_or(Ok(()), |sink| sink.write(&piece))?;
                    }
                    Some(Event::Failed(failure)) => return Err(failure),
                    None if cancelled => return Err(cancelled_by_user()),
                    None => return Ok(()),
                }
            }
        });
        progress.clear();
        result?;
        sink.map_or(Ok(()), Sink::finish)?;
        finished.elapsed = started.elapsed();
        Ok(finished)
    }
}

impl Connection for HttpConnection {
    fn run(
        &mut self,
        mut statement: Statement,
        output: &mut Output,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure> {
        // The file is on the client's side.
        let ClientStatement { text, outfile, .. } = ClientStatement::parse(statement.text)?;
        statement.text = text;
        self.exchange(statement, || output.begin(outfile.as_ref()), progress)
    }

    fn completions(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for query in COMPLETION_QUERIES {
            if let Ok(answer) = self.ask(query) {
                names.extend(answer.lines().map(str::to_owned));
            }
        }
        names
    }
}

/// An event from a request's thread.
enum Event {
    Head { has_rows: bool, figures: ProgressSnapshot },
    Piece(Vec<u8>),
    Failed(Failure),
}

impl Target {
    fn send(&self, agent: &Agent, statement: Statement, events: &mpsc::Sender<Event>) {
        if let Err(failure) = self.exchange(agent, statement, events) {
            // After a cancellation there is no receiver.
            let _ = events.blocking_send(Event::Failed(failure));
        }
    }

    fn exchange(
        &self,
        agent: &Agent,
        statement: Statement,
        events: &mpsc::Sender<Event>,
    ) -> Result<(), Failure> {
        let mut request = agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request = request.query("default_format", &statement.default_format);
        for (name, value) in &self.query {
            request = request.query(name, value);
        }
        let response = match statement.input {
            // The shell and its statements have text alone.
            Input::None | Input::Blocks(_) => request.send(&statement.text[..]),
            Input::Reader(data) => {
                let mut body = Cursor::new(statement.text).chain(&b"\n"[..]).chain(data);
                request.send(SendBody::from_reader(&mut body))
            }
        };
        let response = response.map_err(|e| unreachable_server(&self.url, &e))?;
        if response.status() != 200 {
            return Err(refusal(response));
        }
        receive(response, events)
    }
}

fn receive(response: ureq::http::Response<ureq::Body>, events: &mpsc::Sender<Event>) -> Result<(), Failure> {
    let has_rows = response.headers().contains_key("x-clickhouse-format");
    let summary = response.headers().get("x-clickhouse-summary").and_then(|value| value.to_str().ok());
    let figures = parse_figures(summary.unwrap_or_default());
    let mut gone = events.blocking_send(Event::Head { has_rows, figures }).is_err();
    let mut body = response.into_body().into_with_config().limit(u64::MAX).reader();
    let mut tail = Vec::new();
    while !gone {
        let mut piece = vec![0; PIECE_BYTES];
        match body.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                piece.truncate(count);
                keep_tail(&mut tail, &piece);
                gone = events.blocking_send(Event::Piece(piece)).is_err();
            }
            Err(error) => return Err(broken_off(&tail, &error)),
        }
    }
    Ok(())
}

fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).proxy(None).build().into()
}

/// The server's own words for a refused request.
fn refusal(response: ureq::http::Response<ureq::Body>) -> Failure {
    let status = response.status();
    let number = response.headers().get("x-clickhouse-exception-code");
    let number = number.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let mut text = String::new();
    let read = response.into_body().into_reader().take(ERROR_BYTES_MAX).read_to_string(&mut text);
    match (number, read) {
        (Some(number), Ok(_)) if !text.is_empty() => Failure::new(number, text),
        _ => Failure::with_code(ErrorCode::NetworkError, format!("the server answered {status}: {text}")),
    }
}

fn unreachable_server(url: &str, source: &ureq::Error) -> Failure {
    Failure::with_code(ErrorCode::NetworkError, format!("no answer from {url}: {source}"))
}

fn keep_tail(tail: &mut Vec<u8>, piece: &[u8]) {
    tail.extend_from_slice(piece);
    let excess = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..excess);
}

/// A server that fails in the middle of an answer appends the error and closes the connection.
fn broken_off(tail: &[u8], source: &io::Error) -> Failure {
    let text = String::from_utf8_lossy(tail);
    let Some(at) = text.rfind("\nCode: ") else {
        return Failure::with_code(ErrorCode::NetworkError, format!("the answer broke off: {source}"));
    };
    let error = text[at + 1..].trim_end();
    // The length and a marker follow.
    let error = error
        .strip_suffix(MARKER)
        .and_then(|rest| rest.trim_end().rsplit_once('\n'))
        .map_or(error, |(text, _)| text);
    let digits = error["Code: ".len()..].split('.').next().unwrap_or_default();
    Failure::new(digits.parse().unwrap_or(1), error)
}

/// The figures of `X-ClickHouse-Summary`: JSON with numbers as strings.
fn parse_figures(text: &str) -> ProgressSnapshot {
    let figure = |name: &str| {
        let rest = text.split_once(&format!("\"{name}\":\"")).map_or("", |(_, rest)| rest);
        rest.split('"').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    ProgressSnapshot {
        read_rows: figure("read_rows"),
        read_bytes: figure("read_bytes"),
        total_rows_to_read: figure("total_rows_to_read"),
        written_rows: figure("written_rows"),
        written_bytes: figure("written_bytes"),
        result_rows: figure("result_rows"),
        result_bytes: figure("result_bytes"),
        elapsed_ns: figure("elapsed_ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_summary_are_read() {
        let figures = parse_figures(r#"{"read_rows":"12","read_bytes":"x","result_rows":"3"}"#);
        assert_eq!((figures.read_rows, figures.read_bytes, figures.result_rows), (12, 0, 3));
        assert_eq!(parse_figures(""), ProgressSnapshot::default());
    }

    #[test]
    fn error_behind_a_broken_answer_is_found() {
        let source = io::Error::other("closed");
        let tail = b"1\n2\n\nCode: 241. DB::Exception: memory. (MEMORY_LIMIT_EXCEEDED)\n";
        assert_eq!(broken_off(tail, &source).exit_code(), 241.into());
        assert_eq!(broken_off(b"1\n2\n", &source).exit_code(), 210.into());
        let tail = b"1\n\r\n__exception__\r\n0123456789abcdef\r\nCode: 241. DB::Exception: a\nb. (X)\n34 0123456789abcdef\r\n__exception__\r\n";
        assert_eq!(
            format!("{:?}", broken_off(tail, &source)),
            format!("{:?}", Failure::new(241, "Code: 241. DB::Exception: a\nb. (X)"))
        );
    }
}
