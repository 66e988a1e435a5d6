//! Asynchronous INSERTs: the rows of many small statements become one block.
//!
//! Every client's data is parsed and completed by its own thread, so that what is wrong with it is that
//! client's error alone. The rows then wait with those of other clients for the same table until enough
//! of them came together or some time has passed, and are inserted as one. Each client is answered when
//! its rows are durable.
//!
//! # Concurrency
//!
//! A batch belongs to the map of open batches until somebody takes it out to write it: the one whose
//! rows filled it, the timer that its first rows started, or the shutdown of the engine. Whoever takes it
//! answers all who wait.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, ErrorCode, Result};
use basalt_sql::ast::{self, InsertSource};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::QueryContext;
use super::format_settings::format_settings;
use super::insert::{Job, followed_by, insert_settings, on_blocking_thread};
use crate::Engine;
use crate::request::{Input, Request};
use crate::tables::{InsertSettings, Table};

/// The batches that are open.
#[derive(Default)]
pub(crate) struct AsyncInserts {
    open: Mutex<HashMap<BatchKey, Batch>>,
    next_batch: std::sync::atomic::AtomicU64,
}

/// Rows that may share a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BatchKey {
    table: Uuid,
    settings: InsertSettings,
}

/// Rows that wait, and who waits for them.
struct Batch {
    /// Tells it from one that took its place.
    number: u64,
    table: Arc<dyn Table>,
    settings: InsertSettings,
    rows: Vec<ClientRows>,
    bytes: usize,
}

struct ClientRows {
    block: RecordBatch,
    answer: oneshot::Sender<Result<()>>,
}

/// Runs an INSERT of data that stands in the statement or follows it.
pub(super) async fn insert(
    query: &Arc<QueryContext>,
    name: ast::ObjectName,
    columns: Vec<String>,
    source: InsertSource,
    request: Request,
) -> Result<()> {
    let most = query.settings.async_insert_max_data_size;
    let prepared = on_blocking_thread(query, move |query| {
        let job = Job::new(query, &name, &columns, request.parameters)?;
        let settings = format_settings(query);
        let (source, rest) = take_data(source, request.input, most)?;
        if let Some(rest) = rest {
            // A large INSERT is a block of its own.
            job.run(source, settings, Input::Reader(rest))?;
            return Ok(None);
        }
        Ok(job.rows(source, settings)?.map(|block| (job.table(), block)))
    });
    let Some((table, block)) = prepared.await? else { return Ok(()) };
    let (rows, bytes) = (block.num_rows() as u64, block.get_array_memory_size() as u64);
    let answer = enqueue(query, table, block);
    if query.settings.wait_for_async_insert {
        wait(query, answer).await?;
    }
    query.progress.add_written(rows, bytes);
    Ok(())
}

/// All of the data, if it is not more than `most` bytes; otherwise what was read of it, and the rest.
fn take_data(
    source: InsertSource,
    input: Input,
    most: u64,
) -> Result<(InsertSource, Option<Box<dyn Read + Send>>)> {
    let (format, bytes) = match source {
        InsertSource::Values { text } => ("Values".to_owned(), text),
        InsertSource::Format { name, bytes } => (name, bytes),
        other => return Ok((other, None)),
    };
    let mut reader = followed_by(bytes, input);
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Error::new(ErrorCode::CannotReadAllData, error.to_string()))?;
    if bytes.len() as u64 <= most {
        return Ok((InsertSource::Format { name: format, bytes }, None));
    }
    let rest = Box::new(Cursor::new(bytes).chain(reader));
    Ok((InsertSource::Format { name: format, bytes: Vec::new() }, Some(rest)))
}

