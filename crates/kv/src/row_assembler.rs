//! Decoded rows as a batch of the columns that are wanted.

use arrow::array::{RecordBatch, RecordBatchOptions};
use basalt_base::{Columns, Result, SqlType};

use crate::columns::ColumnBuilder;
use crate::error::Corrupt;
use crate::key_encoding::KeyEncoder;
use crate::row_encoding::RowReader;
use crate::spec::KvSpec;

/// Puts decoded rows together to a batch of the projected columns.
pub(crate) struct RowAssembler {
    columns: Columns,
    key: KeyEncoder,
    key_targets: Vec<Option<usize>>,
    reader: RowReader,
    types: Vec<SqlType>,
    builders: Vec<ColumnBuilder>,
    /// The builder of each projected column.
    output: Vec<usize>,
    len: usize,
}

impl RowAssembler {
    pub(crate) fn new(spec: &KvSpec, projection: &[usize]) -> Result<RowAssembler> {
        let mut wanted: Vec<usize> = projection.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let target = |position: usize| wanted.binary_search(&position).ok();
        let value_positions = spec.value_positions();
        let types: Vec<SqlType> = wanted.iter().map(|&position| spec.columns[position].ty.clone()).collect();
        Ok(RowAssembler {
            columns: spec.columns.project(projection),
            key: spec.key_encoder()?,
            key_targets: spec.key.iter().map(|&position| target(position)).collect(),
            reader: RowReader::new(
                value_positions.iter().map(|&position| spec.columns[position].ty.carrier()).collect(),
                value_positions.iter().map(|&position| target(position)).collect(),
                value_positions.iter().map(|&position| spec.defaults[position].clone()).collect(),
            ),
            builders: types.iter().map(ColumnBuilder::new).collect::<Result<_>>()?,
            types,
            output: projection.iter().filter_map(|&position| target(position)).collect(),
            len: 0,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &[u8]) -> Result<(), Corrupt> {
        if self.key_targets.iter().any(Option::is_some) {
            self.key.decode(key, &self.key_targets, &mut self.builders)?;
        }
        self.reader.read(row, &mut self.builders)?;
        self.len += 1;
        Ok(())
    }

    /// The rows so far; the assembler is empty again.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let fresh = self.types.iter().map(ColumnBuilder::new).collect::<Result<_>>()?;
        let builders = std::mem::replace(&mut self.builders, fresh);
        let arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let columns = self.output.iter().map(|&at| arrays[at].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.len)));
        RecordBatch::try_new_with_options(self.columns.to_arrow(), columns, &options).map_err(|error| {
            basalt_base::Error::logical(format!("decoded rows do not fit together: {error}"))
        })
    }
}
