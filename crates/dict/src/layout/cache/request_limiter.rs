//! Limits how many lookups ask the source at once, and how many others wait for how long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use basalt_base::{Result, bail};

use super::CacheSpec;

pub(super) struct RequestLimiter {
    inside_max: u64,
    waiting_max: u64,
    place_timeout: Duration,
    turn_timeout: Duration,
    waiters: Mutex<Waiters>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Waiters {
    inside: u64,
    waiting: u64,
}

/// Permission to ask the source. The next lookup gets it when this is dropped.
pub(super) struct RequestPermit {
    limiter: Arc<RequestLimiter>,
}

impl RequestLimiter {
    pub(super) fn new(spec: &CacheSpec) -> RequestLimiter {
        RequestLimiter {
            inside_max: spec.max_threads_for_updates,
            waiting_max: spec.max_update_queue_size,
            place_timeout: Duration::from_millis(spec.update_queue_push_timeout_ms),
            turn_timeout: Duration::from_millis(spec.query_wait_timeout_ms),
            waiters: Mutex::default(),
            moved: Condvar::new(),
        }
    }

    /// Waits until it may queue, and then until it may ask.
    pub(super) fn acquire(self: &Arc<Self>) -> Result<RequestPermit> {
        let waiters = self.waiters();
        let full =
            |waiters: &mut Waiters| waiters.inside >= self.inside_max && waiters.waiting >= self.waiting_max;
        let waited = self.moved.wait_timeout_while(waiters, self.place_timeout, full);
        let (mut waiters, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() && full(&mut waiters) {
            bail!(
                CacheDictionaryUpdateFail,
                "{} lookups wait for the dictionary's source already; raise MAX_UPDATE_QUEUE_SIZE, \
                 MAX_THREADS_FOR_UPDATES or UPDATE_QUEUE_PUSH_TIMEOUT_MILLISECONDS",
                waiters.waiting
            );
        }
        waiters.waiting += 1;
        let busy = |waiters: &mut Waiters| waiters.inside >= self.inside_max;
        let waited = self.moved.wait_timeout_while(waiters, self.turn_timeout, busy);
        let (mut waiters, _) = waited.unwrap_or_else(PoisonError::into_inner);
        waiters.waiting -= 1;
        if busy(&mut waiters) {
            drop(waiters);
            self.moved.notify_all();
            bail!(
                TimeoutExceeded,
                "the dictionary's source did not come free within QUERY_WAIT_TIMEOUT_MILLISECONDS = {}",
                self.turn_timeout.as_millis()
            );
        }
        waiters.inside += 1;
        Ok(RequestPermit { limiter: Arc::clone(self) })
    }

    /// A permit, if one is free now.
    pub(super) fn try_acquire(self: &Arc<Self>) -> Option<RequestPermit> {
        let mut waiters = self.waiters();
        if waiters.inside >= self.inside_max {
            return None;
        }
        waiters.inside += 1;
        Some(RequestPermit { limiter: Arc::clone(self) })
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.limiter.waiters().inside -= 1;
        self.limiter.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use super::*;

    #[test]
    fn who_waits_too_long_gets_an_error() {
        let spec = CacheSpec {
            max_threads_for_updates: 1,
            query_wait_timeout_ms: 1,
            max_update_queue_size: 1,
            ..CacheSpec::default()
        };
        let limiter = Arc::new(RequestLimiter::new(&spec));
        let permit = limiter.acquire().expect("a free limiter");
        assert!(limiter.try_acquire().is_none());
        assert_eq!(limiter.acquire().err().map(|error| error.code()), Some(ErrorCode::TimeoutExceeded));
        limiter.waiters().waiting = 1;
        assert_eq!(
            limiter.acquire().err().map(|error| error.code()),
            Some(ErrorCode::CacheDictionaryUpdateFail)
        );
        limiter.waiters().waiting = 0;
        drop(permit);
        assert!(limiter.acquire().is_ok());
    }
}
