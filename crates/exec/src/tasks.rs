//! DataFusion's tasks belong to the query of the thread that starts them.

use std::any::Any;

use basalt_base::query::{carried, current, in_query};
use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use futures::future::BoxFuture;

type Outcome = Box<dyn Any + Send>;
type Work = Box<dyn FnOnce() -> Outcome + Send>;

/// Makes every task that DataFusion starts in this process enter its query.
pub fn carry_queries() {
    // Another engine in this process may have set the tracer already; it is the same.
    let _ = set_join_set_tracer(&CarriesQueries);
}

struct CarriesQueries;

impl JoinSetTracer for CarriesQueries {
    fn trace_future(&self, work: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
        Box::pin(in_query(current(), work))
    }

    fn trace_block(&self, work: Work) -> Work {
        Box::new(carried(work))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use basalt_base::query::{QueryStatus, enter};
    use datafusion::common::runtime::SpawnedTask;

    use super::*;

    #[test]
    fn task_works_for_the_query_that_started_it() {
        carry_queries();
        let query = Arc::new(QueryStatus::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (task, block) = {
            let (_runtime, _query) = (runtime.enter(), enter(Some(Arc::clone(&query))));
            (SpawnedTask::spawn(async { current() }), SpawnedTask::spawn_blocking(current))
        };
        for seen in [runtime.block_on(task.join()), runtime.block_on(block.join())] {
            assert!(Arc::ptr_eq(&seen.unwrap().unwrap(), &query));
        }
    }
}
