//! Foreign Arrow arrays as arrays that carry the types of a table.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, Scalar, StructArray, UInt32Array, make_array, new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{is_not_null, take};
use arrow::datatypes::{DataType, Field};
use basalt_base::query::check_allocation;
use basalt_base::types::TupleElement;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::conversion::convert;
use super::foreign_type::scalar;
use super::outgoing::cast_exactly;
use crate::settings::TextSettings;

/// An array of NULLs takes no bytes in a file, so a small file may have any number of them.
const NULLS_MAX: usize = 1 << 28;
/// What such an array takes as one of a table, about.
const NULL_BYTES: usize = 16;

/// The values of `array` as `ty`. NULL is the default value where `ty` has no NULL.
pub(super) fn read_array(array: &ArrayRef, ty: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let array = match array.data_type() {
        DataType::Dictionary(_, values) => &cast_exactly(array, &values.clone())?,
        DataType::RunEndEncoded(_, values) => &cast_exactly(array, values.data_type())?,
        _ => array,
    };
    if *array.data_type() == DataType::Null {
        if array.len() > NULLS_MAX {
            let what = format!("an array of {} NULLs is longer than {NULLS_MAX}", array.len());
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        check_allocation((array.len() * NULL_BYTES) as u64)?;
        return Ok(if ty.accepts_null() {
            arrow::array::new_null_array(&ty.carrier(), array.len())
        } else {
            ty.default_array(array.len())
        });
    }
    match ty.stripped() {
        SqlType::Array(element) => read_list(array, element, settings),
        SqlType::Map(key, value) => read_map(array, key, value, settings),
        SqlType::Tuple(elements) => read_tuple(array, elements, settings),
        scalar => read_scalars(array, scalar, ty, settings),
    }
}

fn read_scalars(array: &ArrayRef, to: &SqlType, ty: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let from = scalar(array.data_type()).map_err(|_| mismatch(array, ty))?;
    let array = convert(&cast_exactly(array, &from.carrier())?, &from, to, settings)?;
    if ty.accepts_null() || array.null_count() == 0 {
        return Ok(array);
    }
    let present = is_not_null(&array).map_err(Error::of_arrow)?;
    zip(&present, &array, &Scalar::new(ty.default_array(1))).map_err(Error::of_arrow)
}

fn read_list(array: &ArrayRef, element: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let list = as_list(array).ok_or_else(|| mismatch(array, &SqlType::array_of(element.clone())))??;
    let (offsets, values) = whole_lists(list.offsets(), list.nulls(), list.values())?;
    let values = read_array(&values, element, settings)?;
    let list = ListArray::try_new(element.element_field(), offsets, values, None);
    Ok(Arc::new(list.map_err(Error::of_arrow)?))
}

/// The array as a list of the same elements, if it is one of some kind.
fn as_list(array: &ArrayRef) -> Option<Result<ListArray>> {
    let field = match array.data_type() {
        DataType::List(_) => return Some(Ok(array.as_list().clone())),
        DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => field,
        _ => return None,
    };
    let list = cast_exactly(array, &DataType::List(Arc::clone(field)));
    Some(list.map(|list| list.as_list().clone()))
}

fn read_map(array: &ArrayRef, key: &SqlType, value: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let ty = SqlType::Map(Arc::new(key.clone()), Arc::new(value.clone()));
    let (offsets, entries) = match array.data_type() {
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            whole_lists(map.offsets(), map.nulls(), &entries)?
        }
        _ => {
            let list = as_list(array).ok_or_else(|| mismatch(array, &ty))??;
            whole_lists(list.offsets(), list.nulls(), list.values())?
        }
    };
    let pairs = entries.as_struct_opt().filter(|pairs| pairs.num_columns() == 2);
    let pairs = pairs.ok_or_else(|| mismatch(array, &ty))?;
    let columns =
        vec![read_array(&child(pairs, 0)?, key, settings)?, read_array(&child(pairs, 1)?, value, settings)?];
    let pairs = StructArray::try_new(ty.struct_fields(), columns, None).map_err(Error::of_arrow)?;
    let field = Arc::new(Field::new("item", pairs.data_type().clone(), false));
    let list = ListArray::try_new(field, offsets, Arc::new(pairs), None);
    Ok(Arc::new(list.map_err(Error::of_arrow)?))
}

fn read_tuple(array: &ArrayRef, elements: &Arc<[TupleElement]>, settings: &TextSettings) -> Result<ArrayRef> {
    let ty = SqlType::Tuple(Arc::clone(elements));
    let foreign = array.as_struct_opt().ok_or_else(|| mismatch(array, &ty))?;
    if elements.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(array.len(), None)));
    }
    let named = |element: &TupleElement| {
        element.name.as_ref().and_then(|name| foreign.column_names().iter().position(|known| known == name))
    };
    let positions: Option<Vec<usize>> = elements.iter().map(named).collect();
    let positions = match positions {
        Some(positions) => positions,
        None if foreign.num_columns() == elements.len() => (0..elements.len()).collect(),
        None => return Err(mismatch(array, &ty)),
    };
    let columns = elements
        .iter()
        .zip(positions)
        .map(|(element, position)| read_array(&child(foreign, position)?, &element.ty, settings));
    let tuple = StructArray::try_new(ty.struct_fields(), columns.collect::<Result<_>>()?, None);
    Ok(Arc::new(tuple.map_err(Error::of_arrow)?))
}

/// A column of a struct, NULL where the struct is.
fn child(parent: &StructArray, position: usize) -> Result<ArrayRef> {
    let column = parent.column(position);
    if parent.null_count() == 0 || *column.data_type() == DataType::Null {
        return Ok(Arc::clone(column));
    }
    let nulls = NullBuffer::union(parent.nulls(), column.nulls());
    let data = column.to_data().into_builder().nulls(nulls).build().map_err(Error::of_arrow)?;
    Ok(make_array(data))
}

/// The offsets and elements of lists where a NULL is an empty list, without the elements of no list.
fn whole_lists(
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
    values: &ArrayRef,
) -> Result<(OffsetBuffer<i32>, ArrayRef)> {
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
        let shifted: ScalarBuffer<i32> = offsets.iter().map(|offset| offset - offsets[0]).collect();
        return Ok((OffsetBuffer::new(shifted), values.slice(first, last - first)));
    };
    let (mut ends, mut kept) = (vec![0], Vec::new());
    for (row, bounds) in offsets.windows(2).enumerate() {
        if nulls.is_valid(row) {
            kept.extend(bounds[0] as u32..bounds[1] as u32);
        }
        ends.push(kept.len() as i32);
    }
    let values = if kept.is_empty() {
        new_empty_array(values.data_type())
    } else {
        take(values, &UInt32Array::from(kept), None).map_err(Error::of_arrow)?
    };
    Ok((OffsetBuffer::new(ends.into()), values))
}

fn mismatch(array: &ArrayRef, ty: &SqlType) -> Error {
    let what = format!("values of the Arrow type {} cannot be read as {ty}", array.data_type());
    Error::new(ErrorCode::TypeMismatch, what)
}
