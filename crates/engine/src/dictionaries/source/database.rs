//! The sources POSTGRESQL, MYSQL and SQLITE: a table or a query of another database.

use std::time::Duration;

use arrow::array::{Array, ArrayRef};
use basalt_base::{ErrorCode, Result, bail};
use basalt_sources::{Limits, Row, RowStream, TlsMode, mysql, postgresql, sqlite};

use super::parameters::Parameters;
use super::pool::Pool;
use super::replicas::{COMPRESSION, ConnectionDefaults, Replicas};
use super::row_source::{Timeouts, UpdateField};
use super::select::{Dialect, From, SELECT_PARAMETERS, Select};
use super::text_rows::TextBlocks;
use super::tls::{TLS_PARAMETERS, Tls, TlsDefaults, refuse};
use super::{Blocks, CONNECTION_PARAMETERS, LoadRequest, RowRange, RowSource};

/// Keys in one query.
const KEYS_A_QUERY: usize = 4096;
const REVISION_BYTES_MAX: usize = 1 << 20;
const POSTGRESQL: ConnectionDefaults =
    ConnectionDefaults { port: 5432, host_may_be_folder: true, rounds: 2, can_compress: false };
const MYSQL: ConnectionDefaults =
    ConnectionDefaults { port: 3306, host_may_be_folder: false, rounds: 3, can_compress: true };

/// Connections of lookups at the same time, and how long another lookup waits for one of them.
const CONNECTIONS_MAX: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);

/// The address of the database.
const SERVER_PARAMETERS: [&str; 3] = ["replica", "priority", "background_reconnect"];
const MYSQL_PARAMETERS: [&str; 12] = [
    COMPRESSION,
    "socket",
    "connect_timeout",
    "mysql_connect_timeout",
    "rw_timeout",
    "mysql_rw_timeout",
    "close_connection",
    "share_connection",
    "fail_on_connection_loss",
    "opt_reconnect",
    "enable_local_infile",
    "dont_check_update_time",
];

pub(super) struct DatabaseSource {
    dialect: Dialect,
    place: Place,
    select: Select,
    /// Seconds that the source sets, instead of the dictionary's settings.
    connect: Option<f64>,
    silence: Option<f64>,
}

enum Place {
    /// The file of SQLite.
    File(String),
    Server(Box<Server>),
}

struct Server {
    replicas: Replicas,
    tls: Tls,
    /// Connections of lookups; loads open their own.
    connections: Pool<Connection>,
    /// Whether connections are reused.
    keeps: bool,
}

enum Connection {
    MySql(mysql::Client),
    PostgreSql(postgresql::Client),
}

/// The default of libpq: TLS if the server supports it.
const POSTGRESQL_TLS: TlsDefaults =
    TlsDefaults { mode: TlsMode::Prefer, with_files: TlsMode::VerifyFull, can_prefer: true };
/// As in ClickHouse, SSL_CA names the authority that must have signed the certificate, for any host: certificates
/// that MySQL generates name no host.
const MYSQL_TLS: TlsDefaults =
    TlsDefaults { mode: TlsMode::Prefer, with_files: TlsMode::VerifyCa, can_prefer: true };

impl DatabaseSource {
    pub(super) fn postgresql(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let mut select = Select::parse(parameters)?;
        let schema = parameters.text("schema")?.filter(|schema| !schema.is_empty());
        let mut replicas = Replicas::parse(parameters, &POSTGRESQL)?;
        if let From::Table(database, table) = &mut select.from {
            let (schema, name) = schema_and_table(schema, table);
            *table = name;
            replicas.set_database(&std::mem::replace(database, schema).unwrap_or_default());
        }
        let place = Server::place(replicas, Tls::parse(parameters, POSTGRESQL_TLS)?, true);
        let own = [&SERVER_PARAMETERS[..], &["schema"]].concat();
        parameters
            .finish(&[&SELECT_PARAMETERS[..], &CONNECTION_PARAMETERS, &TLS_PARAMETERS, &own].concat())?;
        Ok(DatabaseSource { dialect: Dialect::PostgreSql, place, select, connect: None, silence: None })
    }

    pub(super) fn mysql(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let mut select = Select::parse(parameters)?;
        // A lost connection is always opened again, and the second parameter is obsolete in ClickHouse as well.
        for name in ["opt_reconnect", "dont_check_update_time"] {
            parameters.flag(name, true)?;
        }
        let closes = parameters.flag("close_connection", false)?;
        let keeps = !(parameters.flag("share_connection", false)? || closes);
        if parameters.flag("enable_local_infile", false)? {
            return Err(
                parameters.wrong("enable_local_infile", "0: the server is given no files of this machine")
            );
        }
        let rounds = if parameters.flag("fail_on_connection_loss", false)? { 1 } else { MYSQL.rounds };
        let mut replicas = Replicas::parse(parameters, &ConnectionDefaults { rounds, ..MYSQL })?;
        if let From::Table(database, _) = &mut select.from {
            replicas.set_database(&database.take().unwrap_or_default());
        }
        let place = Server::place(replicas, Tls::parse(parameters, MYSQL_TLS)?, keeps);
        let connect = parameters.seconds("connect_timeout", "mysql_connect_timeout")?;
        let silence = parameters.seconds("rw_timeout", "mysql_rw_timeout")?;
        let own = [&SERVER_PARAMETERS[..], &MYSQL_PARAMETERS].concat();
        parameters
            .finish(&[&SELECT_PARAMETERS[..], &CONNECTION_PARAMETERS, &TLS_PARAMETERS, &own].concat())?;
        Ok(DatabaseSource { dialect: Dialect::MySql, place, select, connect, silence })
    }

