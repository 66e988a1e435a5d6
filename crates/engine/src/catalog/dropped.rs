//! The data of dropped tables, deleted when their last reader or writer is gone.
//!
//! A scan, a merge or an INSERT that runs when its table is dropped holds the table and goes on; so a
//! directory is deleted when the last of them is gone. What is left when the process ends is deleted
//! at the next open, because no metadata names it.

use std::path::PathBuf;
use std::sync::Weak;

use basalt_base::fs::Storage;
use parking_lot::Mutex;

use crate::tables::Table;

/// Directories that wait for the last user of their table.
#[derive(Default)]
pub(crate) struct DroppedTables {
    waiting: Mutex<Vec<Dropped>>,
}

struct Dropped {
    table: Option<Weak<dyn Table>>,
    dir: PathBuf,
}

impl DroppedTables {
    /// Takes over the data of an object without a name. Its users hold references to `table`.
    pub(crate) fn add(&self, table: Option<Weak<dyn Table>>, dir: PathBuf) {
        self.waiting.lock().push(Dropped { table, dir });
    }

    /// Deletes the data that has no users. Data that cannot be deleted now is tried again by the next call.
    pub(crate) fn sweep(&self, storage: &dyn Storage) {
        self.waiting.lock().retain(|dropped| dropped.is_used() || !dropped.delete(storage));
    }

    /// Whether no data of a dropped table is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }
}

impl Dropped {
    fn is_used(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.strong_count() > 0)
    }

    /// `false` if something is left: another thread may be closing the table's files at this moment.
    fn delete(&self, storage: &dyn Storage) -> bool {
        match storage.exists(&self.dir) {
            Ok(true) => storage.remove_dir_all(&self.dir).is_ok(),
            Ok(false) => true,
            Err(_) => false,
        }
    }
}
