//! Functions of maps: `map`, `mapFromArrays`, `mapKeys`, `mapValues`, `mapContains`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt8Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType, bail};

use super::count::expect_same_size;
use super::lists::{Keys, Lists, chain, common_of, converters, element_of, gather};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::slice_strings;
use crate::scalar::{Argument, Arity, Bound, Converter, LowCardinality, Operand};

/// `map(key, value, ...)`.
pub(super) static MAP: Definition =
    Definition::new("map", Arity::AtLeast(0), bind_map).sees_null().low_cardinality(LowCardinality::Seen);

pub(super) static MAP_FROM_ARRAYS: Definition =
    Definition::new("mapFromArrays", Arity::Exactly(2), bind_from_arrays);

pub(super) static MAP_KEYS: Definition =
    Definition::new("mapKeys", Arity::Exactly(1), |call| bind_column(call, 0));

pub(super) static MAP_VALUES: Definition =
    Definition::new("mapValues", Arity::Exactly(1), |call| bind_column(call, 1));

pub(super) static MAP_CONTAINS: Definition = Definition::new("mapContains", Arity::Exactly(2), bind_contains)
    .aliases(&["mapContainsKey"])
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

fn map_of<'a>(call: &Call<'a>) -> Result<(&'a SqlType, &'a SqlType)> {
    match call.ty(0) {
        SqlType::Map(key, value) => Ok((key, value)),
        _ => Err(call.illegal(0)),
    }
}

fn bind_map(call: &Call<'_>) -> Result<Bound> {
    if !call.len().is_multiple_of(2) {
        bail!(
            NumberOfArgumentsDoesntMatch,
            "function `map` takes keys and values in turn, got {}",
            call.len()
        );
    }
    let keys = common_of(call.name, call.args.iter().step_by(2).map(|arg| &arg.ty))?;
    let values = common_of(call.name, call.args.iter().skip(1).step_by(2).map(|arg| &arg.ty))?;
    let every = |skip: usize| call.args.iter().skip(skip).step_by(2).cloned().collect::<Vec<_>>();
    let of_keys = converters(&every(0), &keys, call.context)?;
    let of_values = converters(&every(1), &values, call.context)?;
    let ty = SqlType::Map(Arc::new(keys.clone()), Arc::new(values.clone()));
    Ok(Bound::new(ty.clone(), move |operands: &[Operand], rows: usize| {
        if operands.is_empty() {
            return Ok(ty.default_array(rows));
        }
        let keys = in_rows(&keys, operands.iter().step_by(2), &of_keys, rows)?;
        let values = in_rows(&values, operands.iter().skip(1).step_by(2), &of_values, rows)?;
        entries(&ty, vec![operands.len() / 2; rows], keys, values)
    }))
}

/// The values of several operands, interleaved by row.
fn in_rows<'a>(
    ty: &SqlType,
    operands: impl Iterator<Item = &'a Operand>,
    converters: &[Converter],
    rows: usize,
) -> Result<ArrayRef> {
    let columns = operands
        .zip(converters)
        .map(|(operand, converter)| converter.convert(&operand.full(rows)?))
        .collect::<Result<Vec<ArrayRef>>>()?;
    let width = columns.len();
    let picked =
        (0..rows).flat_map(|row| (0..width).map(move |column| (column * rows + row) as u32)).collect();
    let lists = gather(ty, &chain(ty, &columns)?, picked, vec![width; rows])?;
    Ok(Arc::clone(lists.as_list::<i32>().values()))
}

