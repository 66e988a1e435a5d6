//! Locks whose values survive a panic of their holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while it was held left the value intact: every change is a single assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