/// Adds rows to the open batch of their table.
fn enqueue(
    query: &Arc<QueryContext>,
    table: Arc<dyn Table>,
    block: RecordBatch,
) -> oneshot::Receiver<Result<()>> {
    let (answer, receiver) = oneshot::channel();
    let engine = &query.engine;
    let settings = insert_settings(query);
    let key = BatchKey { table: table.definition().uuid, settings: settings.clone() };
    let inserts = engine.async_inserts();
    let mut open = inserts.open.lock();
    let number = inserts.next_batch.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let batch = open.entry(key.clone()).or_insert_with(|| {
        let timeout = Duration::from_millis(query.settings.async_insert_busy_timeout_ms);
        start_timer(engine, key.clone(), number, timeout);
        Batch { number, table, settings, rows: Vec::new(), bytes: 0 }
    });
    batch.bytes += block.get_array_memory_size();
    batch.rows.push(ClientRows { block, answer });
    let is_full = batch.bytes as u64 >= query.settings.async_insert_max_data_size
        || batch.rows.len() as u64 >= query.settings.async_insert_max_query_number;
    if is_full && let Some(batch) = open.remove(&key) {
        let engine = Arc::clone(engine);
        query.engine.runtime().spawn_blocking(move || batch.write(&engine));
    }
    receiver
}

fn start_timer(engine: &Arc<Engine>, key: BatchKey, number: u64, timeout: Duration) {
    let engine = Arc::clone(engine);
    engine.runtime().clone().spawn(async move {
        tokio::time::sleep(timeout).await;
        let batch = {
            let mut open = engine.async_inserts().open.lock();
            let is_due = open.get(&key).is_some_and(|batch| batch.number == number);
            if is_due { open.remove(&key) } else { None }
        };
        if let Some(batch) = batch {
            // An error is the answer of those who wait.
            let _ = tokio::task::spawn_blocking(move || batch.write(&engine)).await;
        }
    });
}

async fn wait(query: &QueryContext, answer: oneshot::Receiver<Result<()>>) -> Result<()> {
    let patience = Duration::from_secs(query.settings.wait_for_async_insert_timeout);
    tokio::select! {
        answer = answer => {
            answer.unwrap_or_else(|_| Err(Error::logical("an asynchronous INSERT was forgotten")))
        }
        () = query.end.cancel.cancelled() => Err(query.end.cancelled()),
        () = tokio::time::sleep(patience) => Err(Error::new(
            ErrorCode::TimeoutExceeded,
            "the rows of the asynchronous INSERT are not written yet; see wait_for_async_insert_timeout",
        )),
    }
}

impl AsyncInserts {
    /// Writes all open batches. Blocks.
    pub(crate) fn flush(&self, engine: &Arc<Engine>) {
        let open = std::mem::take(&mut *self.open.lock());
        open.into_values().for_each(|batch| batch.write(engine));
    }
}

impl Batch {
    /// Inserts the rows of all clients together; if that fails, one client after the other.
    fn write(self, engine: &Arc<Engine>) {
        let Batch { table, settings, rows, .. } = self;
        let together = rows.len() > 1 && insert_together(table.as_ref(), &settings, &rows).is_ok();
        for ClientRows { block, answer } in rows {
            let written = match together {
                true => Ok(()),
                false => insert_block(table.as_ref(), &settings, block),
            };
            // A client that went away wants no answer.
            let _ = answer.send(written);
        }
        engine.wake_background();
    }
}

fn insert_together(table: &dyn Table, settings: &InsertSettings, rows: &[ClientRows]) -> Result<()> {
    let schema = rows[0].block.schema();
    // An ALTER came in between: each block fits the columns of its own time.
    if rows.iter().any(|one| one.block.schema() != schema) {
        return Err(Error::logical("blocks of different columns"));
    }
    let blocks: Vec<&RecordBatch> = rows.iter().map(|one| &one.block).collect();
    let block = concat_batches(&schema, blocks).map_err(Error::of_arrow)?;
    insert_block(table, settings, block)
}

fn insert_block(table: &dyn Table, settings: &InsertSettings, block: RecordBatch) -> Result<()> {
    match table.begin_insert(settings)? {
        Some(mut sink) => {
            sink.write(vec![block])?;
            sink.commit()
        }
        None => table.insert(block),
    }
}
