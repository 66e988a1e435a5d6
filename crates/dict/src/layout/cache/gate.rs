//! Lets a few lookups ask the source at once and makes others wait, some of them, for some time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use basalt_base::{Result, bail};

use super::CacheSpec;

pub(super) struct Gate {
    inside_max: u64,
    waiting_max: u64,
    place_timeout: Duration,
    turn_timeout: Duration,
    crowd: Mutex<Crowd>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Crowd {
    inside: u64,
    waiting: u64,
}

/// Leave to ask the source; dropping it lets the next one in.
pub(super) struct Pass {
    gate: Arc<Gate>,
}

impl Gate {
    pub(super) fn new(spec: &CacheSpec) -> Gate {
        Gate {
            inside_max: spec.max_threads_for_updates,
            waiting_max: spec.max_update_queue_size,
            place_timeout: Duration::from_millis(spec.update_queue_push_timeout_ms),
            turn_timeout: Duration::from_millis(spec.query_wait_timeout_ms),
            crowd: Mutex::default(),
            moved: Condvar::new(),
        }
    }

    /// Waits for a place and then for its turn.
    pub(super) fn enter(self: &Arc<Self>) -> Result<Pass> {
        let crowd = self.crowd();
        let full = |crowd: &mut Crowd| crowd.inside >= self.inside_max && crowd.waiting >= self.waiting_max;
        let waited = self.moved.wait_timeout_while(crowd, self.place_timeout, full);
        let (mut crowd, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() && full(&mut crowd) {
            bail!(
                CacheDictionaryUpdateFail,
                "{} lookups wait for the dictionary's source already; raise MAX_UPDATE_QUEUE_SIZE, \
                 MAX_THREADS_FOR_UPDATES or UPDATE_QUEUE_PUSH_TIMEOUT_MILLISECONDS",
                crowd.waiting
            );
        }
        crowd.waiting += 1;
        let busy = |crowd: &mut Crowd| crowd.inside >= self.inside_max;
        let waited = self.moved.wait_timeout_while(crowd, self.turn_timeout, busy);
        let (mut crowd, _) = waited.unwrap_or_else(PoisonError::into_inner);
        crowd.waiting -= 1;
        if busy(&mut crowd) {
            drop(crowd);
            self.moved.notify_all();
            bail!(
                TimeoutExceeded,
                "the dictionary's source did not come free within QUERY_WAIT_TIMEOUT_MILLISECONDS = {}",
                self.turn_timeout.as_millis()
            );
        }
        crowd.inside += 1;
        Ok(Pass { gate: Arc::clone(self) })
    }

    /// A pass if one is free now.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Pass> {
        let mut crowd = self.crowd();
        if crowd.inside >= self.inside_max {
            return None;
        }
        crowd.inside += 1;
        Some(Pass { gate: Arc::clone(self) })
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.crowd().inside -= 1;
        self.gate.moved.notify_all();
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
        let gate = Arc::new(Gate::new(&spec));
        let pass = gate.enter().expect("a free gate");
        assert!(gate.try_enter().is_none());
        assert_eq!(gate.enter().err().map(|error| error.code()), Some(ErrorCode::TimeoutExceeded));
        gate.crowd().waiting = 1;
        assert_eq!(gate.enter().err().map(|error| error.code()), Some(ErrorCode::CacheDictionaryUpdateFail));
        gate.crowd().waiting = 0;
        drop(pass);
        assert!(gate.enter().is_ok());
    }
}
