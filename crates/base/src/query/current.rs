//! The query of the current thread, and the bytes not yet charged to it.
//!
//! Invariant (owned): `CURRENT` is null or owns one strong count of its query.

use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;

use super::server::add_to_process;
use super::status::QueryStatus;
use super::tracker::UNTRACKED_BYTES_MAX;
use crate::Result;

// Neither has a destructor: both are plain thread-local cells, accessible at any time in the thread's life.
thread_local! {
    static CURRENT: Cell<*const QueryStatus> = const { Cell::new(null()) };
    static UNTRACKED: Cell<i64> = const { Cell::new(0) };
}

/// Keeps the thread in a query until it is dropped.
#[must_use]
pub struct Entered {
    /// The thread's query before; owned like `CURRENT`. The raw pointer also keeps this type on its thread.
    before: *const QueryStatus,
}

/// Enters `query`, or no query, until the result is dropped.
pub fn enter(query: Option<Arc<QueryStatus>>) -> Entered {
    flush();
    Entered { before: CURRENT.replace(query.map_or(null(), Arc::into_raw)) }
}

/// Charges the thread's memory to no query until the result is dropped: for memory that outlives the query, or that
/// another query allocated.
pub fn outside() -> Entered {
    enter(None)
}

impl Drop for Entered {
    fn drop(&mut self) {
        flush();
        let entered = CURRENT.replace(self.before);
        if !entered.is_null() {
            // SAFETY: by the invariant it came from `Arc::into_raw`, and `CURRENT` no longer owns it.
            drop(unsafe { Arc::from_raw(entered) });
        }
    }
}

/// The query of this thread.
pub fn current() -> Option<Arc<QueryStatus>> {
    let query = CURRENT.get();
    if query.is_null() {
        return None;
    }
    // SAFETY: by the invariant it came from `Arc::into_raw` and is owned by `CURRENT`: its count is at least 1.
    unsafe {
        Arc::increment_strong_count(query);
        Some(Arc::from_raw(query))
    }
}

/// Wraps a closure for another thread, where it runs in the query of this thread.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let query = current();
    move || {
        let _entered = enter(query);
        work()
    }
}

/// Fails if the query of this thread was cancelled, ran out of time, or holds too much memory.
pub fn checkpoint() -> Result<()> {
    check_current(QueryStatus::check)
}

/// Fails if the query of this thread holds too much memory. Takes a few nanoseconds, for inner loops.
pub fn check_memory() -> Result<()> {
    check_current(|query| query.memory().check(0))
}

/// Fails if `bytes` more exceed the limit of this thread's query.
pub fn check_allocation(bytes: u64) -> Result<()> {
    check_current(|query| query.check_memory(bytes))
}

/// Subtracts bytes from the thread's query, because a thread outside the query will free them.
pub fn hand_over(bytes: u64) {
    if let Some(query) = borrowed() {
        query.memory().add(-(bytes as i64));
    }
}

fn check_current(check: impl FnOnce(&QueryStatus) -> Result<()>) -> Result<()> {
    borrowed().map_or(Ok(()), check)
}

/// The query, borrowed for a call that does not leave it.
#[inline]
fn borrowed<'a>() -> Option<&'a QueryStatus> {
    // SAFETY: null, or alive by the invariant; callers drop the reference before any `Entered` of this thread ends.
    unsafe { CURRENT.get().as_ref() }
}

/// Charges `bytes` to the thread's query; negative bytes were freed. Allocates nothing itself.
#[inline]
pub(crate) fn count(bytes: i64) {
    let untracked = UNTRACKED.get() + bytes;
    UNTRACKED.set(untracked);
    if untracked.unsigned_abs() >= UNTRACKED_BYTES_MAX {
        flush();
    }
}

#[cold]
fn flush() {
    let untracked = UNTRACKED.replace(0);
    if untracked == 0 {
        return;
    }
    add_to_process(untracked);
    if let Some(query) = borrowed() {
        query.memory().add(untracked);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::{MemoryTracker, TimeLimit};
    use super::*;
    use crate::ErrorCode;

    fn query(limit: u64) -> Arc<QueryStatus> {
        let memory = MemoryTracker::new(limit);
        Arc::new(QueryStatus::new("q", Arc::default(), TimeLimit::default(), memory))
    }

    #[test]
    fn memory_is_of_the_query_that_the_thread_works_for() {
        let (first, second) = (query(0), query(0));
        let of_first = enter(Some(Arc::clone(&first)));
        count(1000);
        let of_second = enter(Some(Arc::clone(&second)));
        count(10);
        let of_nobody = outside();
        count(1);
        drop(of_nobody);
        count(10);
        drop(of_second);
        count(1000);
        drop(of_first);
        count(5);
        assert_eq!((first.memory().amount(), second.memory().amount()), (2000, 20));
        assert!(current().is_none());
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
    }

    #[test]
    fn guards_may_end_in_any_order() {
        let first = query(0);
        let outer = enter(Some(Arc::clone(&first)));
        let inner = enter(Some(query(0)));
        drop(outer);
        assert!(current().is_none());
        drop(inner);
        assert!(Arc::ptr_eq(&current().expect("entered before"), &first));
        drop(enter(None));
        // The thread ends here; what the cell owns is leaked, which is safe.
    }

    #[test]
    fn checkpoint_tells_of_memory_and_of_the_end() {
        let killed = Arc::new(AtomicBool::new(false));
        let memory = MemoryTracker::new(1000);
        let status = QueryStatus::new("q", Arc::clone(&killed), TimeLimit::default(), memory);
        let entered = enter(Some(Arc::new(status)));
        count(UNTRACKED_BYTES_MAX as i64);
        for checked in [checkpoint(), check_memory(), check_allocation(1)] {
            assert_eq!(checked.expect_err("too much").code(), ErrorCode::MemoryLimitExceeded);
        }
        count(-(UNTRACKED_BYTES_MAX as i64));
        checkpoint().expect("room again");
        check_allocation(1000).expect("just fits");
        assert!(check_allocation(1001).is_err());
        killed.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(checkpoint().expect_err("killed").code(), ErrorCode::QueryWasCancelled);
        drop(entered);
        checkpoint().expect("nobody's");
    }

    #[test]
    fn closure_for_another_thread_works_for_the_same_query() {
        let status = query(0);
        let entered = enter(Some(Arc::clone(&status)));
        let work = carried(|| count(700));
        drop(entered);
        std::thread::spawn(work).join().expect("no panic");
        assert_eq!(status.memory().amount(), 700);
    }
}
