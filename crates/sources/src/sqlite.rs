//! The rows of one query on an SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use basalt_base::{Error, ErrorCode, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::limits::timed_out;
use crate::{Limits, Row, RowStream};

const ROWS_A_BATCH: usize = 1024;
const BATCHES_WAITING: usize = 4;
/// Steps of SQLite's virtual machine between two checks of the deadline.
const STEPS_A_LOOK: i32 = 100_000;

/// Runs `query` on its own thread, which reads a little ahead.
pub fn query(path: &Path, query: &str, limits: Limits) -> Result<impl RowStream + use<>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let place = format!("SQLite file {}", path.display());
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| refused(&place, &error, &limits))?;
    let (sender, batches) = sync_channel(BATCHES_WAITING);
    let query = query.to_owned();
    let is_unwanted = Arc::new(AtomicBool::new(false));
    let rows = QueryRows {
        batches,
        ready: Vec::new().into_iter(),
        limits,
        place: place.clone(),
        is_unwanted: Arc::clone(&is_unwanted),
    };
    let thread = std::thread::Builder::new().name("sqlite".to_owned()).spawn(move || {
        let mut batch = Vec::new();
        let done = run(&connection, &query, &limits, is_unwanted, |row| {
            batch.push(row);
            batch.len() < ROWS_A_BATCH || sender.send(Ok(std::mem::take(&mut batch))).is_ok()
        });
        // A receiver that is gone needs neither rows nor the error.
        let _ = match done {
            Ok(()) => sender.send(Ok(batch)),
            Err(error) => sender.send(Err(refused(&place, &error, &limits))),
        };
    });
    thread.map_err(|error| Error::new(ErrorCode::CannotScheduleTask, format!("no thread: {error}")))?;
    Ok(rows)
}

/// Passes every row to `take` until it returns `false`.
fn run(
    connection: &Connection,
    query: &str,
    limits: &Limits,
    is_unwanted: Arc<AtomicBool>,
    mut take: impl FnMut(Row) -> bool,
) -> rusqlite::Result<()> {
    let deadline = limits.deadline;
    let is_over = move || {
        is_unwanted.load(Ordering::Acquire)
            || deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline)
    };
    connection.progress_handler(STEPS_A_LOOK, Some(is_over));
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let mut found = statement.query([])?;
    while let Some(next) = found.next()? {
        let mut row = Row::default();
        for column in 0..columns {
            match next.get_ref(column)? {
                ValueRef::Null => row.push(None),
                ValueRef::Integer(value) => row.push(Some(value.to_string().as_bytes())),
                ValueRef::Real(value) => row.push(Some(value.to_string().as_bytes())),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => row.push(Some(bytes)),
            }
        }
        if !take(row) {
            break;
        }
    }
    Ok(())
}

struct QueryRows {
    batches: Receiver<Result<Vec<Row>>>,
    ready: std::vec::IntoIter<Row>,
    limits: Limits,
    place: String,
    /// Tells the thread to stop, even in the middle of a row.
    is_unwanted: Arc<AtomicBool>,
}

impl Drop for QueryRows {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Release);
    }
}

impl RowStream for QueryRows {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            if let Some(next) = self.ready.next() {
                *row = next;
                return Ok(true);
            }
            match self.batches.recv_timeout(self.limits.receive) {
                Ok(batch) => self.ready = batch?.into_iter(),
                Err(RecvTimeoutError::Timeout) => return Err(timed_out(&self.place)),
                // The thread has sent all rows.
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }
}

fn refused(place: &str, error: &rusqlite::Error, limits: &Limits) -> Error {
    if limits.deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline) {
        return timed_out(place);
    }
    Error::new(ErrorCode::CannotReadFromFile, format!("{place}: {error}"))
}
