//! Divides work over all cores.

use std::sync::{Mutex, PoisonError};

use crate::table::in_parallel;

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The results of `work` for all items, in order. Each core takes the next item when it is done with one.
pub(super) fn on_all_cores<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let cores = cores().min(items.len());
    let left = Mutex::new(items.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = in_parallel(0..cores, |_| {
        std::iter::from_fn(next).map(|(at, item)| (at, work(item))).collect::<Vec<_>>()
    });
    let mut done: Vec<(usize, R)> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, made)| made).collect()
}
