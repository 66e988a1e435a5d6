//! Columns of lists for functions of arrays: offsets, elements, and new lists made of existing elements.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat, take};
use arrow::row::{RowConverter, Rows, SortField};
use basalt_base::array_bytes::taken_bytes;
use basalt_base::query::{check_allocation, check_memory};
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use crate::FunctionContext;
use crate::native_order::{Nan, ranked};
use crate::scalar::definition::Call;
use crate::scalar::{Argument, Converter, Operand};

/// The lists of one operand, one per row.
pub(super) struct Lists {
    list: ListArray,
    rows: usize,
    /// 0 if all rows share one list.
    mask: usize,
}

impl Lists {
    pub(super) fn of(operand: &Operand, rows: usize) -> Result<Lists> {
        Lists::of_array(&operand.full(rows)?)
    }

    /// Like [`Lists::of`], but does not copy a constant list for each row. For functions that only read lists.
    pub(super) fn shared(operand: &Operand, rows: usize) -> Result<Lists> {
        if !operand.constant {
            return Lists::of(operand, rows);
        }
        Ok(Lists { rows, mask: 0, ..Lists::of_array(&operand.array)? })
    }

    pub(super) fn of_array(array: &ArrayRef) -> Result<Lists> {
        match array.as_list_opt::<i32>() {
            Some(list) => Ok(Lists { list: list.clone(), rows: list.len(), mask: usize::MAX }),
            None => Err(Error::logical(format!("{} is not the carrier of an array", array.data_type()))),
        }
    }

    /// All elements; each row has a range of them.
    pub(super) fn elements(&self) -> &ArrayRef {
        self.list.values()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        let row = row & self.mask;
        let offsets = self.list.value_offsets();
        offsets[row] as usize..offsets[row + 1] as usize
    }

    pub(super) fn len(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// The same lists with other elements, of equal number.
    pub(super) fn with_elements(&self, element: &SqlType, elements: ArrayRef) -> Result<ArrayRef> {
        let offsets = self.list.offsets().clone();
        let list = ListArray::try_new(element.element_field(), offsets, elements, self.list.nulls().cloned());
        Ok(Arc::new(list.map_err(Error::logical)?))
    }

    /// New lists of existing elements: `pick(range, picked)` appends positions of elements for each row.
    pub(super) fn rearrange(
        &self,
        element: &SqlType,
        mut pick: impl FnMut(usize, Range<usize>, &mut Vec<u32>),
    ) -> Result<ArrayRef> {
        let mut picked = Vec::with_capacity(self.elements().len());
        let mut lengths = Vec::with_capacity(self.rows());
        for row in 0..self.rows() {
            let before = picked.len();
            check_memory()?;
            pick(row, self.range(row), &mut picked);
            lengths.push(picked.len() - before);
        }
        gather(element, self.elements(), picked, lengths)
    }
}

/// Lists of the elements at `picked`, with these `lengths`.
pub(super) fn gather(
    element: &SqlType,
    elements: &ArrayRef,
    picked: Vec<u32>,
    lengths: Vec<usize>,
) -> Result<ArrayRef> {
    check_allocation(taken_bytes(elements.as_ref(), picked.iter().map(|&at| at as usize)))?;
    let elements = take(elements, &UInt32Array::from(picked), None).map_err(Error::of_arrow)?;
    build(element, elements, lengths)
}

/// Lists of all `elements` in order, with these `lengths`.
pub(super) fn build(element: &SqlType, elements: ArrayRef, lengths: Vec<usize>) -> Result<ArrayRef> {
    if i32::try_from(elements.len()).is_err() {
        return Err(Error::new(
            ErrorCode::ArgumentOutOfBound,
            "arrays of more than 2^31 elements in one block are too large",
        ));
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    let list =
        ListArray::try_new(element.element_field(), offsets, elements, None).map_err(Error::of_arrow)?;
    Ok(Arc::new(list))
}

/// Concatenates arrays as values of `element`. Tuple types that differ only in the nullability of elements have
/// different carriers; these are unified here.
pub(super) fn chain(element: &SqlType, arrays: &[ArrayRef]) -> Result<ArrayRef> {
    let carrier = element.carrier();
    let arrays = arrays
        .iter()
        .map(
            |array| if *array.data_type() == carrier { Ok(Arc::clone(array)) } else { cast(array, &carrier) },
        )
        .collect::<std::result::Result<Vec<ArrayRef>, _>>()
        .map_err(Error::logical)?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    concat(&arrays).map_err(Error::of_arrow)
}

/// Values as byte strings with the equality and order of the values, NULL last.
pub(super) struct Keys {
    rows: Rows,
}

impl Keys {
    pub(super) fn of(values: &ArrayRef) -> Result<Keys> {
        let mut keys = Keys::of_all(&[values])?;
        keys.pop().ok_or_else(|| Error::logical("one column has one set of keys"))
    }

    /// Keys in the order of the type.
    pub(super) fn of_type(values: &ArrayRef, ty: &SqlType) -> Result<Keys> {
        Keys::of(&ranked(values, ty, Nan::Last)?)
    }

    /// Keys of several columns of one carrier, comparable with each other.
    pub(super) fn of_all(columns: &[&ArrayRef]) -> Result<Vec<Keys>> {
        let options = arrow::compute::SortOptions { descending: false, nulls_first: false };
        let Some(first) = columns.first() else { return Ok(Vec::new()) };
        let carrier = first.data_type().clone();
        let converter = RowConverter::new(vec![SortField::new_with_options(carrier, options)])
            .map_err(|_| Error::not_implemented("comparison of such elements of arrays"))?;
        let encode = |column: &&ArrayRef| {
            let rows = converter.convert_columns(std::slice::from_ref(*column)).map_err(Error::of_arrow)?;
            Ok(Keys { rows })
        };
        columns.iter().map(encode).collect()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        self.rows.row(index).data()
    }
}

/// The element type of argument `index`, which must be an array.
pub(super) fn element_of<'a>(call: &Call<'a>, index: usize) -> Result<&'a SqlType> {
    match call.ty(index) {
        SqlType::Array(element) => Ok(element),
        _ => Err(call.illegal(index)),
    }
}

/// The common type of all `types`, or NO_COMMON_TYPE.
pub(super) fn common_of<'a>(
    function: &str,
    types: impl IntoIterator<Item = &'a SqlType> + Clone,
) -> Result<SqlType> {
    common_type(types.clone()).ok_or_else(|| {
        let names: Vec<String> = types.into_iter().map(ToString::to_string).collect();
        Error::new(
            ErrorCode::NoCommonType,
            format!("function `{function}` finds no type that holds values of {}", names.join(", ")),
        )
    })
}

/// Conversions of all arguments to `ty`.
pub(super) fn converters(
    args: &[Argument],
    ty: &SqlType,
    context: &FunctionContext,
) -> Result<Vec<Converter>> {
    args.iter().map(|arg| Converter::new(&arg.ty, ty, context)).collect()
}

/// Converts the elements of lists to another type.
pub(super) fn convert_lists(lists: &Lists, converter: &Converter, to: &SqlType) -> Result<Lists> {
    if converter.is_identity() {
        return Ok(Lists { list: lists.list.clone(), ..*lists });
    }
    let elements = converter.convert(lists.elements())?;
    let converted = Lists::of_array(&lists.with_elements(to, elements)?)?;
    Ok(Lists { list: converted.list, ..*lists })
}
