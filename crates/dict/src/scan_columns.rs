//! The columns of a scan: some of the key and of the range, and some attributes.

use arrow::array::ArrayRef;
use basalt_base::{Error, Result};

use crate::block_cut::SCAN_BLOCK_ROWS;

/// Positions of columns. The `leading` columns of key and range come before the attributes.
#[derive(Clone, Copy)]
pub(crate) struct ScanColumns<'a> {
    columns: &'a [usize],
    leading: usize,
}

impl ScanColumns<'_> {
    pub(crate) fn of(columns: &[usize], leading: usize) -> ScanColumns<'_> {
        ScanColumns { columns, leading }
    }

    /// The positions of the requested attributes.
    pub(crate) fn attributes(&self) -> Vec<usize> {
        self.columns.iter().filter_map(|&column| column.checked_sub(self.leading)).collect()
    }

    /// The columns in the requested order. `leading` gives those before the attributes, and `attributes` are those of
    /// [`ScanColumns::attributes`].
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

/// The lengths of the blocks of a scan of `rows` rows.
pub(crate) fn block_lengths(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(SCAN_BLOCK_ROWS).map(move |first| SCAN_BLOCK_ROWS.min(rows - first))
}
