//! Waiting for a condition that gives no signal: a process that ends, a line in a log, work in the background.

use std::time::{Duration, Instant};

/// A machine that runs many tests at once may be this slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns when `check` does, at the latest after a minute; then the test fails with the last error of `check`.
#[track_caller]
pub fn wait_until(check: impl FnMut() -> Result<(), String>) {
    if let Err(error) = wait_at_most(PATIENCE, check) {
        panic!("not within {PATIENCE:?}: {error}");
    }
}

/// Like [`wait_until`], but returns the error after `patience`.
pub fn wait_at_most(patience: Duration, mut check: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    loop {
        match check() {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// An error unless `holds`.
pub fn check(holds: bool, error: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(error.into()) }
}
