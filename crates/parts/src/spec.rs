//! What the parts of a table look like: columns, codecs, keys, granule size.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Field, FieldRef, SchemaRef};
use arrow::row::SortField;
use basalt_base::{Columns, SqlType};
use basalt_codec::CodecChain;
use std::sync::Arc;

use crate::error::Result;
use crate::index::skip_index::{INDEX_GRANULARITY_MAX, SkipIndex};
use crate::key::element::{KeyElement, KeyValue};
use crate::key::partition::PartitionValue;
use crate::mode::MergeMode;

/// Rows of a granule unless the table says otherwise.
pub const GRANULE_ROWS_DEFAULT: usize = 8192;

/// Parts with fewer bytes of values are compact, unless the table says otherwise.
pub const WIDE_BYTES_MIN_DEFAULT: u64 = 10 << 20;

/// Rows of a granule at most.
pub(crate) const GRANULE_ROWS_MAX: usize = 1 << 20;

/// The shape of every part that a table writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSpec {
    pub columns: Columns,
    /// One chain a column.
    pub codecs: Vec<CodecChain>,
    /// What rows are sorted by; empty keeps the order of insertion.
    pub sort_key: Vec<KeyElement>,
    /// How many of `sort_key` the primary index holds.
    pub primary_key_len: usize,
    /// What a part's rows have in common; empty for one partition.
    pub partition_key: Vec<KeyElement>,
    /// Rows of a granule, the unit of reading.
    pub granule_rows: usize,
    /// A part with fewer bytes of values is compact: one file instead of one a column.
    pub wide_bytes_min: u64,
    /// As `wide_bytes_min`, in rows.
    pub wide_rows_min: u64,
    pub indexes: Vec<SkipIndex>,
    /// For each column what its rows hold in a part that was written before it was added; `None` is the
    /// default of its type.
    pub fills: Vec<Option<Fill>>,
    /// What merges do with rows of an equal sort key.
    pub mode: MergeMode,
}

/// One value, in an array of one row.
#[derive(Clone, Debug)]
pub struct Fill(ArrayRef);

impl Fill {
    /// # Panics
    ///
    /// If the array does not have exactly one row.
    pub fn new(value: ArrayRef) -> Fill {
        assert_eq!(value.len(), 1, "a fill is one value");
        Fill(value)
    }

    fn repeat(&self, rows: usize) -> Result<ArrayRef> {
        Ok(take(&self.0, &UInt32Array::from(vec![0; rows]), None)?)
    }
}

impl PartialEq for Fill {
    fn eq(&self, other: &Fill) -> bool {
        self.0.as_ref() == other.0.as_ref()
    }
}

impl Eq for Fill {}

impl PartSpec {
    /// A table of `columns` without a key, with the default codec and granule size.
    pub fn new(columns: Columns) -> PartSpec {
        let codecs = vec![CodecChain::default(); columns.len()];
        let fills = vec![None; columns.len()];
        PartSpec {
            fills,
            columns,
            codecs,
            sort_key: Vec::new(),
            primary_key_len: 0,
            partition_key: Vec::new(),
            granule_rows: GRANULE_ROWS_DEFAULT,
            wide_bytes_min: WIDE_BYTES_MIN_DEFAULT,
            wide_rows_min: 0,
            indexes: Vec::new(),
            mode: MergeMode::Ordinary,
        }
    }

    /// What is left of the table when only `columns` are looked at, which contain the sort key and what
    /// the mode needs.
    pub(crate) fn project(&self, columns: &[usize]) -> PartSpec {
        let place = |column: usize| {
            columns.iter().position(|&other| other == column).expect("the key and the mode are projected")
        };
        PartSpec {
            columns: columns.iter().map(|&column| self.columns[column].clone()).collect(),
            codecs: columns.iter().map(|&column| self.codecs[column].clone()).collect(),
            fills: columns.iter().map(|&column| self.fills[column].clone()).collect(),
            sort_key: self.sort_key.iter().map(|element| element.moved(place)).collect(),
            // All rows of a part have the same value of it.
            partition_key: Vec::new(),
            mode: self.mode.moved(place),
            ..self.clone()
        }
    }

    pub(crate) fn assert_valid(&self) {
        assert_eq!(self.columns.len(), self.codecs.len(), "one codec chain a column");
        assert_eq!(self.columns.len(), self.fills.len(), "one fill a column");
        assert!(self.primary_key_len <= self.sort_key.len(), "the primary key is a prefix of the sort key");
        assert!(self.keys().all(|element| self.has_columns_of(element)), "key columns exist");
        assert!(self.indexes.iter().all(|index| self.is_index(index)), "indexes are of columns");
        assert!((1..=GRANULE_ROWS_MAX).contains(&self.granule_rows), "a granule has rows, and not too many");
    }

    fn is_index(&self, index: &SkipIndex) -> bool {
        let granularity = 1..=INDEX_GRANULARITY_MAX;
        granularity.contains(&index.granularity) && self.columns.position(&index.column).is_some()
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.columns.to_arrow()
    }

    pub(crate) fn field(&self, column: usize) -> FieldRef {
        Arc::new(self.columns[column].to_field())
    }

    /// The values of a column in rows that were written before it was added.
    pub(crate) fn filled(&self, column: usize, rows: usize) -> Result<ArrayRef> {
        match &self.fills[column] {
            Some(fill) => fill.repeat(rows),
            None => Ok(self.columns[column].ty.default_array(rows)),
        }
    }

    pub(crate) fn primary_key(&self) -> &[KeyElement] {
        &self.sort_key[..self.primary_key_len]
    }

    /// The elements of all keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &KeyElement> {
        self.sort_key.iter().chain(&self.partition_key)
    }

    pub(crate) fn keys_mut(&mut self) -> impl Iterator<Item = &mut KeyElement> {
        self.sort_key.iter_mut().chain(&mut self.partition_key)
    }

    /// Whether a key needs the column at `position`.
    pub(crate) fn is_in_key(&self, position: usize) -> bool {
        self.keys().any(|element| element.reads(position, &self.columns))
    }

    fn has_columns_of(&self, element: &KeyElement) -> bool {
        match &element.value {
            KeyValue::Column(position) => *position < self.columns.len(),
            KeyValue::Expression(expression) => {
                expression.columns().iter().all(|name| self.columns.position(name).is_some())
            }
        }
    }

    /// The types of the sorting key's elements.
    pub fn sort_types(&self) -> Vec<SqlType> {
        self.sort_key.iter().map(|element| element.ty(&self.columns).clone()).collect()
    }

    /// The types of the partition key's elements.
    pub fn partition_types(&self) -> Vec<SqlType> {
        self.partition_key.iter().map(|element| element.ty(&self.columns).clone()).collect()
    }

    /// The partition that the first row of `batch` belongs to.
    pub(crate) fn partition_of(&self, batch: &RecordBatch) -> Result<PartitionValue> {
        let first = batch.slice(0, 1);
        let element = |element: &KeyElement| {
            Ok((element.ty(&self.columns).clone(), element.array(&first, &self.columns)?))
        };
        Ok(PartitionValue { elements: self.partition_key.iter().map(element).collect::<Result<_>>()? })
    }
}

/// How one column of a key is ordered: ascending, NULL and then NaN last, as ClickHouse has it.
pub(crate) fn sort_field(field: &Field) -> SortField {
    let options = arrow::compute::SortOptions { descending: false, nulls_first: false };
    SortField::new_with_options(field.data_type().clone(), options)
}
