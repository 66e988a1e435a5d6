//! Applies the TTL rules of a table to a stream of sorted rows.
//!
//! First rows are deleted, then groups are aggregated to one row each, then values are cleared.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::zip::zip;

use super::grouped_rows::GroupedRows;
use super::rule::{TtlAction, TtlRule};
use crate::error::Result;
use crate::key::element::evaluate;
use crate::spec::PartSpec;

/// Rows in the order of the sorting key.
pub(crate) type SortedRows<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// Applies the rules of `spec` to `rows` at `now_s`, seconds since 1970.
pub(crate) fn apply<'a>(rows: SortedRows<'a>, spec: &Arc<PartSpec>, now_s: i64) -> SortedRows<'a> {
    let has = |wanted: fn(&TtlAction) -> bool| spec.ttl.iter().any(|rule| wanted(&rule.action));
    let mut rows = rows;
    if has(|action| matches!(action, TtlAction::Delete { .. })) {
        let spec = Arc::clone(spec);
        rows = Box::new(rows.map(move |batch| without_expired(&batch?, &spec, now_s)));
    }
    for rule in &spec.ttl {
        if let TtlAction::Group { key_len, aggregation } = &rule.action {
            let group = (rule.clone(), *key_len, Arc::clone(aggregation));
            rows = Box::new(GroupedRows::new(rows, Arc::clone(spec), group, now_s));
        }
    }
    if has(|action| matches!(action, TtlAction::Clear { .. })) {
        let spec = Arc::clone(spec);
        rows = Box::new(rows.map(move |batch| cleared(&batch?, &spec, now_s)));
    }
    rows
}

/// The rows that no rule deletes.
fn without_expired(batch: &RecordBatch, spec: &PartSpec, now_s: i64) -> Result<RecordBatch> {
    let mut kept = batch.clone();
    for rule in &spec.ttl {
        if let TtlAction::Delete { .. } = rule.action {
            let expired = rule.expired(&kept, &spec.columns, now_s)?;
            if expired.contains(&true) {
                let mask: BooleanArray = expired.into_iter().map(|expired| Some(!expired)).collect();
                kept = filter_record_batch(&kept, &mask)?;
            }
        }
    }
    Ok(kept)
}

/// The rows with expired values replaced by the default. Rules see the original values.
fn cleared(batch: &RecordBatch, spec: &PartSpec, now_s: i64) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    for rule in &spec.ttl {
        if let Some((column, expired)) = expired_values(rule, batch, spec, now_s)? {
            let default = match &rule.action {
                TtlAction::Clear { default: Some(default), .. } => {
                    evaluate(default.as_ref(), batch, &spec.columns)?
                }
                _ => spec.filled(column, batch.num_rows(), |other| Ok(Arc::clone(batch.column(other))))?,
            };
            columns[column] = zip(&BooleanArray::from(expired), &default, &columns[column])?;
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// The column that the rule clears, and a mask of the rows; `None` if there are none.
fn expired_values(
    rule: &TtlRule,
    batch: &RecordBatch,
    spec: &PartSpec,
    now_s: i64,
) -> Result<Option<(usize, Vec<bool>)>> {
    let TtlAction::Clear { column, .. } = &rule.action else { return Ok(None) };
    let Some(position) = spec.columns.position(column) else { return Ok(None) };
    let expired = rule.expired(batch, &spec.columns, now_s)?;
    Ok(expired.contains(&true).then_some((position, expired)))
}
