//! The source CLICKHOUSE on another host: a table or a query of a server, over the native protocol.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use basalt_base::{Column, Columns, Error, ErrorCode, Result, bail};
use basalt_formats::{BlockSource, TypeConverter};
use basalt_sources::Address;
use basalt_sources::clickhouse::Client;

use super::formatted::read_blocks;
use super::parameters::Parameters;
use super::pool::Pool;
use super::row_source::{Timeouts, UpdateField};
use super::select::{Dialect, From, Select};
use super::tls::{Tls, TlsDefaults};
use super::{Blocks, LoadRequest, RowRange, RowSource};
use crate::tables::CastConverter;

const PORT: u64 = 9000;
const SECURE_PORT: u64 = 9440;
/// The user of a source that names none.
const USER: &str = "default";

const REVISION_BYTES_MAX: usize = 1 << 20;
/// Keys in one query.
const KEYS_A_QUERY: usize = 8192;

/// Connections of lookups at the same time, and how long another lookup waits for one of them.
const CONNECTIONS_MAX: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct RemoteSource {
    address: Address,
    tls: Tls,
    select: Select,
    /// Connections of lookups; loads open their own.
    connections: Pool<Client>,
}

impl RemoteSource {
    /// The source on `host`; the parameters of SELECT were taken already.
    pub(super) fn parse(host: &str, parameters: &Parameters<'_>, select: Select) -> Result<RemoteSource> {
        let tls = Tls::parse(parameters, TlsDefaults::BY_PORT)?;
        let port = parameters.number("port", if tls.is_on() { SECURE_PORT } else { PORT })?;
        let Ok(port) = u16::try_from(port) else {
            bail!(IncorrectDictionaryDefinition, "{port} is no port");
        };
        // The revision of our connections has no chunks.
        for name in ["proto_send_chunked", "proto_recv_chunked"] {
            parameters.text(name)?;
        }
        let address = Address {
            host: host.to_owned(),
            port,
            user: parameters.text("user")?.filter(|user| !user.is_empty()).unwrap_or_else(|| USER.to_owned()),
            password: parameters.text("password")?.unwrap_or_default(),
            quota_key: parameters.text("quota_key")?.unwrap_or_default(),
            ..Address::default()
        };
        let connections = Pool::new(CONNECTIONS_MAX, PATIENCE, "connections to the server");
        Ok(RemoteSource { address, tls, select, connections })
    }

    fn connect(&self, load: &LoadRequest) -> Result<Client> {
        load.permit(&self.address)?;
        let address = Address { tls: self.tls.options(load)?, ..self.address.clone() };
        Client::connect(&address, load.limits(Timeouts::ClickHouse))
    }

    /// All rows that `text` selects, over an idle connection if there is one.
    fn look_up(&self, load: &LoadRequest, text: &str) -> Result<Fetched> {
        let limits = load.limits(Timeouts::ClickHouse);
        let ask = |client: &mut Client| {
            let mut rows = client.rows(text.as_bytes(), limits)?;
            let mut blocks = VecDeque::new();
            while let Some(block) = rows.next_rows()? {
                blocks.push_back(block);
            }
            Ok(Fetched { columns: rows.columns().clone(), blocks })
        };
        let answer = || self.connections.with(limits.deadline, Client::is_ready, || self.connect(load), ask);
        match answer() {
            // The server may have restarted since the connection was used.
            Err(error) if error.code() == ErrorCode::NetworkError => answer(),
            other => other,
        }
    }

    /// Blocks of the requested columns, from a source with as many columns.
    fn blocks(&self, load: &LoadRequest, source: Box<dyn BlockSource>, with_time: bool) -> Result<Blocks> {
        let wanted = load.columns_of_rows(with_time);
        let whence = self.address.to_string();
        let zone = Arc::clone(&load.host).context(load.query(&whence)).zone;
        let named = Named {
            source,
            wanted: wanted.clone(),
            exact_keys: load.exact_keys.min(wanted.len()),
            converter: CastConverter::exact(zone),
        };
        Ok(read_blocks(load, Box::new(named), &whence, wanted, CastConverter::shared(zone)))
    }
}

