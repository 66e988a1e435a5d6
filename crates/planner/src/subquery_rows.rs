//! The rows of a subquery that runs while the outer query is planned.

use arrow::array::{ArrayRef, new_empty_array};
use arrow::compute::concat;
use basalt_base::array_bytes::taken_bytes;
use basalt_base::query::check_allocation;
use basalt_base::{Column, Error, Result, SqlType};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;

use crate::SubqueryRunner;

/// All rows of a subquery, one array per column.
#[derive(Debug)]
pub(crate) struct SubqueryRows {
    pub(crate) columns: Vec<Column>,
    pub(crate) arrays: Vec<ArrayRef>,
    pub(crate) rows: usize,
}

impl SubqueryRows {
    /// Runs `plan`, which has the columns `columns`.
    pub(crate) fn run(
        plan: LogicalPlan,
        columns: Vec<Column>,
        runner: &dyn SubqueryRunner,
    ) -> Result<SubqueryRows> {
        let batches = runner.run(plan)?;
        let rows = batches.iter().map(arrow::record_batch::RecordBatch::num_rows).sum();
        let arrays = columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let parts: Vec<&dyn arrow::array::Array> =
                    batches.iter().map(|batch| batch.column(at).as_ref()).collect();
                match parts.as_slice() {
                    [] => Ok(new_empty_array(&column.ty.carrier())),
                    [_] => Ok(ArrayRef::clone(batches[0].column(at))),
                    _ => {
                        check_allocation(parts.iter().map(|part| taken_bytes(*part, 0..part.len())).sum())?;
                        concat(&parts).map_err(Error::of_arrow)
                    }
                }
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(SubqueryRows { columns, arrays, rows })
    }

    pub(crate) fn value(&self, column: usize, row: usize) -> Result<(ScalarValue, SqlType)> {
        let value = ScalarValue::try_from_array(&self.arrays[column], row).map_err(Error::logical)?;
        Ok((value, self.columns[column].ty.clone()))
    }
}
