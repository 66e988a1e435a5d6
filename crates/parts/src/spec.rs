//! What the parts of a table look like: columns, codecs, key, granule size.

use arrow::datatypes::{Field, FieldRef, SchemaRef};
use arrow::row::SortField;
use basalt_base::Columns;
use basalt_codec::CodecChain;
use std::sync::Arc;

/// Rows of a granule unless the table says otherwise.
pub const GRANULE_ROWS_DEFAULT: usize = 8192;

/// The shape of every part that a table writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSpec {
    pub columns: Columns,
    /// One chain a column.
    pub codecs: Vec<CodecChain>,
    /// Positions of the columns that rows are sorted by; empty keeps the order of insertion.
    pub sort_key: Vec<usize>,
    /// How many of `sort_key` the primary index holds.
    pub primary_key_len: usize,
    /// Rows of a granule, the unit of reading.
    pub granule_rows: usize,
}

impl PartSpec {
    /// A table of `columns` without a key, with the default codec and granule size.
    pub fn new(columns: Columns) -> PartSpec {
        let codecs = vec![CodecChain::default(); columns.len()];
        PartSpec {
            columns,
            codecs,
            sort_key: Vec::new(),
            primary_key_len: 0,
            granule_rows: GRANULE_ROWS_DEFAULT,
        }
    }

    pub(crate) fn assert_valid(&self) {
        assert_eq!(self.columns.len(), self.codecs.len(), "one codec chain a column");
        assert!(self.primary_key_len <= self.sort_key.len(), "the primary key is a prefix of the sort key");
        assert!(self.sort_key.iter().all(|&column| column < self.columns.len()), "key columns exist");
        assert!((1..=1 << 20).contains(&self.granule_rows), "a granule has 1 to 2^20 rows");
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.columns.to_arrow()
    }

    pub(crate) fn field(&self, column: usize) -> FieldRef {
        Arc::new(self.columns[column].to_field())
    }

    pub(crate) fn primary_key(&self) -> &[usize] {
        &self.sort_key[..self.primary_key_len]
    }
}

/// How one column of a key is ordered: ascending, NULL and then NaN last, as ClickHouse has it.
pub(crate) fn sort_field(field: &Field) -> SortField {
    let options = arrow::compute::SortOptions { descending: false, nulls_first: false };
    SortField::new_with_options(field.data_type().clone(), options)
}
