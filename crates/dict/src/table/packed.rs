//! One hash table: cells without padding, in order of hash, of any number of slots.
//!
//! # Layout
//!
//! ```text
//! cell:  hash u64 little-endian, payload of 0 to 8 bytes     (a UInt16 payload makes 10 bytes)
//! cells: slots, then the cells that the last slots pushed out, one free cell, padding
//! ```
//! A free cell has the hash `FREE`; a hash that happens to be `FREE` is kept beside the cells.
//!
//! # Invariants
//!
//! - **Ordered**: the hashes of filled cells increase. A cell is at its home slot or behind it, with no
//!   free cell between, so a search walks from the home slot while hashes are smaller and stops: a
//!   missing key costs no more than one that is there, at any load factor.
//! - **Ended**: the last cell is free, so every walk ends.
//!
//! # Cost
//!
//! `(8 + payload) / load factor` bytes a key. The mean walk is `load / (2 * (1 - load))` cells:
//! half a cell at 0.5, 25 cells (four cache lines in a row) at 0.98.

use basalt_base::prefetch::prefetch_read;

use crate::hash::{FREE, split};

const HASH_BYTES: usize = size_of::<u64>();
/// Behind the last cell, so that eight bytes can be read wherever a payload starts.
const PADDING_BYTES: usize = size_of::<u64>();
/// Cells added at a time when the last slots push out more than was allowed for.
const SPILL_CELLS: usize = 1024;

#[derive(Debug)]
pub(crate) struct PackedTable {
    cells: Vec<u8>,
    cell_bytes: usize,
    slots: u64,
    len: usize,
    payload_mask: u64,
    /// The payload of the hash `FREE`.
    free_hash: Option<u64>,
}

/// Builds a [`PackedTable`] from entries in order of hash.
pub(crate) struct PackedTableWriter {
    table: PackedTable,
    places: u64,
}

impl PackedTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.cells.capacity()
    }

    /// Where the walk for a hash begins. `rest` is what [`split`] left of the hash after it chose this
    /// table.
    #[inline(always)]
    pub(crate) fn home(&self, rest: u64) -> usize {
        split(rest, self.slots).0 as usize * self.cell_bytes
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        prefetch_read(&self.cells, at);
    }

    /// The payload of the first entry of `hash` at or behind `at` that `accept` takes.
    #[inline(always)]
    pub(crate) fn seek(&self, hash: u64, mut at: usize, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        if hash == FREE {
            return self.free_hash.filter(|&payload| accept(payload));
        }
        while self.word(at) < hash {
            at += self.cell_bytes;
        }
        while self.word(at) == hash {
            let payload = self.word(at + HASH_BYTES) & self.payload_mask;
            if accept(payload) {
                return Some(payload);
            }
            at += self.cell_bytes;
        }
        None
    }

    /// All entries as (hash, payload), in order of hash.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let end = self.cells.len() - PADDING_BYTES;
        let filled = (0..end).step_by(self.cell_bytes).filter_map(|at| {
            let hash = self.word(at);
            (hash != FREE).then(|| (hash, self.word(at + HASH_BYTES) & self.payload_mask))
        });
        filled.chain(self.free_hash.map(|payload| (FREE, payload)))
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let bytes = &self.cells[at..at + size_of::<u64>()];
        u64::from_le_bytes(bytes.try_into().expect("the range has eight bytes"))
    }
}

impl PackedTableWriter {
    /// A table for `len` entries that fills `max_load_factor` of its slots. The hashes to come are
    /// those that [`split`] puts into one of `places` tables.
    pub(crate) fn new(len: usize, max_load_factor: f64, payload_bytes: usize, places: u64) -> Self {
        assert!(payload_bytes <= size_of::<u64>() && max_load_factor > 0.0 && max_load_factor < 1.0);
        let slots = ((len as f64 / max_load_factor).ceil() as usize).max(1);
        let cell_bytes = HASH_BYTES + payload_bytes;
        let payload_mask = if payload_bytes == 8 { u64::MAX } else { (1 << (8 * payload_bytes)) - 1 };
        let spill = SPILL_CELLS.min(len);
        let table = PackedTable {
            cells: Vec::with_capacity((slots + spill + 1) * cell_bytes + PADDING_BYTES),
            cell_bytes,
            slots: slots as u64,
            len: 0,
            payload_mask,
            free_hash: None,
        };
        PackedTableWriter { table, places }
    }

    /// Adds an entry whose hash is not smaller than the one before.
    pub(crate) fn push(&mut self, hash: u64, payload: u64) {
        self.table.len += 1;
        if hash == FREE {
            self.table.free_hash = Some(payload);
            return;
        }
        let home = self.table.home(split(hash, self.places).1);
        self.push_free_until(home);
        self.push_cell(hash, payload);
    }

    pub(crate) fn finish(mut self) -> PackedTable {
        let slots_end = self.table.slots as usize * self.table.cell_bytes;
        self.push_free_until(slots_end);
        self.push_cell(FREE, 0);
        self.table.cells.extend_from_slice(&[0; PADDING_BYTES]);
        self.table.cells.shrink_to_fit();
        self.table
    }

    fn push_free_until(&mut self, end: usize) {
        while self.table.cells.len() < end {
            self.push_cell(FREE, 0);
        }
    }

    #[inline(always)]
    fn push_cell(&mut self, hash: u64, payload: u64) {
        let mut cell = [0; 2 * HASH_BYTES];
        cell[..HASH_BYTES].copy_from_slice(&hash.to_le_bytes());
        cell[HASH_BYTES..].copy_from_slice(&payload.to_le_bytes());
        let PackedTable { cells, cell_bytes, .. } = &mut self.table;
        if cells.capacity() - cells.len() < *cell_bytes {
            cells.reserve_exact(SPILL_CELLS * *cell_bytes);
        }
        cells.extend_from_slice(&cell[..*cell_bytes]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Every key of the model is found and their neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, max_load_factor: f64, payload_bytes: usize) {
        let mut writer = PackedTableWriter::new(model.len(), max_load_factor, payload_bytes, 1);
        for (&hash, &payload) in model {
            writer.push(hash, payload);
        }
        let table = writer.finish();
        let find = |hash: u64| table.seek(hash, table.home(hash), |_| true);
        for hash in model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]) {
            assert_eq!(find(hash), model.get(&hash).copied(), "hash {hash}");
        }
        assert_eq!(table.entries().collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(table.len(), model.len());
    }

    proptest! {
        #[test]
        fn finds_what_was_written(hashes: Vec<u64>, load in 0.5..0.99) {
            let model = hashes.iter().map(|&hash| (hash, hash & 0xffff)).collect();
            check(&model, load, 2);
        }

        /// Hashes that crowd the last slots push cells out behind the end.
        #[test]
        fn crowded_ends_spill_over(low: Vec<u8>, high: Vec<u8>) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| FREE - u64::from(at)));
            check(&hashes.map(|hash| (hash, hash)).collect(), 0.98, 8);
        }
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        check(&BTreeMap::new(), 0.5, 0);
        let table = PackedTableWriter::new(0, 0.5, 4, 1).finish();
        assert_eq!([0, 1, FREE].map(|hash| table.seek(hash, table.home(hash), |_| true)), [None; 3]);
    }

    #[test]
    fn ten_byte_cells_stay_ten_bytes() {
        let mut writer = PackedTableWriter::new(100_000, 0.98, 2, 1);
        for entry in 0..100_000_u64 {
            writer.push(entry * (FREE / 100_000), 7);
        }
        let bytes = writer.finish().heap_bytes();
        assert!(bytes <= 1_050_000, "{bytes} bytes");
    }
}
