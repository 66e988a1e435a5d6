//! Work on several items at once.

use basalt_base::query::{current, enter};
use basalt_base::{Error, Result};

/// Applies `work` to every item, each in a thread of its own.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let (work, query) = (&work, current());
    let work = &|item: &T| {
        let _entered = enter(query.clone());
        work(item)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|end| end.unwrap_or_else(|_| Err(Error::logical("a thread of a store panicked")))).collect()
    })
}
