//! Gathers one column of a vertical merge, in the row order that the first stage decided.
//!
//! Each input is read from the front, a few granules at a time. Long runs of one input are returned as slices;
//! short ones are picked row by row. If all inputs have the column coded, the returned arrays are coded too, over
//! one joint dictionary: no string is read.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, UInt32Array};
use arrow::compute::{concat, filter, interleave};
use arrow::datatypes::UInt32Type;

use super::row_sources::{INPUTS_MAX, RowSourceReader, RowSources, input_of, is_kept};
use crate::column::plain::plain;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::Result;
use crate::metrics::ReadMetrics;
use crate::part::reader::PartReader;
use crate::part::view::Part;

/// Runs of at least this average length are returned as slices.
pub(super) const RUN_ROWS_LONG: usize = 64;

/// Iterates over the values of one column.
pub(super) struct GatheredColumn<'a> {
    cursors: Vec<ColumnCursor>,
    sources: RowSourceReader<'a>,
    /// The joint dictionary, if all inputs are coded.
    dictionary: Option<ArrayRef>,
    rows_max: usize,
    /// The sources of the next array's rows.
    rows: Vec<u8>,
    /// Slices to return, the next one last.
    ready: Vec<ArrayRef>,
}

/// The position in one input.
struct ColumnCursor {
    reader: PartReader,
    column: usize,
    /// Granules that are read together.
    granules: usize,
    next_mark: usize,
    /// The code of the input's first string in the joint dictionary, if it is coded.
    first_code: Option<u32>,
    /// Arrays that were read: values without deleted rows, or codes. The first may be partly consumed.
    arrays: VecDeque<ArrayRef>,
    /// Rows of the first array that are consumed.
    row: usize,
    /// Rows of the arrays that are not consumed.
    left: usize,
}

impl<'a> GatheredColumn<'a> {
    /// Opens `column` (a position in the table) of `parts`, for the rows in `sources`, in arrays of at most
    /// `rows_max` rows. Holds about `bytes_max` bytes of the inputs.
    pub(super) fn open(
        parts: &[Arc<Part>],
        column: usize,
        sources: &'a RowSources,
        rows_max: usize,
        bytes_max: u64,
        metrics: &Arc<ReadMetrics>,
    ) -> Result<GatheredColumn<'a>> {
        let bytes_max = bytes_max / parts.len().max(1) as u64;
        let open = |part| ColumnCursor::open(part, column, bytes_max, metrics);
        let mut cursors = parts.iter().map(open).collect::<Result<Vec<_>>>()?;
        let dictionary = join_dictionaries(&mut cursors, column)?;
        let (rows, ready) = (Vec::new(), Vec::new());
        let sources = sources.reader();
        Ok(GatheredColumn { cursors, sources, dictionary, rows_max, rows, ready })
    }

    /// Approximate bytes of the inputs and of the joint dictionary.
    pub(super) fn held_bytes(&self) -> u64 {
        let strings = self.dictionary.as_ref().map_or(0, |strings| strings.get_array_memory_size() as u64);
        self.cursors.iter().map(ColumnCursor::held_bytes).sum::<u64>() + strings
    }

    fn next_array(&mut self) -> Result<Option<ArrayRef>> {
        while self.ready.is_empty() {
            self.sources.read(self.rows_max, &mut self.rows)?;
            if self.rows.is_empty() {
                return Ok(None);
            }
            let changes = self.rows.windows(2).filter(|pair| pair[0] != pair[1]).count();
            if self.rows.len() >= (changes + 1) * RUN_ROWS_LONG {
                self.take_runs()?;
            } else {
                let picked = self.pick()?;
                self.ready.extend(picked);
            }
        }
        self.ready.pop().map(|array| self.coded(array)).transpose()
    }

    /// Takes the rows as slices of the inputs.
    fn take_runs(&mut self) -> Result<()> {
        for run in self.rows.chunk_by(|a, b| a == b) {
            let cursor = &mut self.cursors[input_of(run[0])];
            let mut rest = run.len();
            while rest > 0 {
                cursor.load(1)?;
                let (start, rows) = (cursor.row, rest.min(cursor.arrays[0].len() - cursor.row));
                if is_kept(run[0]) {
                    self.ready.push(cursor.arrays[0].slice(start, rows));
                }
                cursor.take(rows);
                rest -= rows;
            }
        }
        self.ready.reverse();
        Ok(())
    }

    /// Takes the rows one by one; `None` if none of them is kept.
    fn pick(&mut self) -> Result<Option<ArrayRef>> {
        let mut counts = [0; INPUTS_MAX];
        self.rows.iter().for_each(|&byte| counts[input_of(byte)] += 1);
        let mut arrays: Vec<&dyn Array> = Vec::new();
        let mut places = Vec::with_capacity(self.cursors.len());
        for (cursor, &count) in self.cursors.iter_mut().zip(&counts) {
            cursor.load(count)?;
            let end = cursor.arrays.front().map_or(0, |array| array.len());
            places.push(InputRow { array: 0, row: cursor.row, end });
        }
        for (cursor, place) in self.cursors.iter().zip(&mut places) {
            place.array = arrays.len();
            arrays.extend(cursor.arrays.iter().map(|array| &**array));
        }
        let mut picks = Vec::with_capacity(self.rows.len());
        for &byte in &self.rows {
            let place = &mut places[input_of(byte)];
            if place.row == place.end {
                place.array += 1;
                (place.row, place.end) = (0, arrays[place.array].len());
            }
            if is_kept(byte) {
                picks.push((place.array, place.row));
            }
            place.row += 1;
        }
        let picked = if picks.is_empty() { None } else { Some(interleave(&arrays, &picks)?) };
        drop(arrays);
        self.cursors.iter_mut().zip(&counts).for_each(|(cursor, &count)| cursor.take(count));
        Ok(picked)
    }

    /// Combines codes with the joint dictionary.
    fn coded(&self, array: ArrayRef) -> Result<ArrayRef> {
        let Some(dictionary) = &self.dictionary else { return Ok(array) };
        let codes = array.as_primitive::<UInt32Type>().clone();
        Ok(Arc::new(DictionaryArray::try_new(codes, Arc::clone(dictionary))?))
    }
}

