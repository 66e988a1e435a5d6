//! The shape of a table's parts: columns, codecs, keys, granule size.

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{FieldRef, SchemaRef};
use basalt_base::{Column, Columns, SqlType};
use basalt_codec::CodecChain;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::column::plain::plain;
use crate::conversion::Conversions;
use crate::error::{Error, Result};
use crate::history::ColumnHistory;
use crate::index::skip_index::{INDEX_GRANULARITY_MAX, SkipIndex};
use crate::key::element::{KeyElement, KeyValue};
use crate::key::expression::KeyExpression;
use crate::key::partition::PartitionValue;
use crate::limits::{
    BlockBytes, BrokenLimits, GRANULE_BYTES_DEFAULT, GRANULE_ROWS_DEFAULT, GRANULE_ROWS_MAX, MergeLimits,
    WIDE_BYTES_MIN_DEFAULT,
};
use crate::mode::MergeMode;
use crate::ttl::rule::TtlRule;

/// The shape of the parts that a table writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSpec {
    pub columns: Columns,
    /// One chain a column.
    pub codecs: Vec<CodecChain>,
    /// The sorting key; empty keeps the order of insertion.
    pub sort_key: Vec<KeyElement>,
    /// How many elements of `sort_key` the primary index has.
    pub primary_key_len: usize,
    /// The partition key; empty for one partition.
    pub partition_key: Vec<KeyElement>,
    /// The most rows of a granule, the unit of reading.
    pub granule_rows: usize,
    /// The target size of a granule's values: granules of wide rows have fewer rows. 0 is no limit.
    pub granule_bytes: u64,
    /// A part with fewer bytes of values is compact: one file for all columns.
    pub wide_bytes_min: u64,
    /// Like `wide_bytes_min`, in rows.
    pub wide_rows_min: u64,
    pub indexes: Vec<SkipIndex>,
    /// For each column, its values in parts that were written before it was added; `None` is the default of its
    /// type.
    pub fills: Vec<Option<Fill>>,
    /// Block sizes by column name, for columns that set their own.
    pub blocks: BTreeMap<String, BlockBytes>,
    /// How merges combine rows with equal sorting keys.
    pub mode: MergeMode,
    /// Limits of merges.
    pub merges: MergeLimits,
    /// The most damage with which the table still opens.
    pub broken: BrokenLimits,
    /// When rows and values expire.
    pub ttl: Vec<TtlRule>,
    /// Renamed and dropped columns, for older parts.
    pub history: ColumnHistory,
    /// Changed types of columns, for older parts.
    pub conversions: Conversions,
}

/// The values of a column in rows that were written before it was added.
#[derive(Clone, Debug)]
pub enum Fill {
    /// One value, as an array of one row.
    Value(ArrayRef),
    /// Computed from other columns when the rows are read.
    Computed(Arc<dyn KeyExpression>),
}

