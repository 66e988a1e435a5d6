//! Applies a mutation to one part: rewrites what changes, and links the rest.
//!
//! If no row is removed, a wide part gets new files for the columns that the change writes. A compact part, or one
//! that loses rows, is rewritten as a whole.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions, UInt32Array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter_record_batch, take};
use basalt_base::SqlType;
use basalt_base::fs::PendingDirectory;

use super::active::{Commit, TableParts};
use super::control::WorkControl;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::{Error, Result};
use crate::index::skip_index::SkipIndex;
use crate::key::prune::MarkRanges;
use crate::name::PartName;
use crate::part::deleted::{self, DELETED_FILE};
use crate::part::meta::META_FILE;
use crate::part::rewriter::PartRewriter;
use crate::part::scan::PartScan;
use crate::part::view::Part;
use crate::part::writer::{PendingPart, write_file};
use crate::ttl::apply::apply;
use crate::ttl::recorder::TtlRecorder;

/// Rows that a mutation reads at a time.
const BATCH_ROWS: usize = 8192;

/// A change of rows. The engine implements it, because this crate knows no expressions.
pub trait RowChange: Send + Sync {
    /// The names of the columns that it reads, without duplicates.
    fn reads(&self) -> &[String];

    /// The names of the columns that it may change, which are not in the key.
    fn writes(&self) -> &[String];

    /// Whether it only marks rows as deleted, which then stay in the files until the next merge. Such a change
    /// writes no column.
    fn is_light(&self) -> bool;

    /// Whether it may remove rows, so that all columns are rewritten.
    fn deletes_rows(&self) -> bool;

    /// Whether expired rows are removed too.
    fn applies_ttl(&self) -> bool {
        false
    }

    /// The names of skip indexes to build in parts without them. Empty for a [light](RowChange::is_light) change.
    fn indexes(&self) -> &[String] {
        &[]
    }

    /// The names of columns to drop from the part, which are then read as if they had been added later. The change
    /// writes none of them, and no key, mode or TTL needs them.
    fn clears(&self) -> &[String] {
        &[]
    }

    /// Applies the change to `rows`, which have the columns of [`RowChange::reads`].
    fn apply(&self, rows: &RecordBatch) -> basalt_base::Result<RowsAfter>;
}

/// The result of a change.
#[derive(Clone, Debug)]
pub struct RowsAfter {
    /// Whether any row is changed or removed.
    pub is_touched: bool,
    /// The rows that stay, without NULL; `None` if all stay.
    pub keep: Option<BooleanArray>,
    /// The values of [`RowChange::writes`] in all rows.
    pub columns: Vec<ArrayRef>,
}

impl TableParts {
    /// Applies `change`, which is all mutations up to `version` that `part` waits for. `None` if the part is no
    /// longer active, or is claimed.
    pub fn mutate(
        &self,
        part: &Arc<Part>,
        version: u64,
        change: &dyn RowChange,
        control: &WorkControl,
    ) -> Result<Option<PartName>> {
        let inputs = std::slice::from_ref(part);
        let Some(_claim) = self.claims.claim(inputs) else { return Ok(None) };
        self.check_writable()?;
        if !self.begin_commit()?.are_active(inputs) {
            return Ok(None);
        }
        let (name, waiting) = (part.name().mutated(version), self.mutations_of(part, version));
        let work = self.observe_work(control, name.clone(), inputs, waiting);
        let mutated = self.mutate_active(part, name, change, control);
        work.end(mutated.as_ref().map(|mutated| mutated.as_ref().map(|(part, _)| &**part)));
        if matches!(mutated, Ok(Some(_))) {
            self.mutation_succeeded(version);
        }
        Ok(mutated?.map(|(part, _commit)| part.name().clone()))
    }

