//! Cuts an input into chunks of whole rows and parses them, on the caller's thread or on several threads.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use basalt_base::query::{carried, check_allocation, checkpoint};
use basalt_base::{Columns, Error, ErrorCode, Result};

use crate::block::{Block, BlockReader};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;

/// Bytes of a chunk: large enough to keep a thread busy, small enough to stay in its cache.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks are larger in parallel parsing, so that the blocks are too.
const PARALLEL_CHUNK_BYTES: usize = 4 << 20;
/// Bytes read between two cancellation checks.
const FILL_BYTES: usize = 1 << 20;
const MAX_THREADS: usize = 256;

/// Finds and parses the rows of one format.
pub(crate) trait RowParser: Send + Sync {
    /// The length of the longest prefix that holds whole rows only; `None` if there is no whole row.
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize>;

    /// Parses the row at `at` of a chunk of whole rows into `rows`. Returns the start of the next row.
    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError>;

    /// The start of the row after one at `at` that cannot be parsed: the next line.
    fn next_row(&self, chunk: &[u8], at: usize) -> usize {
        memchr::memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |found| at + found + 1)
    }
}

/// The rows that may be skipped because they cannot be parsed.
#[derive(Clone, Copy, Debug, Default)]
struct ErrorBudget {
    errors_max: usize,
    ratio_max: f64,
    errors: usize,
    /// Rows before the block.
    rows_before: usize,
}

impl ErrorBudget {
    fn new(settings: &FormatSettings) -> ErrorBudget {
        let (errors_max, ratio_max) = (settings.allow_errors_num, settings.allow_errors_ratio);
        ErrorBudget { errors_max, ratio_max, ..ErrorBudget::default() }
    }

    fn is_empty(&self) -> bool {
        self.errors_max == 0 && self.ratio_max == 0.0
    }

    /// Counts an error after `rows` rows of the block; returns whether its row may be skipped.
    fn forgives(&mut self, rows: usize) -> bool {
        self.errors += 1;
        let all = (self.rows_before + rows + self.errors) as f64;
        !self.is_empty() && (self.errors <= self.errors_max || self.errors as f64 / all <= self.ratio_max)
    }
}

/// Whole rows, and their offset in the input.
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    offset: u64,
}

/// An input that is read a chunk at a time.
pub(crate) struct ChunkSource {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The offset of the buffer in the input.
    offset: u64,
    at_end: bool,
    max_row_bytes: usize,
}

impl ChunkSource {
    pub(crate) fn new(input: Box<dyn Read + Send>, settings: &FormatSettings) -> ChunkSource {
        let max_row_bytes = settings.max_row_bytes;
        ChunkSource { input, buffer: Vec::new(), offset: 0, at_end: false, max_row_bytes }
    }

    /// The next whole rows, about `size` bytes of them; `None` at the end.
    pub(crate) fn next_chunk(&mut self, parser: &dyn RowParser, size: usize) -> Result<Option<Chunk>> {
        let mut wanted = size;
        loop {
            self.fill(wanted)?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if self.at_end {
                return Ok(Some(self.take(self.buffer.len())));
            }
            if let Some(len) = parser.whole_rows(&self.buffer).filter(|&len| len > 0) {
                return Ok(Some(self.take(len)));
            }
            if self.buffer.len() > self.max_row_bytes {
                let what =
                    format!("the row at byte {} is longer than {} bytes", self.offset, self.max_row_bytes);
                return Err(Error::new(ErrorCode::IncorrectData, what));
            }
            wanted = self.buffer.len() * 2;
        }
    }

