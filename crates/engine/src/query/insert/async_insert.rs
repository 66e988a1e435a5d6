//! Asynchronous INSERTs: the rows of many small statements are written as one block.
//!
//! Every client's data is parsed and completed by its own thread, so that an error in the data reaches that client
//! alone. The rows then wait with those of other clients for the same table until enough of them came together or some
//! time has passed, and are inserted as one. Each client is answered when its rows are durable.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use basalt_base::{Error, ErrorCode, Result};
use basalt_sql::ast::{InsertSource, InsertTarget};
use tokio::sync::oneshot;

use super::job::{Job, followed_by, insert_settings};
use crate::async_inserts::BatchLimits;
use crate::context::{QueryContext, format_settings};
use crate::execution::Execution;
use crate::request::{Input, Request};

/// Runs an INSERT of data that stands in the statement or follows it.
pub(super) async fn insert(
    query: &Arc<Execution>,
    target: InsertTarget,
    columns: Vec<String>,
    source: InsertSource,
    request: Request,
) -> Result<()> {
    let most = query.settings.async_insert_max_data_size;
    let work = move |query: &Arc<Execution>| {
        let job = Job::new(query, &target, &columns, request.parameters)?;
        let settings = format_settings(query);
        let (source, rest) = take_data(source, request.input, most)?;
        if let Some(rest) = rest {
            // A large INSERT does not wait for others.
            job.run(source, settings, Input::Reader(rest))?;
            return Ok(None);
        }
        Ok(job.rows(source, settings)?.map(|block| (job.table(), block)))
    };
    let prepared = query.on_blocking_thread("an INSERT", work);
    let Some((table, block)) = prepared.await? else { return Ok(()) };
    let (rows, bytes) = (block.num_rows() as u64, block.get_array_memory_size() as u64);
    let limits = BatchLimits {
        timeout: Duration::from_millis(query.settings.async_insert_busy_timeout_max_ms),
        bytes_max: query.settings.async_insert_max_data_size,
        queries_max: query.settings.async_insert_max_query_number,
    };
    let answer = query.instance.async_inserts().enqueue(table, block, insert_settings(query), &limits);
    if query.settings.wait_for_async_insert {
        wait(query, answer).await?;
    }
    query.progress.add_written(rows, bytes);
    Ok(())
}

/// All of the data, if it is not more than `most` bytes; otherwise what was read of it, and the rest.
fn take_data(
    source: InsertSource,
    input: Input,
    most: u64,
) -> Result<(InsertSource, Option<Box<dyn Read + Send>>)> {
    let (format, bytes) = match source {
        InsertSource::Values { text } => ("Values".to_owned(), text),
        InsertSource::Format { name, bytes } => (name, bytes),
        other => return Ok((other, None)),
    };
    let mut reader = followed_by(bytes, input);
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Error::new(ErrorCode::CannotReadAllData, error.to_string()))?;
    if bytes.len() as u64 <= most {
        return Ok((InsertSource::Format { name: format, bytes }, None));
    }
    let rest = Box::new(Cursor::new(bytes).chain(reader));
    Ok((InsertSource::Format { name: format, bytes: Vec::new() }, Some(rest)))
}

async fn wait(query: &QueryContext, answer: oneshot::Receiver<Result<()>>) -> Result<()> {
    let patience = Duration::from_secs(query.settings.wait_for_async_insert_timeout);
    tokio::select! {
        answer = answer => {
            answer.unwrap_or_else(|_| Err(Error::logical("an asynchronous INSERT was forgotten")))
        }
        () = query.end.cancel.cancelled() => Err(query.end.cancelled()),
        () = tokio::time::sleep(patience) => Err(Error::new(
            ErrorCode::TimeoutExceeded,
            "the rows of the asynchronous INSERT are not written yet; see wait_for_async_insert_timeout",
        )),
    }
}
