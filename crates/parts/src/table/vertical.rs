//! Vertical merge: first merges the columns that decide which rows stay and in what order, then gathers every other
//! column by itself.
//!
//! Memory holds the deciding columns of all inputs at first, and then one column at a time. The decisions of the
//! first stage are a [byte a row](super::row_sources).
//!
//! # Deciding columns
//!
//! The columns of the keys, those that the mode or the TTL reads or writes, those of skip indexes over several
//! columns, and those of DEDUPLICATE BY. They go through the same steps as in a merge of all columns, with one more
//! column: the ordinal of the row. A step that drops rows drops their ordinals.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{SchemaRef, UInt64Type};
use basalt_base::{Column, SqlType};
use basalt_codec::CodecChain;

use super::active::TableParts;
use super::control::WorkControl;
use super::gather::GatheredColumn;
use super::merged_rows::{MergeInput, MergedRows, rows_within};
use super::reduce::reduced_rows;
use super::row_sources::{INPUTS_MAX, RowSourceLog, RowSources};
use crate::error::{Error, Result};
use crate::key::prune::MarkRanges;
use crate::part::view::Part;
use crate::part::volume::value_bytes;
use crate::part::writer::{PartWriter, PendingPart};
use crate::spec::PartSpec;
use crate::ttl::apply::SortedRows;
use crate::ttl::recorder::TtlRecorder;

/// Bytes of values after which freed memory is returned: each was read, merged and written in buffers of its own.
const RELEASE_BYTES: u64 = 8 << 20;

/// The most files that a horizontal merge may open; with more of them the merge is vertical in any case. Systems
/// allow a process 1024 and more.
const OPEN_FILES_MAX: usize = 512;

/// The column of the ordinal: no column of a table has this name.
const ORDINAL: &str = "";

/// A vertical merge of parts.
pub(super) struct VerticalMerge<'a> {
    pub(super) parts: &'a [Arc<Part>],
    pub(super) spec: &'a Arc<PartSpec>,
    pub(super) deduplicate: Option<&'a [usize]>,
    /// The time at which rows have expired, in seconds since 1970.
    now_s: Option<i64>,
    pub(super) control: &'a WorkControl,
    /// Positions of the columns of the first stage.
    deciding: Vec<usize>,
    /// Threads that gather columns.
    pub(super) threads: usize,
}

