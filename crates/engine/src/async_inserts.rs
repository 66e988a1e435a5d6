//! The open batches of asynchronous INSERTs: rows of several statements that are written as one block.
//!
//! # Concurrency
//!
//! A batch belongs to the map of open batches until one of these takes it out to write it: the statement that filled
//! it, the timer that its first rows started, or the shutdown of the engine. Whichever takes it also answers all
//! waiting clients.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::background::Background;
use crate::tables::{InsertSettings, Table};

/// The batches that are open.
pub(crate) struct AsyncInserts {
    open: Mutex<HashMap<BatchKey, Batch>>,
    next_batch: AtomicU64,
    /// Woken after each batch: there may be parts to merge.
    background: Arc<Background>,
    runtime: Handle,
}

/// The limits at which a batch is written.
pub(crate) struct BatchLimits {
    /// Counted from its first rows.
    pub(crate) timeout: Duration,
    pub(crate) bytes_max: u64,
    /// Statements in the batch.
    pub(crate) queries_max: u64,
}

/// Rows that may share a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BatchKey {
    table: Uuid,
    settings: InsertSettings,
}

/// Rows that wait, and the clients that wait for them.
struct Batch {
    /// Distinguishes it from a later batch under the same key.
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

impl AsyncInserts {
    pub(crate) fn new(background: Arc<Background>, runtime: Handle) -> AsyncInserts {
        AsyncInserts { open: Mutex::default(), next_batch: AtomicU64::new(0), background, runtime }
    }

    /// Adds rows to the open batch of their table. The answer comes when they are durable.
    pub(crate) fn enqueue(
        self: &Arc<Self>,
        table: Arc<dyn Table>,
        block: RecordBatch,
        settings: InsertSettings,
        limits: &BatchLimits,
    ) -> oneshot::Receiver<Result<()>> {
        let (answer, receiver) = oneshot::channel();
        let key = BatchKey { table: table.definition().uuid, settings: settings.clone() };
        let mut open = self.open.lock();
        let number = self.next_batch.fetch_add(1, Ordering::Relaxed);
        let batch = open.entry(key.clone()).or_insert_with(|| {
            self.start_timer(key.clone(), number, limits.timeout);
            Batch { number, table, settings, rows: Vec::new(), bytes: 0 }
        });
        batch.bytes += block.get_array_memory_size();
        batch.rows.push(ClientRows { block, answer });
        let is_full = batch.bytes as u64 >= limits.bytes_max || batch.rows.len() as u64 >= limits.queries_max;
        if is_full && let Some(batch) = open.remove(&key) {
            let inserts = Arc::clone(self);
            self.runtime.spawn_blocking(move || inserts.write(batch));
        }
        receiver
    }

    fn start_timer(self: &Arc<Self>, key: BatchKey, number: u64, timeout: Duration) {
        let inserts = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(timeout).await;
            let batch = {
                let mut open = inserts.open.lock();
                let is_due = open.get(&key).is_some_and(|batch| batch.number == number);
                if is_due { open.remove(&key) } else { None }
            };
            if let Some(batch) = batch {
                // The clients that wait get the error.
                let _ = tokio::task::spawn_blocking(move || inserts.write(batch)).await;
            }
        });
    }

    /// Writes all open batches. Blocks.
    pub(crate) fn flush(&self) {
        let open = std::mem::take(&mut *self.open.lock());
        open.into_values().for_each(|batch| self.write(batch));
    }

    fn write(&self, batch: Batch) {
        batch.write();
        self.background.wake();
    }
}

impl Batch {
    /// Inserts the rows of all clients together; if that fails, one client after the other.
    fn write(self) {
        let Batch { table, settings, rows, .. } = self;
        let together = rows.len() > 1 && insert_together(table.as_ref(), &settings, &rows).is_ok();
        for ClientRows { block, answer } in rows {
            let written = match together {
                true => Ok(()),
                false => insert_block(table.as_ref(), &settings, block),
            };
            // The client may be gone.
            let _ = answer.send(written);
        }
    }
}

fn insert_together(table: &dyn Table, settings: &InsertSettings, rows: &[ClientRows]) -> Result<()> {
    let schema = rows[0].block.schema();
    // After an ALTER in between, the blocks have different columns.
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
