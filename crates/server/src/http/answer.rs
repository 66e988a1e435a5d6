//! A result set as a streamed response.
//!
//! # Invariants
//!
//! - **Early errors have a status**: the head is sent only after the first `buffer_size` bytes of the answer were
//!   computed, so an error before that is a response of its own.
//! - **Late errors are not lost**: an error after the head is appended to the body, in a frame with the tag that the
//!   head announced. Then the connection is broken, so that no client takes the body for complete.
//! - **No listener, no work**: dropping the body cancels its query.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::{CancelHandle, Error, ErrorCode, ProgressSnapshot, QueryResult, ResultBytes, Summary};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use tempfile::{SpooledData, SpooledTempFile};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::compression;
use super::frames;
use super::parameters::Parameters;
use crate::sessions::Lease;

pub(super) const QUERY_ID: HeaderName = HeaderName::from_static("x-clickhouse-query-id");
const FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
const TIMEZONE: HeaderName = HeaderName::from_static("x-clickhouse-timezone");
const SUMMARY: HeaderName = HeaderName::from_static("x-clickhouse-summary");
const EXCEPTION_TAG: HeaderName = HeaderName::from_static("x-clickhouse-exception-tag");
const DISPLAY_NAME: HeaderName = HeaderName::from_static("x-clickhouse-server-display-name");
const PROGRESS: HeaderName = HeaderName::from_static("x-clickhouse-progress");

const TEXT_PLAIN: &str = "text/plain; charset=UTF-8";

/// A buffered answer moves from memory to a file at this size.
const SPOOL_MEMORY_BYTES: usize = 2 << 20;
const SPOOL_PIECE_BYTES: usize = 256 << 10;

const TAG_BYTES: usize = 16;
/// Delimits a late error.
const MARKER: &str = "__exception__";

/// Pieces of an answer that may wait to be sent.
const PIECES_WAITING: usize = 2;

