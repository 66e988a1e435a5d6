//! SELECT: planned, started, and its blocks handed over as they come.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::query::in_query;
use basalt_base::{Columns, Error, Result, bail};
use basalt_exec::extremes::Extremes;
use basalt_exec::rows_before_limit::{is_limited, rows_before_limit};
use basalt_planner::{Planned, plan_query};
use basalt_sql::ast;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures::{FutureExt, Stream};
use tokio::sync::mpsc;

use super::point_read::PointRead;
use super::running::Running;
use crate::context::format_settings;
use crate::execution::Execution;
use crate::outcome::{Outcome, QueryResult, ResultBlock};
use crate::outfile::Outfile;
use crate::planning::{Physical, PlanningContext, check_reads, collect, next_block};
use crate::postgres_type::PostgresType;
use crate::request::Request;
use crate::settings::Settings;

/// The most blocks that wait for the caller.
const BLOCKS_WAITING_MAX: usize = 4;

/// Plans a query on a thread that may block, because planning runs subqueries.
pub(crate) async fn plan(
    query: &Arc<Execution>,
    ast: ast::Query,
    parameters: HashMap<String, String>,
) -> Result<Planned> {
    let plan = move |query: &Arc<Execution>| {
        let planned = plan_here(query, &ast, parameters)?;
        check_reads(query, &planned.plan)?;
        Ok(planned)
    };
    query.on_blocking_thread("planning", plan).await
}

/// Plans a query and chooses its operators.
pub(super) async fn plan_to_operators(
    query: &Arc<Execution>,
    ast: ast::Query,
    parameters: HashMap<String, String>,
) -> Result<(Planned, Physical)> {
    let plan = move |query: &Arc<Execution>| {
        let mut planned = plan_here(query, &ast, parameters)?;
        let Settings { limit, offset, .. } = query.settings;
        if limit > 0 || offset > 0 {
            let fetch = (limit > 0).then_some(limit as usize);
            let limited = LogicalPlanBuilder::from(planned.plan).limit(offset as usize, fetch);
            planned.plan = limited.and_then(LogicalPlanBuilder::build).map_err(Error::logical)?;
        }
        let physical = Physical::of(query, &planned.plan)?;
        Ok((planned, physical))
    };
    query.on_blocking_thread("planning", plan).await
}

fn plan_here(
    query: &Arc<Execution>,
    ast: &ast::Query,
    parameters: HashMap<String, String>,
) -> Result<Planned> {
    let planning = PlanningContext::new(query, parameters);
    plan_query(ast, &planning.context())
}

/// Starts a SELECT. Errors of planning come from here, errors of running from the rows.
pub(super) async fn rows(running: Running, ast: ast::Query, request: Request) -> Result<Outcome> {
    if let Some(read) = PointRead::of(&running.query, &ast, &request.parameters) {
        return point_rows(running, ast, request, read).await;
    }
    let started = start(&running.query, ast, request).await;
    match started {
        Ok((planned, started, target)) => {
            Ok(Outcome::Rows(Box::new(hand_over(running, planned, started, target))))
        }
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

/// The rows of a query that needs no plan.
async fn point_rows(running: Running, ast: ast::Query, request: Request, read: PointRead) -> Result<Outcome> {
    let query = Arc::clone(&running.query);
    query.log_start();
    let columns = read.columns.clone();
    let found = read.rows(&query).await.and_then(|block| count_result(&query, &block).map(|()| block));
    match found {
        Ok(block) => Ok(Outcome::Rows(Box::new(ready_rows(&running, columns, block, &request, ast.format)))),
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

/// The operators of a query in motion, and their blocks.
struct Started {
    plan: Arc<dyn ExecutionPlan>,
    is_limited: bool,
    stream: SendableRecordBatchStream,
}

/// How the rows are written, and where.
struct Target {
    format: String,
    outfile: Option<Outfile>,
}

async fn start(
    query: &Arc<Execution>,
    ast: ast::Query,
    request: Request,
) -> Result<(Planned, Started, Target)> {
    let outfile = ast.into_outfile.as_ref().map(Outfile::of_clause).transpose()?;
    let format = match (&ast.format, &outfile) {
        (Some(format), _) => format.clone(),
        (None, Some(outfile)) => outfile.format()?,
        (None, None) => request.default_format,
    };
    let (planned, physical) = plan_to_operators(query, ast, request.parameters).await?;
    query.log_start();
    let (plan, is_limited) = (Arc::clone(&physical.plan), is_limited(&planned.plan));
    let started = Started { plan, is_limited, stream: physical.stream()? };
    Ok((planned, started, Target { format, outfile }))
}

fn hand_over(running: Running, planned: Planned, started: Started, target: Target) -> QueryResult {
    let query = Arc::clone(&running.query);
    let postgres_types = match query.postgres {
        Some(_) => postgres_types(&planned.columns, Some(&planned.plan)),
        None => Vec::new(),
    };
    let (sender, receiver) = mpsc::channel(BLOCKS_WAITING_MAX);
    let columns = planned.columns.clone();
    let status = Arc::clone(query.status());
    let produced = async move {
        let work = produce(&running.query, &planned.columns, planned.totals.as_ref(), started, &sender);
        // A panic below is our bug: the query ends with an error, the process lives.
        let result = AssertUnwindSafe(work)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Error::logical("an operator panicked")));
        running.finish(result.as_ref().err());
        drop(running);
        if let Err(error) = result {
            // The receiver may be gone.
            let _ = sender.send(Err(error)).await;
        }
    };
    tokio::spawn(in_query(Some(status), produced));
    QueryResult {
        columns,
        query_id: query.id.clone(),
        format: target.format,
        into_outfile: target.outfile,
        format_settings: format_settings(&query),
        blocks: Box::pin(received(receiver)),
        status: Arc::clone(query.status()),
        progress: query.progress.clone(),
        postgres_types,
    }
}

/// The types of columns on the wire of Postgres; columns of `pg_catalog` keep theirs through the plan.
pub(super) fn postgres_types(columns: &Columns, plan: Option<&LogicalPlan>) -> Vec<PostgresType> {
    let fields = plan.map(|plan| plan.schema().fields().clone());
    let field = |index: usize| fields.as_ref().and_then(|fields| fields.get(index)).map(AsRef::as_ref);
    columns.iter().enumerate().map(|(index, column)| PostgresType::of(&column.ty, field(index))).collect()
}

fn received(receiver: mpsc::Receiver<Result<ResultBlock>>) -> impl Stream<Item = Result<ResultBlock>> {
    futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|part| (part, receiver))
    })
}

