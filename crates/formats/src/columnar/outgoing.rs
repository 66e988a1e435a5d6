//! Our columns as the Arrow arrays that ClickHouse writes.
//!
//! A String column is declared as text although it may hold any bytes, as in ClickHouse. Its array is binary, because an
//! array of text must be valid UTF-8; both have the same buffers in a file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, Int64Array, ListArray, MapArray, RecordBatch,
    RecordBatchOptions, StructArray,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type, Schema, SchemaRef, TimeUnit};
use basalt_base::types::TupleElement;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};

use super::conversion::reordered;
use crate::settings::TextSettings;
use crate::text::{Style, ValueWriter};

/// The format that the columns are for: the types of times, strings and enums depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Arrow,
    Parquet,
}

/// Converts blocks of some columns.
pub(super) struct Outgoing {
    columns: Columns,
    target: Target,
    text: TextSettings,
    /// The schema of the converted blocks.
    stored: SchemaRef,
}

/// Whether String is text in a schema, or what its arrays are.
#[derive(Clone, Copy)]
enum Strings {
    Text,
    Bytes,
}

impl Outgoing {
    pub(super) fn new(columns: &Columns, target: Target, text: &TextSettings) -> Outgoing {
        let mut outgoing =
            Outgoing { columns: columns.clone(), target, text: *text, stored: Arc::new(Schema::empty()) };
        outgoing.stored = outgoing.schema(Strings::Bytes);
        outgoing
    }

    /// The schema of the converted blocks, which has no text.
    pub(super) fn stored(&self) -> &SchemaRef {
        &self.stored
    }

    /// The schema that the file shows if String is text.
    pub(super) fn declared(&self) -> SchemaRef {
        self.schema(Strings::Text)
    }

