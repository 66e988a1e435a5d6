//! The sources POSTGRESQL, MYSQL and SQLITE: a table or a query of another database.

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, bail};
use basalt_sources::{Row, Rows, TlsMode, mysql, postgresql, sqlite};

use super::parameters::Parameters;
use super::replicas::Replicas;
use super::select::{Dialect, From, SELECT_PARAMETERS, Select};
use super::text_rows::TextBlocks;
use super::tls::{TLS_PARAMETERS, Tls, TlsDefaults, refuse};
use super::{Blocks, CONNECTION_PARAMETERS, Question, RowSource, Timeouts, UpdateField, Wanted};

/// Keys in one question.
const KEYS_A_QUERY: usize = 4096;
const REVISION_BYTES_MAX: usize = 1 << 20;
const POSTGRESQL_PORT: u64 = 5432;
const MYSQL_PORT: u64 = 3306;

pub(super) struct DatabaseSource {
    dialect: Dialect,
    place: Place,
    select: Select,
}

enum Place {
    /// Of SQLite.
    File(String),
    Server(Replicas, Tls),
}

/// libpq's: TLS if the server can.
const POSTGRESQL_TLS: TlsDefaults =
    TlsDefaults { mode: TlsMode::Prefer, with_files: TlsMode::VerifyFull, can_prefer: true };
/// As ClickHouse has it, SSL_CA names who must have signed the certificate, for whatever host: certificates
/// that MySQL makes for itself are for none.
const MYSQL_TLS: TlsDefaults =
    TlsDefaults { mode: TlsMode::Prefer, with_files: TlsMode::VerifyCa, can_prefer: true };

impl DatabaseSource {
    pub(super) fn postgresql(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let mut select = Select::parse(parameters)?;
        let schema = parameters.text("schema")?;
        let mut replicas = Replicas::parse(parameters, POSTGRESQL_PORT)?;
        if let From::Table(database, _) = &mut select.from {
            replicas.set_database(&std::mem::replace(database, schema).unwrap_or_default());
        }
        let place = Place::Server(replicas, Tls::parse(parameters, POSTGRESQL_TLS)?);
        let own = ["schema", "replica"];
        let known = [&SELECT_PARAMETERS[..], &CONNECTION_PARAMETERS, &TLS_PARAMETERS, &own].concat();
        parameters.finish(&known)?;
        Ok(DatabaseSource { dialect: Dialect::PostgreSql, place, select })
    }

    pub(super) fn mysql(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let mut select = Select::parse(parameters)?;
        let mut replicas = Replicas::parse(parameters, MYSQL_PORT)?;
        if let From::Table(database, _) = &mut select.from {
            replicas.set_database(&database.take().unwrap_or_default());
        }
        let place = Place::Server(replicas, Tls::parse(parameters, MYSQL_TLS)?);
        let known = [&SELECT_PARAMETERS[..], &CONNECTION_PARAMETERS, &TLS_PARAMETERS, &["replica"]].concat();
        parameters.finish(&known)?;
        Ok(DatabaseSource { dialect: Dialect::MySql, place, select })
    }

    pub(super) fn sqlite(parameters: &Parameters<'_>) -> Result<DatabaseSource> {
        let select = Select::parse(parameters)?;
        let place = Place::File(parameters.required("path")?);
        refuse(parameters, "a file is read without a connection")?;
        parameters.finish(&[&SELECT_PARAMETERS[..], &["path"]].concat())?;
        Ok(DatabaseSource { dialect: Dialect::Sqlite, place, select })
    }

    fn ask(&self, question: &Question, text: &str) -> Result<Box<dyn Rows>> {
        let limits = question.limits(Timeouts::Database);
        match &self.place {
            Place::File(path) => {
                Ok(Box::new(sqlite::query(&question.engine.user_file(path)?, text, limits)?))
            }
            Place::Server(replicas, tls) => replicas.ask(&tls.options(question)?, |address| {
                Ok(match self.dialect {
                    Dialect::MySql => Box::new(mysql::query(address, text, limits)?) as Box<dyn Rows>,
                    _ => Box::new(postgresql::query(address, text, limits)?),
                })
            }),
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

impl RowSource for DatabaseSource {
    fn describe(&self, _database: &str) -> String {
        let from = match &self.select.from {
            From::Table(schema, table) => {
                let database = match &self.place {
                    Place::Server(replicas, _) => Some(replicas.database()).filter(|name| !name.is_empty()),
                    Place::File(_) => None,
                };
                let names = database.into_iter().chain(schema.as_deref()).chain([table.as_str()]);
                names.collect::<Vec<_>>().join(".")
            }
            From::Query(_) => "query".to_owned(),
        };
        format!("{}: {from}", self.kind())
    }

    fn rows(&self, question: &Question, wanted: Wanted) -> Result<Blocks> {
        let text = self.select.text(self.dialect, question, wanted);
        let rows = self.ask(question, &text)?;
        let with_time = self.tells_update_time();
        Ok(Box::new(TextBlocks::new(question, rows, with_time, &self.describe(""))?))
    }

    fn rows_of(&self, question: &Question, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let mut found = Vec::new();
        let count = keys.first().map_or(0, |key| key.len());
        for first in (0..count).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(count - first);
            let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, count)).collect();
            let text = self.select.text_of_keys(self.dialect, question, &keys)?;
            let blocks = TextBlocks::new(question, self.ask(question, &text)?, false, &self.describe(""))?;
            found.extend(blocks.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    fn takes_expressions(&self) -> bool {
        true
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.select.update.as_ref()
    }

    fn revision(&self, question: &Question) -> Result<Option<String>> {
        let Some(text) = &self.select.invalidate_query else { return Ok(None) };
        let mut rows = self.ask(question, text)?;
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
