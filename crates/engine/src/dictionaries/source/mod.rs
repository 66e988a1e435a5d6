//! Where the rows of a dictionary come from: one file a source, behind [`RowSource`].
//!
//! To add one: its file, and its line in [`open`].

mod collection;
mod database;
mod executable;
mod file;
mod foreign_value;
mod formatted;
mod http;
mod keyed;
mod null;
mod parameters;
mod pool;
mod redis;
mod remote;
mod replicas;
mod select;
mod table;
mod text_rows;
mod tls;
mod unusable;
mod yaml;
mod yaml_regexp_tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_dict::{Dictionary, DictionarySpec, Located, source_block_rows};
use basalt_formats::text::write_date_time;
use basalt_sources::http::host_of;
use basalt_sources::{Address, Limits};
use basalt_sql::ast::KeyValue;

pub(super) use self::collection::collection_of;
pub(super) use self::keyed::KeyedSource;
use self::parameters::Parameters;
use self::select::{SELECT_PARAMETERS, Select};
use self::tls::TLS_PARAMETERS;
use super::asking::Asking;
use crate::Engine;
use crate::named_collections::NamedCollections;
use crate::query::QueryContext;
use crate::settings::Settings;

/// Blocks of rows, as one array a column.
pub(super) type Blocks = Box<dyn Iterator<Item = Result<Vec<ArrayRef>>> + Send>;

/// EXPRESSION of each column that has one, by the column's name, as the source is told it.
pub(super) type Expressions = BTreeMap<String, String>;

/// What a dictionary asks of its source, and on whose behalf.
pub(super) struct Question {
    pub(super) engine: Arc<Engine>,
    /// The dictionary's database: where a table without one is looked for.
    pub(super) database: String,
    /// Keys, then attributes.
    pub(super) columns: Columns,
    /// Key columns in which a number that their type does not have is an error.
    pub(super) exact_keys: usize,
    /// By the name of a column what the source computes it from: its EXPRESSION.
    pub(super) expressions: Arc<Expressions>,
    /// The dictionary's settings, for queries and formats.
    pub(super) settings: Settings,
    /// Which dictionaries are being loaded.
    pub(super) asking: Arc<Asking>,
    /// The column that says that a row is deleted.
    pub(super) tombstone: Option<String>,
    /// What stands for a missing value of each column behind the keys, an array of one row each.
    pub(super) defaults: Arc<[ArrayRef]>,
}

/// Whose timeouts a source has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timeouts {
    Http,
    /// Another server of our kind.
    ClickHouse,
    Database,
}

/// Which rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    All,
    /// Those whose update field is at least this many seconds since 1970.
    Since(i64),
}

/// `UPDATE_FIELD` and `UPDATE_LAG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpdateField {
    pub(super) name: String,
    pub(super) lag_seconds: u64,
}

/// A source of rows.
pub(super) trait RowSource: Send + Sync {
    /// The source in words, for `system.dictionaries`.
    fn describe(&self, database: &str) -> String;

    /// The table of this database that it reads: database and name.
    fn table(&self, _database: &str) -> Option<(String, String)> {
        None
    }

    /// The rows as blocks of the question's columns. Behind them stands, if there is an
    /// [`UpdateField`] and [`RowSource::tells_update_time`], the time of the row's last change as
    /// Nullable(Int64), seconds since 1970; then, if there is a tombstone, its UInt8.
    fn rows(&self, question: &Question, wanted: Wanted) -> Result<Blocks>;

    /// The rows of `keys`: as many arrays as the key has columns.
    fn rows_of(&self, _question: &Question, _keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        Err(Error::not_implemented(format!("asking this source ({}) for single keys", self.describe(""))))
    }

    /// As [`RowSource::rows_of`], but `attributes` alone and with the row of each key, from a source that
    /// knows it; `None` from all others.
    fn locate(
        &self,
        _question: &Question,
        _keys: &[ArrayRef],
        _attributes: &[usize],
        _threads_max: usize,
    ) -> Result<Option<Located>> {
        Ok(None)
    }

    /// See [`basalt_dict::DirectSource::prefers_large_blocks`].
    fn prefers_large_blocks(&self, _question: &Question) -> bool {
        false
    }

    /// Whether the source computes columns from a [`Question`]'s expressions.
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
    fn revision(&self, _question: &Question) -> Result<Option<String>> {
        Ok(None)
    }
}

/// The source that a SOURCE clause describes, for a dictionary of `spec`. If it is a named collection that does not
/// fit, loads say so: it may be another one by then.
pub(super) fn open(
    source: &KeyValue,
    spec: &DictionarySpec,
    collections: &NamedCollections,
) -> Result<Arc<dyn RowSource>> {
    let opened = collection::resolved(source, collections).and_then(|source| open_resolved(&source, spec));
    match opened.map_err(|error| collection::within_collection(source, error)) {
        Err(error) if collection_of(source).is_some() => Ok(Arc::new(unusable::UnusableSource { error })),
        opened => opened,
    }
}

