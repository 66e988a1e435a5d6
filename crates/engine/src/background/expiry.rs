//! SYSTEM STOP TTL MERGES: tables whose merges leave expired rows as they are.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

/// On, unless it was turned off for a table or for all of them.
#[derive(Default)]
pub(crate) struct ExpirySwitch {
    off_for_all: AtomicBool,
    off: Mutex<HashSet<Uuid>>,
}

impl ExpirySwitch {
    pub(crate) fn is_on(&self, table: Uuid) -> bool {
        !self.off_for_all.load(Ordering::Relaxed) && !self.off.lock().contains(&table)
    }

    /// Without a table, for all of them.
    pub(crate) fn turn_off(&self, table: Option<Uuid>) {
        match table {
            Some(table) => {
                self.off.lock().insert(table);
            }
            None => self.off_for_all.store(true, Ordering::Relaxed),
        }
    }

    /// Without a table, for all of them.
    pub(crate) fn turn_on(&self, table: Option<Uuid>) {
        match table {
            Some(table) => {
                self.off.lock().remove(&table);
            }
            None => {
                self.off_for_all.store(false, Ordering::Relaxed);
                self.off.lock().clear();
            }
        }
    }
}
