//! A generation of rows: a column family that is written, then frozen, then retired.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use basalt_kv::Database;

use crate::records::family;

/// The rows that were written between two freezes. The last one to use a retired generation drops its family.
pub(crate) struct Generation {
    pub(crate) number: u64,
    family: String,
    database: Arc<Database>,
    /// The encoded bytes of its rows, with those of replaced ones. None means that it has no row.
    bytes: AtomicU64,
    is_retired: AtomicBool,
}

impl Generation {
    /// A generation whose family is there and has about `bytes` bytes of rows.
    pub(crate) fn new(database: &Arc<Database>, number: u64, bytes: u64) -> Generation {
        Generation {
            number,
            family: family(number),
            database: Arc::clone(database),
            bytes: AtomicU64::new(bytes),
            is_retired: AtomicBool::new(false),
        }
    }

    pub(crate) fn family(&self) -> &str {
        &self.family
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Counts bytes of rows that are about to be written.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes.max(1), Ordering::AcqRel);
    }

    /// Its rows are elsewhere, durably.
    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        if self.is_retired.load(Ordering::Acquire) {
            // A family that is left is dropped when the table is opened again.
            let _ = self.database.drop_family(&self.family);
        }
    }
}
