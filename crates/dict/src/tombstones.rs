//! Rows that delete keys, and the rows that are left.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt8Array};
use arrow::compute::filter;
use arrow::datatypes::UInt8Type;
use arrow::row::{OwnedRow, RowConverter, SortField};
use basalt_base::{Error, Result, SqlType};

use crate::attribute::Attribute;
use crate::spec::DictionarySpec;

/// The column after the attributes of a source's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// Nothing.
    Plain,
    /// A tombstone: a `UInt8` that is not 0 if the row deletes its key.
    Marked,
}

/// The keys whose last row deletes them.
pub(crate) struct DeletedKeys {
    key_count: usize,
    defaults: Vec<ArrayRef>,
    converter: Option<RowConverter>,
    keys: HashSet<OwnedRow>,
}

impl DeletedKeys {
    /// No keys yet.
    pub(crate) fn of(spec: &DictionarySpec) -> DeletedKeys {
        let defaults = spec.attributes.iter().map(|attribute| Arc::clone(&attribute.default)).collect();
        DeletedKeys { key_count: spec.key_columns.len(), defaults, converter: None, keys: HashSet::new() }
    }

    /// The rows of a marked block that delete nothing, without their tombstones.
    pub(crate) fn take_from(&mut self, block: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        self.note(block)?;
        let (mark, columns) = split_mark(block)?;
        match alive(mark)? {
            alive if alive.false_count() == 0 => Ok(columns.to_vec()),
            alive => filtered(columns, &alive),
        }
    }

    /// The deletions as blocks of changes, as [`crate::update`] takes them.
    pub(crate) fn as_changes(&self) -> Result<Vec<Vec<ArrayRef>>> {
        let Some(converter) = self.converter.as_ref().filter(|_| !self.keys.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut block =
            converter.convert_rows(self.keys.iter().map(OwnedRow::row)).map_err(Error::of_arrow)?;
        let rows = self.keys.len();
        let zeroes = arrow::array::UInt32Array::from(vec![0; rows]);
        for default in &self.defaults {
            block.push(arrow::compute::take(default, &zeroes, None).map_err(Error::logical)?);
        }
        block.push(Arc::new(UInt8Array::from_value(1, rows)));
        Ok(vec![block])
    }

    fn note(&mut self, block: &[ArrayRef]) -> Result<()> {
        let (mark, columns) = split_mark(block)?;
        let alive = alive(mark)?;
        if alive.false_count() == 0 && self.keys.is_empty() {
            return Ok(());
        }
        let rows = self.rows(&columns[..self.key_count])?;
        for (row, alive) in rows.into_iter().zip(alive.values()) {
            if alive {
                self.keys.remove(&row)
            } else {
                self.keys.insert(row)
            };
        }
        Ok(())
    }

    fn rows(&mut self, keys: &[ArrayRef]) -> Result<Vec<OwnedRow>> {
        if self.converter.is_none() {
            let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
            self.converter = Some(RowConverter::new(fields).map_err(Error::of_arrow)?);
        }
        let Some(converter) = &self.converter else { return Ok(Vec::new()) };
        let rows = converter.convert_columns(keys).map_err(Error::of_arrow)?;
        Ok(rows.iter().map(|row| row.owned()).collect())
    }

    /// The rows of a marked block that delete nothing, and whose keys are not deleted by later rows.
    fn take_surviving(&mut self, block: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let (mark, columns) = split_mark(block)?;
        let alive = alive(mark)?;
        if self.keys.is_empty() && alive.false_count() == 0 {
            return Ok(columns.to_vec());
        }
        let rows = self.rows(&columns[..self.key_count])?;
        let stays = rows.iter().zip(alive.values()).map(|(row, alive)| alive && !self.keys.contains(row));
        filtered(columns, &stays.map(Some).collect())
    }
}

/// The rows of marked blocks without those of deleted keys. The blocks are read more than once.
pub(crate) fn surviving<I: Iterator<Item = Result<Vec<ArrayRef>>>>(
    spec: &DictionarySpec,
    blocks: impl Fn() -> I,
) -> Result<impl Iterator<Item = Result<Vec<ArrayRef>>>> {
    let mut deleted = DeletedKeys::of(spec);
    blocks().try_for_each(|block| deleted.note(&block?))?;
    Ok(blocks().map(move |block| deleted.take_surviving(&block?)))
}

/// The tombstone as the last attribute.
pub(crate) fn mark_attribute() -> Attribute {
    Attribute {
        name: "deleted".into(),
        ty: SqlType::UInt8,
        default: SqlType::UInt8.default_array(1),
        hierarchical: false,
        injective: false,
    }
}

/// The rows without a tombstone.
pub(crate) fn alive(mark: &ArrayRef) -> Result<BooleanArray> {
    let zero = UInt8Array::new_scalar(0);
    let mark = mark.as_primitive_opt::<UInt8Type>().ok_or_else(no_mark)?;
    arrow::compute::kernels::cmp::eq(mark, &zero).map_err(Error::logical)
}

pub(crate) fn filtered(block: &[ArrayRef], keeps: &BooleanArray) -> Result<Vec<ArrayRef>> {
    block.iter().map(|column| filter(column, keeps).map_err(Error::of_arrow)).collect()
}

pub(crate) fn no_mark() -> Error {
    Error::logical("a dictionary's changes have no mark of deleted keys")
}

fn split_mark(block: &[ArrayRef]) -> Result<(&ArrayRef, &[ArrayRef])> {
    block.split_last().ok_or_else(no_mark)
}