/// Rows that exist already, as a result.
pub(super) fn ready_rows(
    running: &Running,
    columns: Columns,
    block: RecordBatch,
    request: &Request,
    format: Option<String>,
) -> QueryResult {
    running.finish(None);
    let query = Arc::clone(&running.query);
    QueryResult {
        postgres_types: postgres_types(&columns, None),
        columns,
        query_id: query.id.clone(),
        format: format.unwrap_or_else(|| request.default_format.clone()),
        into_outfile: None,
        format_settings: format_settings(&query),
        blocks: Box::pin(futures::stream::iter(
            (block.num_rows() > 0).then_some(Ok(ResultBlock::Block(block))),
        )),
        status: Arc::clone(query.status()),
        progress: query.progress.clone(),
    }
}

/// Runs the plan to its end: blocks, then totals, then extremes.
async fn produce(
    query: &Arc<Execution>,
    columns: &Columns,
    totals: Option<&LogicalPlan>,
    Started { plan, is_limited, mut stream }: Started,
    sender: &mpsc::Sender<Result<ResultBlock>>,
) -> Result<()> {
    let mut extremes = query.settings.extremes.then(|| Extremes::new(columns.clone()));
    while let Some(block) = next_block(query, &mut stream).await? {
        if block.num_rows() == 0 {
            continue;
        }
        if let Some(extremes) = &mut extremes {
            extremes.update(&block)?;
        }
        count_result(query, &block)?;
        send(query, sender, ResultBlock::Block(block)).await?;
    }
    drop(stream);
    if is_limited {
        query.progress.set_rows_before_limit(rows_before_limit(&plan));
    }
    if let Some(totals) = totals {
        for block in collect(query, totals).await? {
            if block.num_rows() > 0 {
                send(query, sender, ResultBlock::Totals(block)).await?;
            }
        }
    }
    if let Some(block) = extremes.map(Extremes::finish).transpose()?.flatten() {
        send(query, sender, ResultBlock::Extremes(block)).await?;
    }
    Ok(())
}

fn count_result(query: &Execution, block: &RecordBatch) -> Result<()> {
    query.progress.add_result(block.num_rows() as u64, block.get_array_memory_size() as u64);
    let (rows, most) = (query.progress.snapshot().result_rows, query.settings.max_result_rows);
    if most > 0 && rows > most {
        bail!(TooManyRows, "the result has more than max_result_rows, {most} rows");
    }
    let (bytes, most) = (query.progress.snapshot().result_bytes, query.settings.max_result_bytes);
    if most > 0 && bytes > most {
        bail!(TooManyRowsOrBytes, "the result has more than max_result_bytes, {most} bytes");
    }
    Ok(())
}

async fn send(
    query: &Execution,
    sender: &mpsc::Sender<Result<ResultBlock>>,
    part: ResultBlock,
) -> Result<()> {
    sender.send(Ok(part)).await.map_err(|_| query.end.cancelled())
}
