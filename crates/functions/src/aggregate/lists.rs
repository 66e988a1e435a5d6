//! Columns of lists, in which sets, samples and arrays are exchanged between threads.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::OffsetBuffer;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::GroupedRows;

/// A list column from the length of each list and the concatenated elements.
pub(super) fn lists(
    element: &SqlType,
    lengths: impl IntoIterator<Item = usize>,
    elements: ArrayRef,
) -> Result<ArrayRef> {
    if i32::try_from(elements.len()).is_err() {
        return Err(Error::new(
            ErrorCode::MemoryLimitExceeded,
            "an aggregate state of more than 2^31 elements in one block is too large",
        ));
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    let lists = ListArray::try_new(element.element_field(), offsets, elements, None);
    Ok(Arc::new(lists.map_err(Error::logical)?))
}

/// Calls `add(element, group)` for every element of every row that counts, with its position in
/// [`ListArray::values`].
pub(super) fn for_each_element(list: &ListArray, rows: &GroupedRows<'_>, mut add: impl FnMut(usize, usize)) {
    let offsets = list.value_offsets();
    rows.for_each(|row, group| {
        for element in offsets[row] as usize..offsets[row + 1] as usize {
            add(element, group);
        }
    });
}

pub(super) fn as_lists(state: &ArrayRef) -> Result<&ListArray> {
    state.as_list_opt().ok_or_else(|| Error::logical("an aggregate state is a list"))
}
