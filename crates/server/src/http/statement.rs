//! The statement and its data, from the URL and the body of a request.
//!
//! A statement may stand in the URL, in the body, or begin in the one and end in the other. The body
//! of an INSERT is data behind some point; from there on it is not read here but handed to the engine
//! as it comes, so that a load takes as little memory as its pipe.

use std::io::{self, Read};

use axum::body::{Body, BodyDataStream};
use basalt_engine::{Error, ErrorCode, Input, Result};
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;

/// A statement that is no INSERT must be whole before it can run; this is how long it may be.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// How much of an INSERT is read to find the word that its data follow.
const INSERT_HEAD_BYTES: usize = 64 << 10;

/// Pieces of a body on their way to the engine.
const PIPE_PIECES: usize = 8;

/// How much of a body that nobody wants any more is read, so that its sender gets to see the answer.
const DRAIN_BYTES_MAX: usize = 64 << 20;

/// What to run and what to feed it with.
pub(super) struct Statement {
    pub(super) text: Vec<u8>,
    pub(super) input: Input,
}

/// Reads as much of `body` as belongs to the statement that `query` begins.
pub(super) async fn read(query: Option<Vec<u8>>, body: Body) -> Result<Statement> {
    let mut text = query.unwrap_or_default();
    let mut pieces = body.into_data_stream();
    if is_insert(&text) && has_data_clause(&text) {
        return Ok(Statement { text, input: Input::Reader(Box::new(pipe(pieces))) });
    }
    let mut first = true;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|e| broken_body(&e))?;
        if first && !text.is_empty() && !piece.is_empty() {
            text.push(b'\n');
        }
        first = false;
        text.extend_from_slice(&piece);
        if text.len() >= INSERT_HEAD_BYTES && is_insert(&text) && has_data_clause(&text[..INSERT_HEAD_BYTES])
        {
            return Ok(Statement { text, input: Input::Reader(Box::new(pipe(pieces))) });
        }
        if text.len() > STATEMENT_BYTES_MAX {
            return Err(Error::new(
                ErrorCode::SyntaxError,
                format!("the statement is longer than {STATEMENT_BYTES_MAX} bytes"),
            ));
        }
    }
    Ok(Statement { text, input: Input::None })
}

/// Does `text` begin, behind comments, with INSERT?
fn is_insert(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b"--") || rest.starts_with(b"#!") {
            rest = memchr::memchr(b'\n', rest).map_or(&[], |end| &rest[end + 1..]);
        } else if rest.starts_with(b"/*") {
            rest = memchr::memmem::find(rest, b"*/").map_or(&[], |end| &rest[end + 2..]);
        } else {
            return rest.len() >= 6 && rest[..6].eq_ignore_ascii_case(b"insert");
        }
    }
}

/// Does one of the words that data follow stand in `text`? A column of that name makes this wrong,
/// which only means that the engine sees the statement's end a little later, in its input.
fn has_data_clause(text: &[u8]) -> bool {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words().any(|word| word.eq_ignore_ascii_case(b"values") || word.eq_ignore_ascii_case(b"format"))
}

fn broken_body(source: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::CannotReadAllData, format!("the request's body broke off: {source}"))
}

/// Sends the rest of a body to a reader that may block its thread.
fn pipe(mut pieces: BodyDataStream) -> PipeReader {
    let (sender, receiver) = mpsc::channel(PIPE_PIECES);
    tokio::spawn(async move {
        let mut unwanted = 0;
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(io::Error::other);
            let (bytes, failed) = piece.as_ref().map_or((0, true), |piece| (piece.len(), false));
            if sender.send(piece).await.is_err() {
                unwanted += bytes;
            }
            if failed || unwanted > DRAIN_BYTES_MAX {
                return;
            }
        }
    });
    PipeReader { receiver, piece: Bytes::new() }
}

struct PipeReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let count = out.len().min(self.piece.len());
        out[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: Option<&str>, body: &'static str, text: &str, data: Option<&str>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
        let query = query.map(|query| query.as_bytes().to_vec());
        let statement = runtime.block_on(read(query, Body::from(body))).expect("readable");
        assert_eq!(String::from_utf8_lossy(&statement.text), text);
        let found = match statement.input {
            Input::None => None,
            Input::Reader(mut reader) => {
                let mut found = String::new();
                reader.read_to_string(&mut found).expect("readable");
                Some(found)
            }
        };
        assert_eq!(found.as_deref(), data);
    }

    #[test]
    fn statement_comes_from_url_or_body_or_both() {
        check(Some("SELECT 1"), "", "SELECT 1", None);
        check(None, "SELECT 1", "SELECT 1", None);
        check(Some("SELECT 1"), "FORMAT CSV", "SELECT 1\nFORMAT CSV", None);
    }

    #[test]
    fn body_behind_an_insert_is_data() {
        let insert = "/* load */ INSERT INTO t FORMAT CSV";
        check(Some(insert), "1,2\n", insert, Some("1,2\n"));
        check(Some("insert into t values"), "(1)", "insert into t values", Some("(1)"));
    }

    #[test]
    fn insert_may_go_on_in_the_body() {
        check(Some("INSERT INTO t"), "VALUES (1)", "INSERT INTO t\nVALUES (1)", None);
        check(None, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", None);
    }

    #[test]
    fn comments_before_insert_are_skipped() {
        assert!(is_insert(b"-- a\n  /* b */ INSERT INTO t"));
        assert!(!is_insert(b"-- INSERT"));
        assert!(!is_insert(b"/* INSERT"));
        assert!(!is_insert(b""));
    }
}
