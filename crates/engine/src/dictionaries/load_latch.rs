//! Single flight: one load of a dictionary runs at a time, and the queries that come meanwhile share its outcome.
//!
//! A query that waits stops waiting when it ends. The load goes on, because other queries may wait for it, and later
//! ones need it as well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_base::Result;
use basalt_base::query::QueryStatus;
use basalt_dict::Dictionary;
use parking_lot::{Condvar, Mutex};

/// How often a waiting query checks whether it was cancelled.
const CANCEL_CHECK_PERIOD: Duration = Duration::from_millis(20);

/// The outcome of a load.
pub(super) type Outcome = Result<Arc<dyn Dictionary>>;

/// Lets one load of a dictionary run at a time, or one end of a version.
#[derive(Default)]
pub(super) struct LoadLatch {
    current: Mutex<Option<Arc<LoadTicket>>>,
}

/// A load in flight, as the queries see it that wait for its outcome.
#[derive(Default)]
pub(super) struct LoadTicket {
    progress: Mutex<Progress>,
    ended: Condvar,
}

#[derive(Default)]
enum Progress {
    #[default]
    Running,
    /// The permit was returned without a load.
    Returned,
    Loaded(Outcome),
}

/// The right to load; it is returned when this is dropped.
pub(super) struct LoadPermit {
    latch: Arc<LoadLatch>,
    ticket: Arc<LoadTicket>,
    end: Progress,
}

impl LoadLatch {
    /// The permit, or a ticket for the load in flight.
    pub(super) fn try_acquire(self: &Arc<LoadLatch>) -> Result<LoadPermit, Arc<LoadTicket>> {
        let mut current = self.current.lock();
        if let Some(ticket) = &*current {
            return Err(Arc::clone(ticket));
        }
        let ticket = Arc::new(LoadTicket::default());
        *current = Some(Arc::clone(&ticket));
        Ok(LoadPermit { latch: Arc::clone(self), ticket, end: Progress::Returned })
    }

    /// The permit, after the loads before it have ended. The wait ends with the query.
    pub(super) fn acquire(self: &Arc<LoadLatch>, query: &QueryStatus) -> Result<LoadPermit> {
        loop {
            match self.try_acquire() {
                Ok(permit) => return Ok(permit),
                // That load began before this call: its outcome may be too old.
                Err(ticket) => drop(ticket.wait(query)?),
            }
        }
    }
}

impl LoadTicket {
    /// Waits until the load or the query ends; `None` if the permit was returned without a load.
    pub(super) fn wait(&self, query: &QueryStatus) -> Result<Option<Outcome>> {
        let mut progress = self.progress.lock();
        loop {
            match &*progress {
                Progress::Running => query.check()?,
                Progress::Returned => return Ok(None),
                Progress::Loaded(outcome) => return Ok(Some(outcome.clone())),
            }
            let check = Instant::now() + CANCEL_CHECK_PERIOD;
            let until = query.deadline().map_or(check, |deadline| deadline.min(check));
            self.ended.wait_until(&mut progress, until);
        }
    }
}

impl LoadPermit {
    pub(super) fn ticket(&self) -> Arc<LoadTicket> {
        Arc::clone(&self.ticket)
    }

    /// Returns the permit and gives `outcome` to all that wait.
    pub(super) fn finish(mut self, outcome: Outcome) {
        self.end = Progress::Loaded(outcome);
    }
}

impl Drop for LoadPermit {
    fn drop(&mut self) {
        // The latch opens first: a query that comes now finds the state that the load has left.
        *self.latch.current.lock() = None;
        *self.ticket.progress.lock() = std::mem::take(&mut self.end);
        self.ticket.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use basalt_base::query::{MemoryTracker, TimeLimit};
    use basalt_base::{Error, ErrorCode};

    use super::*;

    fn failure() -> Outcome {
        Err(Error::new(ErrorCode::NetworkError, "the source is away"))
    }

    fn query(is_killed: bool, time: TimeLimit) -> QueryStatus {
        QueryStatus::new("", Arc::new(AtomicBool::new(is_killed)), time, MemoryTracker::default())
    }

    fn endless() -> QueryStatus {
        query(false, TimeLimit::default())
    }

    #[test]
    fn a_waiting_query_gets_the_outcome_of_the_load() {
        let latch = Arc::new(LoadLatch::default());
        let permit = latch.try_acquire().ok().expect("nothing loads");
        let ticket = latch.try_acquire().err().expect("a load runs");
        let waiting = std::thread::spawn(move || ticket.wait(&endless()));
        permit.finish(failure());
        let outcome = waiting.join().expect("no panic").expect("no end of the query");
        let error = outcome.and_then(Result::err).expect("the load failed");
        assert_eq!(error.code(), ErrorCode::NetworkError);
        assert!(latch.try_acquire().is_ok(), "the next load");
    }

    #[test]
    fn a_permit_without_a_load_has_no_outcome() {
        let latch = Arc::new(LoadLatch::default());
        let permit = latch.acquire(&endless()).expect("nothing loads");
        let ticket = permit.ticket();
        drop(permit);
        assert!(ticket.wait(&endless()).expect("no end of the query").is_none());
    }

    #[test]
    fn a_wait_ends_with_the_query() {
        let latch = Arc::new(LoadLatch::default());
        let permit = latch.try_acquire().ok().expect("nothing loads");
        let cancelled = query(true, TimeLimit::default());
        let late = query(false, TimeLimit::seconds(Instant::now(), 0.01));
        for (query, code) in [(cancelled, ErrorCode::QueryWasCancelled), (late, ErrorCode::TimeoutExceeded)] {
            let error = permit.ticket().wait(&query).err().expect("the query ended first");
            assert_eq!(error.code(), code);
            assert_eq!(latch.acquire(&query).err().map(|error| error.code()), Some(code));
        }
        permit.finish(failure());
        assert!(latch.try_acquire().is_ok(), "the load went on");
    }
}
