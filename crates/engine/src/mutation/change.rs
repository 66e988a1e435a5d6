//! Planned commands as a change of blocks: conditions, values, and which rows stay.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and, filter_record_batch, interleave, not, or, prep_null_mask_filter};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use basalt_base::{Error, Result};
use basalt_exec::error::from_datafusion;
use basalt_parts::{RowChange, RowsAfter};
use datafusion::physical_expr::PhysicalExpr;

/// Commands one after another.
pub(super) struct PlannedChange {
    /// Names of the columns that expressions see; the schema of the blocks.
    pub(super) reads: Vec<String>,
    pub(super) schema: SchemaRef,
    pub(super) writes: Vec<String>,
    /// Names of columns that lose their values.
    pub(super) clears: Vec<String>,
    pub(super) steps: Vec<Step>,
    pub(super) is_light: bool,
    pub(super) applies_ttl: bool,
    /// Names of skip indexes to make.
    pub(super) indexes: Vec<String>,
}

/// One command.
pub(super) struct Step {
    pub(super) filter: Arc<dyn PhysicalExpr>,
    pub(super) action: Action,
}

pub(super) enum Action {
    Delete,
    /// Rounds of assignments to columns (positions in the block): those of a round see what the rounds
    /// before have set.
    Update(Vec<Vec<(usize, Arc<dyn PhysicalExpr>)>>),
}

/// Rows after all commands.
pub(super) struct ChangedRows {
    /// The columns that the change reads, with their new values.
    pub(super) rows: RecordBatch,
    /// The rows that an UPDATE met; `None` if there are none.
    pub(super) updated: Option<BooleanArray>,
    /// The rows that stay; `None` if all do.
    pub(super) keep: Option<BooleanArray>,
}

impl RowChange for PlannedChange {
    fn reads(&self) -> &[String] {
        &self.reads
    }

    fn writes(&self) -> &[String] {
        &self.writes
    }

    fn clears(&self) -> &[String] {
        &self.clears
    }

    fn is_light(&self) -> bool {
        self.is_light
    }

    fn applies_ttl(&self) -> bool {
        self.applies_ttl
    }

    fn indexes(&self) -> &[String] {
        &self.indexes
    }

    fn deletes_rows(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Delete))
    }

    fn apply(&self, rows: &RecordBatch) -> Result<RowsAfter> {
        let ChangedRows { rows, updated, keep } = self.changed(rows)?;
        let position = |name: &String| self.reads.iter().position(|other| other == name);
        let columns = self.writes.iter().filter_map(position).map(|at| Arc::clone(rows.column(at))).collect();
        Ok(RowsAfter { is_touched: updated.is_some() || keep.is_some(), keep, columns })
    }
}

impl PlannedChange {
    /// Applies the commands to blocks of the columns in `reads`.
    pub(super) fn changed(&self, rows: &RecordBatch) -> Result<ChangedRows> {
        let mut rows = self.block(rows.columns().to_vec(), rows.num_rows())?;
        let (mut updated, mut keep) = (None, None);
        for step in &self.steps {
            let mut matched = mask(step.filter.as_ref(), &rows)?;
            if let Some(keep) = &keep {
                matched = and(&matched, keep).map_err(Error::logical)?;
            }
            if matched.true_count() == 0 {
                continue;
            }
            match &step.action {
                Action::Delete => {
                    let rest = not(&matched).map_err(Error::logical)?;
                    keep = Some(joined(keep, rest, and)?);
                }
                Action::Update(rounds) => {
                    for round in rounds {
                        rows = self.updated(&rows, &matched, round)?;
                    }
                    updated = Some(joined(updated, matched, or)?);
                }
            }
        }
        Ok(ChangedRows { rows, updated, keep })
    }

    fn block(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::of_arrow)
    }

    /// The rows with new values where they match. Values are computed for these rows only, so an expression cannot fail
    /// on rows that the condition excludes.
    fn updated(
        &self,
        rows: &RecordBatch,
        matched: &BooleanArray,
        assignments: &[(usize, Arc<dyn PhysicalExpr>)],
    ) -> Result<RecordBatch> {
        let few = filter_record_batch(rows, matched).map_err(Error::of_arrow)?;
        let picks = picks(matched.values());
        let mut columns = rows.columns().to_vec();
        for (at, value) in assignments {
            let values = value
                .evaluate(&few)
                .and_then(|value| value.into_array(few.num_rows()))
                .map_err(from_datafusion)?;
            let sources: [&dyn Array; 2] = [rows.column(*at), &values];
            columns[*at] = interleave(&sources, &picks).map_err(Error::of_arrow)?;
        }
        self.block(columns, rows.num_rows())
    }
}

/// `before` and `mask` joined, or `mask` if it is the first.
fn joined(
    before: Option<BooleanArray>,
    mask: BooleanArray,
    join: impl Fn(&BooleanArray, &BooleanArray) -> std::result::Result<BooleanArray, ArrowError>,
) -> Result<BooleanArray> {
    match before {
        Some(before) => join(&before, &mask).map_err(Error::logical),
        None => Ok(mask),
    }
}

/// For each row whether it comes from the old column or, in order, from the few new values.
fn picks(matched: &BooleanBuffer) -> Vec<(usize, usize)> {
    let mut next = 0;
    let pick = |(row, is_new): (usize, bool)| {
        if !is_new {
            return (0, row);
        }
        next += 1;
        (1, next - 1)
    };
    matched.iter().enumerate().map(pick).collect()
}

/// The rows for which the condition holds; NULL does not.
fn mask(filter: &dyn PhysicalExpr, rows: &RecordBatch) -> Result<BooleanArray> {
    let value =
        filter.evaluate(rows).and_then(|value| value.into_array(rows.num_rows())).map_err(from_datafusion)?;
    let mask = value.as_boolean_opt().ok_or_else(|| Error::logical("a condition is not a mask"))?;
    Ok(if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() })
}
