//! A result set as a response that streams.
//!
//! # Invariants
//!
//! - **Early errors have a status**: the head is sent only after the first bytes of the answer (as
//!   many as `buffer_size` says) were computed, so an error before them is a response of its own.
//! - **Late errors are not lost**: one that comes after the head is appended to the body as text and
//!   the connection is broken, so that no client takes the body for whole.
//! - **Nobody listens, nothing runs**: dropping the body cancels its query.

use std::io::{self, Read, Seek, Write};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::{CancelHandle, Error, ErrorCode, ProgressSnapshot, ResultBytes, Rows, Summary};
use bytes::Bytes;
use futures::stream;
use tempfile::SpooledTempFile;

use super::parameters::Parameters;
use crate::sessions::Lease;

pub(super) const QUERY_ID: HeaderName = HeaderName::from_static("x-clickhouse-query-id");
const FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
const TIMEZONE: HeaderName = HeaderName::from_static("x-clickhouse-timezone");
const SUMMARY: HeaderName = HeaderName::from_static("x-clickhouse-summary");
const PROGRESS: HeaderName = HeaderName::from_static("x-clickhouse-progress");

const TEXT_PLAIN: &str = "text/plain; charset=UTF-8";

/// An answer that waits for its query's end moves from memory to a file at this size.
const SPOOL_MEMORY_BYTES: usize = 16 << 20;
const SPOOL_PIECE_BYTES: usize = 256 << 10;

/// Time for the text of a late error to leave before the connection is broken.
const LATE_ERROR_DELAY: Duration = Duration::from_millis(100);

/// Cancels a query when it is dropped before the query's end.
pub(super) struct Cancelling {
    cancel: CancelHandle,
    armed: bool,
}

impl Cancelling {
    pub(super) fn new(cancel: CancelHandle) -> Cancelling {
        Cancelling { cancel, armed: true }
    }

    fn disarm(&mut self) {
        self.armed = false;
    }
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        if self.armed {
            self.cancel.cancel();
        }
    }
}

/// The response to a statement without rows.
pub(super) fn done(summary: &Summary, mut cancelling: Cancelling) -> Response {
    cancelling.disarm();
    let head = Head {
        query_id: &summary.query_id,
        content_type: TEXT_PLAIN,
        format: None,
        snapshot: summary.progress,
        with_progress: false,
    };
    head.response(Body::empty())
}

/// The response to a statement with rows. An error is one that came before the head was sent.
pub(super) async fn rows(
    rows: Rows,
    session: Lease,
    cancelling: Cancelling,
    parameters: &Parameters,
) -> Result<Response, Error> {
    if rows.into_outfile().is_some() {
        return Err(Error::new(
            ErrorCode::NotImplemented,
            "INTO OUTFILE is for `basalt local`; over HTTP the client writes the file",
        ));
    }
    let progress = rows.progress();
    let (query_id, format) = (rows.query_id().to_owned(), rows.format().to_owned());
    let running = Running { bytes: rows.into_bytes()?, cancelling, _session: session };
    let content_type = running.bytes.content_type();
    let mut body = if parameters.wait_end_of_query {
        running.spool().await?
    } else {
        running.stream(parameters.buffer_bytes).await?
    };
    if let Some(encoding) = parameters.encoding {
        body = encoding.compress(body).map_err(|e| Error::logical(format!("no encoder: {e}")))?;
    }
    let head = Head {
        query_id: &query_id,
        content_type,
        format: Some(&format),
        snapshot: progress.snapshot(),
        with_progress: parameters.send_progress,
    };
    let mut response = head.response(body);
    if let Some(encoding) = parameters.encoding {
        let name = HeaderValue::from_static(encoding.name());
        response.headers_mut().insert(header::CONTENT_ENCODING, name);
    }
    Ok(response)
}

/// A query whose answer is being sent. It keeps its session until then.
struct Running {
    bytes: ResultBytes,
    cancelling: Cancelling,
    _session: Lease,
}

