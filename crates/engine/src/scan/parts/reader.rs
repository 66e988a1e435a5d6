//! Columns of one part for one thread, by slot of the scan's plan.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use basalt_base::{Error, Result};
use basalt_parts::{Part, PartReader};

use super::part_columns;
use super::plan::ScanPlan;
use super::slots::Slot;
use crate::scan::VirtualColumn;

/// Reads single columns of a part.
pub(super) struct ColumnReader {
    reader: PartReader,
    /// The part's position in the selection.
    pub(super) index: usize,
    slots: Vec<Slot>,
    /// By slot, with a row for each part.
    of_parts: Vec<Option<ArrayRef>>,
    /// Decoded bytes of what was read, about.
    pub(super) bytes: u64,
}

impl ColumnReader {
    pub(super) fn new(part: &Arc<Part>, index: usize, plan: &ScanPlan) -> ColumnReader {
        let reader = PartReader::open(part, plan.cache.as_ref(), &plan.query.events.reads);
        ColumnReader { reader, index, slots: plan.slots.clone(), of_parts: plan.of_parts.clone(), bytes: 0 }
    }

    pub(super) fn part(&self) -> &Part {
        self.reader.part()
    }

    pub(super) fn row_count(&self, marks: &Range<usize>) -> usize {
        let rows = self.part().mark_rows(marks);
        (rows.end - rows.start) as usize
    }

    pub(super) fn read(&mut self, slot: usize, marks: Range<usize>) -> Result<ArrayRef> {
        self.count(slot, self.row_count(&marks));
        match self.slots[slot] {
            Slot::Stored(column) => Ok(self.reader.read(column, marks)?),
            Slot::Virtual(column) => self.virtual_values(column, slot, &marks),
        }
    }

    /// The values of the rows of `marks` whose bit is set.
    pub(super) fn read_rows(
        &mut self,
        slot: usize,
        marks: Range<usize>,
        wanted: &BooleanBuffer,
    ) -> Result<ArrayRef> {
        self.count(slot, wanted.count_set_bits());
        match self.slots[slot] {
            Slot::Stored(column) => Ok(self.reader.read_rows(column, marks, wanted)?),
            Slot::Virtual(column) => {
                let mask = BooleanArray::new(wanted.clone(), None);
                filter(&self.virtual_values(column, slot, &marks)?, &mask).map_err(Error::of_arrow)
            }
        }
    }

    fn virtual_values(&self, column: VirtualColumn, slot: usize, marks: &Range<usize>) -> Result<ArrayRef> {
        part_columns::values(column, self.of_parts[slot].as_ref(), (self.part(), self.index), marks)
    }

    fn count(&mut self, slot: usize, rows: usize) {
        let Some(column) = self.slots[slot].stored() else { return };
        let (bytes, all) = (self.part().column_bytes(column), self.part().row_count().max(1));
        self.bytes += (u128::from(bytes) * rows as u128 / u128::from(all)) as u64;
    }
}
