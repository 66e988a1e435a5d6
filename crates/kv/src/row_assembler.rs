//! Assembles decoded rows to a batch of the projected columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::kernels::zip::zip;
use basalt_base::{Columns, Error, Result, SqlType};

use crate::columns::ColumnBuilder;
use crate::error::Corrupt;
use crate::key_encoding::KeyEncoder;
use crate::row_encoding::RowReader;
use crate::spec::{ComputedDefault, KvSpec};

/// Collects decoded rows and makes a batch of the projected columns.
pub struct RowAssembler {
    columns: Columns,
    key: KeyEncoder,
    key_targets: Vec<Option<usize>>,
    reader: RowReader,
    types: Vec<SqlType>,
    builders: Vec<ColumnBuilder>,
    /// The builder index of each projected column.
    output: Vec<usize>,
    computed: Vec<Computed>,
    /// Number of stored columns of each row; empty if no default is computed.
    own_columns: Vec<usize>,
    len: usize,
}

/// A projected column whose default is computed.
struct Computed {
    builder: usize,
    /// Its index among the columns that are not in the key.
    place: usize,
    inputs: Vec<usize>,
    default: Arc<dyn ComputedDefault>,
}

impl RowAssembler {
    /// For the columns of `spec` at `projection`.
    pub fn new(spec: &KvSpec, projection: &[usize]) -> Result<RowAssembler> {
        let wanted = wanted(spec, projection);
        let target = |position: usize| wanted.binary_search(&position).ok();
        let value_positions = spec.value_positions();
        let types: Vec<SqlType> = wanted.iter().map(|&position| spec.columns[position].ty.clone()).collect();
        let computed = |(place, &position): (usize, &usize)| {
            let (builder, default) = (target(position)?, Arc::clone(spec.computed[position].as_ref()?));
            let inputs = default.inputs().iter().filter_map(|&input| target(input)).collect();
            Some(Computed { builder, place, inputs, default })
        };
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
            computed: value_positions.iter().enumerate().filter_map(computed).collect(),
            own_columns: Vec::new(),
            len: 0,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of rows since the last [`RowAssembler::finish`].
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a row by its encoded key and its value.
    pub fn push(&mut self, key: &[u8], row: &[u8]) -> Result<(), Corrupt> {
        if self.key_targets.iter().any(Option::is_some) {
            self.key.decode(key, &self.key_targets, &mut self.builders)?;
        }
        let own_columns = self.reader.read(row, &mut self.builders)?;
        if !self.computed.is_empty() {
            self.own_columns.push(own_columns);
        }
        self.len += 1;
        Ok(())
    }

    /// Adds a row with the key of a tombstone; its other columns have their types' values, whatever they are.
    pub fn push_tombstone(&mut self, key: &[u8]) -> Result<(), Corrupt> {
        self.key.decode(key, &self.key_targets, &mut self.builders)?;
        self.reader.append_defaults(0, &mut self.builders)?;
        if !self.computed.is_empty() {
            // No default is computed for it.
            self.own_columns.push(usize::MAX);
        }
        self.len += 1;
        Ok(())
    }

    /// Returns the rows so far and resets the assembler.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let fresh = self.types.iter().map(ColumnBuilder::new).collect::<Result<_>>()?;
        let builders = std::mem::replace(&mut self.builders, fresh);
        let mut arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        self.compute(&mut arrays)?;
        let columns = self.output.iter().map(|&at| arrays[at].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.len)));
        RecordBatch::try_new_with_options(self.columns.to_arrow(), columns, &options)
            .map_err(|error| Error::logical(format!("decoded rows do not fit together: {error}")))
    }

    /// Computes the columns that old rows lack. A column may depend on earlier ones, which an old row may lack too.
    fn compute(&mut self, arrays: &mut [ArrayRef]) -> Result<()> {
        for computed in &self.computed {
            let is_old = |&own_columns: &usize| own_columns <= computed.place;
            if !self.own_columns.iter().any(is_old) {
                continue;
            }
            let old: BooleanArray = self.own_columns.iter().map(|own| Some(is_old(own))).collect();
            let inputs: Vec<ArrayRef> = computed.inputs.iter().map(|&input| arrays[input].clone()).collect();
            let values = computed.default.compute(&inputs, self.len)?;
            arrays[computed.builder] =
                zip(&old, &values, &arrays[computed.builder]).map_err(Error::of_arrow)?;
        }
        self.own_columns.clear();
        Ok(())
    }
}

/// The projected columns in order, then the columns that they are computed from.
fn wanted(spec: &KvSpec, projection: &[usize]) -> Vec<usize> {
    let mut wanted: Vec<usize> = projection.to_vec();
    let mut at = 0;
    while at < wanted.len() {
        let inputs = spec.computed[wanted[at]].iter().flat_map(|default| default.inputs());
        let new: Vec<usize> = inputs.copied().filter(|input| !wanted.contains(input)).collect();
        wanted.extend(new);
        at += 1;
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}