/// Maps of all keys and values, with these `lengths`.
fn entries(ty: &SqlType, lengths: Vec<usize>, keys: ArrayRef, values: ArrayRef) -> Result<ArrayRef> {
    let entries =
        StructArray::try_new(ty.struct_fields(), vec![keys, values], None).map_err(Error::of_arrow)?;
    let DataType::List(field) = ty.carrier() else {
        return Err(Error::logical("a map is carried by a list"));
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    let map = ListArray::try_new(field, offsets, Arc::new(entries), None).map_err(Error::of_arrow)?;
    Ok(Arc::new(map))
}

fn bind_from_arrays(call: &Call<'_>) -> Result<Bound> {
    let (key, value) = (element_of(call, 0)?.clone(), element_of(call, 1)?.clone());
    if key.accepts_null() {
        return Err(call.illegal(0));
    }
    let ty = SqlType::Map(Arc::new(key.clone()), Arc::new(value.clone()));
    Ok(Bound::new(ty.clone(), move |operands: &[Operand], rows: usize| {
        let lists = [Lists::of(&operands[0], rows)?, Lists::of(&operands[1], rows)?];
        for row in 0..rows {
            expect_same_size(&lists, row)?;
        }
        // Copied, because a slice of a column holds more elements than its rows.
        let all = |lists: &Lists, ty: &SqlType| -> Result<ArrayRef> {
            let copied =
                lists.rearrange(ty, |_, range, picked| picked.extend(range.map(|index| index as u32)))?;
            Ok(Arc::clone(copied.as_list::<i32>().values()))
        };
        let lengths = (0..rows).map(|row| lists[0].len(row)).collect();
        entries(&ty, lengths, all(&lists[0], &key)?, all(&lists[1], &value)?)
    }))
}

fn bind_column(call: &Call<'_>, column: usize) -> Result<Bound> {
    let (key, value) = map_of(call)?;
    let element = if column == 0 { key.clone() } else { value.clone() };
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let elements = Arc::clone(lists.elements().as_struct().column(column));
        lists.with_elements(&element, elements)
    }))
}

fn bind_contains(call: &Call<'_>) -> Result<Bound> {
    let (key, _) = map_of(call)?;
    let given = &call.args[1].ty;
    if common_type([key, given]).is_none() {
        bail!(
            NoCommonType,
            "function `{}` looks for a key of type {given} among keys of type {key}",
            call.name
        );
    }
    // Keys are never NULL.
    let args =
        [&call.args[0], &call.args[1]].map(|arg| Argument { ty: arg.ty.stripped().clone(), ..arg.clone() });
    let reader = match args[1].ty {
        SqlType::Nothing => None,
        _ => KeyReader::new(&Call { args: &args, ..*call }, key)?,
    };
    let Some(of_key) = reader else {
        return Ok(Bound::new(SqlType::UInt8, |_: &[Operand], rows: usize| {
            Ok(SqlType::UInt8.default_array(rows))
        }));
    };
    Ok(Bound::new(SqlType::UInt8, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let given = operands[1].full(rows)?;
        let wanted = of_key.read(&given)?;
        let keys = Keys::of_all(&[lists.elements().as_struct().column(0), &wanted])?;
        let has = |row: usize| {
            given.is_valid(row) && lists.range(row).any(|entry| keys[0].get(entry) == keys[1].get(row))
        };
        Ok(Arc::new(UInt8Array::from_iter_values((0..rows).map(|row| u8::from(has(row))))) as ArrayRef)
    }))
}

/// Reads the second argument as a key of a map.
pub(super) enum KeyReader {
    Converted(Converter),
    /// A FixedString looked up among strings: its zero bytes count.
    Bytes,
}

impl KeyReader {
    /// `None` if no key can equal the argument: a FixedString of another width.
    pub(super) fn new(call: &Call<'_>, key: &SqlType) -> Result<Option<KeyReader>> {
        let given = &call.args[1].ty;
        Ok(match (key.stripped(), given.stripped()) {
            (SqlType::String, SqlType::FixedString(_)) => Some(KeyReader::Bytes),
            (SqlType::FixedString(own), SqlType::FixedString(other)) if own != other => None,
            _ => Some(KeyReader::Converted(Converter::new(given, key, call.context)?)),
        })
    }

    pub(super) fn read(&self, values: &ArrayRef) -> Result<ArrayRef> {
        match self {
            KeyReader::Converted(converter) => converter.convert(values),
            KeyReader::Bytes => {
                let bytes = values.as_fixed_size_binary();
                Ok(Arc::new(slice_strings(values.len(), |row| Ok(bytes.value(row)))?))
            }
        }
    }
}
