//! Columns of one part for one thread, by slot of the scan's plan.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use basalt_base::Result;
use basalt_parts::{Part, PartReader};

use super::plan::ScanPlan;

/// Reads single columns of a part.
pub(super) struct ColumnReader {
    reader: PartReader,
    /// The part's position in the selection.
    pub(super) index: usize,
    /// Positions in the part, by slot.
    slots: Vec<usize>,
    /// Decoded bytes of what was read, about.
    pub(super) bytes: u64,
}

impl ColumnReader {
    pub(super) fn new(part: &Arc<Part>, index: usize, plan: &ScanPlan) -> ColumnReader {
        let reader = PartReader::open(part, Some(&plan.cache), &plan.query.events.reads);
        ColumnReader { reader, index, slots: plan.slots.clone(), bytes: 0 }
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
        Ok(self.reader.read(self.slots[slot], marks)?)
    }

    /// The values of the rows of `marks` whose bit is set.
    pub(super) fn read_rows(
        &mut self,
        slot: usize,
        marks: Range<usize>,
        wanted: &BooleanBuffer,
    ) -> Result<ArrayRef> {
        self.count(slot, wanted.count_set_bits());
        Ok(self.reader.read_rows(self.slots[slot], marks, wanted)?)
    }

    fn count(&mut self, slot: usize, rows: usize) {
        let (bytes, all) = (self.part().column_bytes(self.slots[slot]), self.part().row_count().max(1));
        self.bytes += (u128::from(bytes) * rows as u128 / u128::from(all)) as u64;
    }
}
