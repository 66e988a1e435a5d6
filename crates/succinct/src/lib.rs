//! I have rows by key that change: keep the new ones in RocksDB, compress the old ones, and read both as one table.
//!
//! # The life of a row
//!
//! - A change goes to the *writing* [generation](generation): a column family, with a log that is synced. A deleted key
//!   gets a tombstone there.
//! - A *freeze* ends the generation and begins the next one. The frozen generation is never written again.
//! - A *build* reads the frozen generations twice and writes a segment. One synced batch then records the segment and
//!   retires the generations.
//! - A *merge* makes one segment of neighbouring ones, without shadowed rows. Tombstones go when nothing older is left.
//!
//! # Reading
//!
//! The newest place that has a key decides: generations before segments, the newer before the older. A [`Snapshot`]
//! pins a [version](version) of the places, and the generations as they are at that time.
//!
//! # Invariants
//!
//! - **Nothing is lost**: at every moment of a freeze, a build or a merge the recorded places have all rows. Files and
//!   families that no record names are removed when the table is opened.
//! - **Ages do not overlap**: a segment has the rows of consecutive generations, and no other place has them.
//!
//! # Not here
//!
//! No SQL, no planning, no threads of its own: the engine calls [`Table::step`] in the background.

mod backup;
mod columns;
mod cursor;
mod fresh;
mod generation;
mod lookup;
mod merge;
mod ordered;
mod policy;
mod ranks;
pub mod raw;
mod record;
mod recorded;
mod records;
mod row_block;
mod snapshot;
mod spec;
mod statistics;
mod stored;
mod table;
mod version;
mod waiting;
mod work;

#[cfg(test)]
mod crashes;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod model;

pub use columns::{Picked, SegmentColumns};
pub use ordered::OrderedRows;
pub use ranks::RankSet;
pub use record::RecordReader;
pub use snapshot::{FreshBatches, Snapshot};
pub use spec::{ColumnGroup, IndexSpec, TableSpec};
pub use statistics::{PlaceState, PlaceStatistics};
pub use stored::StoredSegment;
pub use table::{Change, Table, TableOptions};
pub use work::{Step, WorkWatch};
