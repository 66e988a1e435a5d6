//! Single rows of a scan by their place: reads the rows that an operator above has kept.
//!
//! A place is a UInt64: the part's position in the selection in the high bits, the row of the part in
//! the low ones.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, UInt32Array, UInt64Array};
use arrow::compute::{concat, take};
use basalt_base::{Error, Result};
use basalt_parts::{Part, plain};

use super::plan::ScanPlan;
use super::reader::ColumnReader;
use super::selection::Selection;

/// Bits of the row's number in its part.
const ROW_BITS: u32 = 40;

/// Whether every row of the selection has a place.
pub(super) fn fits(selection: &Selection) -> bool {
    let rows = |part: &Arc<Part>| part.row_count() < 1 << ROW_BITS;
    selection.parts.len() < 1 << (u64::BITS - ROW_BITS) && selection.parts.iter().all(|(part, _)| rows(part))
}

/// The place of the first row of the part at `index`.
pub(super) fn first_place(index: usize) -> u64 {
    (index as u64) << ROW_BITS
}

/// The position of the part, and the row in it.
pub(super) fn part_and_row(place: u64) -> (usize, u64) {
    ((place >> ROW_BITS) as usize, place & ((1 << ROW_BITS) - 1))
}

/// The places of some rows of the part at `index`.
pub(super) fn places(index: usize, rows: Range<u64>) -> ArrayRef {
    let first = first_place(index);
    Arc::new(UInt64Array::from_iter_values(rows.map(|row| first | row)))
}

/// The output columns of `plan` at `places`, which are distinct, in their order.
pub(super) fn fetch(plan: &ScanPlan, selection: &Selection, places: &UInt64Array) -> Result<Vec<ArrayRef>> {
    let mut order: Vec<u32> = (0..places.len() as u32).collect();
    order.sort_unstable_by_key(|&at| places.value(at as usize));
    let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); plan.output.len()];
    let mut rest = &order[..];
    while let Some(&first) = rest.first() {
        let place = places.value(first as usize);
        let (index, row) = part_and_row(place);
        let (part, _) = selection.parts.get(index).ok_or_else(|| Error::logical("a row of no part"))?;
        let (marks, rows) = granule(part, row);
        let base = first_place(index);
        let end = rest.partition_point(|&at| places.value(at as usize) < base | rows.end);
        let mut wanted = BooleanBufferBuilder::new((rows.end - rows.start) as usize);
        wanted.append_n((rows.end - rows.start) as usize, false);
        for &at in &rest[..end] {
            wanted.set_bit((places.value(at as usize) - (base | rows.start)) as usize, true);
        }
        let wanted = wanted.finish();
        let mut reader = ColumnReader::new(part, index, plan);
        for (&slot, pieces) in plan.output.iter().zip(&mut pieces) {
            pieces.push(plain(&reader.read_rows(slot, marks.clone(), &wanted)?));
        }
        rest = &rest[end..];
    }
    if places.is_empty() {
        return Ok(plan.empty.columns().to_vec());
    }
    let back = inverse(&order);
    pieces.iter().map(|pieces| in_order(pieces, &back)).collect()
}

/// The granule with the row, and its rows.
fn granule(part: &Part, row: u64) -> (Range<usize>, Range<u64>) {
    let (mut low, mut high) = (0, part.mark_count());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if part.mark_rows(&(middle..middle + 1)).start <= row { low = middle } else { high = middle }
    }
    (low..low + 1, part.mark_rows(&(low..low + 1)))
}

/// Where each of the rows in the order of the call stands among the sorted ones.
fn inverse(order: &[u32]) -> UInt32Array {
    let mut inverse = vec![0; order.len()];
    for (sorted, &at) in order.iter().enumerate() {
        inverse[at as usize] = sorted as u32;
    }
    UInt32Array::from(inverse)
}

fn in_order(pieces: &[ArrayRef], back: &UInt32Array) -> Result<ArrayRef> {
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    let all = concat(&pieces).map_err(Error::of_arrow)?;
    take(&all, back, None).map_err(Error::of_arrow)
}
