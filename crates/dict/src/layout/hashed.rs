//! HASHED, SPARSE_HASHED and HASHED_ARRAY: any `UInt64` key, in one hash table.
//!
//! The three are the same table. HASHED and SPARSE_HASHED keep narrow attributes in the table's own
//! cells, which `MAX_LOAD_FACTOR` packs more or less densely; HASHED_ARRAY always keeps row numbers, so
//! that scans of an attribute read one array.
//!
//! # Cost
//!
//! A cell is 8 bytes and the attributes, or 8 and a row number of 4: see `table::packed`. With a
//! `UInt16` attribute that is 20 bytes a key at load factor 0.5 and 10.2 at 0.98.

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::{Layout, LayoutBuilder, SCAN_BLOCK_ROWS, VisitBlock, drop_dead_rows};
use crate::block::{integer_keys, key_column};
use crate::hash::{scramble, unscramble};
use crate::table::{Hits, ShardedTable, TableBuilder, TableShape};
use crate::values::Values;

pub(crate) struct Hashed {
    table: ShardedTable,
}

pub(crate) struct HashedBuilder {
    table: TableBuilder,
}

impl HashedBuilder {
    pub(crate) fn new(shape: TableShape) -> Result<HashedBuilder> {
        Ok(HashedBuilder { table: TableBuilder::new(shape)? })
    }
}

impl LayoutBuilder for HashedBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: &[u64]) -> Result<()> {
        self.table.push(&hashes(&keys[0])?, payloads)
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        // A scrambled key is the key: one hash never has two.
        let sorted = self.table.sort(|_, _| true)?;
        let table = match drop_dead_rows(&sorted, values)? {
            Some((_, numbers)) => sorted.into_table(|row| u64::from(numbers[row as usize])),
            None => sorted.into_table(|payload| payload),
        };
        Ok(Box::new(Hashed { table }))
    }
}

impl Layout for Hashed {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        Ok(self.table.find(&hashes(&keys[0])?, |_, _| true))
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        let mut entries = self.table.entries().peekable();
        while entries.peek().is_some() {
            let block = entries.by_ref().take(SCAN_BLOCK_ROWS);
            let (keys, payloads) = block.map(|(hash, payload)| (unscramble(hash), payload)).unzip();
            visit(vec![key_column(keys)], payloads)?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn heap_bytes(&self) -> usize {
        self.table.heap_bytes()
    }

    fn load_factor(&self) -> f64 {
        self.table.load_factor()
    }
}

fn hashes(keys: &ArrayRef) -> Result<Vec<u64>> {
    let mut hashes = integer_keys(keys)?;
    hashes.iter_mut().for_each(|key| *key = scramble(*key));
    Ok(hashes)
}

#[cfg(test)]
mod tests {
    use crate::layout::conformance;
    use crate::{LayoutKind, LayoutSpec};

    #[test]
    fn conforms() {
        for kind in [LayoutKind::Hashed, LayoutKind::SparseHashed, LayoutKind::HashedArray] {
            conformance::check_simple(&LayoutSpec::new(kind));
            conformance::check_simple(&LayoutSpec {
                shards: 7,
                max_load_factor: 0.99,
                ..LayoutSpec::new(kind)
            });
        }
    }
}
