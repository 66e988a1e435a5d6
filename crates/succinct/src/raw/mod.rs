//! A table of one String for the key and one String for the value, by their bytes: without SQL and without the engine.
//!
//! The directory alone is enough: the table's own record says what its columns are. Its rows are those that SQL sees.
//! A table of other columns is refused.
//!
//! # Concurrency
//!
//! As for [`Table`]: all methods may run concurrently. One process at a time has a table, a server too.

mod rows;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use arrow::array::AsArray;
use basalt_base::fs::RealStorage;
use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType, bail};
use basalt_kv::encoding::StringRows;
use basalt_kv::{ByteRange, Database, Durability, KvOptions, KvSpec, SharedCache};
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;
use basalt_segment::key::KEY_BYTES_MAX;
use parking_lot::Mutex;

use crate::record::RecordReader;
use crate::recorded::{self, RecordedColumn, RecordedTable};
use crate::snapshot::Snapshot;
use crate::spec::TableSpec;
use crate::statistics::PlaceState;
use crate::table::{SEGMENTS_DIRECTORY, Table, TableOptions};
use crate::waiting;
use crate::work::WorkWatch;

pub use rows::RawRows;

/// Readers that wait for the next look-up.
const READERS_MAX: usize = 64;

/// An open table of bytes by bytes.
pub struct RawTable {
    table: Arc<Table>,
    strings: StringRows,
    /// Position of the column outside the key.
    value: usize,
    readers: Mutex<Vec<RecordReader>>,
}

/// A change of a key: its value, or `None` to delete it.
pub type RawChange<'a> = (&'a [u8], Option<&'a [u8]>);

impl RawTable {
    /// Whether the directory has a Succinct table, of any columns.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(SEGMENTS_DIRECTORY).is_dir() && Table::rocksdb_dir(dir).join("CURRENT").is_file()
    }

    /// Opens the table in `dir`, which an engine made.
    pub fn open(dir: &Path, cache: SharedCache) -> Result<RawTable> {
        if !RawTable::is_in(dir) {
            bail!(BadArguments, "{} has no Succinct table", dir.display());
        }
        let recorded = recorded_table(dir, &cache)?;
        let spec = string_spec(dir, &recorded)?;
        let value = spec.rows.value_positions()[0];
        let options = TableOptions {
            storage: Arc::new(RealStorage),
            kv: KvOptions { cache, ..KvOptions::default() },
            access: Access::Mapped,
            build: BuildOptions::default(),
            segment_bytes: recorded.settings.segment_bytes,
            segments_max: usize::try_from(recorded.settings.segments_max).unwrap_or(usize::MAX),
            dead_share_max: recorded.settings.dead_share_max,
        };
        let table = Arc::new(Table::open(dir, spec, options)?);
        Ok(RawTable { table, strings: StringRows::default(), value, readers: Mutex::default() })
    }

    /// Calls `take` with the newest value of `key`, if it has one.
    pub fn get<T>(&self, key: &[u8], take: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let reader = self.readers.lock().pop();
        let mut reader = reader.unwrap_or_else(|| self.table.records());
        let mut row = Vec::new();
        let is_there = reader.read(key, &mut row)?;
        let mut readers = self.readers.lock();
        if readers.len() < READERS_MAX {
            readers.push(reader);
        }
        drop(readers);
        if !is_there {
            return Ok(None);
        }
        let value = self.strings.read(&row).map_err(|corrupt| corrupt.at(self.table.dir(), key))?;
        Ok(Some(take(value)))
    }

    /// The same as it was in `snapshot`.
    pub fn get_at<T>(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let rows = snapshot.get_one(key, &[self.value])?;
        Ok((rows.num_rows() > 0).then(|| take(rows.column(0).as_binary_view().value(0))))
    }

    /// Makes all changes or none; the last change of a key wins. Returns whether there may be work for
    /// [`RawTable::step`].
    pub fn write(&self, changes: &[RawChange<'_>], durability: Durability) -> Result<bool> {
        if changes.is_empty() {
            return Ok(false);
        }
        if let Some((key, _)) = changes.iter().find(|(key, _)| key.len() > KEY_BYTES_MAX) {
            bail!(
                ArgumentOutOfBound,
                "a key of {} bytes is too long to store, at most {KEY_BYTES_MAX} are possible",
                key.len()
            );
        }
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(changes.len());
        for (_, value) in changes {
            let start = bytes.len();
            if let Some(value) = value {
                self.strings.write(value, &mut bytes);
            }
            ends.push(value.map(|_| start..bytes.len()));
        }
        let keys: usize = changes.iter().map(|(key, _)| key.len()).sum();
        let rows = changes.iter().zip(&ends);
        let rows = rows.map(|((key, _), row)| (*key, row.clone().map(|row| &bytes[row])));
        self.table.write_encoded(rows, (keys + bytes.len()) as u64, durability)
    }

    /// The table as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.table.snapshot()
    }

    /// The rows of `snapshot` in the order of their keys.
    pub fn rows(&self, snapshot: Arc<Snapshot>) -> RawRows {
        RawRows::new(snapshot, self.table.spec().rows.key[0], self.value)
    }

    /// About how many bytes of segments the keys from `start` to before `limit` take.
    pub fn approximate_bytes(&self, start: &[u8], limit: &[u8]) -> Result<u64> {
        if start >= limit {
            return Ok(0);
        }
        let range = ByteRange { lower: start.to_vec(), upper: Some(limit.to_vec()) };
        let snapshot = self.snapshot();
        let mut bytes = 0;
        for (at, stored) in snapshot.segments().iter().enumerate() {
            let file = stored.segment().file();
            let ranks = snapshot.ranks(at, &range)?;
            let share = u128::from(file.bytes()) * u128::from(ranks.end - ranks.start);
            bytes += u64::try_from(share / u128::from(file.rows().max(1))).unwrap_or(u64::MAX);
        }
        Ok(bytes)
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.snapshot().segments().len()
    }

    /// The places of the rows as a text: a line for each, the newest first.
    pub fn describe(&self) -> Result<String> {
        let mut text = String::from("Place  State  Rows  Tombstones  Shadowed  Bytes\n");
        for place in self.table.places()? {
            let state = match place.state {
                PlaceState::Writing => "writing",
                PlaceState::Frozen => "frozen",
                PlaceState::ReadOnly => "read-only",
            };
            text.push_str(&format!(
                "{}  {state}  {}  {}  {}  {}\n",
                place.name, place.rows, place.tombstones, place.shadowed, place.bytes
            ));
        }
        Ok(text)
    }

    /// Makes one segment of all rows, or a segment of those that are in none.
    pub fn compact(&self, is_final: bool, watch: &dyn WorkWatch) -> Result<()> {
        self.table.optimize(is_final, watch)
    }

    /// [`Table::step`].
    pub fn step(&self, watch: &dyn WorkWatch) -> Result<bool> {
        self.table.step(watch)
    }
}