    pub(super) fn sqlite(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let select = Select::parse(parameters)?;
        let place = Place::File(parameters.required("path")?);
        refuse(parameters, "a file is read without a connection")?;
        parameters.finish(&[&SELECT_PARAMETERS[..], &["path"]].concat())?;
        Ok(DatabaseSource { dialect: Dialect::Sqlite, place, select, connect: None, silence: None })
    }

    fn limits(&self, load: &LoadRequest) -> Limits {
        let settings = &load.settings;
        let silence = self.silence.unwrap_or(settings.external_storage_rw_timeout_sec);
        let connect = self.connect.unwrap_or(settings.external_storage_connect_timeout_sec);
        load.limits(Timeouts::Database).of_seconds(connect, silence, silence)
    }

    fn ask(&self, load: &LoadRequest, text: &str) -> Result<Box<dyn RowStream>> {
        let limits = self.limits(load);
        match &self.place {
            Place::File(path) => Ok(Box::new(sqlite::query(&load.host.user_file(path)?, text, limits)?)),
            Place::Server(server) => server.replicas.ask(&server.tls.options(load)?, |address| {
                load.permit(address)?;
                Ok(match self.dialect {
                    Dialect::MySql => Box::new(mysql::query(address, text, limits)?) as Box<dyn RowStream>,
                    _ => Box::new(postgresql::query(address, text, limits)?),
                })
            }),
        }
    }

    /// All rows that `text` selects, over an idle connection if there is one.
    fn look_up(&self, load: &LoadRequest, text: &str) -> Result<Vec<Vec<ArrayRef>>> {
        let limits = self.limits(load);
        let blocks = |rows: &mut dyn RowStream| {
            TextBlocks::new(load, rows, false, &self.describe(""))?.collect::<Result<Vec<_>>>()
        };
        let Place::Server(server) = &self.place else { return blocks(&mut *self.ask(load, text)?) };
        let connect = || {
            server.replicas.ask(&server.tls.options(load)?, |address| {
                load.permit(address)?;
                Ok(match self.dialect {
                    Dialect::MySql => Connection::MySql(mysql::Client::connect(address, limits)?),
                    _ => Connection::PostgreSql(postgresql::Client::connect(address, limits)?),
                })
            })
        };
        let ask = |connection: &mut Connection| match connection {
            Connection::MySql(client) => blocks(&mut client.query(text, limits)?),
            Connection::PostgreSql(client) => blocks(&mut client.query(text, limits)?),
        };
        let is_ready = |connection: &mut Connection| server.keeps && connection.is_ready();
        let answer = || server.connections.with(limits.deadline, is_ready, connect, ask);
        match answer() {
            // The server may have restarted since the connection was used.
            Err(error) if error.code() == ErrorCode::NetworkError => answer(),
            other => other,
        }
    }

    fn kind(&self) -> &'static str {
        match self.dialect {
            Dialect::PostgreSql => "PostgreSQL",
            Dialect::MySql => "MySQL",
            Dialect::Sqlite | Dialect::ClickHouse => "SQLite",
        }
    }
}

impl Server {
    fn place(replicas: Replicas, tls: Tls, keeps: bool) -> Place {
        let what = "connections to the database";
        let connections = Pool::new(CONNECTIONS_MAX, PATIENCE, what);
        Place::Server(Box::new(Server { replicas, tls, connections, keeps }))
    }
}

impl Connection {
    fn is_ready(&mut self) -> bool {
        match self {
            Connection::MySql(client) => client.is_ready(),
            Connection::PostgreSql(client) => client.is_ready(),
        }
    }
}

impl RowSource for DatabaseSource {
    fn describe(&self, _database: &str) -> String {
        let from = match &self.select.from {
            From::Table(schema, table) => {
                let database = match &self.place {
                    Place::Server(server) => Some(server.replicas.database()).filter(|name| !name.is_empty()),
                    Place::File(_) => None,
                };
                let names = database.into_iter().chain(schema.as_deref()).chain([table.as_str()]);
                names.collect::<Vec<_>>().join(".")
            }
            From::Query(_) => "query".to_owned(),
        };
        format!("{}: {from}", self.kind())
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        let text = self.select.text(self.dialect, load, range);
        let rows = self.ask(load, &text)?;
        let with_time = self.tells_update_time();
        Ok(Box::new(TextBlocks::new(load, rows, with_time, &self.describe(""))?))
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let mut found = Vec::new();
        let count = keys.first().map_or(0, |key| key.len());
        for first in (0..count).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(count - first);
            let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, count)).collect();
            let text = self.select.text_of_keys(self.dialect, load, &keys)?;
            found.extend(self.look_up(load, &text)?);
        }
        Ok(found)
    }

    fn takes_expressions(&self) -> bool {
        true
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.select.update.as_ref()
    }

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        let Some(text) = &self.select.invalidate_query else { return Ok(None) };
        let mut rows = self.ask(load, text)?;
        let (mut row, mut revision) = (Row::default(), String::new());
        while rows.next_row(&mut row)? {
            for field in row.fields() {
                revision.push_str(&field.map_or("\\N".into(), String::from_utf8_lossy));
                revision.push('\n');
            }
            if revision.len() > REVISION_BYTES_MAX {
                bail!(TooManyRows, "the answer to INVALIDATE_QUERY has more than {REVISION_BYTES_MAX} bytes");
            }
        }
        Ok(Some(revision))
    }
}

/// The given schema, or the one before the first dot of TABLE.
fn schema_and_table(schema: Option<String>, table: &str) -> (Option<String>, String) {
    match (schema, table.split_once('.')) {
        (None, Some((schema, name))) if !schema.is_empty() && !name.is_empty() => {
            (Some(schema.to_owned()), name.to_owned())
        }
        (schema, _) => (schema, table.to_owned()),
    }
}