impl PartialEq for Fill {
    fn eq(&self, other: &Fill) -> bool {
        match (self, other) {
            (Fill::Value(one), Fill::Value(other)) => one.as_ref() == other.as_ref(),
            (Fill::Computed(one), Fill::Computed(other)) => one.text() == other.text(),
            _ => false,
        }
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
            granule_bytes: GRANULE_BYTES_DEFAULT,
            wide_bytes_min: WIDE_BYTES_MIN_DEFAULT,
            wide_rows_min: 0,
            indexes: Vec::new(),
            blocks: BTreeMap::new(),
            mode: MergeMode::Ordinary,
            merges: MergeLimits::default(),
            broken: BrokenLimits::default(),
            ttl: Vec::new(),
            history: ColumnHistory::default(),
            conversions: Conversions::default(),
        }
    }

    /// The spec without the columns outside `kept`, which contain the keys and the mode's columns, for a part that
    /// is written without them.
    pub(crate) fn only(&self, kept: &[usize]) -> PartSpec {
        let lost = (0..self.columns.len()).filter(|column| !kept.contains(column));
        let lost: Vec<&str> = lost.map(|column| self.columns[column].name.as_str()).collect();
        let is_kept = |index: &&SkipIndex| !lost.iter().any(|name| index.reads(name));
        let indexes = self.indexes.iter().filter(is_kept).cloned().collect();
        PartSpec { indexes, ..self.project_with_partition(kept) }
    }

    /// The spec of a part of `rows` rows with `bytes` bytes of values: granules get as many rows as fit.
    pub(crate) fn sized(self: &Arc<PartSpec>, bytes: u64, rows: u64) -> Arc<PartSpec> {
        let fitting = self.granule_bytes / bytes.div_ceil(rows.max(1)).max(1);
        if self.granule_bytes == 0 || fitting >= self.granule_rows as u64 {
            return Arc::clone(self);
        }
        Arc::new(PartSpec { granule_rows: fitting.max(1) as usize, ..self.as_ref().clone() })
    }

    /// The table projected to `columns`, which contain the sorting key and the mode's columns.
    pub(crate) fn project(&self, columns: &[usize]) -> PartSpec {
        let place = |column: usize| {
            columns.iter().position(|&other| other == column).expect("the key and the mode are projected")
        };
        PartSpec {
            columns: columns.iter().map(|&column| self.columns[column].clone()).collect(),
            codecs: columns.iter().map(|&column| self.codecs[column].clone()).collect(),
            fills: columns.iter().map(|&column| self.fills[column].clone()).collect(),
            sort_key: self.sort_key.iter().map(|element| element.moved(place)).collect(),
            // Constant in a part.
            partition_key: Vec::new(),
            mode: self.mode.moved(place),
            ..self.clone()
        }
    }

    /// The table with one more column at the end.
    pub(crate) fn with_column(mut self, column: Column) -> PartSpec {
        self.columns = self.columns.iter().cloned().chain([column]).collect();
        self.codecs.push(CodecChain::default());
        self.fills.push(None);
        self
    }

    /// Like [`PartSpec::project`], but keeps the partition key, whose columns must be among `columns`.
    pub(crate) fn project_with_partition(&self, columns: &[usize]) -> PartSpec {
        let place = |column: usize| {
            columns.iter().position(|&other| other == column).expect("the partition key is projected")
        };
        let partition_key = self.partition_key.iter().map(|element| element.moved(place)).collect();
        PartSpec { partition_key, ..self.project(columns) }
    }

    pub(crate) fn assert_valid(&self) {
        assert_eq!(self.columns.len(), self.codecs.len(), "one codec chain a column");
        assert_eq!(self.columns.len(), self.fills.len(), "one fill a column");
        assert!(self.primary_key_len <= self.sort_key.len(), "the primary key is a prefix of the sort key");
        assert!(self.keys().all(|element| self.has_columns_of(element)), "key columns exist");
        assert!(self.indexes.iter().all(|index| self.is_index(index)), "columns of indexes exist");
        assert!(self.merges.batch_rows > 0, "a batch has rows");
        assert!((1..=GRANULE_ROWS_MAX).contains(&self.granule_rows), "a granule has rows, and not too many");
    }

    fn is_index(&self, index: &SkipIndex) -> bool {
        let granularity = 1..=INDEX_GRANULARITY_MAX;
        granularity.contains(&index.granularity) && index.fields(&self.columns).is_some()
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.columns.to_arrow()
    }

    pub(crate) fn field(&self, column: usize) -> FieldRef {
        Arc::new(self.columns[column].to_field())
    }

    /// The values of a column in rows that were written before it was added. `read` returns the values of other
    /// columns in these rows.
    pub(crate) fn filled(
        &self,
        column: usize,
        rows: usize,
        mut read: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<ArrayRef> {
        match &self.fills[column] {
            None => Ok(self.columns[column].ty.default_array(rows)),
            Some(Fill::Value(value)) => Ok(take(value, &UInt32Array::from(vec![0; rows]), None)?),
            Some(Fill::Computed(expression)) => {
                let argument = |name: &String| {
                    let position = self.columns.position(name).ok_or_else(|| Error::BlockMismatch {
                        what: format!("column `{name}`, which a DEFAULT reads, is not stored"),
                    })?;
                    Ok(plain(&read(position)?))
                };
                let arguments = expression.columns().iter().map(argument).collect::<Result<Vec<_>>>()?;
                Ok(expression.evaluate(&arguments, rows)?)
            }
        }
    }

    /// Whether rows with equal sorting keys are always in the same partition.
    pub fn is_partitioned_by_key(&self) -> bool {
        let in_key = |column: usize| self.sort_key.iter().any(|key| key.as_column() == Some(column));
        let is_of_key = |element: &KeyElement| {
            let mut read = (0..self.columns.len()).filter(|&column| element.reads(column, &self.columns));
            read.all(in_key)
        };
        self.partition_key.iter().all(is_of_key)
    }

    pub(crate) fn primary_key(&self) -> &[KeyElement] {
        &self.sort_key[..self.primary_key_len]
    }

    /// The elements of all keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &KeyElement> {
        self.sort_key.iter().chain(&self.partition_key)
    }

    /// Whether a key uses the column at `position`.
    pub(crate) fn is_in_key(&self, position: usize) -> bool {
        self.keys().any(|element| element.reads(position, &self.columns))
    }

    /// Whether a key, the mode or a TTL uses the column at `position`.
    pub fn is_needed(&self, position: usize) -> bool {
        self.is_in_key(position)
            || self.mode.columns().contains(&position)
            || self.ttl.iter().any(|rule| rule.needs(&self.columns[position].name))
    }

    /// Whether an expression or multi-column skip index reads the column at `position`.
    pub(crate) fn is_computed_on(&self, position: usize) -> bool {
        let name = &self.columns[position].name;
        self.indexes.iter().any(|index| index.as_column().is_none() && index.reads(name))
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

    /// The partition of the first row of `batch`.
    pub(crate) fn partition_of(&self, batch: &RecordBatch) -> Result<PartitionValue> {
        let first = batch.slice(0, 1);
        let element = |element: &KeyElement| {
            Ok((element.ty(&self.columns).clone(), element.array(&first, &self.columns)?))
        };
        Ok(PartitionValue { elements: self.partition_key.iter().map(element).collect::<Result<_>>()? })
    }
}