    /// Publishes the result of `change` on `part` as `name`. The caller reports the end of the mutation before the
    /// commit ends.
    fn mutate_active(
        &self,
        part: &Arc<Part>,
        name: PartName,
        change: &dyn RowChange,
        control: &WorkControl,
    ) -> Result<Option<(Arc<Part>, Commit<'_>)>> {
        let inputs = std::slice::from_ref(part);
        let spec = self.spec();
        // The part under the current columns.
        let part = Arc::new(Part::new(Arc::clone(&part.stored), Arc::clone(&spec))?);
        let indexes = missing_indexes(&part, change);
        let pending = match self.changed(&part, change, control)? {
            Changed::Nothing if !indexes.is_empty() && part.stored.meta.data_file.is_none() => {
                self.write_indexes(&part, &indexes, control)?
            }
            Changed::Nothing if indexes.is_empty() => self.link_part(&part, None)?,
            Changed::Deleted(mask) => self.link_part(&part, Some(&mask))?,
            Changed::Rows if is_column_wise(&part, change) && indexes.is_empty() => {
                self.write_columns(&part, change, control)?
            }
            // The indexes of a compact part are in the file of its columns.
            Changed::Nothing | Changed::Rows => {
                let _space = self.reserve(part.bytes_on_disk())?;
                self.write_rows(&part, change, control)?
            }
        };
        let commit = self.begin_commit()?;
        if !commit.are_active(inputs) {
            return Ok(None);
        }
        commit.check_spec(&spec)?;
        let stored = commit.publish(pending, name)?;
        let mutated = Arc::new(Part::new(stored, spec)?);
        commit.replace_all(Arc::clone(&mutated));
        Ok(Some((mutated, commit)))
    }

    /// Finds out what changes, reading no more rows than needed.
    fn changed(&self, part: &Arc<Part>, change: &dyn RowChange, control: &WorkControl) -> Result<Changed> {
        if change.is_light() {
            return deleted_rows(part, change, control);
        }
        if change.applies_ttl() && part.may_expire(&part.spec, self.expires_at(&part.spec, control)) {
            return Ok(Changed::Rows);
        }
        if change.clears().iter().any(|name| part.stored.column_meta(name).is_some()) {
            return Ok(Changed::Rows);
        }
        for batch in rows_to_see(part, change, control)? {
            if change.apply(&live(batch?)?)?.is_touched {
                return Ok(Changed::Rows);
            }
        }
        Ok(Changed::Nothing)
    }

    /// Rewrites the part. It gets no missing columns, unless the change writes them: their values are still
    /// computed from the others.
    fn write_rows(
        &self,
        part: &Arc<Part>,
        change: &dyn RowChange,
        control: &WorkControl,
    ) -> Result<PendingPart> {
        let writes = positions(part, change.writes())?;
        let now_s = self.expires_at(&part.spec, control).filter(|_| change.applies_ttl());
        // The TTL rules need all columns.
        let cleared = positions(part, change.clears())?;
        let is_kept = |at: &usize| {
            let is_there = now_s.is_some() || part.has_column(*at) || writes.contains(at);
            (is_there && !cleared.contains(at)) || part.spec.is_needed(*at)
        };
        let mut kept: Vec<usize> = (0..part.spec.columns.len()).filter(is_kept).collect();
        if kept.is_empty() {
            // One column must stay to count rows.
            kept.push((0..part.spec.columns.len()).find(|at| !cleared.contains(at)).unwrap_or(0));
        }
        let spec = Arc::new(part.spec.only(&kept)).sized(part.value_bytes(), part.row_count());
        let rows = ChangedRows::new(part, &kept, change, control)?;
        match now_s {
            Some(now_s) => {
                let left = apply(Box::new(rows), &spec, now_s);
                self.write_pending(&spec, left, TtlRecorder::new(&spec, Some(now_s)), 1, true)
            }
            None => self.write_part(&spec, rows, 1),
        }
    }

    /// The part with more skip indexes; its files are links.
    fn write_indexes(
        &self,
        part: &Arc<Part>,
        indexes: &[SkipIndex],
        control: &WorkControl,
    ) -> Result<PendingPart> {
        let path = self.temporary_path();
        let mut writer = PartRewriter::create(Arc::clone(&self.storage), path, part, &[], &[])?.with(indexes);
        for start in (0..part.mark_count()).step_by(BLOCK_GRANULES_MAX) {
            check_cancelled(control)?;
            let rows = part.mark_rows(&(start..part.mark_count().min(start + BLOCK_GRANULES_MAX)));
            writer.write_indexes((rows.end - rows.start) as usize)?;
        }
        let pending = writer.finish(self.clock.now_us())?;
        pending.directory.sync()?;
        Ok(pending)
    }

