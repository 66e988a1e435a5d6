//! COMPLEX_KEY_HASHED, COMPLEX_KEY_SPARSE_HASHED and COMPLEX_KEY_HASHED_ARRAY: any key columns.
//!
//! A key is encoded to bytes, and the table maps the hash of the bytes to a row number. The keys are in one arena by
//! row number, and are compared after a match of the hash.
//!
//! # Cost
//!
//! 10 to 12 bytes a key divided by the load factor, the encoded key, and 4 bytes for its end.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType};

use super::contract::{Layout, LayoutBuilder, VisitBlock};
use super::sorted_rows::drop_dead_rows;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::hash::hash_bytes;
use crate::image::{ImageReader, ImageWriter};
use crate::key_bytes::KeyShape;
use crate::payloads::Payloads;
use crate::table::{Hits, ShardedTable, TableBuilder, TableForm, TableShape};
use crate::values::{SEGMENT_BITS, SEGMENTS_MAX, StringArena, Values, split_row};

pub(crate) struct ComplexKeyHashed {
    shape: KeyShape,
    /// By row number: one arena, or one for each segment of a file (see `values::segments`).
    keys: Vec<StringArena>,
    table: ShardedTable,
}

pub(crate) struct ComplexKeyHashedBuilder {
    shape: KeyShape,
    keys: StringArena,
    table: TableBuilder,
    form: TableForm,
    /// The number of the first row.
    first: u64,
}

impl ComplexKeyHashed {
    pub(crate) fn open(key_types: &[SqlType], image: &mut ImageReader<'_>) -> Result<ComplexKeyHashed> {
        let (shape, table) = (KeyShape::new(key_types)?, ShardedTable::open(image)?);
        let segments = image.number_below(SEGMENTS_MAX as u64 + 1)?;
        let keys = (0..segments).map(|_| StringArena::open(image)).collect::<Result<Vec<_>>>()?;
        if keys.is_empty() {
            return Err(ImageReader::unfit());
        }
        Ok(ComplexKeyHashed { shape, keys, table })
    }

    pub(crate) fn table(&self) -> &ShardedTable {
        &self.table
    }

    /// Writes the keys without the number of segments.
    pub(crate) fn save_keys(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.keys.iter().try_for_each(|keys| keys.save(image))
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
            first: 0,
        })
    }

    /// A builder for one shard, whose rows have numbers from `first` on.
    pub(crate) fn of_shard(
        key_types: &[SqlType],
        table: TableBuilder,
        form: TableForm,
        first: u64,
    ) -> Result<ComplexKeyHashedBuilder> {
        let shape = KeyShape::new(key_types)?;
        Ok(ComplexKeyHashedBuilder { shape, keys: StringArena::default(), table, form, first })
    }

    /// Builds the layout of distinct keys whose payloads are their numbers.
    pub(crate) fn push_encoded(&mut self, keys: StringArena) -> Result<()> {
        self.table.push(hashes(&keys), Payloads::Numbers(0..keys.len() as u64))?;
        self.keys = keys;
        Ok(())
    }

    pub(crate) fn into_layout(self, values: &mut Values) -> Result<ComplexKeyHashed> {
        let ComplexKeyHashedBuilder { shape, mut keys, table, form, first } = self;
        let sorted = table.sort(|left, right| keys.get(left as usize) == keys.get(right as usize))?;
        let table = match drop_dead_rows(&sorted, values)? {
            Some((alive, numbers)) => {
                keys.retain(&alive);
                sorted.into_table(form, |row| first + u64::from(numbers[row as usize]))?
            }
            None => sorted.into_table(form, |row| first + row)?,
        };
        keys.shrink();
        Ok(ComplexKeyHashed { shape, keys: vec![keys], table })
    }
}

impl LayoutBuilder for ComplexKeyHashedBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()> {
        let block = self.shape.encode(keys)?;
        for row in 0..block.len() {
            self.keys.push(block.get(row));
        }
        self.table.push(hashes(&block), payloads)
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        Ok(Box::new(self.into_layout(values)?))
    }
}

impl Layout for ComplexKeyHashed {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let block = self.shape.encode(keys)?;
        let asked = block.view();
        let own: Vec<_> = self.keys.iter().map(StringArena::view).collect();
        let mut is_key = |index: usize, row: u64| {
            let (segment, row) = split_row(own.len(), row);
            own[segment].get(row) == asked.get(index)
        };
        Ok(self.table.find(&hashes(&block), Some(&mut is_key)))
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        let hashes = hashes(&self.shape.encode(keys)?);
        self.table.check(&hashes)?;
        let mut rows = Vec::new();
        let mut note = |_, row| {
            rows.push(row);
            false
        };
        self.table.find(&hashes, Some(&mut note));
        rows.into_iter().try_for_each(|row| {
            let (segment, row) = split_row(self.keys.len(), row);
            self.keys[segment].check(row)
        })
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.table.save(image)?;
        image.number(self.keys.len() as u64);
        self.save_keys(image)
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        for (segment, keys) in self.keys.iter().enumerate() {
            let number = |row: usize| (segment as u64) << SEGMENT_BITS | row as u64;
            for first in (0..keys.len()).step_by(SCAN_BLOCK_ROWS) {
                let rows = first..keys.len().min(first + SCAN_BLOCK_ROWS);
                let block = self.shape.decode(rows.clone().map(|row| keys.get(row)))?;
                visit(block, rows.map(number).collect())?;
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.keys.iter().map(StringArena::heap_bytes).sum::<usize>()
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