impl RowSource for RemoteSource {
    fn describe(&self, database: &str) -> String {
        match &self.select.from {
            From::Table(own, table) => {
                format!("ClickHouse: {} {}.{table}", self.address, own.as_deref().unwrap_or(database))
            }
            From::Query(_) => format!("ClickHouse: {} query", self.address),
        }
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        let text = self.select.text(Dialect::ClickHouse, load, range);
        let rows = self.connect(load)?.into_rows(text.as_bytes())?;
        self.blocks(load, Box::new(rows), self.tells_update_time())
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows = keys.first().map_or(0, |key| key.len());
        let mut found = Vec::new();
        for first in (0..rows).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(rows - first);
            let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, count)).collect();
            let text = self.select.text_of_keys(Dialect::ClickHouse, load, &keys)?;
            let blocks = self.blocks(load, Box::new(self.look_up(load, &text)?), false)?;
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

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        let Some(text) = &self.select.invalidate_query else { return Ok(None) };
        // One text, whatever the columns and rows of the query are.
        let text = format!("SELECT toString(groupArray(tuple(*))) FROM ({text})");
        let mut revision = String::new();
        for block in self.look_up(load, &text)?.blocks {
            let Some(texts) = block.columns().first().and_then(|column| column.as_binary_view_opt()) else {
                bail!(TypeMismatch, "{}: the answer to INVALIDATE_QUERY is no text", self.address);
            };
            texts.iter().flatten().for_each(|text| revision.push_str(&String::from_utf8_lossy(text)));
            if revision.len() > REVISION_BYTES_MAX {
                bail!(TooManyRows, "the answer to INVALIDATE_QUERY has more than {REVISION_BYTES_MAX} bytes");
            }
        }
        Ok(Some(revision))
    }
}

/// All rows of a query.
struct Fetched {
    columns: Columns,
    blocks: VecDeque<RecordBatch>,
}

impl BlockSource for Fetched {
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>> {
        Ok(self.blocks.pop_front().map(|rows| (self.columns.clone(), rows)))
    }
}

/// The blocks of a query with the names of the columns that are wanted, by position. Its key columns have their types.
struct Named {
    source: Box<dyn BlockSource>,
    wanted: Columns,
    /// How many columns refuse a number that their type does not have.
    exact_keys: usize,
    converter: Arc<dyn TypeConverter>,
}

impl Named {
    fn named(&self, found: &Columns, rows: &RecordBatch) -> Result<(Columns, RecordBatch)> {
        if found.len() != self.wanted.len() {
            bail!(
                NumberOfColumnsDoesntMatch,
                "the source sends rows of {} columns, {} are wanted",
                found.len(),
                self.wanted.len()
            );
        }
        let (mut columns, mut arrays) = (Vec::new(), Vec::new());
        for (at, (from, to)) in found.iter().zip(self.wanted.iter()).enumerate() {
            let (mut ty, mut array) = (&from.ty, Arc::clone(rows.column(at)));
            // A NULL is refused later, with the name of its column.
            if at < self.exact_keys && *ty != to.ty && array.logical_null_count() == 0 {
                let converted = self.converter.convert(&array, ty, &to.ty);
                array = converted.map_err(|error| error.within(format!("column `{}`", to.name)))?;
                ty = &to.ty;
            }
            columns.push(Column::new(&to.name, ty.clone()));
            arrays.push(array);
        }
        let columns = Columns::new(columns);
        let rows = RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::of_arrow)?;
        Ok((columns, rows))
    }
}

impl BlockSource for Named {
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>> {
        match self.source.next_block()? {
            Some((columns, rows)) => self.named(&columns, &rows).map(Some),
            None => Ok(None),
        }
    }
}
