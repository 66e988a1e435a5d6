//! INSERT: a block of rows becomes a part, on disk and synced when the call returns.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

use super::active::TableParts;
use super::sort::sort;
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::view::Part;
use crate::part::writer::{PartWriter, PendingPart};
use crate::spec::PartSpec;

impl TableParts {
    /// Adds the rows of `block`, whose columns are those of the table in order and of the carrier
    /// types. All of them are durable and visible when it returns, or none. No rows make no part.
    pub fn insert(&self, block: RecordBatch) -> Result<Option<PartName>> {
        self.check_writable()?;
        if block.num_rows() == 0 {
            return Ok(None);
        }
        let spec = self.spec();
        check_block(&block, &spec)?;
        let threads = self.insert_threads();
        let block = sort(block, &spec, threads)?;
        let pending = self.write_part(&spec, std::iter::once(Ok(block)), threads)?;
        let commit = self.begin_commit()?;
        commit.check_spec(&spec)?;
        let name = PartName::inserted(commit.next_block());
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
