//! Rows on their way into a segment.

use arrow::array::{Array, ArrayRef, BinaryArray};
use arrow::buffer::BooleanBuffer;
use basalt_base::Result;

/// Rows in ascending order of their keys, which are distinct.
#[derive(Clone, Debug)]
pub struct RowBlock {
    pub keys: BinaryArray,
    /// The columns of the spec. A tombstone has any values.
    pub columns: Vec<ArrayRef>,
    /// The bytes of the secondary indexes of the spec; an index has no entry for NULL.
    pub indexes: Vec<BinaryArray>,
    /// The rows that are tombstones, if any is.
    pub tombstones: Option<BooleanBuffer>,
}

impl RowBlock {
    pub fn rows(&self) -> usize {
        self.keys.len()
    }
}

/// Rows that can be read twice, with the same result.
pub trait RowSource {
    /// Hands all rows to `take` in the order of keys, block by block.
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()>;
}
