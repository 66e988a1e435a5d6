//! How many rows a block of a scan has: fewer where they are wide.
//!
//! A reader of a dictionary holds several blocks at a time, so their bytes have a bound beside that of their rows.

use arrow::array::{Array, ArrayRef};

use crate::layout::SCAN_BLOCK_ROWS;

/// Bytes of a block, about.
const SCAN_BLOCK_BYTES: usize = 8 << 20;

/// Says it block by block: rows are as wide as those of the block before.
pub(crate) struct BlockCut {
    rows: usize,
}

impl BlockCut {
    /// For so many rows, which are stored in so many bytes.
    pub(crate) fn of(bytes: usize, rows: usize) -> BlockCut {
        let mut cut = BlockCut { rows: SCAN_BLOCK_ROWS };
        cut.learn_bytes(bytes, rows);
        cut
    }

    /// Of the next block, at most.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes note of the columns of so many rows.
    pub(crate) fn learn(&mut self, columns: &[ArrayRef], rows: usize) {
        self.learn_bytes(columns.iter().map(|column| column.get_array_memory_size()).sum(), rows);
    }

    fn learn_bytes(&mut self, bytes: usize, rows: usize) {
        let row_bytes = bytes / rows.max(1);
        self.rows = (SCAN_BLOCK_BYTES / row_bytes.max(1)).clamp(1, SCAN_BLOCK_ROWS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_rows_make_short_blocks() {
        assert_eq!(BlockCut::of(0, 0).rows(), SCAN_BLOCK_ROWS);
        assert_eq!(BlockCut::of(100 << 20, 1 << 20).rows(), SCAN_BLOCK_ROWS);
        assert_eq!(BlockCut::of(1 << 30, 1 << 20).rows(), 8192);
        assert_eq!(BlockCut::of(1 << 30, 2).rows(), 1);
        let mut cut = BlockCut::of(1 << 30, 1 << 20);
        cut.learn_bytes(40 << 20, 8192);
        assert_eq!(cut.rows(), 1638);
    }
}
