//! Attributes of nested types (`Array`, `Tuple`, `Map`) as arrow arrays.

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{concat, filter, take};
use basalt_base::{Error, Result};

use super::Bitmap;
use crate::table::Hits;

/// Blocks are joined once there are this many, so that a load does not copy all rows at every block.
const BLOCKS_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct NestedColumn {
    /// The default, as row 0 of what is looked up.
    default: ArrayRef,
    blocks: Vec<ArrayRef>,
}

impl NestedColumn {
    pub(super) fn new(default: &ArrayRef) -> NestedColumn {
        NestedColumn { default: default.clone(), blocks: vec![default.clone()] }
    }

    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        self.blocks.push(array.clone());
        if self.blocks.len() > BLOCKS_MAX { self.join() } else { Ok(()) }
    }

    fn join(&mut self) -> Result<()> {
        let blocks: Vec<&dyn Array> = self.blocks.iter().map(AsRef::as_ref).collect();
        self.blocks = vec![concat(&blocks).map_err(broken)?];
        Ok(())
    }

    pub(super) fn get(&self, hits: &Hits) -> Result<ArrayRef> {
        let row = |(&row, &found): (&u64, &bool)| if found { row as u32 + 1 } else { 0 };
        let rows: UInt32Array = hits.payloads.iter().zip(&hits.found).map(row).collect::<Vec<_>>().into();
        take(&self.blocks[0], &rows, None).map_err(broken)
    }

    pub(super) fn retain(&mut self, alive: &Bitmap) -> Result<()> {
        self.join()?;
        let keep: BooleanArray =
            std::iter::once(true).chain((0..alive.len()).map(|row| alive.get(row))).map(Some).collect();
        self.blocks = vec![filter(&self.blocks[0], &keep).map_err(broken)?];
        Ok(())
    }

    /// Keeps the rows `order`, in that order.
    pub(super) fn select(&mut self, order: &[u32]) -> Result<()> {
        self.join()?;
        let rows: UInt32Array =
            std::iter::once(0).chain(order.iter().map(|row| row + 1)).collect::<Vec<_>>().into();
        self.blocks = vec![take(&self.blocks[0], &rows, None).map_err(broken)?];
        Ok(())
    }

    /// Must be called once after the last row.
    pub(super) fn shrink(&mut self) -> Result<()> {
        self.join()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.default.get_array_memory_size()
            + self.blocks.iter().map(|block| block.get_array_memory_size()).sum::<usize>()
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("attribute arrays do not fit together: {error}"))
}
