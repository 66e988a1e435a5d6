//! The rows of a dictionary as blocks, a few at a time, with the requested columns.
//!
//! # Concurrency
//!
//! A thread of its own reads the blocks of one version, whatever is loaded meanwhile, and sends them through a channel.
//! Blocks that wait there are charged to the query. The thread ends with the rows, or when the receiver is gone.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::query::carried;
use basalt_base::{Error, Result};
use basalt_dict::Dictionary;
use basalt_exec::error::from_datafusion;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use crate::context::QueryContext;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};

/// Blocks that wait for the query.
const BLOCKS_WAITING: usize = 2;

/// How often a query that waits for a block checks whether it must end: a block of a DIRECT dictionary comes from its
/// source.
const LOOKS_AGAIN: Duration = Duration::from_millis(20);

/// A scan of one version of a dictionary.
pub(crate) struct DictionaryRows {
    dictionary: Arc<dyn Dictionary>,
    /// Among those of [`Dictionary::visit_columns`].
    columns: Vec<usize>,
    schema: SchemaRef,
    limit: Option<usize>,
    query: Arc<QueryContext>,
}

/// The end of the rows is `None`; without it, the thread that reads them has panicked.
type Waiting = Option<Result<WaitingBlock>>;

struct WaitingBlock {
    block: RecordBatch,
    _memory: MemoryReservation,
}

/// Reads the rows on a thread of its own.
struct Reader {
    dictionary: Arc<dyn Dictionary>,
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Rows that are needed.
    rows_left: usize,
    memory: MemoryReservation,
    sender: SyncSender<Waiting>,
}

struct Blocks {
    receiver: Receiver<Waiting>,
    is_over: bool,
    query: Arc<QueryContext>,
}

impl DictionaryRows {
    /// Reads the columns at these positions of the dictionary's, into blocks of `schema`.
    pub(crate) fn new(
        dictionary: Arc<dyn Dictionary>,
        columns: Vec<usize>,
        schema: SchemaRef,
        request: &ScanRequest,
    ) -> DictionaryRows {
        DictionaryRows {
            dictionary,
            columns,
            schema,
            limit: request.limit,
            query: Arc::clone(&request.query),
        }
    }
}

impl BlockSource for DictionaryRows {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let (sender, receiver) = sync_channel(BLOCKS_WAITING);
        let pool = Arc::clone(&self.query.memory) as Arc<dyn MemoryPool>;
        let reader = Reader {
            dictionary: Arc::clone(&self.dictionary),
            columns: self.columns.clone(),
            schema: Arc::clone(&self.schema),
            rows_left: self.limit.unwrap_or(usize::MAX),
            memory: MemoryConsumer::new("rows of a dictionary").register(&pool),
            sender,
        };
        self.query.services.runtime.spawn_blocking(carried(move || reader.read()));
        Ok(Box::new(Blocks { receiver, is_over: false, query: Arc::clone(&self.query) }))
    }

    fn rows_estimate(&self) -> Option<u64> {
        // A dictionary that asks its source for everything has no rows of its own.
        Some(self.dictionary.stats().element_count).filter(|&rows| rows > 0)
    }

    fn describe(&self) -> String {
        "rows of a dictionary".to_owned()
    }
}

impl Reader {
    fn read(self) {
        let Reader { dictionary, columns, schema, mut rows_left, memory, sender } = self;
        let mut is_wanted = true;
        let outcome = dictionary.visit_columns(&columns, &mut |rows, arrays| {
            let block = waiting_block(&schema, rows, arrays, &memory)?;
            rows_left = rows_left.saturating_sub(rows);
            is_wanted = sender.send(Some(Ok(block))).is_ok() && rows_left > 0;
            if is_wanted { Ok(()) } else { Err(Error::logical("nobody wants more rows")) }
        });
        // The version may be the last of its kind: its memory is free when the query ends.
        drop(dictionary);
        let last = outcome.err().filter(|_| is_wanted);
        // The receiver may be gone.
        let _ = last.map_or(Ok(()), |error| sender.send(Some(Err(error)))).and_then(|()| sender.send(None));
    }
}

/// The block, charged to the query until it is taken.
fn waiting_block(
    schema: &SchemaRef,
    rows: usize,
    arrays: Vec<ArrayRef>,
    memory: &MemoryReservation,
) -> Result<WaitingBlock> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let block =
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(Error::of_arrow)?;
    let memory = memory.new_empty();
    memory.try_grow(block.get_array_memory_size()).map_err(from_datafusion)?;
    Ok(WaitingBlock { block, _memory: memory })
}

impl Iterator for Blocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.is_over {
            return None;
        }
        // The caller may be an operator on a runtime thread: it steps aside while the block is made.
        let next = tokio::task::block_in_place(|| self.wait());
        self.is_over = !matches!(next, Some(Ok(_)));
        Some(next?.map(|waiting| waiting.block))
    }
}

impl Blocks {
    fn wait(&self) -> Waiting {
        loop {
            match self.receiver.recv_timeout(LOOKS_AGAIN) {
                Ok(next) => return next,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.query.check() {
                        return Some(Err(error));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Err(Error::logical("a thread that reads a dictionary panicked")));
                }
            }
        }
    }
}
