//! The rows of a table of another server: a query for each shard.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::UInt64Type;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::query::{current, enter};
use basalt_base::{Columns, Error, Result, bail};
use basalt_formats::{BlockReader, FormatSettings};
use basalt_sql::quote_name;

use super::condition::where_clause;
use super::origin::Origin;
use super::servers::Servers;
use crate::context::QueryContext;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};
use crate::tables::CastConverter;

/// Rows of a block without columns.
const COUNTED_ROWS_MAX: u64 = 1 << 20;

/// One query, for all shards.
pub(super) struct RemoteScan {
    servers: Arc<Servers>,
    text: Arc<[u8]>,
    /// The columns that are read; if there are none, the rows are counted.
    columns: Columns,
    limit: Option<usize>,
    settings: FormatSettings,
    query: Arc<QueryContext>,
}

impl RemoteScan {
    pub(super) fn new(
        servers: &Arc<Servers>,
        from: &Origin,
        request: &ScanRequest,
        settings: FormatSettings,
    ) -> Result<RemoteScan> {
        let columns = request.stored.project(&request.columns);
        let list: Vec<String> = columns.iter().map(|column| quote_name(&column.name)).collect();
        let list = if list.is_empty() { "count()".to_owned() } else { list.join(", ") };
        let mut text = format!("SELECT {list} FROM {}", from.text()).into_bytes();
        text.extend(where_clause(&request.conditions, &request.stored)?);
        if let Some(limit) = request.limit.filter(|_| !columns.is_empty()) {
            text.extend_from_slice(format!(" LIMIT {limit}").as_bytes());
        }
        Ok(RemoteScan {
            servers: Arc::clone(servers),
            text: text.into(),
            columns,
            limit: request.limit,
            settings,
            query: Arc::clone(&request.query),
        })
    }
}

impl BlockSource for RemoteScan {
    fn partition_count(&self) -> usize {
        self.servers.shard_count()
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        let state = State::Begin {
            servers: Arc::clone(&self.servers),
            shard: partition,
            text: Arc::clone(&self.text),
        };
        Ok(Box::new(RemoteBlocks {
            state,
            columns: self.columns.clone(),
            limit: self.limit,
            settings: self.settings.clone(),
            query: Arc::clone(&self.query),
        }))
    }

    fn describe(&self) -> String {
        format!("{}: {}", self.servers, String::from_utf8_lossy(&self.text))
    }
}

/// The blocks of one shard.
struct RemoteBlocks {
    state: State,
    columns: Columns,
    limit: Option<usize>,
    settings: FormatSettings,
    query: Arc<QueryContext>,
}

enum State {
    /// Nothing was asked yet: opening a source must not wait.
    Begin {
        servers: Arc<Servers>,
        shard: usize,
        text: Arc<[u8]>,
    },
    Rows(Box<dyn BlockReader>),
    /// As many rows are left, of no columns.
    Counted(u64),
    End,
}

impl RemoteBlocks {
    fn next_block(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match std::mem::replace(&mut self.state, State::End) {
                State::Begin { servers, shard, text } => self.state = self.begin(&servers, shard, &text)?,
                State::Rows(mut reader) => {
                    let Some(block) = reader.next_block()? else { return Ok(None) };
                    self.state = State::Rows(reader);
                    return Ok(Some(block.batch));
                }
                State::Counted(0) | State::End => return Ok(None),
                State::Counted(left) => {
                    let rows = left.min(COUNTED_ROWS_MAX);
                    self.state = State::Counted(left - rows);
                    let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
                    let block = RecordBatch::try_new_with_options(self.columns.to_arrow(), vec![], &options);
                    return block.map(Some).map_err(Error::of_arrow);
                }
            }
        }
    }

    fn begin(&self, servers: &Servers, shard: usize, text: &[u8]) -> Result<State> {
        let mut rows = servers.connect(shard)?.into_rows(text)?;
        if !self.columns.is_empty() {
            let converter = Some(CastConverter::shared(self.query.zone));
            let source = Box::new(rows);
            let reader =
                basalt_formats::native::open_blocks(source, &self.columns, &self.settings, converter);
            return Ok(State::Rows(reader));
        }
        let Some(block) = rows.next_rows()? else { return Ok(State::End) };
        let counts = block.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let Some(counts) = counts.filter(|counts| !counts.is_empty()) else {
            bail!(UnexpectedPacketFromServer, "the answer to SELECT count() is no number");
        };
        // The end of the answer is read as well, or the query would be cancelled.
        while rows.next_rows()?.is_some() {}
        let limit = self.limit.map_or(u64::MAX, |limit| limit as u64);
        Ok(State::Counted(counts.value(0).min(limit)))
    }
}

impl Iterator for RemoteBlocks {
    type Item = Result<RecordBatch>;

    /// Waits for the other server. The caller may be an operator on a runtime thread, which other tasks need.
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = || {
            let _entered = current().is_none().then(|| enter(Some(Arc::clone(self.query.status()))));
            self.next_block()
        };
        let block = tokio::task::block_in_place(next).transpose();
        if matches!(block, Some(Err(_))) {
            self.state = State::End;
        }
        block
    }
}
