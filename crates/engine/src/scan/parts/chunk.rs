//! Some granules of a part on their way through the steps of a filter.
//!
//! A chunk begins as one [`Run`] of granules. Each step reads its columns, and drops granules without a surviving row,
//! which splits the run. Columns that were read stay with the run, so nothing is read twice.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::{FilterBuilder, concat, filter};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};
use basalt_parts::{Part, plain};

use super::dynamic_filter::{DynamicFilter, matching_marks};
use super::filter_step::FilterStep;
use super::mode::Mode;
use super::plan::ScanPlan;
use super::reader::ColumnReader;
use super::rows::places;

/// A condition that cannot fail is evaluated for all rows if at least one in this many is still wanted.
const DENSE_ONE_IN: usize = 4;
/// Strings are copied out of their blocks if at most one row in this many is wanted.
const SPARSE_ONE_IN: usize = 8;
/// They are also copied if they keep more bytes in memory than this, and more than [`HELD_BYTES_A_BYTE`] times their
/// own.
const HELD_BYTES_MIN: usize = 1 << 20;
const HELD_BYTES_A_BYTE: usize = 8;

/// Granules that lie together, with the columns read so far.
#[derive(Debug)]
struct Run {
    marks: Range<usize>,
    rows: usize,
    /// By slot of the plan: all rows of the columns that conditions needed.
    arrays: Vec<Option<ArrayRef>>,
    /// `None` for all rows.
    wanted: Option<Wanted>,
}

/// The rows of a run that passed all steps so far.
#[derive(Clone, Debug)]
struct Wanted {
    rows: BooleanBuffer,
    count: usize,
}

/// The rows of `marks` that pass all steps; `None` if there are none.
pub(super) fn read_chunk(
    plan: &ScanPlan,
    filters: &[DynamicFilter],
    reader: &mut ColumnReader,
    marks: Range<usize>,
) -> Result<Option<RecordBatch>> {
    let mut runs = Vec::new();
    for marks in matching_marks(filters, reader.part(), marks)? {
        let rows = reader.row_count(&marks);
        let wanted = live(reader.part(), &marks)?;
        if wanted.as_ref().is_none_or(|wanted| wanted.count > 0) {
            runs.push(Run { marks, rows, arrays: vec![None; plan.slots.len()], wanted });
        }
    }
    // The filter of an operator above removes more rows than the conditions of the query.
    for step in filters.iter().flat_map(|filter| &filter.first) {
        runs = survivors(runs, step, reader, |_, _, _| ())?;
    }
    let cached = plan.cached.as_ref().filter(|_| filters.iter().all(|filter| filter.first.is_empty()));
    for (at, step) in plan.steps.iter().enumerate() {
        runs = survivors(runs, step, reader, |part, alone, missed| {
            if let Some(cached) = cached {
                cached.add(part, at, alone, missed);
            }
        })?;
    }
    for step in filters.iter().flat_map(|filter| &filter.last) {
        runs = survivors(runs, step, reader, |_, _, _| ())?;
    }
    if runs.is_empty() {
        return Ok(None);
    }
    gather(plan, reader, &runs).map(Some)
}

/// The rows of `marks` that are not deleted; `None` for all of them.
fn live(part: &Part, marks: &Range<usize>) -> Result<Option<Wanted>> {
    let Some(deleted) = part.deleted()? else { return Ok(None) };
    let span = part.mark_rows(marks);
    let rows = !&deleted.slice(span.start as usize, (span.end - span.start) as usize);
    let count = rows.count_set_bits();
    Ok((count < rows.len()).then_some(Wanted { rows, count }))
}

/// The runs that are left of `runs` after the step. `miss` gets granules without a row left, and whether all of their
/// rows were tested.
fn survivors(
    runs: Vec<Run>,
    step: &FilterStep,
    reader: &mut ColumnReader,
    miss: impl Fn(&Part, bool, &[Range<usize>]),
) -> Result<Vec<Run>> {
    let mut left = Vec::with_capacity(runs.len());
    for mut run in runs {
        if step.holds_for_all(reader.part(), &run.marks)? {
            left.push(run);
            continue;
        }
        let alone = run.wanted.is_none();
        if run.passes(step, reader)? {
            let missed = run.split(reader, &mut left);
            miss(reader.part(), alone, &missed);
        } else {
            miss(reader.part(), alone, std::slice::from_ref(&run.marks));
        }
    }
    Ok(left)
}

impl Run {
    fn count(&self) -> usize {
        self.wanted.as_ref().map_or(self.rows, |wanted| wanted.count)
    }

    fn read(&mut self, slot: usize, reader: &mut ColumnReader) -> Result<ArrayRef> {
        if let Some(array) = &self.arrays[slot] {
            return Ok(Arc::clone(array));
        }
        let array = reader.read(slot, self.marks.clone())?;
        self.arrays[slot] = Some(Arc::clone(&array));
        Ok(array)
    }

    /// The wanted rows of the columns that leave the scan: slices of what was read if all rows are
    /// wanted, copies otherwise.
    fn output(&self, plan: &ScanPlan, reader: &mut ColumnReader) -> Result<Vec<ArrayRef>> {
        let predicate = self.wanted.as_ref().map(|wanted| {
            let mask = BooleanArray::new(wanted.rows.clone(), None);
            let builder = FilterBuilder::new(&mask);
            if plan.schema.fields().len() > 1 { builder.optimize().build() } else { builder.build() }
        });
        let keep = |array: ArrayRef| match &predicate {
            None => Ok(array),
            Some(predicate) => predicate.filter(&array).map_err(Error::logical),
        };
        let is_sparse = self.count() * SPARSE_ONE_IN <= self.rows;
        let mut columns = Vec::with_capacity(plan.schema.fields().len());
        for (&slot, numbers) in plan.output.iter().zip(&plan.numbers) {
            let array = match (&self.arrays[slot], &self.wanted) {
                (Some(array), _) => keep(Arc::clone(array))?,
                (None, None) => reader.read(slot, self.marks.clone())?,
                (None, Some(wanted)) => reader.read_rows(slot, self.marks.clone(), &wanted.rows)?,
            };
            columns.push(match numbers {
                Some(numbers) => numbers.numbers(&array)?,
                None => compact(plain(&array), is_sparse),
            });
        }
        if plan.mode == Mode::WithPlaces {
            columns.push(keep(places(reader.index, reader.part().mark_rows(&self.marks)))?);
        }
        Ok(columns)
    }

