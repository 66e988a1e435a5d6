//! Waits that end with the query that waits: one that is killed or out of time does not wait on.

use std::time::Duration;

use super::checkpoint;
use crate::Result;

/// How often a query that waits looks whether it must stop.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Calls `attempt`, with the time that it may wait, until it returns something. The error is the end of the query.
pub fn wait_for<T>(attempt: impl Fn(Duration) -> Option<T>) -> Result<T> {
    loop {
        if let Some(found) = attempt(LOOK_AGAIN) {
            return Ok(found);
        }
        checkpoint()?;
    }
}
