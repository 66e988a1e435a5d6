//! Which columns a scan shows: some of the key and of the range, and some attributes.

use arrow::array::ArrayRef;
use basalt_base::{Error, Result};

use crate::layout::SCAN_BLOCK_ROWS;

/// Columns by position: first come those of the key and of the range, so many, then the attributes.
#[derive(Clone, Copy)]
pub(crate) struct ScanColumns<'a> {
    columns: &'a [usize],
    leading: usize,
}

impl ScanColumns<'_> {
    pub(crate) fn of(columns: &[usize], leading: usize) -> ScanColumns<'_> {
        ScanColumns { columns, leading }
    }

    /// Positions of the attributes among them.
    pub(crate) fn attributes(&self) -> Vec<usize> {
        self.columns.iter().filter_map(|&column| column.checked_sub(self.leading)).collect()
    }

    /// The columns in the order asked: those before the attributes by their position, and `attributes`, which are
    /// those of [`ScanColumns::attributes`].
    pub(crate) fn join(
        &self,
        leading: impl Fn(usize) -> Result<ArrayRef>,
        attributes: Vec<ArrayRef>,
    ) -> Result<Vec<ArrayRef>> {
        let mut attributes = attributes.into_iter();
        let column = |&column: &usize| match column < self.leading {
            true => leading(column),
            false => attributes.next().ok_or_else(|| Error::logical("a scan has too few attributes")),
        };
        self.columns.iter().map(column).collect()
    }
}

/// How many rows the blocks of a scan of so many rows have.
pub(crate) fn block_lengths(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(SCAN_BLOCK_ROWS).map(move |first| SCAN_BLOCK_ROWS.min(rows - first))
}