    /// The part with the changed columns; the files of the others are links.
    fn write_columns(
        &self,
        part: &Arc<Part>,
        change: &dyn RowChange,
        control: &WorkControl,
    ) -> Result<PendingPart> {
        let columns = positions(part, change.writes())?;
        let _space = self.reserve(columns.iter().map(|&column| part.column_file_bytes(column)).sum())?;
        let path = self.temporary_path();
        let mut writer =
            PartRewriter::create(Arc::clone(&self.storage), path, part, &columns, change.clears())?;
        // Clearing columns needs no look at the rows.
        let seen = if columns.is_empty() { None } else { Some(rows_to_see(part, change, control)?) };
        for seen in seen.into_iter().flatten() {
            let seen = seen?;
            let (rows, deleted) = (seen.rows.num_rows(), seen.deleted.clone());
            let mut values = change.apply(&live(seen)?)?.columns;
            if let Some(deleted) = deleted {
                let spread =
                    |(values, at): (&ArrayRef, &usize)| spread(values, &part.spec.columns[*at].ty, &deleted);
                values = values.iter().zip(&columns).map(spread).collect::<Result<_>>()?;
            }
            writer.write(&values)?;
            control.count_written(rows);
        }
        let pending = writer.finish(self.clock.now_us())?;
        pending.directory.sync()?;
        Ok(pending)
    }

    /// The part under another name, with links to its files; `mask` has all deleted rows.
    fn link_part(&self, part: &Part, mask: Option<&BooleanBuffer>) -> Result<PendingPart> {
        let from = part.stored.directory.path();
        let directory = PendingDirectory::create(Arc::clone(&self.storage), self.temporary_path())?;
        let is_new = |name: &str| name == META_FILE || (mask.is_some() && name == DELETED_FILE);
        for entry in self.storage.list(from)? {
            if !entry.is_dir && !is_new(&entry.name) {
                self.storage.hard_link(&from.join(&entry.name), &directory.path().join(&entry.name))?;
            }
        }
        let mut meta = part.stored.meta.clone();
        if let Some(mask) = mask {
            meta.deleted_count = mask.count_set_bits() as u64;
            write_file(&directory, DELETED_FILE, &deleted::encode(mask))?;
        }
        write_file(&directory, META_FILE, &meta.encode())?;
        directory.sync()?;
        Ok(PendingPart { directory, meta })
    }
}

/// The change of a part by a mutation.
enum Changed {
    Nothing,
    /// Only the mask of deleted rows, which becomes this one.
    Deleted(BooleanBuffer),
    Rows,
}

/// The skip indexes that the change builds and `part` does not have.
fn missing_indexes(part: &Part, change: &dyn RowChange) -> Vec<SkipIndex> {
    let names = change.indexes();
    let has = |index: &SkipIndex| part.stored.meta.skip_indexes.iter().any(|meta| meta.is_of(index));
    let wanted = part.spec.indexes.iter().filter(|index| names.contains(&index.name));
    wanted.filter(|index| !has(index)).cloned().collect()
}

/// Whether only the changed columns must be rewritten, because they have files of their own.
fn is_column_wise(part: &Part, change: &dyn RowChange) -> bool {
    let (writes, clears) = (change.writes(), change.clears());
    let is_in_ttl = part.spec.ttl.iter().any(|rule| writes.iter().any(|name| rule.depends_on(name)));
    let deletes_rows = change.deletes_rows() || change.applies_ttl();
    let changes_columns = !writes.is_empty() || !clears.is_empty();
    let is_kept = |name: &String| !clears.contains(name);
    let keeps_one = !writes.is_empty() || part.stored.meta.columns.iter().any(|column| is_kept(&column.name));
    part.stored.meta.data_file.is_none() && !deletes_rows && changes_columns && keeps_one && !is_in_ttl
}

/// Replaces the values of deleted rows by those of neighbours: nobody reads them, and they widen no bounds.
fn spread(values: &ArrayRef, ty: &SqlType, deleted: &BooleanBuffer) -> Result<ArrayRef> {
    let mut seen = 0_u32;
    let neighbour = |is_deleted: bool| {
        seen += u32::from(!is_deleted);
        seen.saturating_sub(1)
    };
    let picks: Vec<u32> = deleted.iter().map(neighbour).collect();
    if values.is_empty() {
        return Ok(ty.default_array(picks.len()));
    }
    Ok(take(values, &UInt32Array::from(picks), None)?)
}

/// Rows in the files, and which of them are deleted.
struct FileRows {
    rows: RecordBatch,
    deleted: Option<BooleanBuffer>,
}

