//! Checks and converts arrays: the blocks of a source and the keys of a caller.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::compute::{interleave, take};
use arrow::datatypes::{
    DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::{Error, Result, SqlType, bail};

use crate::attribute::Attribute;
use crate::spec::DictionarySpec;

/// The keys of a simple layout: any integers. Negative ones wrap, as in a cast to `UInt64`.
pub(crate) fn integer_keys(array: &ArrayRef) -> Result<Vec<u64>> {
    macro_rules! widen {
        ($ty:ty) => {
            Ok(array.as_primitive::<$ty>().values().iter().map(|&key| key as u64).collect())
        };
    }
    match array.data_type() {
        DataType::UInt64 => Ok(array.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::UInt32 => widen!(UInt32Type),
        DataType::UInt16 => widen!(UInt16Type),
        DataType::UInt8 => widen!(UInt8Type),
        DataType::Int64 => widen!(Int64Type),
        DataType::Int32 => widen!(Int32Type),
        DataType::Int16 => widen!(Int16Type),
        DataType::Int8 => widen!(Int8Type),
        other => bail!(TypeMismatch, "a dictionary key of type UInt64 cannot be read from {other}"),
    }
}

/// Checks the number, types and lengths of keys, and that none is NULL.
pub(crate) fn check_keys(types: &[SqlType], keys: &[ArrayRef], simple: bool) -> Result<usize> {
    if keys.len() != types.len() {
        bail!(
            NumberOfArgumentsDoesntMatch,
            "the dictionary has {} key columns, the lookup {}",
            types.len(),
            keys.len()
        );
    }
    let rows = keys.first().map_or(0, |key| key.len());
    for (position, (ty, key)) in types.iter().zip(keys).enumerate() {
        if key.len() != rows {
            return Err(Error::logical("key columns differ in length"));
        }
        if key.null_count() > 0 {
            bail!(
                CannotInsertNullInOrdinaryColumn,
                "key column {} holds NULL; a dictionary's key cannot be NULL",
                position + 1
            );
        }
        if !simple && *key.data_type() != ty.carrier() {
            bail!(TypeMismatch, "key column {} is {}, not {ty}", position + 1, key.data_type());
        }
    }
    Ok(rows)
}

/// The attribute column as the dictionary stores it: NULLs are replaced by the default, unless the attribute may be
/// NULL.
pub(crate) fn attribute_column(attribute: &Attribute, array: &ArrayRef) -> Result<ArrayRef> {
    let Attribute { name, ty, default, .. } = attribute;
    if *array.data_type() != *default.data_type() {
        bail!(TypeMismatch, "attribute `{name}` is {ty}, the source's column is {}", array.data_type());
    }
    if array.null_count() == 0 || ty.accepts_null() {
        return Ok(Arc::clone(array));
    }
    let pick = |row| if array.is_null(row) { (1, 0) } else { (0, row) };
    let picks: Vec<(usize, usize)> = (0..array.len()).map(pick).collect();
    interleave(&[array.as_ref(), default.as_ref()], &picks)
        .map_err(|error| Error::logical(format!("attribute `{name}`: {error}")))
}

/// Splits a source's block into key columns and checked attribute columns.
pub(crate) fn split_block(
    key_types: &[SqlType],
    attributes: &[Attribute],
    block: &[ArrayRef],
    simple: bool,
) -> Result<(usize, Vec<ArrayRef>, Vec<ArrayRef>)> {
    if block.len() != key_types.len() + attributes.len() {
        bail!(
            NumberOfColumnsDoesntMatch,
            "the source returned {} columns, the dictionary has {}",
            block.len(),
            key_types.len() + attributes.len()
        );
    }
    let (keys, values) = block.split_at(key_types.len());
    let rows = check_keys(key_types, keys, simple)?;
    let mut columns = Vec::with_capacity(values.len());
    for (attribute, array) in attributes.iter().zip(values) {
        if array.len() != rows {
            return Err(Error::logical("columns of one block differ in length"));
        }
        columns.push(attribute_column(attribute, array)?);
    }
    Ok((rows, keys.to_vec(), columns))
}

/// A checked block of a source.
pub(crate) struct RowBlock {
    pub(crate) rows: usize,
    pub(crate) keys: Vec<ArrayRef>,
    /// Both ends of each row's range, if rows have one.
    pub(crate) bounds: Vec<ArrayRef>,
    pub(crate) columns: Vec<ArrayRef>,
}

impl RowBlock {
    /// Splits a block of key columns, bounds and attributes.
    pub(crate) fn of(spec: &DictionarySpec, block: &[ArrayRef]) -> Result<RowBlock> {
        let (key_types, simple) = (spec.key_types(), !spec.layout.kind.is_complex());
        let Some(range) = &spec.range else {
            let (rows, keys, columns) = split_block(&key_types, &spec.attributes, block, simple)?;
            return Ok(RowBlock { rows, keys, bounds: Vec::new(), columns });
        };
        let first = key_types.len();
        let Some(bounds) = block.get(first..first + 2) else {
            return Err(Error::logical("a block of a range dictionary without bounds"));
        };
        let others = [&block[..first], &block[first + 2..]].concat();
        let (rows, keys, columns) = split_block(&key_types, &spec.attributes, &others, simple)?;
        let carrier = range.ty.carrier();
        if let Some(wrong) = bounds.iter().find(|bound| bound.len() != rows || *bound.data_type() != carrier)
        {
            bail!(TypeMismatch, "the range is {}, the source's column is {}", range.ty, wrong.data_type());
        }
        Ok(RowBlock { rows, keys, bounds: bounds.to_vec(), columns })
    }
}

/// A `UInt64` key column.
pub(crate) fn key_column(keys: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(keys))
}

/// The given rows of the columns, as columns of their own.
pub(crate) fn select(columns: &[ArrayRef], rows: Vec<u32>) -> Result<Vec<ArrayRef>> {
    let rows = UInt32Array::from(rows);
    columns.iter().map(|column| take(column, &rows, None).map_err(Error::of_arrow)).collect()
}