impl<'a> VerticalMerge<'a> {
    /// `None` if a horizontal merge is better: there are few columns or rows, or the result may be compact; unless
    /// it would open too many files.
    pub(super) fn plan(
        parts: &'a [Arc<Part>],
        spec: &'a Arc<PartSpec>,
        deduplicate: Option<&'a [usize]>,
        now_s: Option<i64>,
        control: &'a WorkControl,
        threads: usize,
    ) -> Option<VerticalMerge<'a>> {
        let limits = &spec.merges;
        let deciding = deciding_columns(spec, deduplicate);
        let gathered = spec.columns.len() - deciding.len();
        let rows: u64 = parts.iter().map(|part| part.live_row_count()).sum();
        let bytes: u64 = parts.iter().map(|part| part.decoded_bytes()).sum();
        let is_possible = !parts.is_empty() && parts.len() <= INPUTS_MAX && gathered > 0;
        let is_worth_it = limits.is_vertical_allowed
            && gathered >= limits.vertical_columns_min
            && rows >= limits.vertical_rows_min
            && bytes >= limits.vertical_bytes_min
            && rows >= spec.wide_rows_min
            && bytes >= spec.wide_bytes_min;
        let files = parts.iter().map(|part| part.open_files()).sum::<usize>() + spec.columns.len();
        let is_chosen = is_possible && (is_worth_it || files > OPEN_FILES_MAX);
        is_chosen.then_some(VerticalMerge { parts, spec, deduplicate, now_s, control, deciding, threads })
    }

    /// Writes the part; the caller syncs and publishes it.
    pub(super) fn write(&self, table: &TableParts) -> Result<PendingPart> {
        self.control.note_vertical();
        let path = table.temporary_path();
        let log = RowSourceLog::new(Arc::clone(&table.storage), path.with_extension("rows"));
        let mut writer = PartWriter::create_staged(
            Arc::clone(&table.storage),
            path,
            Arc::clone(self.spec),
            &self.deciding,
            self.threads,
        )?;
        let mut recorder = TtlRecorder::new(&Arc::new(self.spec.project(&self.deciding)), self.now_s);
        let mut freed = FreedMemory { table, bytes: 0 };
        for batch in self.deciding_rows(&log)? {
            let batch = batch?;
            freed.add(batch.columns().iter().map(|values| value_bytes(values)).sum());
            recorder.see(&batch)?;
            writer.write(&batch)?;
        }
        let sources = log.finish()?;
        drop(log);
        self.control.count_columns(self.deciding.len());
        let gathered = (0..self.spec.columns.len()).filter(|column| !self.deciding.contains(column));
        let gathered: Vec<usize> = gathered.collect();
        writer.write_columns(&gathered, |column| {
            // The previous column is no longer needed, and no two columns are alike.
            table.release_memory();
            self.values(table, column, &sources)
        })?;
        let pending = writer.finish(table.clock.now_us(), recorder.finish());
        table.release_memory();
        pending
    }

    /// The kept rows of the deciding columns; `log` records their sources.
    fn deciding_rows(
        &self,
        log: &RowSourceLog,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<'a>> {
        let stage = self.spec.project(&self.deciding);
        let inputs = self.parts.iter().map(|part| {
            let marks = MarkRanges::all(part.mark_count());
            MergeInput { part: Arc::clone(part), marks, first_place: None }
        });
        let rows = MergedRows::open(inputs, &self.deciding, stage.clone(), self.control.metrics())?;
        let held = self.control.hold(rows.held_bytes());
        let rows = rows.noted(log.clone());
        let numbered = with_ordinal(&stage);
        let schema = numbered.schema();
        let mut next = 0;
        let rows = rows.map(move |batch| {
            let batch = batch?;
            next += batch.num_rows() as u64;
            number(&batch, next, &schema)
        });
        let place = |column: &usize| self.deciding.iter().position(|other| other == column);
        let deduplicate = self.deduplicate.map(|by| by.iter().filter_map(place).collect());
        let rows: SortedRows<'a> = Box::new(rows);
        let rows = reduced_rows(rows, &Arc::new(numbered), deduplicate, self.now_s, self.control);
        let log = log.clone();
        Ok(rows.map(move |batch| {
            let _ = &held;
            let mut batch = batch?;
            let ordinals = batch.remove_column(batch.num_columns() - 1);
            log.keep(ordinals.as_primitive::<UInt64Type>().values())?;
            Ok(batch)
        }))
    }

    /// The values of one of the other columns.
    fn values<'b>(
        &'b self,
        table: &'b TableParts,
        column: usize,
        sources: &'b RowSources,
    ) -> Result<impl Iterator<Item = Result<ArrayRef>> + use<'a, 'b>> {
        let limits = &self.spec.merges;
        let rows: u64 = self.parts.iter().map(|part| part.row_count()).sum();
        let bytes: u64 = self.parts.iter().map(|part| part.carrier_bytes(column)).sum();
        let rows_max = rows_within(limits.batch_rows, limits.batch_bytes, bytes, rows);
        // A granule of one column is enough: strings are long, and the merged arrays keep what was read alive.
        let held = limits.batch_bytes / self.threads.max(1) as u64;
        let metrics = self.control.metrics();
        let values = GatheredColumn::open(self.parts, column, sources, rows_max, held, metrics)?;
        let held = self.control.hold(values.held_bytes());
        let values = values.map(move |values| {
            let _ = &held;
            if self.control.is_cancelled() { Err(Error::Cancelled) } else { values }
        });
        let mut freed = FreedMemory { table, bytes: 0 };
        let counted = values.inspect(move |values| {
            if let Ok(values) = values {
                freed.add(self.control.count_written_bytes(values));
            }
        });
        Ok(counted.chain(std::iter::from_fn(|| {
            self.control.count_columns(1);
            None
        })))
    }
}

/// Returns memory to the system now and then.
struct FreedMemory<'a> {
    table: &'a TableParts,
    /// Bytes of values merged since the last return.
    bytes: u64,
}

impl FreedMemory<'_> {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes > RELEASE_BYTES {
            self.bytes = 0;
            self.table.release_memory();
        }
    }
}

/// The columns that the first stage must merge together.
fn deciding_columns(spec: &PartSpec, deduplicate: Option<&[usize]>) -> Vec<usize> {
    let by = deduplicate.unwrap_or_default();
    let in_ttl = |name: &str| spec.ttl.iter().any(|rule| rule.needs(name));
    let is_deciding = |column: &usize| {
        let is_needed = by.contains(column) || spec.is_needed(*column);
        is_needed || spec.is_computed_on(*column) || in_ttl(&spec.columns[*column].name)
    };
    (0..spec.columns.len()).filter(is_deciding).collect()
}

/// The columns plus the ordinal.
fn with_ordinal(spec: &PartSpec) -> PartSpec {
    let mut numbered = spec.clone();
    let ordinal = Column::new(ORDINAL, SqlType::UInt64);
    numbered.columns = spec.columns.iter().cloned().chain([ordinal]).collect();
    numbered.codecs.push(CodecChain::default());
    numbered.fills.push(None);
    numbered
}

/// Adds ordinals to the batch; the last row has the ordinal `end - 1`.
fn number(batch: &RecordBatch, end: u64, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from_iter_values(end - rows as u64..end)));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