/// The rows of the part, with the columns that the change reads.
fn rows_to_see<'a>(
    part: &'a Arc<Part>,
    change: &dyn RowChange,
    control: &'a WorkControl,
) -> Result<impl Iterator<Item = Result<FileRows>> + 'a> {
    let columns = positions(part, change.reads())?;
    let marks = part.mark_count();
    Ok((0..marks).step_by(BLOCK_GRANULES_MAX).map(move |start| {
        check_cancelled(control)?;
        let marks = start..marks.min(start + BLOCK_GRANULES_MAX);
        let span = part.mark_rows(&marks);
        let rows = part.read(&columns, marks, control.metrics())?;
        let (offset, count) = (span.start as usize, (span.end - span.start) as usize);
        let deleted = part.deleted()?.map(|mask| mask.slice(offset, count));
        Ok(FileRows { rows, deleted })
    }))
}

fn live(seen: FileRows) -> Result<RecordBatch> {
    match seen.deleted {
        Some(deleted) => Ok(filter_record_batch(&seen.rows, &BooleanArray::new(!&deleted, None))?),
        None => Ok(seen.rows),
    }
}

fn deleted_rows(part: &Arc<Part>, change: &dyn RowChange, control: &WorkControl) -> Result<Changed> {
    let mut mask = BooleanBufferBuilder::new(part.row_count() as usize);
    let before = part.deleted_count();
    for seen in rows_to_see(part, change, control)? {
        let seen = seen?;
        let rows = seen.rows.num_rows();
        let gone = match change.apply(&seen.rows)?.keep {
            Some(keep) => !keep.values(),
            None => BooleanBuffer::new_unset(rows),
        };
        match &seen.deleted {
            Some(deleted) => mask.append_buffer(&(&gone | deleted)),
            None => mask.append_buffer(&gone),
        }
    }
    let mask = mask.finish();
    let is_same = mask.count_set_bits() as u64 == before;
    Ok(if is_same { Changed::Nothing } else { Changed::Deleted(mask) })
}

/// Iterates over the rows of a part after the change, with the columns to write.
struct ChangedRows<'a> {
    scan: PartScan,
    /// Indexes into the scan's columns: those that the change reads, those that it writes, and those that are
    /// written to the new part.
    reads: Vec<usize>,
    writes: Vec<usize>,
    kept: Vec<usize>,
    change: &'a dyn RowChange,
    control: &'a WorkControl,
}

impl<'a> ChangedRows<'a> {
    fn new(
        part: &Arc<Part>,
        kept: &[usize],
        change: &'a dyn RowChange,
        control: &'a WorkControl,
    ) -> Result<ChangedRows<'a>> {
        let (reads, writes) = (positions(part, change.reads())?, positions(part, change.writes())?);
        let is_seen = |at: &usize| kept.contains(at) || reads.contains(at);
        let columns: Vec<usize> = (0..part.spec.columns.len()).filter(is_seen).collect();
        let places = |of: &[usize]| of.iter().filter_map(|at| columns.binary_search(at).ok()).collect();
        let (reads, writes, kept) = (places(&reads), places(&writes), places(kept));
        let marks = MarkRanges::all(part.mark_count());
        let scan = PartScan::new(Arc::clone(part), columns, marks, BATCH_ROWS, Arc::clone(control.metrics()));
        Ok(ChangedRows { scan, reads, writes, kept, change, control })
    }

    fn changed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        check_cancelled(self.control)?;
        let after = self.change.apply(&batch.project(&self.reads)?)?;
        let mut columns = batch.columns().to_vec();
        for (&at, values) in self.writes.iter().zip(after.columns) {
            columns[at] = values;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let changed = RecordBatch::try_new_with_options(batch.schema(), columns, &options)?;
        let changed = changed.project(&self.kept)?;
        let kept = match after.keep {
            Some(keep) => filter_record_batch(&changed, &keep)?,
            None => changed,
        };
        self.control.count_written(kept.num_rows());
        Ok(kept)
    }
}

impl Iterator for ChangedRows<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.scan.next()?;
        Some(batch.and_then(|batch| self.changed(&batch)))
    }
}

/// Positions in the table.
fn positions(part: &Part, names: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        part.spec.columns.position(name).ok_or_else(|| Error::BlockMismatch {
            what: format!("column `{name}` of a mutation is not in the table"),
        })
    };
    names.iter().map(position).collect()
}

fn check_cancelled(control: &WorkControl) -> Result<()> {
    if control.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}
