//! COMPLEX_KEY_HASHED, COMPLEX_KEY_SPARSE_HASHED and COMPLEX_KEY_HASHED_ARRAY: any key columns.
//!
//! A key is encoded to bytes, and the table maps the hash of the bytes to a row number; the keys
//! themselves lie in one arena by row number and are looked at once the hash has matched.
//!
//! # Cost
//!
//! 12 bytes a key over the load factor, the encoded key, and 4 bytes for where it ends.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType};

use super::{Layout, LayoutBuilder, SCAN_BLOCK_ROWS, VisitBlock, drop_dead_rows};
use crate::hash::hash_bytes;
use crate::image::{ImageReader, ImageWriter};
use crate::key_bytes::KeyShape;
use crate::table::{Hits, ShardedTable, TableBuilder, TableForm, TableShape};
use crate::values::{StringArena, Values};

pub(crate) struct ComplexKeyHashed {
    shape: KeyShape,
    /// By row number.
    keys: StringArena,
    table: ShardedTable,
}

pub(crate) struct ComplexKeyHashedBuilder {
    shape: KeyShape,
    keys: StringArena,
    table: TableBuilder,
    form: TableForm,
}

impl ComplexKeyHashed {
    pub(crate) fn open(key_types: &[SqlType], image: &mut ImageReader<'_>) -> Result<ComplexKeyHashed> {
        let (shape, table) = (KeyShape::new(key_types)?, ShardedTable::open(image)?);
        Ok(ComplexKeyHashed { shape, keys: StringArena::open(image)?, table })
    }
}

impl ComplexKeyHashedBuilder {
    pub(crate) fn new(
        key_types: &[SqlType],
        shape: TableShape,
        form: TableForm,
    ) -> Result<ComplexKeyHashedBuilder> {
        Ok(ComplexKeyHashedBuilder {
            shape: KeyShape::new(key_types)?,
            keys: StringArena::default(),
            table: TableBuilder::new(shape)?,
            form,
        })
    }
}

impl LayoutBuilder for ComplexKeyHashedBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Vec<u64>) -> Result<()> {
        let block = self.shape.encode(keys)?;
        for row in 0..block.len() {
            self.keys.push(block.get(row));
        }
        self.table.push(hashes(&block), payloads)
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        let ComplexKeyHashedBuilder { shape, mut keys, table, form } = *self;
        let sorted = table.sort(|left, right| keys.get(left as usize) == keys.get(right as usize))?;
        let table = match drop_dead_rows(&sorted, values)? {
            Some((alive, numbers)) => {
                keys.retain(&alive);
                sorted.into_table(form, |row| u64::from(numbers[row as usize]))?
            }
            None => sorted.into_table(form, |row| row)?,
        };
        keys.shrink();
        Ok(Box::new(ComplexKeyHashed { shape, keys, table }))
    }
}

impl Layout for ComplexKeyHashed {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let block = self.shape.encode(keys)?;
        let (own, asked) = (self.keys.view(), block.view());
        let is_key = |index: usize, row: u64| own.get(row as usize) == asked.get(index);
        Ok(self.table.find(&hashes(&block), is_key))
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        let hashes = hashes(&self.shape.encode(keys)?);
        self.table.check(&hashes)?;
        let mut rows = Vec::new();
        self.table.find(&hashes, |_, row| {
            rows.push(row);
            false
        });
        rows.into_iter().try_for_each(|row| self.keys.check(row as usize))
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.table.save(image)?;
        self.keys.save(image)
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        for first in (0..self.keys.len()).step_by(SCAN_BLOCK_ROWS) {
            let rows = first..self.keys.len().min(first + SCAN_BLOCK_ROWS);
            let keys = self.shape.decode(rows.clone().map(|row| self.keys.get(row)))?;
            visit(keys, rows.map(|row| row as u64).collect())?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.keys.heap_bytes()
    }

    fn load_factor(&self) -> f64 {
        self.table.load_factor()
    }
}

fn hashes(keys: &StringArena) -> Vec<u64> {
    (0..keys.len()).map(|row| hash_bytes(keys.get(row))).collect()
}

#[cfg(test)]
mod tests {
    use crate::layout::conformance;
    use crate::{LayoutKind, LayoutSpec};

    #[test]
    fn conforms() {
        let kinds = [
            LayoutKind::ComplexKeyHashed,
            LayoutKind::ComplexKeySparseHashed,
            LayoutKind::ComplexKeyHashedArray,
        ];
        for kind in kinds {
            conformance::check_complex(&LayoutSpec::new(kind));
            conformance::check_complex(&LayoutSpec { shards: 5, ..LayoutSpec::new(kind) });
        }
    }
}