    /// The bytes up to and including the next end of row, as found by `find_end`, without consuming them.
    pub(crate) fn peek_row(&mut self, find_end: impl Fn(&[u8]) -> Option<usize>) -> Result<&[u8]> {
        let mut wanted = 1 << 12;
        loop {
            self.fill(wanted)?;
            if let Some(len) = find_end(&self.buffer) {
                return Ok(&self.buffer[..len]);
            }
            if self.at_end || self.buffer.len() > self.max_row_bytes {
                return Ok(&self.buffer);
            }
            wanted = self.buffer.len() * 2;
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Chunk {
        let rest = self.buffer.split_off(len);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Chunk { bytes, offset }
    }

    /// Reads until the buffer holds `wanted` bytes or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.at_end || self.buffer.len() >= wanted {
            return Ok(());
        }
        checkpoint()?;
        check_allocation(wanted as u64)?;
        self.buffer.reserve_exact(wanted - self.buffer.len());
        while self.buffer.len() < wanted {
            let missing = (wanted - self.buffer.len()).min(FILL_BYTES);
            let mut part = self.input.by_ref().take(missing as u64);
            let read = part.read_to_end(&mut self.buffer).map_err(Error::of_reading)?;
            if read < missing {
                self.at_end = true;
                return Ok(());
            }
            checkpoint()?;
        }
        Ok(())
    }
}

/// Reads rows from `source`; the `rows_before` rows of the header are consumed already.
pub(crate) fn open(
    source: ChunkSource,
    parser: Arc<dyn RowParser>,
    columns: &Columns,
    settings: &FormatSettings,
    rows_before: u64,
) -> Result<Box<dyn BlockReader>> {
    if columns.is_empty() {
        return Err(Error::new(ErrorCode::BadArguments, "there are no columns to read into"));
    }
    let rows = RowsBuilder::new(columns, settings)?;
    let budget = ErrorBudget::new(settings);
    // Errors are counted over the whole input.
    if settings.threads <= 1 || !budget.is_empty() {
        let chunk = Chunk { bytes: Vec::new(), offset: 0 };
        let max_rows = settings.max_block_rows.max(1);
        return Ok(Box::new(Sequential {
            source,
            parser,
            rows,
            chunk,
            at: 0,
            max_rows,
            rows_done: rows_before,
            budget,
        }));
    }
    Ok(Box::new(Parallel::start(source, parser, columns, settings, rows_before)))
}

struct Sequential {
    source: ChunkSource,
    parser: Arc<dyn RowParser>,
    rows: RowsBuilder,
    chunk: Chunk,
    at: usize,
    max_rows: usize,
    rows_done: u64,
    budget: ErrorBudget,
}

impl BlockReader for Sequential {
    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            let (rows, budget) = (&mut self.rows, &mut self.budget);
            let filled = fill_block(&*self.parser, &self.chunk, &mut self.at, rows, self.max_rows, budget);
            if let Err(failure) = filled {
                return Err(failure.error.within(self.rows_done + failure.row, failure.offset));
            }
            if self.rows.rows() < self.max_rows {
                if let Some(chunk) = self.source.next_chunk(&*self.parser, CHUNK_BYTES)? {
                    self.chunk = chunk;
                    self.at = 0;
                    continue;
                }
                if self.rows.rows() == 0 {
                    return Ok(None);
                }
            }
            self.rows_done += self.rows.rows() as u64;
            self.budget.rows_before += self.rows.rows();
            return self.rows.finish().map(Some);
        }
    }
}

/// The place in a chunk where parsing failed.
struct Failure {
    error: RowError,
    /// The row within the block, from 1.
    row: u64,
    offset: u64,
}

/// Parses rows until the block is full or the chunk is consumed.
fn fill_block(
    parser: &dyn RowParser,
    chunk: &Chunk,
    at: &mut usize,
    rows: &mut RowsBuilder,
    max_rows: usize,
    budget: &mut ErrorBudget,
) -> Result<(), Failure> {
    while *at < chunk.bytes.len() && rows.rows() < max_rows {
        match parser.parse_row(&chunk.bytes, *at, rows) {
            Ok(next) => {
                assert!(next > *at, "a row takes at least one byte");
                *at = next;
            }
            Err(_) if budget.forgives(rows.rows()) => {
                rows.drop_row();
                *at = parser.next_row(&chunk.bytes, *at);
            }
            Err(error) => {
                return Err(Failure {
                    error,
                    row: rows.rows() as u64 + 1,
                    offset: chunk.offset + *at as u64,
                });
            }
        }
    }
    Ok(())
}