/// The time for sending a late error before the connection is broken.
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

    pub(super) fn disarm(&mut self) {
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

/// The response to a statement without a result set.
pub(super) fn done(summary: &Summary, mut cancelling: Cancelling) -> Response {
    cancelling.disarm();
    let head = Head {
        query_id: &summary.query_id,
        content_type: TEXT_PLAIN,
        format: None,
        tag: None,
        snapshot: summary.progress,
        with_progress: false,
    };
    head.response(Body::empty())
}

/// The response to a statement with a result set. Returns an error that occurs before the head is sent.
pub(super) async fn rows(
    rows: QueryResult,
    session: Lease,
    cancelling: Cancelling,
    parameters: &Parameters,
    temporary_dir: &Path,
) -> Result<Response, Error> {
    if rows.into_outfile().is_some() {
        return Err(Error::new(
            ErrorCode::NotImplemented,
            "INTO OUTFILE is for `basalt local`; over HTTP the client writes the file",
        ));
    }
    let progress = rows.progress();
    let (query_id, format) = (rows.query_id().to_owned(), rows.format().to_owned());
    let tag = new_tag();
    let running = Running { bytes: rows.into_bytes()?, tag: tag.clone(), cancelling, _session: session };
    let content_type = running.bytes.content_type();
    let held_back = if parameters.wait_end_of_query { u64::MAX } else { parameters.buffer_bytes };
    let mut body = running.hold_back(held_back, temporary_dir).await?;
    if parameters.frames_answer {
        body = frames::compressed(body);
    }
    if let Some(encoding) = parameters.encoding {
        body = compression::compressed(body, encoding, parameters.compression_level)?;
    }
    let body = computed_here(body);
    let head = Head {
        query_id: &query_id,
        content_type,
        format: Some(&format),
        tag: Some(&tag),
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

/// A query whose answer is being sent. It keeps its session until the end.
struct Running {
    bytes: ResultBytes,
    /// The tag that identifies a late error.
    tag: String,
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

    /// Computes up to `held_back` bytes first, and the rest while sending.
    async fn hold_back(mut self, held_back: u64, temporary_dir: &Path) -> Result<Body, Error> {
        let mut first = SpooledTempFile::new_in(SPOOL_MEMORY_BYTES, temporary_dir);
        let mut bytes = 0;
        while bytes <= held_back {
            let Some(piece) = self.next().await? else { return held_body(first) };
            bytes += piece.len() as u64;
            let is_in_file = bytes > SPOOL_MEMORY_BYTES as u64;
            let written = match is_in_file {
                true => tokio::task::block_in_place(|| first.write_all(&piece)),
                false => first.write_all(&piece),
            };
            written.map_err(|e| cannot_spool(&e))?;
        }
        let rest = stream::unfold(Sending::Rest(Box::new(self)), Sending::step);
        Ok(Body::from_stream(held_body(first)?.into_data_stream().map_err(io::Error::other).chain(rest)))
    }
}

/// The buffered answer; from memory it is sent with its length.
fn held_body(mut held: SpooledTempFile) -> Result<Body, Error> {
    held.rewind().map_err(|e| cannot_spool(&e))?;
    match held.into_inner() {
        SpooledData::InMemory(bytes) => Ok(Body::from(bytes.into_inner())),
        SpooledData::OnDisk(file) => Ok(Body::from_stream(stream::unfold(file, read_back))),
    }
}

/// The same body, polled by a task of the current runtime.
fn computed_here(body: Body) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let (sender, receiver) = mpsc::channel(PIECES_WAITING);
    tokio::spawn(async move {
        let mut pieces = body.into_data_stream();
        loop {
            let piece = tokio::select! {
                piece = pieces.next() => piece,
                // The client disconnected; dropping the pieces cancels the query.
                () = sender.closed() => return,
            };
            let Some(piece) = piece else { return };
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    let received = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    Body::from_stream(received)
}

/// The state of sending a body.
enum Sending {
    Rest(Box<Running>),
    Broken(Error),
    Ended,
}

impl Sending {
    async fn step(self) -> Option<(io::Result<Bytes>, Sending)> {
        match self {
            Sending::Rest(mut running) => match running.next().await {
                Ok(Some(piece)) => Some((Ok(piece), Sending::Rest(running))),
                Ok(None) => None,
                Err(error) => Some((Ok(framed(&error, &running.tag).into()), Sending::Broken(error))),
            },
            Sending::Broken(error) => {
                tokio::time::sleep(LATE_ERROR_DELAY).await;
                Some((Err(io::Error::other(error)), Sending::Ended))
            }
            Sending::Ended => None,
        }
    }
}

async fn read_back(mut file: File) -> Option<(io::Result<Bytes>, File)> {
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

/// The name that clients show.
const SERVER_NAME: &str = "basalt";

/// The headers of a response.
struct Head<'a> {
    query_id: &'a str,
    content_type: &'static str,
    format: Option<&'a str>,
    tag: Option<&'a str>,
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
            (EXCEPTION_TAG, self.tag),
            (TIMEZONE, Some(zone.name())),
            (DISPLAY_NAME, Some(SERVER_NAME)),
            (SUMMARY, Some(&figures)),
            (PROGRESS, self.with_progress.then_some(&figures)),
        ];
        for (name, text) in texts {
            // A query id that is not a valid header was chosen by the client, which knows it.
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// A tag that cannot occur in an answer by chance.
fn new_tag() -> String {
    let mut tag = Uuid::new_v4().simple().to_string();
    tag.truncate(TAG_BYTES);
    tag
}

/// A late error in ClickHouse's format.
fn framed(error: &Error, tag: &str) -> String {
    let text = format!("{error}\n");
    format!("\r\n{MARKER}\r\n{tag}\r\n{text}{} {tag}\r\n{MARKER}\r\n", text.len())
}

/// The figures in ClickHouse's format: JSON with numbers as strings.
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
