//! The hash tables of all hashed layouts: 64-bit hashes to payloads of up to eight bytes.
//!
//! - [`cuckoo`]: buckets of one cache line, two for each key: the fastest table. [`bucket_shape`] maps hashes to
//!   buckets, [`cuckoo_writer`] fills them. [`cuckoo_find`] looks up by [`cuckoo_probe`], or by [`spilled_probe`] if
//!   payloads spill.
//! - [`quotient`]: cells in order of hash, none of them free, without the bits that a cell's bucket implies.
//!   [`bucket_index`] says where each bucket begins, [`quotient_probe`] looks up.
//! - [`probe`]: looks up many keys so that their memory accesses overlap.
//! - [`bits`]: numbers of any width in bits.
//! - [`rows`]: the rows of a table while it loads. [`scatter`] distributes them over partitions, [`row_group`] has
//!   their memory, [`row_sorter`] sorts them, and [`fill`] turns them into a table.
//! - [`sharded`]: several tables, each built by its own thread, that answer as one.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;

pub(crate) mod bits;
mod bucket_index;
mod bucket_shape;
mod cuckoo;
mod cuckoo_find;
mod cuckoo_probe;
mod cuckoo_writer;
mod fill;
mod probe;
mod quotient;
mod quotient_probe;
mod row_group;
mod row_sorter;
mod rows;
mod scatter;
mod sharded;
mod spilled_probe;

pub(crate) use cuckoo::CuckooTable;
pub(crate) use quotient::QuotientTable;
pub(crate) use rows::{PartitionRows, Rows};
pub(crate) use sharded::{
    ShardedTable, SortedShards, TableBuilder, TableForm, TableShape, both, in_parallel,
};

/// The result of a lookup of a block of keys: one entry for each key.
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

/// The bools as bits, the first one lowest.
#[inline(always)]
fn packed(bools: [bool; 8]) -> u8 {
    // Bit 8 i times 2^(56 - 7 i) is bit 56 + i, and no two products overlap.
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
