//! Where the rows of a dictionary come from: one file for each source.
//!
//! To add a source, add its file and its line in [`open`]. [`row_source`] is the contract.

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
mod row_source;
mod select;
mod table;
mod text_rows;
mod tls;
mod unusable;
mod yaml;
mod yaml_regexp_tree;

pub(super) use self::collection::collection_of;
pub(super) use self::keyed::KeyedSource;
pub(super) use self::row_source::{Expressions, LoadRequest, RowRange, RowSource};

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_dict::DictionarySpec;
use basalt_sql::ast::KeyValue;

use self::parameters::Parameters;
use self::select::{SELECT_PARAMETERS, Select};
use self::tls::TLS_PARAMETERS;
use super::host::Blocks;
use crate::named_collections::NamedCollections;

/// The source that a SOURCE clause describes, for a dictionary of `spec`. A named collection that does not fit is an
/// error of each load, because it may change until then.
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

/// Every source, as SQL writes it.
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

/// Sources of ClickHouse that Basalt does not have, and what to use instead.
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

/// The address of another database, and the user.
const CONNECTION_PARAMETERS: [&str; 4] = ["host", "port", "user", "password"];

/// Further parameters of a connection to another ClickHouse or Basalt server.
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
