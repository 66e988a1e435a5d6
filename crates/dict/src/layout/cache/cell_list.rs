//! The cells of a cache, in blocks, so that growing neither copies cells nor reserves memory.

use std::ops::{Index, IndexMut};

use super::slots::Slot;

/// Cells of a block: a few bytes below a power of two, which an allocator's header fills.
const BLOCK_CELLS: usize = (1 << 16) / size_of::<Cell>() - 2;

/// A key that was requested. A slot has its bytes and those of its row.
pub(super) struct Cell {
    pub(super) slot: Slot,
    pub(super) row: RowPlace,
    /// Whether it was used since the clock hand passed it.
    pub(super) used: bool,
    pub(super) key_bytes: u32,
    /// The bytes of the row, which follow the key in the slot.
    pub(super) row_bytes: u32,
    pub(super) expires_us: u64,
    pub(super) dies_us: u64,
}

/// Where the row of a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowPlace {
    /// The source does not have the key.
    Missing,
    /// In the slot, after the key.
    Memory,
    /// In a file: its place there follows the key.
    Disk,
}

#[derive(Default)]
pub(super) struct CellList {
    /// All but the last one are full.
    blocks: Vec<Vec<Cell>>,
}

impl Cell {
    pub(super) fn is_missing(&self) -> bool {
        self.row == RowPlace::Missing
    }

    /// The slots of keys and rows.
    pub(super) fn slot_bytes(&self) -> usize {
        self.key_bytes as usize + self.row_bytes as usize
    }
}

impl CellList {
    pub(super) fn len(&self) -> usize {
        let before = self.blocks.len().saturating_sub(1) * BLOCK_CELLS;
        before + self.blocks.last().map_or(0, Vec::len)
    }

    pub(super) fn push(&mut self, cell: Cell) {
        match self.blocks.last_mut() {
            Some(last) if last.len() < BLOCK_CELLS => last.push(cell),
            _ => {
                let mut block = Vec::with_capacity(BLOCK_CELLS);
                block.push(cell);
                self.blocks.push(block);
            }
        }
    }

    /// Removes a cell. The last cell takes its place.
    pub(super) fn swap_remove(&mut self, at: usize) -> Option<Cell> {
        let last = self.blocks.last_mut()?.pop()?;
        if self.blocks.last().is_some_and(Vec::is_empty) {
            self.blocks.pop();
        }
        let is_last = at == self.len();
        Some(if is_last { last } else { std::mem::replace(&mut self[at], last) })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Cell> {
        self.blocks.iter().flatten()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.len() * BLOCK_CELLS * size_of::<Cell>() + self.blocks.capacity() * size_of::<Vec<Cell>>()
    }
}

impl Index<usize> for CellList {
    type Output = Cell;

    fn index(&self, at: usize) -> &Cell {
        &self.blocks[at / BLOCK_CELLS][at % BLOCK_CELLS]
    }
}

impl IndexMut<usize> for CellList {
    fn index_mut(&mut self, at: usize) -> &mut Cell {
        &mut self.blocks[at / BLOCK_CELLS][at % BLOCK_CELLS]
    }
}
