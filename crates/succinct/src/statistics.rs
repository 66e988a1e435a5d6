//! The places of a table's rows: states, rows, bytes, damage.

use std::path::Path;
use std::sync::Arc;

use basalt_base::Result;

use crate::snapshot::Snapshot;
use crate::stored::StoredSegment;
use crate::table::Table;

/// The state of a place, in the order of a row's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceState {
    Writing,
    Frozen,
    ReadOnly,
}

/// A generation or a segment.
#[derive(Clone)]
pub struct PlaceStatistics {
    /// The column family of a generation, the file name of a segment.
    pub name: String,
    pub state: PlaceState,
    /// Rows with tombstones. Of a generation an estimate, which counts replaced rows.
    pub rows: u64,
    pub tombstones: u64,
    /// Rows that newer segments shadow.
    pub shadowed: u64,
    /// The bytes on disk, or in the log.
    pub bytes: u64,
    pub segment: Option<Arc<StoredSegment>>,
}

impl Table {
    /// The places of the rows, the newest first.
    pub fn places(&self) -> Result<Vec<PlaceStatistics>> {
        let version = self.version();
        let generations = version.generations.iter().enumerate().map(|(at, generation)| {
            Ok(PlaceStatistics {
                name: generation.family().to_owned(),
                state: if at == 0 { PlaceState::Writing } else { PlaceState::Frozen },
                rows: self.database.family_rows(generation.family())?,
                tombstones: 0,
                shadowed: 0,
                bytes: self.database.family_bytes(generation.family())?,
                segment: None,
            })
        });
        let segments = version.segments.iter().enumerate().map(|(at, stored)| {
            let file = stored.segment().file();
            let name = stored.path().file_name().unwrap_or_default();
            Ok(PlaceStatistics {
                name: name.to_string_lossy().into_owned(),
                state: PlaceState::ReadOnly,
                rows: u64::from(file.rows()),
                tombstones: u64::from(file.tombstones()),
                shadowed: u64::from(version.shadowed(at)?.count()),
                bytes: file.bytes(),
                segment: Some(Arc::clone(stored)),
            })
        });
        generations.chain(segments).collect()
    }

    /// The bytes of all files of the table, whether they are in use or not.
    pub fn bytes_on_disk(&self) -> Result<u64> {
        bytes_below(self.dir())
    }

    /// RocksDB's counters since the table was opened, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.database.counters()
    }

    /// Reads all places and compares them with their checksums: the name of each place, and its first damage. `go_on` is
    /// called now and then, and its error ends the check.
    pub fn check(&self, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<(String, Option<String>)>> {
        let version = self.version();
        let generations = version.generations.iter().map(|generation| {
            let damage = self.database.check_family(generation.family(), go_on)?;
            Ok((generation.family().to_owned(), damage))
        });
        let segments = version.segments.iter().map(|stored| {
            go_on()?;
            let name = stored.path().file_name().unwrap_or_default();
            let damage = stored.segment().check().err().map(|error| error.message().to_owned());
            Ok((name.to_string_lossy().into_owned(), damage))
        });
        generations.chain(segments).collect()
    }
}

impl Snapshot {
    /// The number of rows in segments that are in the table; fresh rows come on top.
    pub fn rows_in_segments(&self) -> Result<u64> {
        let live = (0..self.segments().len()).map(|at| {
            let rows = self.segments()[at].segment().rows();
            Ok(u64::from(rows - self.dead(at)?.count()))
        });
        live.sum()
    }

    /// At most as many rows are in the table.
    pub fn rows_at_most(&self) -> u64 {
        let segments: u64 = self.segments().iter().map(|stored| u64::from(stored.segment().rows())).sum();
        segments + self.fresh_rows_estimate()
    }

    /// The bytes of the values of a row at the columns `wanted`, on average in the place where they are largest.
    pub fn row_bytes(&self, wanted: &[usize]) -> u64 {
        let stored = self.segments().iter().map(|stored| stored.row_bytes(&self.spec, wanted));
        let fresh_bytes: u64 = self.generations.iter().map(|generation| generation.bytes()).sum();
        let fresh = fresh_bytes / self.fresh_rows_estimate().max(1);
        stored.max().unwrap_or_default().max(fresh)
    }

    /// About as many rows are outside of segments.
    pub fn fresh_rows_estimate(&self) -> u64 {
        let Some(families) = &self.families else { return 0 };
        let rows = self.generations.iter().map(|generation| families.family_rows(generation.family()));
        rows.map(Result::unwrap_or_default).sum()
    }
}

fn bytes_below(dir: &Path) -> Result<u64> {
    let list = || -> std::io::Result<u64> {
        let mut bytes = 0;
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            // A file may be removed meanwhile.
            bytes += match entry.metadata() {
                Ok(found) if found.is_dir() => bytes_below(&entry.path()).unwrap_or_default(),
                Ok(found) => found.len(),
                Err(_) => 0,
            };
        }
        Ok(bytes)
    };
    list().map_err(|error| basalt_base::Error::io(basalt_base::FileAction::List, dir, &error))
}