/// The next row of an input while rows are picked.
struct InputRow {
    array: usize,
    row: usize,
    /// The end of the array.
    end: usize,
}

impl Iterator for GatheredColumn<'_> {
    type Item = Result<ArrayRef>;

    fn next(&mut self) -> Option<Result<ArrayRef>> {
        self.next_array().transpose()
    }
}

impl ColumnCursor {
    /// Opens an input before its first row.
    fn open(
        part: &Arc<Part>,
        column: usize,
        bytes_max: u64,
        metrics: &Arc<ReadMetrics>,
    ) -> Result<ColumnCursor> {
        let mut reader = PartReader::open(part, None, metrics);
        let granule_bytes = part.carrier_bytes(column) / part.mark_count().max(1) as u64;
        let mut granules = BLOCK_GRANULES_MAX;
        let block_granules = reader.block_granules(column)?;
        while granules > block_granules && granule_bytes * granules as u64 > bytes_max {
            granules /= 2;
        }
        let (arrays, first_code) = (VecDeque::new(), None);
        Ok(ColumnCursor { reader, column, granules, next_mark: 0, first_code, arrays, row: 0, left: 0 })
    }

    fn held_bytes(&self) -> u64 {
        let part = self.reader.part();
        let marks = part.mark_count().max(1);
        part.carrier_bytes(self.column) / marks as u64 * self.granules.min(marks) as u64
    }

    /// Reads until `rows` rows are available, as many as in the first stage.
    fn load(&mut self, rows: usize) -> Result<()> {
        while self.left < rows {
            let part = Arc::clone(self.reader.part());
            let marks = self.next_marks(part.mark_count());
            assert!(!marks.is_empty(), "an input has as many rows as were merged");
            let rows = part.mark_rows(&marks);
            let values = self.reader.read(self.column, marks)?;
            let mut values = self.without_strings(&values);
            if let Some(deleted) = part.deleted()? {
                let deleted = deleted.slice(rows.start as usize, (rows.end - rows.start) as usize);
                values = filter(&values, &BooleanArray::new(!&deleted, None))?;
            }
            if !values.is_empty() {
                self.left += values.len();
                self.arrays.push_back(values);
            }
        }
        Ok(())
    }

    /// Consumes `rows` rows, which were loaded.
    fn take(&mut self, rows: usize) {
        self.left -= rows;
        self.row += rows;
        while let Some(first) = self.arrays.front().filter(|first| first.len() <= self.row) {
            self.row -= first.len();
            self.arrays.pop_front();
        }
    }

    fn next_marks(&mut self, count: usize) -> Range<usize> {
        let start = self.next_mark;
        self.next_mark = count.min(start + self.granules);
        start..self.next_mark
    }

    /// The codes in the joint dictionary, or the plain values.
    fn without_strings(&self, values: &ArrayRef) -> ArrayRef {
        match (self.first_code, values.as_dictionary_opt::<UInt32Type>()) {
            (Some(0), Some(coded)) => Arc::new(coded.keys().clone()),
            (Some(first), Some(coded)) => {
                // The code under a NULL is undefined.
                let codes = coded.keys().unary::<_, UInt32Type>(|code| code.wrapping_add(first));
                Arc::new(codes) as Arc<UInt32Array>
            }
            _ => plain(values),
        }
    }
}

/// Joins the dictionaries of all inputs, and sets the first code of each; `None` unless all inputs are coded.
fn join_dictionaries(cursors: &mut [ColumnCursor], column: usize) -> Result<Option<ArrayRef>> {
    let mut dictionaries = Vec::with_capacity(cursors.len());
    for cursor in cursors.iter_mut() {
        let none = cursor.reader.read(column, 0..0)?;
        let Some(coded) = none.as_dictionary_opt::<UInt32Type>() else { return Ok(None) };
        dictionaries.push(Arc::clone(coded.values()));
    }
    let mut first = 0_u32;
    for (cursor, dictionary) in cursors.iter_mut().zip(&dictionaries) {
        cursor.first_code = Some(first);
        first += dictionary.len() as u32;
    }
    let all: Vec<&dyn Array> = dictionaries.iter().map(|dictionary| &**dictionary).collect();
    Ok(Some(concat(&all)?))
}