impl Table {
    /// Sets encoded rows of `bytes` bytes; `None` is a tombstone.
    fn write_encoded<'a>(
        &self,
        rows: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
        bytes: u64,
        durability: Durability,
    ) -> Result<bool> {
        let committing = waiting::shared(&self.changes)?;
        let writing = Arc::clone(self.version().writing());
        // Readers must not take the generation for an empty one from now on.
        writing.count_bytes(bytes.max(1));
        self.database.write_rows(writing.family(), rows, durability)?;
        drop(committing);
        let is_due = self.is_due(&writing);
        if is_due {
            // If it fails, the generation grows, and the next change tries again.
            let _ = self.freeze();
        }
        Ok(is_due)
    }
}

/// What the database of the table records.
fn recorded_table(dir: &Path, cache: &SharedCache) -> Result<RecordedTable> {
    let options = KvOptions { cache: cache.clone(), read_only: true, ..KvOptions::default() };
    let database = Database::open(&Table::rocksdb_dir(dir), options)?;
    let records = database.records(recorded::NAME)?;
    let Some((_, record)) = records.iter().find(|(name, _)| name == recorded::NAME) else {
        bail!(
            NotImplemented,
            "the Succinct table in {} does not record its columns; open it once with `basalt` of this version",
            dir.display()
        );
    };
    RecordedTable::decode(record).ok_or_else(|| {
        let text = format!("the record of the columns of the table in {} cannot be read", dir.display());
        Error::new(ErrorCode::CorruptedData, text)
    })
}

/// The columns, if they are one String in the key and one String outside of it.
fn string_spec(dir: &Path, recorded: &RecordedTable) -> Result<TableSpec> {
    let columns = &recorded.columns;
    let is_string = |column: &RecordedColumn| column.ty == SqlType::String.to_string();
    if columns.len() != 2 || recorded.key.len() != 1 || !columns.iter().all(is_string) {
        let names = columns.iter().enumerate().map(|(at, column)| {
            let key = if recorded.key.contains(&at) { " in the primary key" } else { "" };
            format!("`{}` {}{key}", column.name, column.ty)
        });
        bail!(
            NotImplemented,
            "the Succinct table in {} has the columns {}; only tables of one String in the primary key and one \
             other String can be read by their bytes",
            dir.display(),
            names.collect::<Vec<_>>().join(", ")
        );
    }
    if let Some(column) = columns.iter().find(|column| column.has_default) {
        bail!(
            NotImplemented,
            "column `{}` of the Succinct table in {} has a DEFAULT, which is known to SQL only",
            column.name,
            dir.display()
        );
    }
    let names = columns.iter().map(|column| Column::new(column.name.as_str(), SqlType::String));
    let rows = KvSpec::new(Columns::new(names.collect()), recorded.key.clone())?;
    let spec = TableSpec {
        groups: recorded.groups.clone(),
        indexes: recorded.indexes.clone(),
        trigrams: recorded.trigrams.clone(),
        strings: columns.iter().map(|column| column.strings).collect(),
        ..TableSpec::new(rows)
    };
    spec.check()?;
    Ok(spec)
}
