//! The statement and its data, from the URL and the body of a request.
//!
//! A statement may be in the URL, in the body, or begin in the URL and end in the body. From some point on, the body
//! of an INSERT is data. It is not read here but streamed to the engine, so that a load takes only as much memory as
//! its pipe.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use basalt_engine::{Error, ErrorCode, Input, Result};
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::uploads::{Uploads, broken_body};

/// The maximum size of a statement other than INSERT, which must be complete before it runs.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// How much of an INSERT is read to find the keyword before its data.
const INSERT_HEAD_BYTES: usize = 64 << 10;

/// How much data an INSERT must have received before it starts, unless there is less.
const DATA_HEAD_BYTES: usize = 64 << 10;

/// The bytes of its body that each request may hold; more is taken from the shared memory.
const FREE_BYTES: usize = 128 << 10;

/// KiB that the bodies of all requests may hold in addition, before their statements start.
const SHARED_KIB: usize = 256 << 10;

/// How long a request waits for shared memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The statement to run, and its input.
pub(super) struct Statement {
    pub(super) text: Vec<u8>,
    pub(super) input: Input,
    /// The part of the shared memory in use.
    pub(super) room: Vec<OwnedSemaphorePermit>,
}

/// The shared state of requests with a body.
pub(crate) struct Bodies {
    uploads: Uploads,
    room: Arc<Semaphore>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies { uploads: Uploads::default(), room: Arc::new(Semaphore::new(SHARED_KIB)) }
    }
}

impl Bodies {
    /// Reads the part of `body` that belongs to the statement started by `query`.
    pub(super) async fn read(&self, query: Option<Vec<u8>>, body: Body) -> Result<Statement> {
        let mut text = query.unwrap_or_default();
        let mut pieces = body.into_data_stream();
        if is_insert(&text) && has_data_clause(&text) {
            return self.with_data(text, pieces, Vec::new()).await;
        }
        let (mut first, mut room) = (true, Vec::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(broken_body)?;
            if first && !text.is_empty() && !piece.is_empty() {
                text.push(b'\n');
            }
            first = false;
            text.extend_from_slice(&piece);
            if text.len() >= INSERT_HEAD_BYTES
                && is_insert(&text)
                && has_data_clause(&text[..INSERT_HEAD_BYTES])
            {
                return self.with_data(text, pieces, room).await;
            }
            if text.len() > STATEMENT_BYTES_MAX {
                return Err(Error::new(
                    ErrorCode::SyntaxError,
                    format!("the statement is longer than {STATEMENT_BYTES_MAX} bytes"),
                ));
            }
            self.make_room(text.len(), &mut room).await?;
        }
        Ok(Statement { text, input: Input::None, room })
    }

    /// An INSERT with data: all of the data if it is short, or else a reader of the rest.
    async fn with_data(
        &self,
        text: Vec<u8>,
        mut pieces: BodyDataStream,
        room: Vec<OwnedSemaphorePermit>,
    ) -> Result<Statement> {
        let mut head = Vec::new();
        while head.len() < DATA_HEAD_BYTES {
            let Some(piece) = pieces.next().await else {
                let input = Input::Reader(Box::new(Cursor::new(head)));
                return Ok(Statement { text, input, room });
            };
            head.extend_from_slice(&piece.map_err(broken_body)?);
        }
        let rest = self.uploads.open(pieces).await;
        Ok(Statement { text, input: Input::Reader(Box::new(Cursor::new(head).chain(rest))), room })
    }

    /// Takes shared memory for a body of `bytes`.
    async fn make_room(&self, bytes: usize, room: &mut Vec<OwnedSemaphorePermit>) -> Result<()> {
        let held: usize = room.iter().map(OwnedSemaphorePermit::num_permits).sum();
        let missing = (bytes.saturating_sub(FREE_BYTES) >> 10).saturating_sub(held);
        // In doubling steps, which are few.
        let wanted = missing.max(held.min(SHARED_KIB / 16));
        if missing == 0 {
            return Ok(());
        }
        let permits = Arc::clone(&self.room).acquire_many_owned(wanted as u32);
        match tokio::time::timeout(PATIENCE, permits).await {
            Ok(Ok(permit)) => room.push(permit),
            _ => {
                return Err(Error::new(
                    ErrorCode::MemoryLimitExceeded,
                    format!(
                        "incoming statements take all of the {SHARED_KIB} KiB that they may; try again later"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Whether `text` starts with INSERT, after comments.
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

/// Whether `text` contains a keyword that data follow. A column with such a name gives a wrong answer, which only
/// means that the engine finds the statement's end a little later, in its input.
fn has_data_clause(text: &[u8]) -> bool {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words().any(|word| word.eq_ignore_ascii_case(b"values") || word.eq_ignore_ascii_case(b"format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: Option<&str>, body: &'static str, text: &str, data: Option<&str>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
        let query = query.map(|query| query.as_bytes().to_vec());
        let statement = runtime.block_on(Bodies::default().read(query, Body::from(body))).expect("readable");
        assert_eq!(String::from_utf8_lossy(&statement.text), text);
        let found = match statement.input {
            Input::None | Input::Blocks(_) => None,
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
