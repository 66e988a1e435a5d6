//! The source REDIS: strings by key, or the fields of hashes by key and field.

use std::time::Duration;

use arrow::array::{Array, ArrayRef, RecordBatch};
use basalt_base::{Columns, Error, Result, bail};
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};
use basalt_sources::redis::{Client, Storage};
use basalt_sources::{Address, Row, RowStream};

use super::parameters::Parameters;
use super::pool::Pool;
use super::row_source::Timeouts;
use super::text_rows::TextBlocks;
use super::tls::{TLS_PARAMETERS, Tls, TlsDefaults};
use super::{Blocks, CONNECTION_PARAMETERS, LoadRequest, RowRange, RowSource};

const PORT: u64 = 6379;
const POOL_SIZE: u64 = 16;
const POOL_SIZE_MAX: u64 = 1000;
/// How long a lookup waits for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// Keys whose values are requested together.
const KEYS_A_ROUND: usize = 65_536;

pub(super) struct RedisSource {
    address: Address,
    tls: Tls,
    db_index: u64,
    storage: Storage,
    /// Connections of lookups.
    connections: Pool<Client>,
}

impl RedisSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<RedisSource> {
        let port = parameters.number("port", PORT)?;
        let Ok(port) = u16::try_from(port) else {
            bail!(IncorrectDictionaryDefinition, "{port} is no port");
        };
        let storage = match parameters.text("storage_type")?.as_deref() {
            None | Some("simple") => Storage::Simple,
            Some("hash_map") => Storage::HashMap,
            Some(other) => bail!(
                IncorrectDictionaryDefinition,
                "storage_type of dictionary source REDIS is simple or hash_map, got `{other}`"
            ),
        };
        let source = RedisSource {
            address: Address {
                host: parameters.required("host")?,
                port,
                user: parameters.text("user")?.unwrap_or_default(),
                password: parameters.text("password")?.unwrap_or_default(),
                ..Address::default()
            },
            tls: Tls::parse(parameters, TlsDefaults::BY_PORT)?,
            db_index: parameters.number("db_index", 0)?,
            storage,
            connections: Pool::new(
                parameters.number("pool_size", POOL_SIZE)?.min(POOL_SIZE_MAX) as usize,
                PATIENCE,
                "connections to Redis (pool_size)",
            ),
        };
        let own = ["storage_type", "db_index", "pool_size"];
        parameters.finish(&[&CONNECTION_PARAMETERS[..], &TLS_PARAMETERS, &own].concat())?;
        Ok(source)
    }

    fn connect(&self, load: &LoadRequest) -> Result<Client> {
        let keys = if self.storage == Storage::Simple { 1 } else { 2 };
        if load.key_count() != keys || load.columns.len() != keys + 1 {
            bail!(
                IncorrectDictionaryDefinition,
                "a dictionary over REDIS with storage_type {} has {keys} key columns and one attribute",
                if keys == 1 { "simple" } else { "hash_map" }
            );
        }
        if load.tombstone.is_some() {
            bail!(BadArguments, "tombstone_column: Redis has no columns");
        }
        let address = Address { tls: self.tls.options(load)?, ..self.address.clone() };
        load.permit(&address)?;
        Client::connect(&address, self.db_index, load.limits(Timeouts::Database))
    }
}

impl RowSource for RedisSource {
    fn describe(&self, _database: &str) -> String {
        format!("Redis: {}", self.address)
    }

    fn rows(&self, load: &LoadRequest, _range: RowRange) -> Result<Blocks> {
        let rows = self.connect(load)?.all(self.storage);
        Ok(Box::new(TextBlocks::new(load, rows, false, &self.describe(""))?))
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let limits = load.limits(Timeouts::Database);
        let ask = |client: &mut Client| {
            client.renew(limits);
            self.rows_from(client, load, keys)
        };
        self.connections.with(limits.deadline, Client::is_ready, || self.connect(load), ask)
    }
}

impl RedisSource {
    fn rows_from(
        &self,
        client: &mut Client,
        load: &LoadRequest,
        keys: &[ArrayRef],
    ) -> Result<Vec<Vec<ArrayRef>>> {
        let columns: Columns = load.columns[..keys.len()].iter().cloned().collect();
        let batch = RecordBatch::try_new(columns.to_arrow(), keys.to_vec()).map_err(Error::of_arrow)?;
        let mut found = Vec::new();
        for first in (0..batch.num_rows()).step_by(KEYS_A_ROUND) {
            let batch = batch.slice(first, KEYS_A_ROUND.min(batch.num_rows() - first));
            let rows = texts(&columns, batch.columns())?;
            let values = client.values(self.storage, &rows)?;
            let known = rows.into_iter().zip(values).filter_map(|(mut row, value)| {
                row.push(Some(&value?));
                Some(row)
            });
            let blocks = TextBlocks::new(load, Ready(known), false, &self.describe(""))?;
            found.extend(blocks.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }
}

/// The rows of key columns as text.
fn texts(columns: &Columns, keys: &[ArrayRef]) -> Result<Vec<Row>> {
    let settings = TextSettings::default();
    let writers = columns
        .iter()
        .zip(keys)
        .map(|(column, key)| ValueWriter::new(&column.ty, key, &settings))
        .collect::<Result<Vec<_>>>()?;
    let mut text = Vec::new();
    let rows = (0..keys.first().map_or(0, |key| key.len())).map(|at| {
        let mut row = Row::default();
        for writer in &writers {
            text.clear();
            writer.write(at, Style::Raw, &mut text);
            row.push(Some(&text));
        }
        row
    });
    Ok(rows.collect())
}

/// Rows that were read already.
struct Ready<I>(I);

impl<I: Iterator<Item = Row> + Send> RowStream for Ready<I> {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        match self.0.next() {
            Some(next) => *row = next,
            None => return Ok(false),
        }
        Ok(true)
    }
}
