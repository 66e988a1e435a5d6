//! The time, read through [`Clock`] so that a test can set it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    fn now_us(&self) -> u64;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_us(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }
}

/// A clock that only moves when a test advances it.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_us: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `now_us`.
    pub fn at(now_us: u64) -> ManualClock {
        ManualClock { now_us: AtomicU64::new(now_us) }
    }

    /// Advances the clock by `step_us`.
    pub fn advance(&self, step_us: u64) {
        self.now_us.fetch_add(step_us, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }
}