fn open_resolved(source: &KeyValue, spec: &DictionarySpec) -> Result<Arc<dyn RowSource>> {
    let parameters = Parameters::of(source);
    Ok(match parameters.source() {
        "CLICKHOUSE" => return clickhouse(&parameters),
        "EXECUTABLE" | "EXECUTABLE_POOL" => Arc::new(executable::ExecutableSource::parse(&parameters)?),
        "FILE" => Arc::new(file::FileSource::parse(&parameters)?),
        "HTTP" => Arc::new(http::HttpSource::parse(&parameters)?),
        "MYSQL" => Arc::new(database::DatabaseSource::mysql(&parameters)?),
        "NULL" => Arc::new(null::NullSource::parse(&parameters)?),
        "POSTGRESQL" => Arc::new(database::DatabaseSource::postgresql(&parameters)?),
        "REDIS" => Arc::new(redis::RedisSource::parse(&parameters)?),
        "SQLITE" => Arc::new(database::DatabaseSource::sqlite(&parameters)?),
        "YAMLREGEXPTREE" => Arc::new(yaml_regexp_tree::YamlRegexpTreeSource::parse(&parameters, spec)?),
        name => match NOT_BUILT.iter().find(|(known, _)| *known == name) {
            Some((_, instead)) => {
                bail!(NotImplemented, "dictionary source {name} is not implemented: {instead}")
            }
            None => {
                let near = did_you_mean(name, SOURCES.iter().copied());
                bail!(IncorrectDictionaryDefinition, "dictionary source `{}` is not known{near}", source.name)
            }
        },
    })
}

/// The sources that there are.
const SOURCES: [&str; 11] = [
    "CLICKHOUSE",
    "EXECUTABLE",
    "EXECUTABLE_POOL",
    "FILE",
    "HTTP",
    "MYSQL",
    "NULL",
    "POSTGRESQL",
    "REDIS",
    "SQLITE",
    "YAMLRegExpTree",
];

/// The sources that ClickHouse has and Basalt does not, and what does instead.
const NOT_BUILT: [(&str, &str); 6] = [
    (
        "MONGODB",
        "mongoexport writes a collection in a form that EXECUTABLE or FILE reads: COMMAND 'mongoexport --quiet --uri=.. \
         --collection=.. --fields=..' FORMAT 'JSONEachRow'",
    ),
    (
        "ODBC",
        "POSTGRESQL, MYSQL and SQLITE read these databases themselves, EXECUTABLE reads what a client program writes",
    ),
    (
        "JDBC",
        "POSTGRESQL, MYSQL and SQLITE read these databases themselves, EXECUTABLE reads what a client program writes",
    ),
    ("CASSANDRA", "EXECUTABLE reads what `cqlsh` writes"),
    ("YTSAURUS", "HTTP reads what its proxy answers"),
    ("LIBRARY", "EXECUTABLE_POOL asks a program that keeps running"),
];

/// Where another database is, and who asks.
const CONNECTION_PARAMETERS: [&str; 4] = ["host", "port", "user", "password"];

/// What a connection to another server of our kind takes besides.
const FAR_PARAMETERS: [&str; 3] = ["quota_key", "proto_send_chunked", "proto_recv_chunked"];

/// A table or a query of this database, or of another one.
fn clickhouse(parameters: &Parameters<'_>) -> Result<Arc<dyn RowSource>> {
    let host = parameters.text("host")?.unwrap_or_default();
    let port = parameters.text("port")?;
    let select = Select::parse(parameters)?;
    let is_here = matches!(host.as_str(), "" | "localhost" | "127.0.0.1" | "::1")
        && matches!(port.as_deref(), None | Some("9000"));
    let source: Arc<dyn RowSource> = if is_here {
        // They matter for a connection, and here there is none.
        for name in CONNECTION_PARAMETERS.iter().chain(&TLS_PARAMETERS).chain(&FAR_PARAMETERS) {
            parameters.text(name)?;
        }
        Arc::new(table::TableSource::new(select))
    } else {
        let host = if host.is_empty() { "127.0.0.1" } else { &host };
        Arc::new(remote::RemoteSource::parse(host, parameters, select)?)
    };
    let known = [&SELECT_PARAMETERS[..], &CONNECTION_PARAMETERS, &TLS_PARAMETERS, &FAR_PARAMETERS].concat();
    parameters.finish(&known)?;
    Ok(source)
}

impl Question {
    pub(super) fn key_count(&self) -> usize {
        self.columns.len() - self.defaults.len()
    }

    /// Has wide rows come in short blocks: of these, some are in memory at once.
    pub(super) fn expect_rows_like(&mut self, version: &Arc<dyn Dictionary>) {
        let stats = version.stats();
        let most = source_block_rows(stats.bytes_allocated, stats.element_count);
        self.settings.max_block_size = self.settings.max_block_size.min(most);
    }

    /// An error if the server's configuration does not let sources ask the host of `url`.
    fn permit_url(&self, url: &str) -> Result<()> {
        let hosts = self.engine.remote_hosts();
        if hosts.are_all() {
            return Ok(());
        }
        let (host, port) = host_of(url)?;
        hosts.check(&host, port)
    }

    /// As [`Question::permit_url`]; a socket is one of this machine.
    fn permit(&self, address: &Address) -> Result<()> {
        let host = if address.socket.is_some() { "localhost" } else { &address.host };
        self.engine.remote_hosts().check(host, address.port)
    }

    /// How long a source outside may take, and keep us waiting, by the dictionary's settings.
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

    /// A query of the engine's own that the dictionary asks.
    pub(super) fn query(&self, text: &str) -> Arc<QueryContext> {
        Arc::new(self.context(text))
    }

    /// The query that reads all rows.
    pub(super) fn load_query(&self, text: &str) -> Arc<QueryContext> {
        Arc::new(self.context(text).reading_once())
    }

    fn context(&self, text: &str) -> QueryContext {
        let query = QueryContext::internal_with(&self.engine, &self.database, text, self.settings.clone());
        query.asking_dictionaries_as(Arc::clone(&self.asking))
    }
}

/// A time as sources that speak no SQL are told it, in the zone of the machine.
fn time_text(question: &Question, seconds: i64) -> String {
    let mut text = Vec::new();
    write_date_time(seconds, *question.engine.zone(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
