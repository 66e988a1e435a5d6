//! Applies a mutation to one part: what changes is written anew, and the rest linked.
//!
//! Where no row goes, a wide part gets new files for the columns that the change writes. A compact part, and
//! one that loses rows, is written whole.

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

/// Rows that a mutation sees at a time.
const BATCH_ROWS: usize = 8192;

/// What a mutation does to rows. The engine gives it: parts know no expressions.
pub trait RowChange: Send + Sync {
    /// The names of the columns that it must see, each once.
    fn reads(&self) -> &[String];

    /// The names of the columns whose values it may change: not those of the key.
    fn writes(&self) -> &[String];

    /// Whether deleted rows are only marked, and stay in the files until the next merge. Such a change
    /// writes no column.
    fn is_light(&self) -> bool;

    /// Whether a row may go, so that all columns are written anew.
    fn deletes_rows(&self) -> bool;

    /// Whether what has expired goes, too.
    fn applies_ttl(&self) -> bool {
        false
    }

    /// The names of skip indexes to make if the part was written without them. Not with a
    /// [light](RowChange::is_light) change.
    fn indexes(&self) -> &[String] {
        &[]
    }

    /// The names of columns whose values the part loses: it is read from then on like one that was written
    /// before they were added. The change writes none of them, and no key, mode or TTL needs them.
    fn clears(&self) -> &[String] {
        &[]
    }

    /// What becomes of `rows`, which have the columns of [`RowChange::reads`].
    fn apply(&self, rows: &RecordBatch) -> basalt_base::Result<RowsAfter>;
}

/// What becomes of some rows.
#[derive(Clone, Debug)]
pub struct RowsAfter {
    /// Whether any row changes or goes.
    pub is_touched: bool,
    /// Which rows stay, without NULL; all of them if there is no mask.
    pub keep: Option<BooleanArray>,
    /// The values of [`RowChange::writes`] in all rows.
    pub columns: Vec<ArrayRef>,
}

impl TableParts {
    /// Applies `change`, which is all mutations that `part` waits for up to `version`. `None` if the
    /// part is no longer active, or something else works on it.
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

    /// Publishes as `name` what `change` leaves of `part`; the end of the mutation is to be told before the
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
        // The part in today's columns.
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
            // A compact part has its indexes in the file of its columns.
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

    /// Looks at the rows, no further than needed.
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

    /// The part written anew. Columns that it does not have it does not get, unless the change writes them:
    /// what they hold goes on following from the others.
    fn write_rows(
        &self,
        part: &Arc<Part>,
        change: &dyn RowChange,
        control: &WorkControl,
    ) -> Result<PendingPart> {
        let writes = positions(part, change.writes())?;
        let now_s = self.expires_at(&part.spec, control).filter(|_| change.applies_ttl());
        // What expires is told by the rules from all columns.
        let cleared = positions(part, change.clears())?;
        let is_kept = |at: &usize| {
            let is_there = now_s.is_some() || part.has_column(*at) || writes.contains(at);
            (is_there && !cleared.contains(at)) || part.spec.is_needed(*at)
        };
        let mut kept: Vec<usize> = (0..part.spec.columns.len()).filter(is_kept).collect();
        if kept.is_empty() {
            // Rows are counted by a column.
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

    /// The part with the columns that the change writes; the files of the others are links.
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
        // What is only cleared needs no look at the rows.
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

    /// The same part under another name: its files are links; `mask` is of all rows that are deleted.
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

/// What a mutation finds to do in a part.
enum Changed {
    Nothing,
    /// Only the mask of deleted rows, which is this one now.
    Deleted(BooleanBuffer),
    Rows,
}

/// The skip indexes of the table that the change makes and `part` has not.
fn missing_indexes(part: &Part, change: &dyn RowChange) -> Vec<SkipIndex> {
    let names = change.indexes();
    let has = |index: &SkipIndex| part.stored.meta.skip_indexes.iter().any(|meta| meta.is_of(index));
    let wanted = part.spec.indexes.iter().filter(|index| names.contains(&index.name));
    wanted.filter(|index| !has(index)).cloned().collect()
}

/// Whether only the columns that the change writes need to be written: they have files of their own.
fn is_column_wise(part: &Part, change: &dyn RowChange) -> bool {
    let (writes, clears) = (change.writes(), change.clears());
    let is_in_ttl = part.spec.ttl.iter().any(|rule| writes.iter().any(|name| rule.depends_on(name)));
    let deletes_rows = change.deletes_rows() || change.applies_ttl();
    let changes_columns = !writes.is_empty() || !clears.is_empty();
    let is_kept = |name: &String| !clears.contains(name);
    let keeps_one = !writes.is_empty() || part.stored.meta.columns.iter().any(|column| is_kept(&column.name));
    part.stored.meta.data_file.is_none() && !deletes_rows && changes_columns && keeps_one && !is_in_ttl
}

/// The values of rows that are not deleted, and for each of the others that of a neighbour: nobody reads
/// it, and it widens no bounds.
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

/// Rows as they are in the files, and which of them are deleted.
struct Seen {
    rows: RecordBatch,
    deleted: Option<BooleanBuffer>,
}

/// The rows of the part, in the columns that the change reads.
fn rows_to_see<'a>(
    part: &'a Arc<Part>,
    change: &dyn RowChange,
    control: &'a WorkControl,
) -> Result<impl Iterator<Item = Result<Seen>> + 'a> {
    let columns = positions(part, change.reads())?;
    let marks = part.mark_count();
    Ok((0..marks).step_by(BLOCK_GRANULES_MAX).map(move |start| {
        check_cancelled(control)?;
        let marks = start..marks.min(start + BLOCK_GRANULES_MAX);
        let span = part.mark_rows(&marks);
        let rows = part.read(&columns, marks, control.metrics())?;
        let (offset, count) = (span.start as usize, (span.end - span.start) as usize);
        let deleted = part.deleted()?.map(|mask| mask.slice(offset, count));
        Ok(Seen { rows, deleted })
    }))
}

fn live(seen: Seen) -> Result<RecordBatch> {
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

/// Iterates over the rows of a part after the change, in the columns that are to be written.
struct ChangedRows<'a> {
    scan: PartScan,
    /// Places among the columns of the scan: those that the change reads, those that it writes, and those
    /// that are to be written.
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

/// Places in the table.
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
