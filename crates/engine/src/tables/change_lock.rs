//! Keeps INSERTs away from a table while its rows are changed in place.
//!
//! A change reads rows and writes them back. A row that an INSERT made visible between the two would be lost.

use basalt_base::Result;
use basalt_base::query::wait_for;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The lock of one table. Reading the table does not take it.
#[derive(Default)]
pub(crate) struct ChangeLock {
    lock: RwLock<()>,
}

impl ChangeLock {
    /// Held while an INSERT makes its rows visible, and while rows are removed otherwise than by a change. Waits for a
    /// running change; the error is the end of the waiting query.
    pub(crate) fn shared(&self) -> Result<RwLockReadGuard<'_, ()>> {
        wait_for(|time| self.lock.try_read_for(time))
    }

    /// Held by a change from its beginning to its end. Waits for all other holders; the error is the end of the waiting
    /// query.
    pub(crate) fn alone(&self) -> Result<RwLockWriteGuard<'_, ()>> {
        wait_for(|time| self.lock.try_write_for(time))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use basalt_base::ErrorCode;
    use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit, enter};

    use super::*;

    #[test]
    fn a_killed_query_stops_waiting() {
        let lock = ChangeLock::default();
        let change = lock.alone().unwrap();
        let killed = Arc::new(AtomicBool::new(true));
        let status = QueryStatus::new("q", Arc::clone(&killed), TimeLimit::default(), MemoryTracker::new(0));
        {
            let _entered = enter(Some(Arc::new(status)));
            assert_eq!(lock.alone().unwrap_err().code(), ErrorCode::QueryWasCancelled);
            assert_eq!(lock.shared().unwrap_err().code(), ErrorCode::QueryWasCancelled);
        }
        drop(change);
        killed.store(false, Ordering::Relaxed);
        let _first = lock.shared().unwrap();
        let _second = lock.shared().unwrap();
    }
}
