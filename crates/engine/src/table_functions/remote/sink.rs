//! An INSERT into a table of another server.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_sources::clickhouse::Insert;
use basalt_sql::quote_name;

use super::origin::Origin;
use super::servers::Servers;
use crate::tables::InsertSink;

/// The rows go out as they come: the other server joins them to larger blocks.
pub(super) struct RemoteSink {
    insert: Insert,
    columns: Columns,
}

impl RemoteSink {
    pub(super) fn begin(servers: &Servers, from: &Origin, columns: Columns) -> Result<RemoteSink> {
        let names: Vec<String> = columns.iter().map(|column| quote_name(&column.name)).collect();
        let function = if matches!(from, Origin::Function(_)) { "FUNCTION " } else { "" };
        let statement = format!("INSERT INTO {function}{} ({}) VALUES", from.text(), names.join(", "));
        let insert = servers.connect(0)?.into_insert(statement.as_bytes())?;
        Ok(RemoteSink { insert, columns })
    }
}

impl InsertSink for RemoteSink {
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()> {
        let mut blocks = blocks.into_iter().filter(|block| block.num_rows() > 0);
        blocks.try_for_each(|block| self.insert.write(&self.columns, &block))
    }

    fn prefers_large_blocks(&self) -> bool {
        false
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.insert.finish()
    }
}
