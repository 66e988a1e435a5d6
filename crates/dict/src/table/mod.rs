//! The hash tables of all hashed layouts: 64-bit hashes to payloads of up to eight bytes.
//!
//! - [`lines`]: a table of cache lines, two for each key: the fastest. [`line_shape`] says which two, [`line_writer`] fills
//!   them, [`line_probe`] looks into them, [`overhang_probe`] into those that do not take all of their payloads; [`line_find`]
//!   takes the one that fits.
//! - [`quotient`]: cells in order of hash and none free, without the bits that a cell's bucket says.
//! - [`bits`]: numbers of any width in bits.
//! - [`bucket_index`]: where each bucket of that table begins.
//! - [`cell_probe`]: finds hashes among its cells.
//! - [`probe`]: looks up many keys so that their waits for memory overlap.
//! - [`rows`]: the rows of a table while it loads; [`scatter`] deals them to partitions, [`row_group`] has their memory,
//!   [`row_sorter`] puts them in order.
//! - [`filling`]: turns them into a table.
//! - [`sharded`]: several tables, each built by its own thread, that answer as one.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;

pub(crate) mod bits;
mod bucket_index;
mod cell_probe;
mod filling;
mod line_find;
mod line_probe;
mod line_shape;
mod line_writer;
mod lines;
mod overhang_probe;
mod probe;
mod quotient;
mod row_group;
mod row_sorter;
mod rows;
mod scatter;
mod sharded;

pub(crate) use lines::LineTable;
pub(crate) use quotient::QuotientTable;
pub(crate) use rows::{PartitionRows, Rows};
pub(crate) use sharded::{
    ShardedTable, SortedShards, TableBuilder, TableForm, TableShape, both, in_parallel,
};

/// What a lookup of a block of keys found: one entry a key.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// The payload of the key, 0 where it is missing.
    pub(crate) payloads: Vec<u64>,
    pub(crate) found: Vec<bool>,
}

impl Hits {
    pub(crate) fn with_capacity(keys: usize) -> Hits {
        Hits { payloads: Vec::with_capacity(keys), found: Vec::with_capacity(keys) }
    }

    /// The payloads of the keys that were found.
    pub(crate) fn found_payloads(&self) -> impl Iterator<Item = u64> + '_ {
        self.payloads.iter().zip(&self.found).filter(|(_, found)| **found).map(|(&payload, _)| payload)
    }

    /// Which of the keys were found.
    pub(crate) fn found_array(&self) -> BooleanArray {
        let (chunks, rest) = self.found.as_chunks();
        let last = std::array::from_fn(|at| rest.get(at).is_some_and(|&found| found));
        let bytes: Vec<u8> = chunks.iter().chain([&last]).map(|&found| packed(found)).collect();
        BooleanArray::new(BooleanBuffer::new(bytes.into(), 0, self.found.len()), None)
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, payload: Option<u64>) {
        self.payloads.push(payload.unwrap_or_default());
        self.found.push(payload.is_some());
    }
}

/// A bit for each, the first one the lowest.
#[inline(always)]
fn packed(bools: [bool; 8]) -> u8 {
    // Bit 8 i times 2^(56 - 7 i) is bit 56 + i, and no two of all products meet.
    (u64::from_le_bytes(bools.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_bit() {
        for byte in 0..=u8::MAX {
            assert_eq!(packed(std::array::from_fn(|at| byte >> at & 1 != 0)), byte);
        }
        for keys in [0, 1, 7, 8, 9, 64, 100] {
            let found: Vec<bool> = (0..keys).map(|key| key % 3 == 0).collect();
            let hits = Hits { payloads: vec![0; keys], found: found.clone() };
            assert_eq!(hits.found_array(), BooleanArray::from(found));
        }
    }
}
