//! A snapshot of a database: all its families as they were at one time.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use basalt_base::{Error, Result};
use rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions, SnapshotWithThreadMode};
use self_cell::self_cell;

use crate::database::Database;
use crate::range::ByteRange;
use crate::row_encoding::StoredRow;

type RocksdbSnapshot<'a> = SnapshotWithThreadMode<'a, DB>;
type RocksdbRows<'a> = DBRawIteratorWithThreadMode<'a, DB>;

self_cell!(
    struct OwnedSnapshot {
        owner: Arc<Database>,

        #[not_covariant]
        dependent: RocksdbSnapshot,
    }
);

self_cell!(
    struct OwnedRows {
        owner: Arc<Snapshot>,

        #[not_covariant]
        dependent: RocksdbRows,
    }
);

/// What the families have at one time. It keeps the database open.
pub struct Snapshot(OwnedSnapshot);

/// The rows of a range of a family, in the order of their encoded keys or in its reverse.
pub struct FamilyRows {
    rows: OwnedRows,
    direction: Direction,
}

/// The order of keys, or its reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// `left` against `right` in this order.
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        match self {
            Direction::Ascending => left.cmp(right),
            Direction::Descending => right.cmp(left),
        }
    }
}

impl Snapshot {
    pub(crate) fn take(database: &Arc<Database>) -> Snapshot {
        Snapshot(OwnedSnapshot::new(Arc::clone(database), |database| database.db().snapshot()))
    }

    /// The directory of the database.
    pub fn path(&self) -> &Path {
        self.database().path()
    }

    /// [`Database::family_rows`].
    pub fn family_rows(&self, family: &str) -> Result<u64> {
        self.database().family_rows(family)
    }

    fn database(&self) -> &Arc<Database> {
        self.0.borrow_owner()
    }

    fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        self.0.with_dependent(|_, snapshot| options.set_snapshot(snapshot));
        options
    }

    /// Calls `visit` with the position and the row of every key that `family` has. The encoded keys are sorted.
    pub fn find(
        &self,
        family: &str,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, StoredRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let (database, options) = (self.database(), self.read_options());
        let family = database.family(family)?;
        let rows = database.db().batched_multi_get_cf_opt(&family, keys.iter().copied(), true, &options);
        for (at, row) in rows.into_iter().enumerate() {
            if let Some(row) = row.map_err(|error| database.failed("looking up keys", &error))? {
                visit(at, StoredRow::of(&row))?;
            }
        }
        Ok(())
    }

    /// The rows of `family` in `range`, from its beginning, or from its end in the reverse order.
    pub fn rows(
        self: &Arc<Self>,
        family: &str,
        range: &ByteRange,
        direction: Direction,
    ) -> Result<FamilyRows> {
        let mut options = self.read_options();
        // A pass over many blocks would evict the blocks that lookups need.
        options.fill_cache(false);
        options.set_auto_readahead_size(true);
        options.set_iterate_lower_bound(range.lower.as_slice());
        if let Some(upper) = &range.upper {
            options.set_iterate_upper_bound(upper.as_slice());
        }
        let rows = OwnedRows::try_new(Arc::clone(self), |snapshot| {
            let database = snapshot.database();
            let mut rows = database.db().raw_iterator_cf_opt(&database.family(family)?, options);
            match direction {
                Direction::Ascending => rows.seek(&range.lower),
                Direction::Descending => rows.seek_to_last(),
            }
            Ok::<_, Error>(rows)
        })?;
        Ok(FamilyRows { rows, direction })
    }
}

impl FamilyRows {
    /// Calls `take` with the current row and moves to the next one; `None` at the end.
    pub fn next<T>(&mut self, take: impl FnOnce(&[u8], StoredRow<'_>) -> T) -> Result<Option<T>> {
        let direction = self.direction;
        self.rows.with_dependent_mut(|snapshot, rows| {
            let taken = rows.item().map(|(key, row)| take(key, StoredRow::of(row)));
            match taken {
                Some(_) if direction == Direction::Descending => rows.prev(),
                Some(_) => rows.next(),
                None => {
                    let status = rows.status();
                    status.map_err(|error| snapshot.database().failed("scanning rows", &error))?;
                }
            }
            Ok(taken)
        })
    }
}
