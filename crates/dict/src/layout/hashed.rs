//! HASHED, SPARSE_HASHED, HASHED_ARRAY and COMPACT_HASHED: any `UInt64` key, in one hash table.
//!
//! | layout | table | attributes |
//! |---|---|---|
//! | HASHED | cuckoo, a quarter to a tenth of its cells free | in the cells if they are narrow, else by row |
//! | SPARSE_HASHED | cuckoo, a twentieth of its cells free | the same |
//! | HASHED_ARRAY | as HASHED | by row, so that a scan of an attribute reads one array |
//! | COMPACT_HASHED | quotient, without free cells | packed, in the cells or in their order |
//!
//! `MAX_LOAD_FACTOR` limits how far buckets are filled, up to 0.95, or 0.965 for large tables of wide values.
//!
//! # Cost
//!
//! Bytes a key with a `UInt16` attribute, at 20 and at 100 million keys: HASHED 10.7; SPARSE_HASHED 8.4;
//! COMPACT_HASHED 7.7 and 7.4. See `table::cuckoo` and `table::quotient`.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::UInt64Type;
use basalt_base::{Error, Result, processor};

use super::auto_choice::AutoChoice;
use super::contract::{Layout, LayoutBuilder, VisitBlock};
use super::sorted_rows::{drop_dead_rows, extents};
use crate::block::{integer_keys, key_column};
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::hash::{scramble, unscramble};
use crate::image::{ImageReader, ImageWriter};
use crate::payloads::Payloads;
use crate::table::{Hits, ShardedTable, SortedShards, TableBuilder, TableForm, TableShape, both};
use crate::values::{RowOrder, Values};

pub(crate) struct Hashed {
    table: ShardedTable,
    /// The choice of AUTO, if that is the layout.
    choice: Option<AutoChoice>,
}

pub(crate) struct HashedBuilder {
    table: TableBuilder,
    /// `None`: a packed table.
    form: Option<TableForm>,
    /// The number of the first row.
    first: u64,
}

impl Hashed {
    /// Builds the layout from sorted rows. The first of them has the number `first`.
    pub(super) fn new(
        sorted: SortedShards,
        form: TableForm,
        first: u64,
        values: &mut Values,
    ) -> Result<Hashed> {
        let table = match (drop_dead_rows(&sorted, values)?, values) {
            (Some((_, numbers)), _) => {
                sorted.into_table(form, |row| first + u64::from(numbers[row as usize]))?
            }
            (None, Values::Inline(_)) => sorted.into_table(form, |payload| payload)?,
            (None, _) => sorted.into_table(form, |row| first + row)?,
        };
        Ok(Hashed { table, choice: None })
    }

    /// Builds a packed layout from sorted rows, with extents that were decided before if there are any. The first row
    /// has the number `first`.
    pub(super) fn packed(sorted: SortedShards, first: u64, values: &mut Values) -> Result<Hashed> {
        let table = match values {
            Values::Inline(inline) => {
                let payload_bits = match inline.packed_bits() {
                    Some(bits) => bits,
                    None => inline.pack(&extents(&sorted, inline)),
                };
                sorted.into_table(TableForm::Quotient { payload_bits }, |row| inline.packed(row))?
            }
            Values::Rows(store) => {
                store.pack(&RowOrder::new(&sorted))?;
                sorted.into_table(TableForm::Positions { first }, |row| row)?
            }
            Values::Segments(_) => return Err(Error::logical("the segments of a file are not packed again")),
        };
        Ok(Hashed { table, choice: None })
    }
}

impl Hashed {
    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Hashed> {
        Ok(Hashed { table: ShardedTable::open(image)?, choice: None })
    }

    pub(crate) fn table(&self) -> &ShardedTable {
        &self.table
    }

    /// The same layout as a choice of AUTO.
    pub(super) fn chosen(self, choice: AutoChoice) -> Hashed {
        Hashed { choice: Some(choice), ..self }
    }
}

impl HashedBuilder {
    pub(crate) fn new(shape: TableShape, form: TableForm) -> Result<HashedBuilder> {
        Ok(HashedBuilder { table: TableBuilder::new(shape)?, form: Some(form), first: 0 })
    }

    /// A builder for COMPACT_HASHED.
    pub(crate) fn packed(shape: TableShape) -> Result<HashedBuilder> {
        Ok(HashedBuilder { table: TableBuilder::new(shape)?, form: None, first: 0 })
    }

    /// A builder for one shard, whose rows have numbers from `first` on. Without a `form` it is packed.
    pub(crate) fn of_shard(table: TableBuilder, form: Option<TableForm>, first: u64) -> HashedBuilder {
        HashedBuilder { table, form, first }
    }

    pub(crate) fn into_layout(self, values: &mut Values) -> Result<Hashed> {
        // The scrambled key is the hash, so rows with the same hash have the same key.
        let sort = || self.table.sort(|_, _| true);
        match self.form {
            Some(form) => Hashed::new(sort()?, form, self.first, values),
            None => {
                let (sorted, planned) = both(sort, || values.plan());
                planned?;
                Hashed::packed(sorted?, self.first, values)
            }
        }
    }
}

impl LayoutBuilder for HashedBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()> {
        self.table.push(hashes(&keys[0])?, payloads)
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        Ok(Box::new(self.into_layout(values)?))
    }
}

impl Layout for Hashed {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        Ok(self.table.find(&hashes(&keys[0])?, None))
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        self.table.check(&hashes(&keys[0])?)
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        if let Some(choice) = self.choice {
            choice.save(image);
        }
        self.table.save(image)
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

    fn name(&self) -> Option<&'static str> {
        self.choice.map(AutoChoice::name)
    }
}

pub(crate) fn hashes(keys: &ArrayRef) -> Result<Vec<u64>> {
    if let Some(keys) = keys.as_primitive_opt::<UInt64Type>() {
        let keys = keys.values();
        return Ok(processor::run(
            #[inline(always)]
            || keys.iter().map(|&key| scramble(key)).collect(),
        ));
    }
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
        let kinds = [
            LayoutKind::Hashed,
            LayoutKind::SparseHashed,
            LayoutKind::HashedArray,
            LayoutKind::CompactHashed,
            LayoutKind::Auto,
        ];
        for kind in kinds {
            conformance::check_simple(&LayoutSpec::new(kind));
            conformance::check_simple(&LayoutSpec {
                shards: 7,
                max_load_factor: Some(0.99),
                ..LayoutSpec::new(kind)
            });
        }
    }
}