    pub(super) fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(batch.columns());
        let arrays = columns.map(|(column, array)| {
            self.array(&column.ty, array).map_err(|error| error.within(format!("column `{}`", column.name)))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.stored), arrays.collect::<Result<_>>()?, &options)
            .map_err(Error::of_arrow)
    }

    fn schema(&self, strings: Strings) -> SchemaRef {
        let fields = self.columns.iter().map(|column| self.field(&column.name, &column.ty, strings));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn field(&self, name: &str, ty: &SqlType, strings: Strings) -> Field {
        let field = Field::new(name, self.data_type(ty, strings), ty.accepts_null());
        match ty.stripped() {
            SqlType::Uuid => field.with_metadata(HashMap::from([
                ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned()),
                ("ARROW:extension:metadata".to_owned(), String::new()),
            ])),
            _ => field,
        }
    }

    fn data_type(&self, ty: &SqlType, strings: Strings) -> DataType {
        let is_parquet = self.target == Target::Parquet;
        match ty.stripped() {
            SqlType::String => match (strings, self.target) {
                (Strings::Text, _) => DataType::Utf8,
                (Strings::Bytes, Target::Arrow) => DataType::Binary,
                (Strings::Bytes, Target::Parquet) => DataType::BinaryView,
            },
            SqlType::Enum8(_) | SqlType::Enum16(_) if is_parquet => DataType::BinaryView,
            SqlType::Date | SqlType::Date32 => DataType::Date32,
            SqlType::DateTime(_) if is_parquet => {
                DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
            }
            SqlType::DateTime64 { precision, zone } => {
                let zone = zone.as_deref().unwrap_or_else(|| self.text.zone.name());
                let zone = if is_parquet { "UTC" } else { zone };
                DataType::Timestamp(self.unit(*precision).0, Some(zone.into()))
            }
            SqlType::Array(element) => DataType::List(self.element_field(element, strings)),
            SqlType::Tuple(elements) => DataType::Struct(self.tuple_fields(elements, strings)),
            SqlType::Map(key, value) => {
                let entries = DataType::Struct(self.map_fields(key, value, strings));
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            other => other.carrier(),
        }
    }

    fn element_field(&self, element: &SqlType, strings: Strings) -> FieldRef {
        Arc::new(self.field("item", element, strings))
    }

    fn tuple_fields(&self, elements: &[TupleElement], strings: Strings) -> Fields {
        let named = elements.iter().enumerate().map(|(index, element)| {
            let name = element.name.clone().unwrap_or_else(|| (index + 1).to_string());
            self.field(&name, &element.ty, strings)
        });
        named.collect()
    }

    fn map_fields(&self, key: &SqlType, value: &SqlType, strings: Strings) -> Fields {
        Fields::from(vec![self.field("key", key, strings), self.field("value", value, strings)])
    }

    /// The unit of a timestamp that holds `10^-precision` seconds, and its own precision. Parquet has no seconds.
    fn unit(&self, precision: u8) -> (TimeUnit, u8) {
        match precision {
            0 if self.target == Target::Arrow => (TimeUnit::Second, 0),
            0..=3 => (TimeUnit::Millisecond, 3),
            4..=6 => (TimeUnit::Microsecond, 6),
            _ => (TimeUnit::Nanosecond, 9),
        }
    }

    fn array(&self, ty: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
        let stored = self.data_type(ty, Strings::Bytes);
        match ty.stripped() {
            SqlType::Date => cast_exactly(&cast_exactly(array, &DataType::Int32)?, &stored),
            SqlType::DateTime(_) if self.target == Target::Parquet => {
                cast_exactly(&scaled(&cast_exactly(array, &DataType::Int64)?, 3)?, &stored)
            }
            SqlType::DateTime64 { precision, .. } => {
                cast_exactly(&scaled(array, self.unit(*precision).1 - precision)?, &stored)
            }
            SqlType::Enum8(_) | SqlType::Enum16(_) if self.target == Target::Parquet => {
                self.labels(ty, array)
            }
            SqlType::Wide(wide) => {
                let memory = wide.to_memory(array.as_fixed_size_binary().value_data());
                reordered(*wide, memory, array)
            }
            SqlType::Array(element) => self.list(element, array),
            SqlType::Map(key, value) => self.map(key, value, array),
            SqlType::Tuple(elements) => self.tuple(elements, array),
            _ => cast_exactly(array, &stored),
        }
    }

    fn labels(&self, ty: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
        let writer = ValueWriter::new(ty, array, &self.text)?;
        let (mut labels, mut label) = (BinaryViewBuilder::new(), Vec::new());
        for row in 0..array.len() {
            if array.is_null(row) {
                labels.append_null();
                continue;
            }
            label.clear();
            writer.write(row, Style::Raw, &mut label);
            labels.append_value(&label);
        }
        Ok(Arc::new(labels.finish()))
    }

    fn list(&self, element: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
        let list = array.as_list::<i32>();
        let values = self.array(element, list.values())?;
        let field = self.element_field(element, Strings::Bytes);
        let list = ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned());
        Ok(Arc::new(list.map_err(Error::of_arrow)?))
    }

    fn map(&self, key: &SqlType, value: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
        let list = array.as_list::<i32>();
        let entries = list.values().as_struct();
        let columns = vec![self.array(key, entries.column(0))?, self.array(value, entries.column(1))?];
        let fields = self.map_fields(key, value, Strings::Bytes);
        let entries = StructArray::try_new(fields, columns, None).map_err(Error::of_arrow)?;
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map = MapArray::try_new(field, list.offsets().clone(), entries, list.nulls().cloned(), false);
        Ok(Arc::new(map.map_err(Error::of_arrow)?))
    }

    fn tuple(&self, elements: &[TupleElement], array: &ArrayRef) -> Result<ArrayRef> {
        let tuple = array.as_struct();
        if elements.is_empty() {
            return Ok(Arc::clone(array));
        }
        let columns =
            elements.iter().zip(tuple.columns()).map(|(element, column)| self.array(&element.ty, column));
        let fields = self.tuple_fields(elements, Strings::Bytes);
        let tuple = StructArray::try_new(fields, columns.collect::<Result<_>>()?, tuple.nulls().cloned());
        Ok(Arc::new(tuple.map_err(Error::of_arrow)?))
    }
}

/// A cast that fails rather than lose a value.
pub(super) fn cast_exactly(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options)
        .map_err(|error| Error::new(ErrorCode::ValueIsOutOfRange, error.to_string()))
}

/// Ticks times `10^digits`.
fn scaled(ticks: &ArrayRef, digits: u8) -> Result<ArrayRef> {
    let factor = 10_i64.pow(digits.into());
    let ticks: &Int64Array = ticks.as_primitive::<Int64Type>();
    let scaled = ticks.try_unary::<_, Int64Type, Error>(|tick| {
        let out_of_range = || {
            let what = format!("{tick} ticks are out of the range of a timestamp with {digits} more digits");
            Error::new(ErrorCode::ValueIsOutOfRange, what)
        };
        tick.checked_mul(factor).ok_or_else(out_of_range)
    })?;
    Ok(Arc::new(scaled))
}
