//! A future that runs in a query, whichever thread polls it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::current::enter;
use super::status::QueryStatus;

/// Enters its query for every poll and for its drop.
pub struct InQuery<F: Future> {
    query: Option<Arc<QueryStatus>>,
    /// `None` once it is dropped.
    work: Option<Pin<Box<F>>>,
}

/// Wraps `work` to run in `query`, or in no query.
pub fn in_query<F: Future>(query: Option<Arc<QueryStatus>>, work: F) -> InQuery<F> {
    InQuery { query, work: Some(Box::pin(work)) }
}

impl<F: Future> Future for InQuery<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = enter(self.query.clone());
        match &mut self.work {
            Some(work) => work.as_mut().poll(ctx),
            None => Poll::Pending,
        }
    }
}

impl<F: Future> Drop for InQuery<F> {
    fn drop(&mut self) {
        let _entered = enter(self.query.take());
        self.work = None;
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::super::current::count;
    use super::*;

    #[test]
    fn every_poll_is_for_the_query() {
        let query = Arc::new(QueryStatus::default());
        let mut turns = 0;
        let mut work = in_query(
            Some(Arc::clone(&query)),
            std::future::poll_fn(|_| {
                turns += 1;
                count(100);
                if turns == 2 { Poll::Ready(()) } else { Poll::Pending }
            }),
        );
        let mut ctx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut work).poll(&mut ctx).is_pending());
        assert!(Pin::new(&mut work).poll(&mut ctx).is_ready());
        count(7);
        drop(work);
        assert_eq!(query.memory().amount(), 200);
    }
}
