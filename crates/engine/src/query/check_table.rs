//! CHECK TABLE: reads everything that a table has on disk, and reports which of its parts are intact.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, UInt8Array};
use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_parts::PartSelection;
use basalt_sql::ast::CheckTable;

use super::running::Running;
use super::select;
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::planning::selection;
use crate::request::Request;
use crate::tables::{CheckedPart, parts_of};

/// Checks the table and answers with a row for each of its parts, or with one value.
pub(super) async fn rows(running: Running, check: CheckTable, request: Request) -> Result<Outcome> {
    let (query, format) = (Arc::clone(&running.query), check.format.clone());
    let work = move |query: &Arc<Execution>| {
        let checked = checked_parts(query, &check)?;
        if query.settings.check_query_single_value_result {
            one_value(&checked)
        } else {
            a_row_each(&checked)
        }
    };
    let answer = query.on_blocking_thread("a CHECK TABLE", work).await;
    match answer {
        Ok((columns, block)) => {
            Ok(Outcome::Rows(Box::new(select::ready_rows(&running, columns, block, &request, format))))
        }
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

fn checked_parts(query: &Arc<Execution>, check: &CheckTable) -> Result<Vec<CheckedPart>> {
    let key = query.key_of(&check.table);
    let table = query.instance.catalog().table(&key.database, &key.name, "CHECK TABLE")?;
    let which = match (&check.partition, parts_of(table.as_ref())) {
        (None, _) => PartSelection::All,
        (Some(partition), Some(parts)) => selection(query, parts, partition)?,
        (Some(_), None) => return Err(table.refuses("CHECK TABLE of a partition or part")),
    };
    match table.as_stored() {
        Some(stored) => stored.check(&which, &|| query.check()),
        None => Err(table.refuses("CHECK TABLE")),
    }
}

fn one_value(checked: &[CheckedPart]) -> Result<(Columns, RecordBatch)> {
    let columns = Columns::new(vec![Column::new("result", SqlType::UInt8)]);
    let is_whole = checked.iter().all(|part| part.damage.is_none());
    block(columns, vec![Arc::new(UInt8Array::from_iter_values([u8::from(is_whole)]))])
}

fn a_row_each(checked: &[CheckedPart]) -> Result<(Columns, RecordBatch)> {
    let columns =
        [("part_path", SqlType::String), ("is_passed", SqlType::UInt8), ("message", SqlType::String)];
    let columns: Columns = columns.into_iter().map(|(name, ty)| Column::new(name, ty)).collect();
    let is_passed = checked.iter().map(|part| u8::from(part.damage.is_none()));
    let messages = checked.iter().map(|part| part.damage.as_deref().unwrap_or_default());
    block(
        columns,
        vec![
            Arc::new(BinaryViewArray::from_iter_values(checked.iter().map(|part| &part.name))),
            Arc::new(UInt8Array::from_iter_values(is_passed)),
            Arc::new(BinaryViewArray::from_iter_values(messages)),
        ],
    )
}

fn block(columns: Columns, arrays: Vec<ArrayRef>) -> Result<(Columns, RecordBatch)> {
    let block = RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::of_arrow)?;
    Ok((columns, block))
}
