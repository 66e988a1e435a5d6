//! The databases of Redis that are in use, which all connections share: their locks are the same.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_redis::Database;
use parking_lot::Mutex;
use uuid::Uuid;

/// The open databases, by the tables that they are.
#[derive(Default)]
pub(crate) struct RedisDatabases {
    open: Mutex<HashMap<Uuid, (u32, Arc<Database>)>>,
}

impl RedisDatabases {
    pub(crate) fn all(&self) -> Vec<Arc<Database>> {
        self.open.lock().values().map(|(_, database)| Arc::clone(database)).collect()
    }

    /// Database `number`, which is the table `uuid`; opened if it is not open.
    pub(crate) fn of(&self, number: u32, uuid: Uuid, open: impl FnOnce() -> Database) -> Arc<Database> {
        let mut all = self.open.lock();
        if !all.contains_key(&uuid) {
            // The table of this number is another one now.
            all.retain(|_, (other, _)| *other != number);
        }
        let (_, database) = all.entry(uuid).or_insert_with(|| (number, Arc::new(open())));
        Arc::clone(database)
    }

    /// Closes the databases whose tables are gone.
    pub(crate) fn retain(&self, exists: impl Fn(u32, Uuid) -> bool) {
        self.open.lock().retain(|uuid, (number, _)| exists(*number, *uuid));
    }
}
