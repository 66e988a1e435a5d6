//! How keys are read: from the store as it is, or from a snapshot.

use std::sync::Arc;

use basalt_base::{Result, bail};
use rocksdb::{DB, SnapshotWithThreadMode};
use self_cell::self_cell;

use super::store::RawStore;

type RocksdbSnapshot<'a> = SnapshotWithThreadMode<'a, DB>;

self_cell!(
    struct OwnedSnapshot {
        owner: Arc<RawStore>,

        #[not_covariant]
        dependent: RocksdbSnapshot,
    }
);

/// A store as it was at one time. It keeps the store open, and RocksDB keeps what it reads.
pub struct RawSnapshot(OwnedSnapshot);

impl RawSnapshot {
    pub(super) fn take(store: &Arc<RawStore>) -> RawSnapshot {
        RawSnapshot(OwnedSnapshot::new(Arc::clone(store), |store| store.db().snapshot()))
    }
}

/// How to read.
#[derive(Clone)]
pub struct ReadOptions {
    /// Compare the checksum of each block that is read from a file. RocksDB does so by default, LevelDB does not.
    pub verify_checksums: bool,
    /// Keep the blocks that are read in the cache.
    pub fill_cache: bool,
    /// Read the store as it was then; it must be a snapshot of the same store.
    pub snapshot: Option<Arc<RawSnapshot>>,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { verify_checksums: true, fill_cache: true, snapshot: None }
    }
}

impl ReadOptions {
    pub(super) fn are_default(&self) -> bool {
        self.verify_checksums && self.fill_cache && self.snapshot.is_none()
    }

    pub(super) fn to_rocksdb(&self, store: &RawStore) -> Result<rocksdb::ReadOptions> {
        let mut options = rocksdb::ReadOptions::default();
        options.set_verify_checksums(self.verify_checksums);
        options.fill_cache(self.fill_cache);
        if let Some(RawSnapshot(snapshot)) = self.snapshot.as_deref() {
            if !std::ptr::eq(Arc::as_ptr(snapshot.borrow_owner()), store) {
                bail!(
                    BadArguments,
                    "a snapshot of {} cannot be read in {}",
                    snapshot.borrow_owner().path().display(),
                    store.path().display()
                );
            }
            snapshot.with_dependent(|_, snapshot| options.set_snapshot(snapshot));
        }
        Ok(options)
    }
}
