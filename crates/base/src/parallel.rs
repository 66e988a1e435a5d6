//! Runs work on several threads, in the query of the calling thread.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use crate::query::{current, enter};

/// Calls `work` for each of `items` on up to `threads` threads, including the caller's. Returns the first failure
/// found; items after it may be skipped.
///
/// # Panics
///
/// If `work` panics.
pub fn for_each<T: Send, E: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().try_for_each(work);
    }
    // Items may differ much in cost, so a thread takes one at a time.
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let query = current();
    let run = || -> Result<(), E> {
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

/// Calls `work` for each of `items` on up to `threads` threads, including the caller's. Returns the results in the
/// order of the items.
///
/// # Panics
///
/// If `work` panics.
pub fn map<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<Option<R>> = (0..items.len()).map(|_| None).collect();
    let done = for_each(items.zip(&mut results), threads, |(item, result)| {
        *result = Some(work(item));
        Ok::<(), Infallible>(())
    });
    match done {
        Ok(()) => results.into_iter().flatten().collect(),
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(threads: usize, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        let double = |number: &mut usize| {
            *number *= 2;
            Ok::<(), u8>(())
        };
        for_each(numbers.iter_mut(), threads, double).expect("no failure");
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
            let work = |number: usize| if number == 7 { Err("7") } else { Ok(()) };
            assert_eq!(for_each(0..20, threads, work), Err("7"));
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for threads in [0, 1, 3, 100] {
            assert_eq!(map(0..20, threads, |number| number * 2), (0..20).map(|n| n * 2).collect::<Vec<_>>());
        }
    }
}
