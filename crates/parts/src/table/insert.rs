//! INSERT: a block of rows becomes a part, on disk and synced when the call returns.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

use super::active::TableParts;
use super::sort::sort;
use crate::error::{Error, Result};
use crate::mode::reduced::reduce_block;
use crate::mode::{Purpose, reducer};
use crate::name::PartName;
use crate::part::view::Part;
use crate::part::writer::{PartWriter, PendingPart};
use crate::spec::PartSpec;

/// How an insert goes about it.
#[derive(Clone, Debug)]
pub struct InsertOptions {
    /// Apply the table's merge mode to the rows of the block.
    pub optimize: bool,
}

impl Default for InsertOptions {
    fn default() -> InsertOptions {
        InsertOptions { optimize: true }
    }
}

impl TableParts {
    /// Adds the rows of `block`, whose columns are those of the table in order and of the carrier
    /// types. All of them are durable and visible when it returns, or none. No rows make no part.
    pub fn insert(&self, block: RecordBatch) -> Result<Option<PartName>> {
        self.insert_with(block, &InsertOptions::default())
    }

    /// As [`TableParts::insert`], with options.
    pub fn insert_with(&self, block: RecordBatch, options: &InsertOptions) -> Result<Option<PartName>> {
        self.check_writable()?;
        if block.num_rows() == 0 {
            return Ok(None);
        }
        let spec = self.spec();
        check_block(&block, &spec)?;
        let threads = self.insert_threads();
        let mut block = sort(block, &spec, threads)?;
        let reducer = if options.optimize { reducer(&spec, Purpose::Merge) } else { None };
        let is_reduced = reducer.is_some();
        if let Some(reducer) = reducer {
            block = reduce_block(block, &spec, reducer)?;
        }
        if block.num_rows() == 0 {
            return Ok(None);
        }
        let pending = self.write_part(&spec, std::iter::once(Ok(block)), threads)?;
        let commit = self.begin_commit()?;
        commit.check_spec(&spec)?;
        // A reduced block has been through its first merge.
        let level = u32::from(is_reduced);
        let name = PartName { level, ..PartName::inserted(commit.next_block()) };
        let stored = commit.publish(pending, name.clone())?;
        commit.replace(Arc::new(Part::new(stored, spec)?));
        Ok(Some(name))
    }

    /// Writes sorted batches as one pending part.
    pub(super) fn write_part(
        &self,
        spec: &Arc<PartSpec>,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        threads: usize,
    ) -> Result<PendingPart> {
        let mut writer =
            PartWriter::create(Arc::clone(&self.storage), self.temporary_path(), Arc::clone(spec), threads)?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish(self.clock.now_us())
    }
}

/// The engine casts before it inserts, so a mismatch is its fault; it must not reach the disk.
fn check_block(block: &RecordBatch, spec: &PartSpec) -> Result<()> {
    let expected = spec.columns.len();
    if block.num_columns() != expected {
        let what = format!("it has {} columns, the table {expected}", block.num_columns());
        return Err(Error::BlockMismatch { what });
    }
    for (column, values) in spec.columns.iter().zip(block.columns()) {
        let carrier = column.ty.carrier();
        if *values.data_type() != carrier {
            let what = format!("column `{}` is {}, not {carrier}", column.name, values.data_type());
            return Err(Error::BlockMismatch { what });
        }
        if !column.ty.accepts_null() && values.null_count() > 0 {
            let what = format!("column `{}` of type {} has a NULL", column.name, column.ty);
            return Err(Error::BlockMismatch { what });
        }
    }
    Ok(())
}
