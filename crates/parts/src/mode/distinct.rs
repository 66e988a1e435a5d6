//! Keeps the first of the rows that agree in some columns: `OPTIMIZE ... DEDUPLICATE`.

use std::collections::HashSet;
use std::ops::Range;

use arrow::array::{Array, RecordBatch};
use arrow::row::{RowConverter, Rows, SortField};

use super::reducer::{Reducer, RowRef};
use crate::error::Result;

/// The columns include the sorting key, so that only the rows of one key are remembered at a time.
pub(super) struct Distinct {
    columns: Vec<usize>,
    rows: Option<Rows>,
    seen: HashSet<Box<[u8]>>,
}

impl Distinct {
    pub(super) fn new(columns: Vec<usize>) -> Distinct {
        Distinct { columns, rows: None, seen: HashSet::new() }
    }
}

impl Reducer for Distinct {
    fn attach(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns: Vec<_> =
            self.columns.iter().map(|&column| batch.column(column).slice(0, batch.num_rows())).collect();
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        self.rows = Some(RowConverter::new(fields)?.convert_columns(&columns)?);
        Ok(())
    }

    fn add(&mut self, source: usize, rows: Range<usize>, out: &mut Vec<RowRef>) -> Result<()> {
        let Some(values) = &self.rows else { return Ok(()) };
        for row in rows {
            if self.seen.insert(values.row(row).data().into()) {
                out.push(RowRef { source, row });
            }
        }
        Ok(())
    }

    fn end_key(&mut self, _out: &mut Vec<RowRef>) {
        self.seen.clear();
    }

    fn held(&mut self) -> &mut [RowRef] {
        &mut []
    }
}
