//! INSERT: blocks of rows become parts, atomically for a statement, on disk and synced.
//!
//! Every block is split by partition, sorted and written as a pending part under `tmp`. Memory holds one block, and
//! a little of each column in its new order. [`PendingInsert::commit`] publishes all of them in one step, see
//! [`super::moves`]. Many pending parts of one partition are merged first, so that a statement of any size adds few
//! parts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;

use super::active::TableParts;
use super::control::WorkControl;
use super::deduplication::{BlockId, Deduplication};
use super::sort::{sort, sorted_picks};
use super::split::split;
use crate::error::{Error, Result};
use crate::mode::reduced::reduce_block;
use crate::mode::{Purpose, reducer};
use crate::name::PartName;
use crate::part::stored::{PartDirectory, StoredPart};
use crate::part::view::Part;
use crate::part::volume::value_bytes;
use crate::part::writer::{PartWriter, PendingPart, columns_of};
use crate::spec::PartSpec;
use crate::ttl::recorder::TtlRecorder;

/// The most pending parts of one partition and rank; then they are merged.
const PENDING_PARTS_MAX: usize = 16;

/// Options of an INSERT.
#[derive(Clone, Debug)]
pub struct InsertOptions {
    /// The most partitions of one block; 0 is no limit.
    pub partitions_max: usize,
    /// Whether the rows are synced before the INSERT is acknowledged. Otherwise a crash of the system may lose them
    /// or damage their part.
    pub sync: bool,
    /// Whether to apply the table's merge mode to the rows of each block.
    pub optimize: bool,
    /// If set, skips blocks that were inserted before.
    pub deduplication: Option<Deduplication>,
}

impl Default for InsertOptions {
    fn default() -> InsertOptions {
        InsertOptions { partitions_max: 0, sync: true, optimize: true, deduplication: None }
    }
}

/// The blocks of an INSERT, on disk and not visible yet; dropping it removes them.
pub struct PendingInsert<'a> {
    table: &'a TableParts,
    spec: Arc<PartSpec>,
    options: InsertOptions,
    parts: Vec<PendingBlock>,
    blocks: u64,
}

/// A pending part and its partition.
pub(super) struct PendingBlock {
    pub(super) partition: String,
    pub(super) part: PendingPart,
    /// How often it was merged.
    rank: u32,
    /// 1 if the table's mode has reduced its rows, as in a first merge.
    pub(super) level: u32,
    pub(super) id: Option<BlockId>,
    /// How long sorting and writing took.
    pub(super) duration_us: u64,
}

impl TableParts {
    /// Adds the rows of `block`, whose columns are the table's in order, with their carrier types. Atomic; durable
    /// and visible when it returns. No rows make no part.
    pub fn insert(&self, block: RecordBatch) -> Result<Vec<PartName>> {
        let mut insert = self.begin_insert(InsertOptions::default())?;
        insert.write(block)?;
        insert.commit()
    }

    /// Starts an INSERT of any number of blocks.
    pub fn begin_insert(&self, options: InsertOptions) -> Result<PendingInsert<'_>> {
        self.check_writable()?;
        Ok(PendingInsert { table: self, spec: self.spec(), options, parts: Vec::new(), blocks: 0 })
    }

    /// Writes sorted batches as one pending part.
    pub(super) fn write_part(
        &self,
        spec: &Arc<PartSpec>,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        threads: usize,
    ) -> Result<PendingPart> {
        self.write_pending(spec, batches, TtlRecorder::new(spec, None), threads, true)
    }

    pub(super) fn write_pending(
        &self,
        spec: &Arc<PartSpec>,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        mut recorder: TtlRecorder,
        threads: usize,
        sync: bool,
    ) -> Result<PendingPart> {
        let mut writer =
            PartWriter::create(Arc::clone(&self.storage), self.temporary_path(), Arc::clone(spec), threads)?;
        for batch in batches {
            let batch = batch?;
            recorder.see(&batch)?;
            writer.write(&batch)?;
        }
        let pending = writer.finish(self.clock.now_us(), recorder.finish())?;
        if sync {
            pending.directory.sync()?;
        }
        Ok(pending)
    }
}

