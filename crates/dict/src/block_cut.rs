//! How many rows a block of a scan or of a load has: fewer if rows are wide.
//!
//! Scans and loads hold several blocks at a time, so blocks are bounded in bytes as well as in rows.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::Result;

use crate::block::select;

/// Rows in a block of a scan, at most.
pub(crate) const SCAN_BLOCK_ROWS: usize = 65_536;
/// About the bytes of a block.
pub(crate) const SCAN_BLOCK_BYTES: usize = 8 << 20;
/// Rows in a block of a source, at least: the version before may have been nearly empty.
const SOURCE_BLOCK_ROWS_MIN: usize = 256;

/// Chooses the length of each block; rows are assumed to be as wide as those of the block before.
pub(crate) struct BlockCut {
    rows: usize,
}

impl BlockCut {
    /// The first block is for rows that are stored in `bytes` together.
    pub(crate) fn of(bytes: usize, rows: usize) -> BlockCut {
        let mut cut = BlockCut { rows: SCAN_BLOCK_ROWS };
        cut.learn_bytes(bytes, rows);
        cut
    }

    /// The rows of the next block, at most.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Learns the width of rows from the columns of a block.
    pub(crate) fn learn(&mut self, columns: &[ArrayRef], rows: usize) {
        self.learn_bytes(columns.iter().map(|column| column.get_array_memory_size()).sum(), rows);
    }

    fn learn_bytes(&mut self, bytes: usize, rows: usize) {
        let row_bytes = bytes / rows.max(1);
        self.rows = (SCAN_BLOCK_BYTES / row_bytes.max(1)).clamp(1, SCAN_BLOCK_ROWS);
    }
}

/// How many rows a block of the source should have at most. The rows are assumed to be as wide as those of a version
/// that has `rows` of them in `bytes`.
pub fn source_block_rows(bytes: u64, rows: u64) -> u64 {
    (SCAN_BLOCK_BYTES as u64 / (bytes / rows.max(1)).max(1)).max(SOURCE_BLOCK_ROWS_MIN as u64)
}

/// Cuts a block into pieces of a few megabytes.
pub(crate) fn in_pieces(block: Vec<ArrayRef>) -> impl Iterator<Item = Result<Vec<ArrayRef>>> {
    let rows = block.first().map_or(0, |column| column.len());
    let most = BlockCut::of(block.iter().map(own_bytes).sum(), rows).rows();
    (0..rows).step_by(most).map(move |first| piece(&block, first, rows.min(first + most)))
}

fn piece(block: &[ArrayRef], first: usize, end: usize) -> Result<Vec<ArrayRef>> {
    if first == 0 && block.first().is_none_or(|column| column.len() == end) {
        return Ok(block.to_vec());
    }
    let column = |column: &ArrayRef| match column.data_type().is_nested() {
        // A slice of a nested column would keep all of its values in memory.
        true => Ok(select(std::slice::from_ref(column), (first as u32..end as u32).collect())?.remove(0)),
        false => Ok(column.slice(first, end - first)),
    };
    block.iter().map(column).collect()
}

/// The bytes of the rows themselves, without what they share with other rows.
fn own_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::BinaryView => {
            let strings = column.as_binary_view();
            strings.views().len() * size_of::<u128>()
                + strings.lengths().map(|len| len as usize).sum::<usize>()
        }
        _ => column.get_array_memory_size(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, ListArray, UInt8Array};
    use arrow::datatypes::UInt8Type;

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

    #[test]
    fn a_wide_block_comes_in_pieces() {
        let texts = (0..20_u8).map(|row| vec![row; 1 << 20]);
        let lists = (0..20_u8).map(|row| Some(vec![Some(row); 100]));
        let block: Vec<ArrayRef> = vec![
            Arc::new(UInt8Array::from_iter_values(0..20)),
            Arc::new(BinaryViewArray::from_iter_values(texts)),
            Arc::new(ListArray::from_iter_primitive::<UInt8Type, _, _>(lists)),
        ];
        let mut rows = 0;
        for piece in in_pieces(block) {
            let piece = piece.expect("a piece");
            assert!(piece.iter().all(|column| column.len() == piece[0].len()) && piece[0].len() < 9);
            assert!(piece[2].get_array_memory_size() < 1500);
            for at in 0..piece[0].len() {
                assert_eq!(piece[0].as_primitive::<UInt8Type>().value(at), rows);
                assert_eq!(piece[1].as_binary_view().value(at), vec![rows; 1 << 20]);
                assert_eq!(
                    piece[2].as_list::<i32>().value(at).as_primitive::<UInt8Type>().values(),
                    &[rows; 100]
                );
                rows += 1;
            }
        }
        assert_eq!(rows, 20);
        assert!(in_pieces(Vec::new()).next().is_none());
    }

    #[test]
    fn a_source_has_short_blocks_of_wide_rows_and_never_tiny_ones() {
        assert_eq!(source_block_rows(8_000_000, 1_000_000), 1 << 20);
        assert_eq!(source_block_rows(1 << 30, 1 << 20), 8192);
        assert_eq!([source_block_rows(1 << 30, 1), source_block_rows(0, 0)], [256, 8 << 20]);
    }
}