    /// Evaluates the step; `false` if no row is left.
    fn passes(&mut self, step: &FilterStep, reader: &mut ColumnReader) -> Result<bool> {
        let arrays = step.slots.iter().map(|&slot| self.read(slot, reader)).collect::<Result<Vec<_>>>()?;
        let rows = match &self.wanted {
            None => step.evaluate(&arrays, self.rows)?,
            Some(wanted) if !step.conjunct.is_fallible() && wanted.count * DENSE_ONE_IN >= self.rows => {
                &step.evaluate(&arrays, self.rows)? & &wanted.rows
            }
            Some(wanted) => {
                let mask = BooleanArray::new(wanted.rows.clone(), None);
                let sparse = arrays.iter().map(|array| filter(array, &mask)).collect::<Result<Vec<_>, _>>();
                let passed = step.evaluate(&sparse.map_err(Error::logical)?, wanted.count)?;
                spread(&wanted.rows, &passed)
            }
        };
        let count = rows.count_set_bits();
        self.wanted = (count < self.rows).then_some(Wanted { rows, count });
        Ok(count > 0)
    }

    /// Leaves out the granules without a wanted row, and returns them.
    fn split(self, reader: &ColumnReader, runs: &mut Vec<Run>) -> Vec<Range<usize>> {
        let Some(wanted) = &self.wanted else {
            runs.push(self);
            return Vec::new();
        };
        let (mut kept, mut missed) = (Vec::<(Range<usize>, Range<usize>)>::new(), Vec::new());
        let mut row = 0;
        for mark in self.marks.clone() {
            let end = row + reader.row_count(&(mark..mark + 1));
            if wanted.rows.slice(row, end - row).count_set_bits() == 0 {
                missed.push(mark..mark + 1);
            } else {
                match kept.last_mut() {
                    Some((marks, rows)) if marks.end == mark => (marks.end, rows.end) = (mark + 1, end),
                    _ => kept.push((mark..mark + 1, row..end)),
                }
            }
            row = end;
        }
        if missed.is_empty() {
            runs.push(self);
        } else {
            runs.extend(kept.into_iter().map(|(marks, rows)| self.part(marks, rows, wanted)));
        }
        missed
    }

    fn part(&self, marks: Range<usize>, rows: Range<usize>, wanted: &Wanted) -> Run {
        let (start, length) = (rows.start, rows.len());
        let slice = |array: &Option<ArrayRef>| array.as_ref().map(|array| array.slice(start, length));
        let wanted = wanted.rows.slice(start, length);
        let count = wanted.count_set_bits();
        Run {
            marks,
            rows: length,
            arrays: self.arrays.iter().map(slice).collect(),
            wanted: (count < length).then_some(Wanted { rows: wanted, count }),
        }
    }
}

/// The bits of `passed`, one for each set bit of `rows`, at the places of these bits.
fn spread(rows: &BooleanBuffer, passed: &BooleanBuffer) -> BooleanBuffer {
    let mut spread = BooleanBufferBuilder::new(rows.len());
    spread.append_n(rows.len(), false);
    for (row, passes) in rows.set_indices().zip(passed) {
        if passes {
            spread.set_bit(row, true);
        }
    }
    spread.finish()
}

/// The wanted rows of all runs as one block.
fn gather(plan: &ScanPlan, reader: &mut ColumnReader, runs: &[Run]) -> Result<RecordBatch> {
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::with_capacity(runs.len()); plan.schema.fields().len()];
    for run in runs {
        for (array, pieces) in run.output(plan, reader)?.into_iter().zip(&mut columns) {
            pieces.push(array);
        }
    }
    let columns = columns.into_iter().map(join).collect::<Result<Vec<_>>>()?;
    let rows = runs.iter().map(Run::count).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(&plan.schema), columns, &options).map_err(Error::of_arrow)
}

/// Few strings must not keep whole blocks, or a whole dictionary, in memory.
fn compact(array: ArrayRef, is_sparse: bool) -> ArrayRef {
    let Some(views) = array.as_binary_view_opt() else { return array };
    let held: usize = views.data_buffers().iter().map(Buffer::len).sum();
    let is_small = held <= HELD_BYTES_MIN || held <= HELD_BYTES_A_BYTE * views.total_buffer_bytes_used();
    if held == 0 || (!is_sparse && is_small) { array } else { Arc::new(views.gc()) }
}

fn join(mut pieces: Vec<ArrayRef>) -> Result<ArrayRef> {
    if pieces.len() == 1
        && let Some(only) = pieces.pop()
    {
        return Ok(only);
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    concat(&pieces).map_err(Error::of_arrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_the_few_go_to_their_rows() {
        let rows = BooleanBuffer::from(vec![true, false, true, true, false]);
        let passed = BooleanBuffer::from(vec![false, true, true]);
        assert_eq!(spread(&rows, &passed), BooleanBuffer::from(vec![false, false, true, true, false]));
    }
}
