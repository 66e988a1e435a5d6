//! Runs per-column work on several threads.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use basalt_base::query::{current, enter};

use crate::error::Result;

/// Calls `work` for each of `items` on up to `threads` threads, including the caller's. Returns the first failure
/// found; items after it may be skipped.
///
/// # Panics
///
/// If `work` panics.
pub(crate) fn for_each<T: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().try_for_each(work);
    }
    // Columns differ in cost by a factor of a hundred, so threads take one at a time.
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let query = current();
    let run = || -> Result<()> {
        let _entered = enter(query.clone());
        while let Some(item) = next() {
            work(item)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let first = run();
        // Every thread is joined before a failure is returned.
        let results: Vec<_> = others.into_iter().map(|thread| thread.join()).collect();
        results
            .into_iter()
            .fold(first, |before, result| before.and(result.unwrap_or_else(|panic| resume_unwind(panic))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn doubled(threads: usize, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        let double = |number: &mut usize| {
            *number *= 2;
            Ok(())
        };
        for_each(numbers.iter_mut(), threads, double).unwrap();
        numbers
    }

    #[test]
    fn every_item_is_worked_on_once() {
        for (threads, count) in [(0, 5), (1, 5), (3, 100), (8, 2), (4, 0)] {
            assert_eq!(doubled(threads, count), (0..count).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn failure_of_one_is_the_failure_of_all() {
        for threads in [1, 3] {
            let work = |number: usize| if number == 7 { Err(Error::Cancelled) } else { Ok(()) };
            assert!(matches!(for_each(0..20, threads, work), Err(Error::Cancelled)));
        }
    }
}
