//! The contract between a load and the source of its rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_dict::{Dictionary, Located, source_block_rows};
use basalt_formats::text::write_date_time;
use basalt_sources::http::host_of;
use basalt_sources::{Address, Limits};

use super::super::host::{Blocks, LoadHost, SourceQuery};
use super::super::load_chain::LoadChain;
use crate::settings::Settings;

/// The EXPRESSION of each column that has one, by the name of the column.
pub(in crate::dictionaries) type Expressions = BTreeMap<String, String>;

/// The request of a load to its source.
pub(in crate::dictionaries) struct LoadRequest {
    pub(in crate::dictionaries) host: Arc<dyn LoadHost>,
    /// The dictionary's database, where a table without one is looked for.
    pub(in crate::dictionaries) database: String,
    /// Keys, then attributes.
    pub(in crate::dictionaries) columns: Columns,
    /// How many key columns refuse a number that their type does not have.
    pub(in crate::dictionaries) exact_keys: usize,
    pub(in crate::dictionaries) expressions: Arc<Expressions>,
    /// The dictionary's settings, for queries and formats.
    pub(in crate::dictionaries) settings: Settings,
    /// The loads that this one is part of.
    pub(in crate::dictionaries) chain: Arc<LoadChain>,
    /// The column that marks deleted rows.
    pub(in crate::dictionaries) tombstone: Option<String>,
    /// The value in place of a missing one, for each column after the keys: arrays of one row.
    pub(in crate::dictionaries) defaults: Arc<[ArrayRef]>,
}

/// Which group of timeout settings a source obeys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timeouts {
    Http,
    /// Another ClickHouse or Basalt server.
    ClickHouse,
    Database,
}

/// Which rows a load reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::dictionaries) enum RowRange {
    All,
    /// Rows whose update field is at least this many seconds since 1970.
    Since(i64),
}

/// `UPDATE_FIELD` and `UPDATE_LAG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dictionaries) struct UpdateField {
    pub(in crate::dictionaries) name: String,
    pub(in crate::dictionaries) lag_seconds: u64,
}

/// A source of rows.
pub(in crate::dictionaries) trait RowSource: Send + Sync {
    /// The source in words, for `system.dictionaries`.
    fn describe(&self, database: &str) -> String;

    /// The table of this database that it reads: database and name.
    fn table(&self, _database: &str) -> Option<(String, String)> {
        None
    }

    /// The rows as blocks of the requested columns. Two more columns may follow. First the time of the row's last
    /// change as Nullable(Int64), seconds since 1970, if there is an [`UpdateField`] and
    /// [`RowSource::tells_update_time`]. Then the UInt8 of the tombstone, if there is one.
    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks>;

    /// The rows of `keys`: as many arrays as the key has columns.
    fn rows_of(&self, _load: &LoadRequest, _keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        Err(Error::not_implemented(format!("asking this source ({}) for single keys", self.describe(""))))
    }

    /// As [`RowSource::rows_of`], but only `attributes`, and with the row of each key. `None` if the source does not
    /// know the row of a key.
    fn locate(
        &self,
        _load: &LoadRequest,
        _keys: &[ArrayRef],
        _attributes: &[usize],
        _threads_max: usize,
    ) -> Result<Option<Located>> {
        Ok(None)
    }

    /// See [`basalt_dict::DirectSource::prefers_large_blocks`].
    fn prefers_large_blocks(&self, _load: &LoadRequest) -> bool {
        false
    }

    /// Whether the source computes columns from a [`LoadRequest`]'s expressions.
    fn takes_expressions(&self) -> bool {
        false
    }

    fn update_field(&self) -> Option<&UpdateField> {
        None
    }

    fn tells_update_time(&self) -> bool {
        self.update_field().is_some()
    }

    /// A text that changes when the rows do; `None` if the source cannot tell.
    fn revision(&self, _load: &LoadRequest) -> Result<Option<String>> {
        Ok(None)
    }
}

impl LoadRequest {
    pub(super) fn key_count(&self) -> usize {
        self.columns.len() - self.defaults.len()
    }

    /// Makes blocks of wide rows short, because a load holds several blocks at once. `version` says how wide rows are.
    pub(in crate::dictionaries) fn expect_rows_like(&mut self, version: &Arc<dyn Dictionary>) {
        let stats = version.stats();
        let most = source_block_rows(stats.bytes_allocated, stats.element_count);
        self.settings.max_block_size = self.settings.max_block_size.min(most);
    }

    /// An error if the server's configuration forbids sources to connect to the host of `url`.
    pub(super) fn permit_url(&self, url: &str) -> Result<()> {
        let hosts = self.host.policy().remote_hosts;
        if hosts.are_all() {
            return Ok(());
        }
        let (host, port) = host_of(url)?;
        hosts.check(&host, port)
    }

    /// As [`LoadRequest::permit_url`]; a socket belongs to this machine.
    pub(super) fn permit(&self, address: &Address) -> Result<()> {
        let host = if address.socket.is_some() { "localhost" } else { &address.host };
        self.host.policy().remote_hosts.check(host, address.port)
    }

    /// The timeouts of a source outside, by the dictionary's settings.
    pub(super) fn limits(&self, by: Timeouts) -> Limits {
        let settings = &self.settings;
        let (connect, send, silence) = match by {
            Timeouts::Http => {
                (settings.http_connection_timeout, settings.http_send_timeout, settings.http_receive_timeout)
            }
            Timeouts::ClickHouse => {
                (settings.connect_timeout, settings.send_timeout, settings.receive_timeout)
            }
            Timeouts::Database => (
                settings.external_storage_connect_timeout_sec,
                settings.external_storage_rw_timeout_sec,
                settings.external_storage_rw_timeout_sec,
            ),
        };
        Limits::within_seconds(settings.max_execution_time).of_seconds(connect, send, silence)
    }

    /// The columns of the blocks of [`RowSource::rows`].
    pub(super) fn columns_of_rows(&self, with_update_time: bool) -> Columns {
        let nullable = SqlType::Nullable(Arc::new(SqlType::Int64));
        let time = with_update_time.then(|| Column::new("update time", nullable));
        let tombstone = self.tombstone.as_ref().map(|name| Column::new(name, SqlType::UInt8));
        self.columns.iter().cloned().chain(time).chain(tombstone).collect()
    }

    /// A query that the load runs.
    pub(super) fn query(&self, text: &str) -> SourceQuery {
        SourceQuery {
            database: self.database.clone(),
            text: text.to_owned(),
            settings: self.settings.clone(),
            chain: Arc::clone(&self.chain),
            reads_once: false,
        }
    }

    /// Runs a query whose columns are converted to `columns`.
    pub(super) fn run_sql(&self, query: SourceQuery, columns: &Columns) -> Result<Blocks> {
        Arc::clone(&self.host).run_sql(query, columns, self.exact_keys.min(columns.len()))
    }
}

/// A time as text for sources that speak no SQL, in the zone of the machine.
pub(super) fn time_text(load: &LoadRequest, seconds: i64) -> String {
    let mut text = Vec::new();
    write_date_time(seconds, *load.host.policy().zone, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
