//! Rows of a table as a segment takes them: keys, stored columns, records of groups, entries of indexes.

use std::sync::Arc;

use arrow::array::builder::{BinaryBuilder, BinaryViewBuilder};
use arrow::array::{ArrayRef, BinaryArray};
use arrow::buffer::BooleanBuffer;
use basalt_base::Result;
use basalt_kv::encoding::{KeyEncoder, RowWriter};
use basalt_segment::RowBlock;

use crate::spec::{ColumnGroup, TableSpec};

/// Makes blocks for segments of a table.
pub(crate) struct BlockWriter {
    spec: Arc<TableSpec>,
    indexes: Vec<KeyEncoder>,
}

impl BlockWriter {
    pub(crate) fn new(spec: &Arc<TableSpec>) -> Result<BlockWriter> {
        let columns = &spec.rows.columns;
        let encoder = |index: &crate::spec::IndexSpec| {
            KeyEncoder::new(index.columns.iter().map(|&column| &columns[column].ty))
        };
        let indexes = spec.indexes.iter().map(encoder).collect::<Result<_>>()?;
        Ok(BlockWriter { spec: Arc::clone(spec), indexes })
    }

    /// Positions of the columns that blocks are made of.
    pub(crate) fn reads(&self) -> Vec<usize> {
        let mut reads = self.spec.rows.value_positions();
        reads.extend(self.spec.indexes.iter().flat_map(|index| &index.columns));
        reads.extend(self.spec.groups.iter().flat_map(|group| &group.columns));
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    /// A block of rows with these encoded keys, and the columns of [`BlockWriter::reads`].
    pub(crate) fn block(
        &self,
        keys: BinaryArray,
        columns: &[ArrayRef],
        tombstones: Option<BooleanBuffer>,
    ) -> Result<RowBlock> {
        let reads = self.reads();
        let mut all: Vec<Option<&ArrayRef>> = vec![None; self.spec.rows.columns.len()];
        reads.iter().zip(columns).for_each(|(&at, column)| all[at] = Some(column));
        let column = |at: usize| {
            let found = all[at].cloned();
            found.ok_or_else(|| basalt_base::Error::logical("a column of a segment was not read"))
        };
        let groups = self.spec.groups.iter().map(|group| self.records(group, &column));
        let single = self.spec.single().into_iter().map(&column);
        let columns = groups.chain(single).collect::<Result<_>>()?;
        let indexes = self.spec.indexes.iter().zip(&self.indexes).map(|(index, encoder)| {
            let arrays = index.columns.iter().map(|&at| column(at)).collect::<Result<Vec<_>>>()?;
            entries(encoder, &arrays, tombstones.as_ref())
        });
        Ok(RowBlock { indexes: indexes.collect::<Result<_>>()?, keys, columns, tombstones })
    }

    fn records(&self, group: &ColumnGroup, column: &dyn Fn(usize) -> Result<ArrayRef>) -> Result<ArrayRef> {
        let arrays = group.columns.iter().map(|&at| column(at)).collect::<Result<Vec<_>>>()?;
        let nullable = group.columns.iter().map(|&at| self.spec.rows.columns[at].ty.accepts_null());
        let writer = RowWriter::new(arrays.iter().zip(nullable), None)?;
        let mut records = BinaryViewBuilder::new();
        let mut record = Vec::new();
        for row in 0..arrays.first().map_or(0, |array| array.len()) {
            record.clear();
            writer.write(row, &mut record);
            records.append_value(&record);
        }
        Ok(Arc::new(records.finish()))
    }
}

/// The entries of an index; a tombstone has none.
fn entries(
    encoder: &KeyEncoder,
    columns: &[ArrayRef],
    tombstones: Option<&BooleanBuffer>,
) -> Result<BinaryArray> {
    let encoded = encoder.encode(columns)?;
    let mut entries = BinaryBuilder::new();
    for row in 0..encoded.len() {
        match tombstones.is_some_and(|tombstones| tombstones.value(row)) {
            true => entries.append_null(),
            false => entries.append_value(encoded.get(row)),
        }
    }
    Ok(entries.finish())
}
