//! Optimizer rules that rely on orders and constants change no row: each query runs with all rules, on several
//! threads in small blocks, and without rules. Without rules a sort reads one stream of its input, so UNION is not
//! covered.
//!
//! The rules that remove or move a sort, or drop a sort key, are: on plans `EliminateDuplicatedExpr`,
//! `PushDownLimit`, `PropagateEmptyRelation`; on operators `EnsureRequirements` (unneeded sorts, constant keys,
//! orders preserved through exchanges and joins), `OptimizeAggregateOrder`, `TopKAggregation`,
//! `LimitPushPastWindows`, `LimitPushdown`, `TopKRepartition`, `PushdownSort`.

use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;

use super::*;

const QUERIES: &[&str] = &[
    // An unneeded sort.
    "SELECT groupArray(id) FROM (SELECT id FROM hits ORDER BY id DESC)",
    "SELECT user, groupArray(id) FROM (SELECT id, user FROM hits ORDER BY id DESC) GROUP BY user ORDER BY user",
    "SELECT any(id), anyLast(id) FROM (SELECT id FROM hits ORDER BY url DESC, id)",
    "SELECT argMax(id, flag), argMin(id, flag) FROM (SELECT id, flag FROM hits ORDER BY id DESC)",
    "SELECT DISTINCT url FROM (SELECT url FROM hits ORDER BY id DESC)",
    "SELECT groupArray(id) FROM (SELECT id FROM (SELECT id, user FROM hits ORDER BY user, id DESC) WHERE id != 2)",
    "SELECT groupArray(e) FROM (SELECT arrayJoin([id, 0]) AS e FROM (SELECT id FROM hits ORDER BY id DESC))",
    "SELECT groupArray(id) FROM (SELECT id FROM hits ORDER BY id DESC LIMIT 3)",
    "SELECT groupArray(id) FROM (SELECT id FROM hits ORDER BY id DESC LIMIT 1 BY user)",
    "SELECT id, row_number() OVER () AS n FROM (SELECT id FROM hits ORDER BY id DESC) ORDER BY n",
    "SELECT id FROM (SELECT id, user FROM hits ORDER BY user DESC, id)",
    "SELECT id + 1 FROM (SELECT id FROM hits ORDER BY id DESC) WHERE id > 1",
    // A constant key.
    "SELECT id, url FROM hits WHERE url = 'b' ORDER BY url, id DESC",
    "SELECT k, id FROM (SELECT 1 AS k, id FROM hits) ORDER BY k, id DESC",
    "SELECT id, w FROM hits AS h LEFT JOIN (SELECT 2 AS k, -5 AS w) AS r ON h.id = r.k ORDER BY w, id",
    "SELECT id, w FROM (SELECT 2 AS k, -5 AS w) AS r RIGHT JOIN hits AS h ON h.id = r.k ORDER BY w DESC, id",
    "SELECT l.a, r.b FROM (SELECT 1 AS a) AS l FULL JOIN (SELECT 2 AS b) AS r ON l.a = r.b ORDER BY l.a, r.b",
    "SELECT id, w, row_number() OVER (ORDER BY w, id) AS n
       FROM hits AS h LEFT JOIN (SELECT 2 AS k, -5 AS w) AS r ON h.id = r.k ORDER BY n",
    "SELECT id, u.name FROM hits AS h LEFT JOIN (SELECT * FROM users WHERE user = 20) AS u ON h.user = u.user
       ORDER BY u.user, u.name, id DESC",
    "SELECT w, groupArray(id) FROM (SELECT w, id FROM hits AS h LEFT JOIN (SELECT 2 AS k, 5 AS w) AS r
       ON h.id = r.k ORDER BY w, id DESC) GROUP BY w ORDER BY w",
    "SELECT k, count() FROM (SELECT 1 AS k, user FROM hits) GROUP BY ROLLUP(k, user) ORDER BY k, count(), user",
    // An order that is preserved, or claimed to be.
    "SELECT id, i FROM (SELECT id, items FROM lists ORDER BY id DESC) ARRAY JOIN items AS i ORDER BY id, i",
    "SELECT h.id, u.name FROM (SELECT * FROM hits ORDER BY id DESC) AS h JOIN users AS u ON h.user = u.user
       ORDER BY h.id, u.name",
    "SELECT user, max(id) FROM (SELECT * FROM hits ORDER BY user) GROUP BY user ORDER BY max(id) DESC LIMIT 2",
    "SELECT url, id, sum(id) OVER (PARTITION BY url ORDER BY id) AS s FROM (SELECT * FROM hits ORDER BY url, id)
       ORDER BY url, id LIMIT 3",
    "SELECT x, f FROM maybe ORDER BY x, f LIMIT 2",
    "SELECT DISTINCT user FROM (SELECT user FROM hits ORDER BY user) ORDER BY user DESC LIMIT 2",
    // The first rows for each row of the outer query.
    "SELECT id, (SELECT name FROM users AS u WHERE u.user = h.user ORDER BY name DESC LIMIT 1) FROM hits AS h ORDER BY id",
    "SELECT user, (SELECT groupArray(name) FROM (SELECT name FROM users AS u WHERE u.user = h.user ORDER BY name))
       FROM hits AS h GROUP BY user ORDER BY user",
];

fn rows_with(plan: &LogicalPlan, state: datafusion::execution::SessionState) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let batches = runtime.block_on(async {
        let physical = state.create_physical_plan(plan).await.unwrap();
        collect(physical, state.task_ctx()).await.unwrap()
    });
    let row = |batch: &RecordBatch, row| {
        batch.columns().iter().map(|array| text_of(array, row)).collect::<Vec<_>>().join(",")
    };
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at)));
    rows.collect::<Vec<_>>().join(";")
}

fn state(target_partitions: usize, batch_rows: usize) -> datafusion::execution::SessionState {
    let limits = SessionLimits { target_partitions, batch_rows };
    session_state(limits, Arc::new(RuntimeEnv::default()), Rules::default()).expect("a session")
}

#[test]
fn rules_change_no_row() {
    for sql in QUERIES {
        let plan = plan(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).plan;
        let without = SessionStateBuilder::new_from_existing(state(1, 8192))
            .with_optimizer_rules(vec![Arc::new(ReplaceDistinctWithAggregate::new())])
            .with_physical_optimizer_rules(vec![])
            .build();
        let expected = rows_with(&plan, without);
        for (threads, batch_rows) in [(1, 8192), (4, 1), (3, 2)] {
            assert_eq!(rows_with(&plan, state(threads, batch_rows)), expected, "{sql}: {threads} threads");
        }
    }
}
