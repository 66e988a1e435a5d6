//! KILL QUERY: cancels the running queries that a condition over `system.processes` picks.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, BinaryViewArray};
use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_sql::ast::{Expr, KillMode, Statement};

use super::running::Running;
use super::select;
use crate::context::QueryContext;
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::planning::collect;
use crate::request::Request;

/// How often a KILL QUERY ... SYNC looks whether the queries are gone.
const LOOKS_AGAIN: Duration = Duration::from_millis(5);

/// Does to the queries what `mode` says, and answers with one row for each.
pub(super) async fn rows(
    running: Running,
    filter: &Expr,
    mode: KillMode,
    request: Request,
) -> Result<Outcome> {
    match kill(&running.query, filter, mode).await {
        Ok((columns, block)) => {
            Ok(Outcome::Rows(Box::new(select::ready_rows(&running, columns, block, &request, None))))
        }
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

async fn kill(query: &Arc<Execution>, filter: &Expr, mode: KillMode) -> Result<(Columns, RecordBatch)> {
    let mut killed = Vec::new();
    for id in picked_ids(query, filter).await? {
        // A query does not kill itself, and may have ended meanwhile.
        if id != query.id
            && let Some(other) = query.instance.processes().find(&id)
        {
            if mode != KillMode::Test {
                other.end.cancel.cancel();
            }
            killed.push(other);
        }
    }
    if mode == KillMode::Sync {
        for other in &killed {
            while query.instance.processes().find(&other.id).is_some_and(|found| Arc::ptr_eq(&found, other)) {
                query.check()?;
                tokio::time::sleep(LOOKS_AGAIN).await;
            }
        }
    }
    answer(&killed, if mode == KillMode::Sync { "finished" } else { "waiting" })
}

/// The ids of the running queries that meet the condition.
async fn picked_ids(query: &Arc<Execution>, filter: &Expr) -> Result<Vec<String>> {
    let text = format!("SELECT query_id FROM system.processes WHERE {filter}");
    let Statement::Query(ast) = basalt_sql::parse_statement(text.as_bytes())? else {
        return Err(Error::logical(format!("the SELECT of a KILL QUERY does not parse: `{text}`")));
    };
    let planned = select::plan(query, *ast, Default::default()).await?;
    let mut ids = Vec::new();
    for block in collect(query, &planned.plan).await? {
        let column = block.column(0).as_binary_view();
        ids.extend(column.iter().flatten().map(|id| String::from_utf8_lossy(id).into_owned()));
    }
    Ok(ids)
}

fn answer(killed: &[Arc<QueryContext>], status: &str) -> Result<(Columns, RecordBatch)> {
    let names = ["kill_status", "query_id", "user", "query"];
    let columns: Columns = names.into_iter().map(|name| Column::new(name, SqlType::String)).collect();
    let texts = |text: fn(&QueryContext) -> &str| -> ArrayRef {
        Arc::new(BinaryViewArray::from_iter_values(killed.iter().map(|query| text(query))))
    };
    let statuses = BinaryViewArray::from_iter_values(killed.iter().map(|_| status));
    let arrays = vec![
        Arc::new(statuses) as ArrayRef,
        texts(|query| &query.id),
        texts(|query| &query.user),
        texts(|query| &query.text),
    ];
    let block = RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::of_arrow)?;
    Ok((columns, block))
}
