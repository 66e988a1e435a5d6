//! INSERT and COPY: blocks from a query, from text or from a file, into a table.
//!
//! - [`job`]: one INSERT: where its rows come from, and how they get into the table.
//! - [`gatherer`]: joins small blocks; [`new_rows`]: leaves out rows whose keys are in the table.
//! - [`async_insert`]: INSERTs whose rows wait for those of other statements.

mod async_insert;
mod gatherer;
mod job;
mod new_rows;

use std::sync::Arc;

use basalt_base::Result;
use basalt_sql::ast::{self, InsertSource, InsertTarget};

use crate::context::{copy_settings, format_settings};
use crate::execution::Execution;
use crate::request::{Input, Request};
use crate::settings::literal_text;
use job::Job;

/// Runs an INSERT; when it returns the rows are in the table.
pub(super) async fn insert(query: &Arc<Execution>, ast: ast::Insert, request: Request) -> Result<()> {
    let input = match request.input {
        // The data in the text are all data.
        Input::Blocks(_) if has_data(&ast.source) => Input::None,
        input => input,
    };
    let request = Request { input, ..request };
    let is_data = matches!(ast.source, InsertSource::Values { .. } | InsertSource::Format { .. });
    let is_table = matches!(ast.target, InsertTarget::Table(_));
    let replaces = query.settings.insert_mode == "replace";
    if query.settings.async_insert
        && replaces
        && is_table
        && is_data
        && !matches!(request.input, Input::Blocks(_))
    {
        return async_insert::insert(query, ast.target, ast.columns, ast.source, request).await;
    }
    let settings = format_settings(query);
    let work = move |query: &Arc<Execution>| {
        let job = Job::new(query, &ast.target, &ast.columns, request.parameters)?;
        job.run(ast.source, settings, request.input)
    };
    query.on_blocking_thread("an INSERT", work).await
}

/// Whether data stand in the text of the statement.
fn has_data(source: &InsertSource) -> bool {
    match source {
        InsertSource::Values { text } => !text.trim_ascii().is_empty(),
        InsertSource::Format { bytes, .. } => !bytes.trim_ascii().is_empty(),
        InsertSource::Query(_) | InsertSource::Infile { .. } => true,
    }
}

/// Runs a COPY ... FROM a file, or from the data that the client sends.
pub(super) async fn copy(query: &Arc<Execution>, ast: ast::CopyFrom, request: Request) -> Result<()> {
    let options: Vec<(String, String)> =
        ast.options.iter().map(|option| (option.name.clone(), literal_text(&option.value))).collect();
    let (format, settings) = copy_settings(query, &options)?;
    let work = move |query: &Arc<Execution>| {
        let job = Job::new(query, &InsertTarget::Table(ast.table), &ast.columns, request.parameters)?;
        match ast.path {
            Some(path) => {
                let source = InsertSource::Infile { path, compression: None, format: Some(format) };
                job.run(source, settings, Input::None)
            }
            None => {
                job.run(InsertSource::Format { name: format, bytes: Vec::new() }, settings, request.input)
            }
        }
    };
    query.on_blocking_thread("an INSERT", work).await
}
