//! The locks of a table. To wait for one ends with the query that waits.

use basalt_base::Result;
use basalt_base::query::wait_for;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held while changes that do not read what they change become visible.
pub(crate) fn shared(lock: &RwLock<()>) -> Result<RwLockReadGuard<'_, ()>> {
    wait_for(|time| lock.try_read_for(time))
}

/// Held from the beginning to the end of a change that no other may interrupt.
pub(crate) fn alone(lock: &RwLock<()>) -> Result<RwLockWriteGuard<'_, ()>> {
    wait_for(|time| lock.try_write_for(time))
}

/// Held by the one that makes or removes places.
pub(crate) fn exclusive(lock: &Mutex<()>) -> Result<MutexGuard<'_, ()>> {
    wait_for(|time| lock.try_lock_for(time))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use basalt_base::ErrorCode;
    use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit, enter};

    use super::*;

    #[test]
    fn a_killed_query_stops_waiting() {
        let (changes, work) = (RwLock::new(()), Mutex::new(()));
        let held = (alone(&changes).unwrap(), exclusive(&work).unwrap());
        {
            let killed = Arc::new(AtomicBool::new(true));
            let status = QueryStatus::new("q", killed, TimeLimit::default(), MemoryTracker::new(0));
            let _entered = enter(Some(Arc::new(status)));
            assert_eq!(shared(&changes).unwrap_err().code(), ErrorCode::QueryWasCancelled);
            assert_eq!(alone(&changes).unwrap_err().code(), ErrorCode::QueryWasCancelled);
            assert_eq!(exclusive(&work).unwrap_err().code(), ErrorCode::QueryWasCancelled);
        }
        drop(held);
        let _both = (shared(&changes).unwrap(), shared(&changes).unwrap());
        let _work = exclusive(&work).unwrap();
    }
}