impl PendingInsert<'_> {
    /// Writes the rows of `block` to disk, as a pending part for each partition.
    pub fn write(&mut self, block: RecordBatch) -> Result<()> {
        self.write_blocks(vec![block])
    }

    /// Writes the rows of `blocks` to disk as if they were one block.
    pub fn write_blocks(&mut self, mut blocks: Vec<RecordBatch>) -> Result<()> {
        blocks.retain(|block| block.num_rows() > 0);
        blocks.iter().try_for_each(|block| check_block(block, &self.spec))?;
        if blocks.is_empty() {
            return Ok(());
        }
        self.blocks += 1;
        if self.spec.partition_key.is_empty() {
            return self.write_partition(blocks);
        }
        let partitions = split(join(blocks)?, &self.spec, self.options.partitions_max)?;
        partitions.into_iter().try_for_each(|rows| self.write_partition(vec![rows]))
    }

    /// Writes the rows of one partition.
    fn write_partition(&mut self, mut blocks: Vec<RecordBatch>) -> Result<()> {
        let began_us = self.table.clock.now_us();
        let partition = self.spec.partition_of(&blocks[0])?.id()?;
        let threads = self.table.insert_threads();
        let reducer = if self.options.optimize { reducer(&self.spec, Purpose::Merge) } else { None };
        let level = u32::from(reducer.is_some());
        let mut id = None;
        if reducer.is_some() || self.options.deduplication.is_some() {
            let mut rows = sort(join(blocks)?, &self.spec, threads)?;
            if let Some(reducer) = reducer {
                rows = reduce_block(rows, &self.spec, reducer)?;
            }
            if rows.num_rows() == 0 {
                return Ok(());
            }
            if let Some(deduplication) = &self.options.deduplication {
                id = Some(deduplication.id_of(&partition, self.blocks, &rows)?);
            }
            if id.as_ref().is_some_and(|id| self.table.is_duplicate(id)) {
                return Ok(());
            }
            blocks = vec![rows];
        }
        let part = self.write_rows(blocks, threads)?;
        let duration_us = self.table.clock.now_us().saturating_sub(began_us);
        self.parts.push(PendingBlock { partition, part, rank: 0, level, id, duration_us });
        self.merge_many()
    }

    /// Writes the rows as a part.
    fn write_rows(&self, blocks: Vec<RecordBatch>, threads: usize) -> Result<PendingPart> {
        let bytes = blocks.iter().flat_map(RecordBatch::columns).map(|values| value_bytes(values)).sum();
        let spec = self.spec.sized(bytes, blocks.iter().map(|block| block.num_rows() as u64).sum());
        let (storage, path) = (Arc::clone(&self.table.storage), self.table.temporary_path());
        let mut recorder = TtlRecorder::new(&self.spec, None);
        blocks.iter().try_for_each(|block| recorder.see(block))?;
        let mut writer = PartWriter::create(storage, path, spec, threads)?;
        match sorted_picks(&blocks, &self.spec)? {
            Some(picks) => writer.write_picked(blocks, &picks)?,
            None => blocks.into_iter().try_for_each(|block| writer.write(&block))?,
        }
        let pending = writer.finish(self.table.clock.now_us(), recorder.finish())?;
        if self.options.sync {
            pending.directory.sync()?;
        }
        Ok(pending)
    }

    /// Publishes all parts, durably and atomically.
    pub fn commit(self) -> Result<Vec<PartName>> {
        if self.parts.is_empty() {
            return Ok(Vec::new());
        }
        self.table.publish_insert(&self.spec, self.parts, &self.options)
    }

    /// The partitions written so far, without duplicates.
    pub fn partitions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.parts.iter().map(|pending| pending.partition.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Merges the pending parts of the last written partition while there are many of one rank, so that every row
    /// is rewritten once for each sixteenfold of its partition's size. Blocks with a deduplication identity are not
    /// merged.
    fn merge_many(&mut self) -> Result<()> {
        while let Some(last) = self.parts.last().filter(|last| last.id.is_none()) {
            let (partition, rank) = (last.partition.clone(), last.rank);
            let is_alike = |pending: &PendingBlock| pending.partition == partition && pending.rank == rank;
            if self.parts.iter().filter(|pending| is_alike(pending)).count() < PENDING_PARTS_MAX {
                return Ok(());
            }
            let (alike, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.parts).into_iter().partition(is_alike);
            self.parts = rest;
            let began_us = self.table.clock.now_us();
            let part = self.merge(&alike)?;
            let merged_us = self.table.clock.now_us().saturating_sub(began_us);
            let duration_us = merged_us + alike.iter().map(|block| block.duration_us).sum::<u64>();
            let level = u32::from(reducer(&self.spec, Purpose::Merge).is_some());
            self.parts.push(PendingBlock { partition, part, rank: rank + 1, level, id: None, duration_us });
        }
        Ok(())
    }

    fn merge(&self, pending: &[PendingBlock]) -> Result<PendingPart> {
        let mut parts = Vec::with_capacity(pending.len());
        for (block, pending) in (1..).zip(pending) {
            let path = pending.part.directory.path().to_owned();
            let directory = PartDirectory::new(Arc::clone(&self.table.storage), path);
            let name = PartName::inserted(pending.partition.clone(), block);
            let stored = StoredPart::new(directory, name, pending.part.meta.clone());
            parts.push(Arc::new(Part::new(Arc::new(stored), Arc::clone(&self.spec))?));
        }
        let (control, threads) = (WorkControl::default(), self.table.insert_threads());
        let pending = self.table.write_merged(&parts, &self.spec, None, None, &control, threads)?;
        if self.options.sync {
            pending.directory.sync()?;
        }
        Ok(pending)
    }
}

/// Concatenates the blocks column by column, so that only the current column exists twice.
fn join(mut blocks: Vec<RecordBatch>) -> Result<RecordBatch> {
    if blocks.len() == 1 {
        return Ok(blocks.remove(0));
    }
    let schema = blocks[0].schema();
    let options =
        RecordBatchOptions::new().with_row_count(Some(blocks.iter().map(RecordBatch::num_rows).sum()));
    let join = |arrays: Vec<ArrayRef>| {
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        concat(&arrays)
    };
    let columns = columns_of(blocks).into_iter().map(join).collect::<Result<_, _>>()?;
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// The engine casts before it inserts, so a mismatch is a bug; it must not reach the disk.
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
