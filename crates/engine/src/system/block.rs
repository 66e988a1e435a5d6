//! Blocks of system tables: arrays from iterators, in the order of the columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, FixedSizeBinaryArray, Float64Array, Int8Array, Int32Array, ListArray,
    StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Columns, Error, Result, SqlType};

use crate::structure::columns_of;

/// Name, type and expression of a column that is computed from others.
pub(super) type Alias = (&'static str, &'static str, &'static str);

/// Columns from names and types.
pub(super) fn columns<const N: usize>(columns: [(&str, SqlType); N]) -> Columns {
    columns.into_iter().map(|(name, ty)| Column::new(name, ty)).collect()
}

/// Columns from their declaration: `name String, number UInt64`.
pub(super) fn declared(text: &str) -> Columns {
    let columns = columns_of(text, "c");
    debug_assert!(columns.is_ok(), "{text}: {columns:?}");
    columns.unwrap_or_else(|_| Columns::new(Vec::new()))
}

/// Array(String).
pub(super) fn string_array() -> SqlType {
    SqlType::array_of(SqlType::String)
}

/// Enum8 of these names.
pub(super) fn enum8(values: &[(&str, i8)]) -> SqlType {
    SqlType::Enum8(values.iter().map(|&(name, number)| (name.to_owned(), number)).collect())
}

/// Collects the arrays of a block, one call a column.
#[derive(Default)]
pub(super) struct BlockBuilder {
    /// None for a column of default values.
    arrays: Vec<Option<ArrayRef>>,
}

impl BlockBuilder {
    pub(super) fn strings<S: AsRef<[u8]>>(&mut self, values: impl IntoIterator<Item = S>) -> &mut Self {
        self.push(Arc::new(BinaryViewArray::from_iter_values(values)))
    }

    /// Strings that may be NULL.
    pub(super) fn maybe_strings<S: AsRef<[u8]>>(
        &mut self,
        values: impl IntoIterator<Item = Option<S>>,
    ) -> &mut Self {
        self.push(Arc::new(BinaryViewArray::from_iter(values)))
    }

    pub(super) fn u8s(&mut self, values: impl IntoIterator<Item = u8>) -> &mut Self {
        self.push(Arc::new(UInt8Array::from_iter_values(values)))
    }

    pub(super) fn i8s(&mut self, values: impl IntoIterator<Item = i8>) -> &mut Self {
        self.push(Arc::new(Int8Array::from_iter_values(values)))
    }

    pub(super) fn u16s(&mut self, values: impl IntoIterator<Item = u16>) -> &mut Self {
        self.push(Arc::new(UInt16Array::from_iter_values(values)))
    }

    pub(super) fn u32s(&mut self, values: impl IntoIterator<Item = u32>) -> &mut Self {
        self.push(Arc::new(UInt32Array::from_iter_values(values)))
    }

    pub(super) fn i32s(&mut self, values: impl IntoIterator<Item = i32>) -> &mut Self {
        self.push(Arc::new(Int32Array::from_iter_values(values)))
    }

    pub(super) fn u64s(&mut self, values: impl IntoIterator<Item = u64>) -> &mut Self {
        self.push(Arc::new(UInt64Array::from_iter_values(values)))
    }

    /// Values that may be NULL.
    pub(super) fn maybe_u64s(&mut self, values: impl IntoIterator<Item = Option<u64>>) -> &mut Self {
        self.push(Arc::new(UInt64Array::from_iter(values)))
    }

    pub(super) fn i64s(&mut self, values: impl IntoIterator<Item = i64>) -> &mut Self {
        self.push(Arc::new(arrow::array::Int64Array::from_iter_values(values)))
    }

    pub(super) fn f64s(&mut self, values: impl IntoIterator<Item = f64>) -> &mut Self {
        self.push(Arc::new(Float64Array::from_iter_values(values)))
    }

    /// Arrays of strings.
    pub(super) fn string_lists<S: AsRef<[u8]>>(
        &mut self,
        lists: impl IntoIterator<Item = Vec<S>>,
    ) -> &mut Self {
        let lists: Vec<Vec<S>> = lists.into_iter().collect();
        let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
        let values = BinaryViewArray::from_iter_values(lists.into_iter().flatten());
        let field = SqlType::String.element_field();
        self.push(Arc::new(ListArray::new(field, offsets, Arc::new(values), None)))
    }

    /// Arrays of `element`, of these lengths.
    pub(super) fn lists(
        &mut self,
        element: &SqlType,
        lengths: impl IntoIterator<Item = usize>,
        values: ArrayRef,
    ) -> &mut Self {
        let offsets = OffsetBuffer::from_lengths(lengths);
        self.push(Arc::new(ListArray::new(element.element_field(), offsets, values, None)))
    }

    /// Arrays of times.
    pub(super) fn u32_lists(&mut self, lists: impl IntoIterator<Item = Vec<u32>>) -> &mut Self {
        let lists: Vec<Vec<u32>> = lists.into_iter().collect();
        let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
        let values = UInt32Array::from_iter_values(lists.into_iter().flatten());
        let field = SqlType::DateTime(None).element_field();
        self.push(Arc::new(ListArray::new(field, offsets, Arc::new(values), None)))
    }

    /// Times that may be NULL.
    pub(super) fn maybe_u32s(&mut self, values: impl IntoIterator<Item = Option<u32>>) -> &mut Self {
        self.push(Arc::new(UInt32Array::from_iter(values)))
    }

    /// Map(String, UInt64) values.
    pub(super) fn count_maps(
        &mut self,
        maps: impl IntoIterator<Item = Vec<(&'static str, u64)>>,
    ) -> &mut Self {
        let maps: Vec<Vec<(&'static str, u64)>> = maps.into_iter().collect();
        let ty = SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::UInt64));
        let offsets = OffsetBuffer::from_lengths(maps.iter().map(Vec::len));
        let names = BinaryViewArray::from_iter_values(maps.iter().flatten().map(|(name, _)| name));
        let counts = UInt64Array::from_iter_values(maps.iter().flatten().map(|(_, count)| *count));
        let fields = ty.struct_fields();
        let entries = StructArray::new(fields.clone(), vec![Arc::new(names), Arc::new(counts)], None);
        let item = Arc::new(arrow::datatypes::Field::new_struct("item", fields, false));
        self.push(Arc::new(ListArray::new(item, offsets, Arc::new(entries), None)))
    }

    pub(super) fn string_maps<'a>(
        &mut self,
        maps: impl IntoIterator<Item = Vec<(&'a str, &'a str)>>,
    ) -> &mut Self {
        let maps: Vec<Vec<(&str, &str)>> = maps.into_iter().collect();
        let ty = SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::String));
        let offsets = OffsetBuffer::from_lengths(maps.iter().map(Vec::len));
        let keys = BinaryViewArray::from_iter_values(maps.iter().flatten().map(|(key, _)| key));
        let values = BinaryViewArray::from_iter_values(maps.iter().flatten().map(|(_, value)| value));
        let fields = ty.struct_fields();
        let entries = StructArray::new(fields.clone(), vec![Arc::new(keys), Arc::new(values)], None);
        let item = Arc::new(arrow::datatypes::Field::new_struct("item", fields, false));
        self.push(Arc::new(ListArray::new(item, offsets, Arc::new(entries), None)))
    }

    pub(super) fn uuids(&mut self, values: impl IntoIterator<Item = uuid::Uuid>) -> &mut Self {
        let bytes: Vec<u8> = values.into_iter().flat_map(uuid::Uuid::into_bytes).collect();
        self.push(Arc::new(FixedSizeBinaryArray::new(16, bytes.into(), None)))
    }

    pub(super) fn push(&mut self, array: ArrayRef) -> &mut Self {
        self.arrays.push(Some(array));
        self
    }

    /// Leaves that many columns to their default values: empty, 0 or NULL.
    pub(super) fn skip(&mut self, columns: usize) -> &mut Self {
        self.arrays.extend(std::iter::repeat_n(None, columns));
        self
    }

    /// The block. Columns at the end that nothing was given for have default values; a column of another type than in
    /// `columns` is a LOGICAL_ERROR.
    pub(super) fn finish(&mut self, columns: &Columns) -> Result<RecordBatch> {
        let mut arrays = std::mem::take(&mut self.arrays);
        arrays.resize(columns.len().max(arrays.len()), None);
        let rows = arrays.iter().flatten().next().map_or(0, |array| array.len());
        let arrays = arrays.into_iter().enumerate();
        let arrays = arrays.map(|(at, array)| array.unwrap_or_else(|| columns[at].ty.default_array(rows)));
        RecordBatch::try_new(columns.to_arrow(), arrays.collect()).map_err(Error::of_arrow)
    }
}
