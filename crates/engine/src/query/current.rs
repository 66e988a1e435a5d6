//! Which query a thread works for: what happens below statements knows no queries.

use std::cell::RefCell;
use std::sync::Arc;

use basalt_base::query::{Entered, enter};

use super::QueryContext;

thread_local! {
    static CURRENT: RefCell<Option<Arc<QueryContext>>> = const { RefCell::new(None) };
}

/// The thread works for a query for as long as it lives.
pub(super) struct CurrentQuery {
    before: Option<Arc<QueryContext>>,
    _memory: Entered,
}

impl CurrentQuery {
    pub(super) fn enter(query: &Arc<QueryContext>) -> CurrentQuery {
        let _memory = enter(Some(Arc::clone(query.status())));
        CurrentQuery { before: CURRENT.replace(Some(Arc::clone(query))), _memory }
    }
}

impl Drop for CurrentQuery {
    fn drop(&mut self) {
        CURRENT.replace(self.before.take());
    }
}

/// The identifier of the query that this thread works for; empty if it works for none.
pub(crate) fn current_query_id() -> String {
    CURRENT.with_borrow(|query| query.as_ref().map(|query| query.id.clone()).unwrap_or_default())
}
