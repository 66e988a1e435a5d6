//! The outcome of a statement: rows to fetch, as blocks or as bytes, and the figures of the query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use basalt_base::query::{QueryStatus, hand_over, in_query};
use basalt_base::{Columns, Result, SqlType};
use basalt_formats::{BlockWriter, FormatSettings, Statistics};
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::outfile::Outfile;
use crate::postgres_type::PostgresType;

/// The time between two lines of figures in formats that show them, while no rows come.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// How a statement ended, or begins to answer.
pub enum Outcome {
    /// A result set; the query runs while it is fetched.
    Rows(Box<QueryResult>),
    /// Done, nothing to fetch.
    Done(Summary),
}

/// A result set that is being computed.
pub struct QueryResult {
    pub(crate) columns: Columns,
    pub(crate) query_id: String,
    pub(crate) format: String,
    pub(crate) into_outfile: Option<Outfile>,
    pub(crate) format_settings: FormatSettings,
    pub(crate) blocks: BoxStream<'static, Result<ResultBlock>>,
    pub(crate) status: Arc<QueryStatus>,
    pub(crate) progress: Progress,
    pub(crate) postgres_types: Vec<PostgresType>,
}

/// A statement of the Postgres dialect as its text and the catalog tell.
#[derive(Clone, Debug)]
pub struct PostgresDescription {
    /// The types of `$1`, `$2` and so on.
    pub parameters: Vec<SqlType>,
    /// What these types are in Postgres.
    pub parameter_types: Vec<PostgresType>,
    /// `None` for a statement without rows.
    pub columns: Option<Columns>,
    pub postgres_types: Vec<PostgresType>,
}

/// One piece of a result, in this order: blocks, then totals, then extremes.
pub enum ResultBlock {
    Block(RecordBatch),
    Totals(RecordBatch),
    Extremes(RecordBatch),
}

impl QueryResult {
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    pub fn query_id(&self) -> &str {
        &self.query_id
    }

    /// The types of the columns on the wire of Postgres, in a session of that interface.
    pub fn postgres_types(&self) -> &[PostgresType] {
        &self.postgres_types
    }

    /// The format of the FORMAT clause, else the request's default.
    pub fn format(&self) -> &str {
        &self.format
    }

    /// The file of an INTO OUTFILE clause: the caller writes the bytes there.
    pub fn into_outfile(&self) -> Option<&Outfile> {
        self.into_outfile.as_ref()
    }

    /// Figures that move while the rows are fetched.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The next piece; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<ResultBlock>> {
        self.blocks.next().await.transpose()
    }

    /// The same result as bytes of its format.
    pub fn into_bytes(self) -> Result<ResultBytes> {
        let writer = basalt_formats::open_writer(&self.format, &self.columns, &self.format_settings)?;
        Ok(self.into_bytes_of(writer))
    }

    /// The same result as bytes of a format that the caller writes.
    pub fn into_bytes_of(self, writer: Box<dyn BlockWriter>) -> ResultBytes {
        ResultBytes { rows: self, writer, state: BytesState::Start }
    }
}

/// A result set as bytes of an output format.
pub struct ResultBytes {
    rows: QueryResult,
    writer: Box<dyn BlockWriter>,
    state: BytesState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BytesState {
    Start,
    Blocks,
    Ended,
}

impl ResultBytes {
    pub fn rows(&self) -> &QueryResult {
        &self.rows
    }

    pub fn content_type(&self) -> &'static str {
        self.writer.content_type()
    }

    /// The next bytes, never empty; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let status = Arc::clone(&self.rows.status);
        in_query(Some(status), self.write_next()).await
    }

    async fn write_next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut out = Vec::new();
        if self.state == BytesState::Start {
            self.writer.start(&mut out);
            self.state = BytesState::Blocks;
        }
        while self.state == BytesState::Blocks && out.is_empty() {
            let Some(next) = self.next_or_figures().await? else {
                self.writer.progress(&self.rows.progress.statistics(), &mut out);
                continue;
            };
            match next {
                Some(ResultBlock::Block(block)) => self.writer.write(&block, &mut out)?,
                Some(ResultBlock::Totals(block)) => self.writer.totals(&block, &mut out)?,
                Some(ResultBlock::Extremes(block)) => self.writer.extremes(&block, &mut out)?,
                None => {
                    self.writer.finish(&self.rows.progress.statistics(), &mut out)?;
                    self.state = BytesState::Ended;
                }
            }
        }
        // The caller holds them now.
        hand_over(out.capacity() as u64);
        Ok((!out.is_empty()).then_some(out))
    }

    /// The next piece of the result, or `None` if it is time to show the figures of the query instead.
    async fn next_or_figures(&mut self) -> Result<Option<Option<ResultBlock>>> {
        if !self.writer.shows_progress() {
            return self.rows.next().await.map(Some);
        }
        match tokio::time::timeout(PROGRESS_INTERVAL, self.rows.next()).await {
            Ok(next) => next.map(Some),
            Err(_) => Ok(None),
        }
    }
}