type Parsed = Result<Vec<Block>, Failure>;
type Job = (Chunk, Sender<Parsed>);

/// Distributes chunks to worker threads, and returns their blocks in the order of the input.
struct Parallel {
    source: ChunkSource,
    parser: Arc<dyn RowParser>,
    /// `None` once the reader is dropped, which ends the workers.
    jobs: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
    in_flight: VecDeque<Receiver<Parsed>>,
    ready: VecDeque<Block>,
    rows_done: u64,
    failed: Option<Error>,
}

impl Parallel {
    fn start(
        source: ChunkSource,
        parser: Arc<dyn RowParser>,
        columns: &Columns,
        settings: &FormatSettings,
        rows_done: u64,
    ) -> Parallel {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let worker = |_| {
            let (queue, parser) = (Arc::clone(&queue), Arc::clone(&parser));
            let (columns, settings) = (columns.clone(), settings.clone());
            std::thread::spawn(carried(move || work(&queue, &*parser, &columns, &settings)))
        };
        let workers = (0..settings.threads.min(MAX_THREADS)).map(worker).collect();
        Parallel {
            source,
            parser,
            jobs: Some(jobs),
            workers,
            in_flight: VecDeque::new(),
            ready: VecDeque::new(),
            rows_done,
            failed: None,
        }
    }

    /// Keeps every worker busy and one chunk queued. An error of the input is kept for later, because the rows
    /// before it come first.
    fn top_up(&mut self) {
        while self.in_flight.len() <= self.workers.len() && self.failed.is_none() {
            match self.source.next_chunk(&*self.parser, PARALLEL_CHUNK_BYTES) {
                Ok(Some(chunk)) => {
                    let (answer, answered) = channel();
                    // A send fails only if every worker is gone; then the result is missing too.
                    let _ = self.jobs.as_ref().map(|jobs| jobs.send((chunk, answer)));
                    self.in_flight.push_back(answered);
                }
                Ok(None) => return,
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

impl BlockReader for Parallel {
    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                self.rows_done += block.batch.num_rows() as u64;
                return Ok(Some(block));
            }
            self.top_up();
            let Some(answered) = self.in_flight.pop_front() else {
                return self.failed.take().map_or(Ok(None), Err);
            };
            let parsed = answered.recv().map_err(|_| Error::logical("a parsing thread is gone"))?;
            match parsed {
                Ok(blocks) => self.ready.extend(blocks),
                Err(failure) => {
                    return Err(failure.error.within(self.rows_done + failure.row, failure.offset));
                }
            }
        }
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // The missing result of a worker that panicked was reported already.
            let _ = worker.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>, parser: &dyn RowParser, columns: &Columns, settings: &FormatSettings) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((chunk, answer)) = job else { return };
        // If the reader is gone, nobody needs the result.
        let _ = answer.send(parse_chunk(&chunk, parser, columns, settings));
    }
}

fn parse_chunk(
    chunk: &Chunk,
    parser: &dyn RowParser,
    columns: &Columns,
    settings: &FormatSettings,
) -> Parsed {
    let failure = |error: Error| Failure { error: error.into(), row: 1, offset: chunk.offset };
    let mut rows = RowsBuilder::new(columns, settings).map_err(failure)?;
    let (mut blocks, mut at, mut rows_before) = (Vec::new(), 0, 0);
    while at < chunk.bytes.len() {
        let max_rows = settings.max_block_rows.max(1);
        fill_block(parser, chunk, &mut at, &mut rows, max_rows, &mut ErrorBudget::default())
            .map_err(|failure| Failure { row: rows_before + failure.row, ..failure })?;
        if rows.rows() > 0 {
            rows_before += rows.rows() as u64;
            blocks.push(rows.finish().map_err(failure)?);
        }
    }
    Ok(blocks)
}

impl Chunk {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