impl Running {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.bytes.next().await;
        if !matches!(piece, Ok(Some(_))) {
            self.cancelling.disarm();
        }
        Ok(piece?.map(Bytes::from))
    }

    /// Computes up to `held_back` bytes, and the rest while it is being sent.
    async fn stream(mut self, held_back: usize) -> Result<Body, Error> {
        let mut first = Vec::new();
        while first.len() <= held_back {
            match self.next().await? {
                Some(piece) => first.extend_from_slice(&piece),
                None => return Ok(Body::from(first)),
            }
        }
        Ok(Body::from_stream(stream::unfold(Sending::First(first.into(), self), Sending::step)))
    }

    /// Computes everything before the first byte is sent.
    async fn spool(mut self) -> Result<Body, Error> {
        let mut file = SpooledTempFile::new(SPOOL_MEMORY_BYTES);
        while let Some(piece) = self.next().await? {
            tokio::task::block_in_place(|| file.write_all(&piece)).map_err(|e| cannot_spool(&e))?;
        }
        file.rewind().map_err(|e| cannot_spool(&e))?;
        Ok(Body::from_stream(stream::unfold(file, read_back)))
    }
}

/// Where the body of a response stands.
enum Sending {
    First(Bytes, Running),
    Rest(Running),
    Broken(Error),
    Ended,
}

impl Sending {
    async fn step(self) -> Option<(io::Result<Bytes>, Sending)> {
        match self {
            Sending::First(piece, running) => Some((Ok(piece), Sending::Rest(running))),
            Sending::Rest(mut running) => match running.next().await {
                Ok(Some(piece)) => Some((Ok(piece), Sending::Rest(running))),
                Ok(None) => None,
                Err(error) => Some((Ok(format!("\n{error}\n").into()), Sending::Broken(error))),
            },
            Sending::Broken(error) => {
                tokio::time::sleep(LATE_ERROR_DELAY).await;
                Some((Err(io::Error::other(error)), Sending::Ended))
            }
            Sending::Ended => None,
        }
    }
}

async fn read_back(mut file: SpooledTempFile) -> Option<(io::Result<Bytes>, SpooledTempFile)> {
    let mut piece = vec![0; SPOOL_PIECE_BYTES];
    match tokio::task::block_in_place(|| file.read(&mut piece)) {
        Ok(0) => None,
        Ok(count) => {
            piece.truncate(count);
            Some((Ok(piece.into()), file))
        }
        Err(error) => Some((Err(error), file)),
    }
}

fn cannot_spool(source: &io::Error) -> Error {
    Error::new(ErrorCode::CannotWriteToFile, format!("cannot hold the answer in a temporary file: {source}"))
}

/// The head of a response, less its status.
struct Head<'a> {
    query_id: &'a str,
    content_type: &'static str,
    format: Option<&'a str>,
    snapshot: ProgressSnapshot,
    with_progress: bool,
}

impl Head<'_> {
    fn response(&self, body: Body) -> Response {
        let mut response = body.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        let figures = figures(&self.snapshot);
        let zone = basalt_base::zone::Zone::system();
        let texts = [
            (QUERY_ID, Some(self.query_id)),
            (FORMAT, self.format),
            (TIMEZONE, Some(zone.name())),
            (SUMMARY, Some(&figures)),
            (PROGRESS, self.with_progress.then_some(&figures)),
        ];
        for (name, text) in texts {
            // A query id that no header can hold was the client's own choice; it knows it.
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// The figures as ClickHouse writes them: JSON with its numbers as strings.
fn figures(snapshot: &ProgressSnapshot) -> String {
    let pairs = [
        ("read_rows", snapshot.read_rows),
        ("read_bytes", snapshot.read_bytes),
        ("written_rows", snapshot.written_rows),
        ("written_bytes", snapshot.written_bytes),
        ("total_rows_to_read", snapshot.total_rows_to_read),
        ("result_rows", snapshot.result_rows),
        ("result_bytes", snapshot.result_bytes),
        ("elapsed_ns", snapshot.elapsed_ns),
    ];
    let fields: Vec<String> = pairs.iter().map(|(name, figure)| format!("\"{name}\":\"{figure}\"")).collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_json_with_numbers_as_strings() {
        let snapshot = ProgressSnapshot { read_rows: 3, elapsed_ns: 7, ..ProgressSnapshot::default() };
        let text = figures(&snapshot);
        assert!(text.starts_with("{\"read_rows\":\"3\",\"read_bytes\":\"0\""), "{text}");
        assert!(text.ends_with("\"elapsed_ns\":\"7\"}"), "{text}");
    }

    #[test]
    fn dropped_query_is_cancelled_and_ended_one_is_not() {
        let cancel = CancelHandle::default();
        let mut ended = Cancelling::new(cancel.clone());
        ended.disarm();
        drop(ended);
        assert!(!cancel.is_cancelled());
        drop(Cancelling::new(cancel.clone()));
        assert!(cancel.is_cancelled());
    }
}
