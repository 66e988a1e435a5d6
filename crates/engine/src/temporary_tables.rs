//! The names of temporary tables: those of a session, and the external tables of one statement.
//!
//! The catalog has temporary tables of all sessions in a database of their own, each under a unique name. A session
//! finds its tables by the names that it gave them, before it looks into the current database. The tables are removed
//! with the last user of their names: the session, or a statement that still runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Temporary tables by name.
#[derive(Default)]
pub(crate) struct TemporaryTables {
    tables: Mutex<BTreeMap<String, TemporaryTable>>,
    /// Those of the session, beside the external ones of a statement.
    session: Option<Arc<TemporaryTables>>,
}

struct TemporaryTable {
    /// The name in the catalog.
    stored: String,
    _removal: Removal,
}

/// Removes a table from the catalog when it is dropped.
struct Removal(Option<Box<dyn FnOnce() + Send>>);

impl Drop for Removal {
    fn drop(&mut self) {
        if let Some(remove) = self.0.take() {
            remove();
        }
    }
}

impl TemporaryTables {
    /// The tables of `session`, and those that will be added for one statement.
    pub(crate) fn of_statement(session: &Arc<TemporaryTables>) -> TemporaryTables {
        TemporaryTables { tables: Mutex::default(), session: Some(Arc::clone(session)) }
    }

    /// The name that the catalog has for the table called `name`, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<String> {
        let own = self.tables.lock().get(name).map(|table| table.stored.clone());
        own.or_else(|| self.session.as_ref()?.find(name))
    }

    /// Adds a table of the session. `remove` takes it out of the catalog at the end.
    pub(crate) fn add(&self, name: &str, stored: String, remove: impl FnOnce() + Send + 'static) {
        match &self.session {
            Some(session) => session.add(name, stored, remove),
            None => self.add_external(name, stored, remove),
        }
    }

    /// Adds an external table of this statement alone.
    pub(crate) fn add_external(&self, name: &str, stored: String, remove: impl FnOnce() + Send + 'static) {
        let table = TemporaryTable { stored, _removal: Removal(Some(Box::new(remove))) };
        // The table that it replaces is removed after the lock is free.
        let replaced = self.tables.lock().insert(name.to_owned(), table);
        drop(replaced);
    }

    /// Removes the table called `name`.
    pub(crate) fn remove(&self, name: &str) {
        let removed = self.tables.lock().remove(name);
        if removed.is_none()
            && let Some(session) = &self.session
        {
            session.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_table_is_removed_with_its_last_user() {
        let removed = Arc::new(AtomicUsize::new(0));
        let count = || {
            let removed = Arc::clone(&removed);
            move || {
                removed.fetch_add(1, Ordering::Relaxed);
            }
        };
        let session = Arc::new(TemporaryTables::default());
        let statement = TemporaryTables::of_statement(&session);
        statement.add("t", "1_t".into(), count());
        statement.add_external("e", "2_e".into(), count());
        assert_eq!(session.find("t").as_deref(), Some("1_t"));
        assert_eq!(session.find("e"), None);
        assert_eq!(statement.find("e").as_deref(), Some("2_e"));
        drop(statement);
        assert_eq!(removed.load(Ordering::Relaxed), 1);
        session.add("t", "3_t".into(), count());
        assert_eq!(removed.load(Ordering::Relaxed), 2);
        drop(session);
        assert_eq!(removed.load(Ordering::Relaxed), 3);
    }
}
