//! The part log: what happened to the parts of MergeTree tables, in memory, the newest last.
//!
//! `system.part_log` reads it. The log keeps the newest [`ENTRIES_MAX`] entries of this process, as the query
//! log does.

use std::collections::VecDeque;
use std::sync::Arc;

use basalt_base::query::current;
use basalt_parts::{PartEvent, PartEventKind, PartObserver};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::TableDefinition;

/// Older entries make room for newer ones beyond this.
const ENTRIES_MAX: usize = 100_000;

/// Entries in order of time.
#[derive(Default)]
pub(crate) struct PartLog {
    entries: Mutex<VecDeque<Arc<PartLogEntry>>>,
}

/// One row of `system.part_log`.
pub(crate) struct PartLogEntry {
    pub(crate) database: String,
    pub(crate) table: String,
    pub(crate) uuid: Uuid,
    /// The statement that made a new part; empty for parts that background work makes.
    pub(crate) query_id: String,
    pub(crate) event: PartEvent,
}

/// Writes what happens to the parts of one table.
pub(super) struct LoggedTable {
    pub(super) log: Arc<PartLog>,
    /// The table may have another name by then.
    pub(super) definition: Arc<RwLock<Arc<TableDefinition>>>,
}

impl PartLog {
    pub(crate) fn entries(&self) -> Vec<Arc<PartLogEntry>> {
        self.entries.lock().iter().cloned().collect()
    }

    fn add(&self, entry: PartLogEntry) {
        let mut entries = self.entries.lock();
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(Arc::new(entry));
    }
}

impl PartObserver for LoggedTable {
    fn note(&self, event: PartEvent) {
        let definition = Arc::clone(&self.definition.read());
        let query = current().filter(|_| event.kind == PartEventKind::New);
        self.log.add(PartLogEntry {
            database: definition.database.clone(),
            table: definition.name.clone(),
            uuid: definition.uuid,
            query_id: query.map(|query| query.id().to_owned()).unwrap_or_default(),
            event,
        });
    }
}