/// The figures of a statement that is done.
#[derive(Clone, Debug)]
pub struct Summary {
    pub query_id: String,
    pub progress: ProgressSnapshot,
}

/// Figures of a running query; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    counters: Arc<ProgressCounters>,
}

#[derive(Debug)]
struct ProgressCounters {
    started: std::time::Instant,
    read_rows: AtomicU64,
    read_bytes: AtomicU64,
    total_rows_to_read: AtomicU64,
    written_rows: AtomicU64,
    written_bytes: AtomicU64,
    result_rows: AtomicU64,
    result_bytes: AtomicU64,
    /// The number of rows that the LIMIT took its rows from, plus one; 0 without a LIMIT.
    rows_before_limit: AtomicU64,
}

impl Default for ProgressCounters {
    fn default() -> ProgressCounters {
        ProgressCounters {
            started: std::time::Instant::now(),
            read_rows: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            total_rows_to_read: AtomicU64::new(0),
            written_rows: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            result_rows: AtomicU64::new(0),
            result_bytes: AtomicU64::new(0),
            rows_before_limit: AtomicU64::new(0),
        }
    }
}

/// The figures at one instant: what `X-ClickHouse-Summary` and the progress bar show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressSnapshot {
    pub read_rows: u64,
    pub read_bytes: u64,
    /// An estimate; 0 if it is not known.
    pub total_rows_to_read: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub result_rows: u64,
    pub result_bytes: u64,
    pub elapsed_ns: u64,
}

impl Progress {
    pub fn snapshot(&self) -> ProgressSnapshot {
        let counters = &self.counters;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProgressSnapshot {
            read_rows: get(&counters.read_rows),
            read_bytes: get(&counters.read_bytes),
            total_rows_to_read: get(&counters.total_rows_to_read),
            written_rows: get(&counters.written_rows),
            written_bytes: get(&counters.written_bytes),
            result_rows: get(&counters.result_rows),
            result_bytes: get(&counters.result_bytes),
            elapsed_ns: counters.started.elapsed().as_nanos() as u64,
        }
    }

    pub(crate) fn add_read(&self, rows: u64, bytes: u64) {
        self.counters.read_rows.fetch_add(rows, Ordering::Relaxed);
        self.counters.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_total_rows(&self, rows: u64) {
        self.counters.total_rows_to_read.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn add_written(&self, rows: u64, bytes: u64) {
        self.counters.written_rows.fetch_add(rows, Ordering::Relaxed);
        self.counters.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_result(&self, rows: u64, bytes: u64) {
        self.counters.result_rows.fetch_add(rows, Ordering::Relaxed);
        self.counters.result_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// `rows` are those that the LIMIT of the query took its rows from, as far as they were counted.
    pub(crate) fn set_rows_before_limit(&self, rows: u64) {
        self.counters.rows_before_limit.store(rows.saturating_add(1), Ordering::Relaxed);
    }

    fn statistics(&self) -> Statistics {
        let snapshot = self.snapshot();
        let counted = self.counters.rows_before_limit.load(Ordering::Relaxed).checked_sub(1);
        snapshot.statistics(counted.map(|rows| rows.max(snapshot.result_rows)))
    }
}

impl ProgressSnapshot {
    /// The figures that formats print after the rows.
    pub fn statistics(&self, rows_before_limit: Option<u64>) -> Statistics {
        Statistics {
            elapsed_seconds: self.elapsed_ns as f64 / 1e9,
            rows_read: self.read_rows,
            bytes_read: self.read_bytes,
            total_rows_to_read: self.total_rows_to_read,
            rows_before_limit,
        }
    }
}
