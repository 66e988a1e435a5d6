//! Rows of the catalog by the names of their columns. A column that a row does not set has 0, an empty text or array,
//! or NULL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    ListArray, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result, SqlType};

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
    Integers(Vec<i64>),
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Bool(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Cell {
        Cell::Integer(i64::from(value))
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Cell {
        Cell::Integer(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Cell {
        Cell::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Cell {
        Cell::Text(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

/// One row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    cells: HashMap<&'static str, Cell>,
}

impl Row {
    pub(super) fn set(mut self, column: &'static str, value: impl Into<Cell>) -> Row {
        self.cells.insert(column, value.into());
        self
    }

    fn integer(&self, column: &str) -> Option<i64> {
        match self.cells.get(column) {
            Some(Cell::Integer(value)) => Some(*value),
            Some(Cell::Bool(value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    fn text(&self, column: &str) -> Option<&str> {
        match self.cells.get(column) {
            Some(Cell::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// The rows as a block.
pub(super) fn block(columns: &Columns, rows: &[Row]) -> Result<RecordBatch> {
    let arrays = columns.iter().map(|column| array(&column.name, &column.ty, rows)).collect();
    RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::of_arrow)
}

fn array(name: &str, ty: &SqlType, rows: &[Row]) -> ArrayRef {
    let default = if ty.accepts_null() { None } else { Some(0) };
    let integers = || rows.iter().map(move |row| row.integer(name).or(default));
    match ty.stripped() {
        SqlType::Bool => {
            Arc::new(integers().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>())
        }
        SqlType::Int16 => Arc::new(integers().map(|v| v.map(|v| v as i16)).collect::<Int16Array>()),
        SqlType::Int32 => Arc::new(integers().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        SqlType::UInt32 => Arc::new(integers().map(|v| v.map(|v| v as u32)).collect::<UInt32Array>()),
        SqlType::Float32 => Arc::new(integers().map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
        SqlType::Float64 => Arc::new(integers().map(|v| v.map(|v| v as f64)).collect::<Float64Array>()),
        SqlType::Int64 | SqlType::DateTime64 { .. } => Arc::new(integers().collect::<Int64Array>()),
        SqlType::Array(element) => list(name, element, rows),
        _ => {
            let default = if ty.accepts_null() { None } else { Some("") };
            Arc::new(rows.iter().map(|row| row.text(name).or(default)).collect::<BinaryViewArray>())
        }
    }
}

fn list(name: &str, element: &SqlType, rows: &[Row]) -> ArrayRef {
    let lists = rows.iter().map(|row| match row.cells.get(name) {
        Some(Cell::Integers(values)) => values.as_slice(),
        _ => &[],
    });
    let lengths = lists.clone().map(<[i64]>::len);
    let integers = lists.flatten();
    let values: ArrayRef = match element {
        SqlType::Int16 => Arc::new(integers.map(|value| *value as i16).collect::<Int16Array>()),
        SqlType::UInt32 => Arc::new(integers.map(|value| *value as u32).collect::<UInt32Array>()),
        SqlType::Float32 => Arc::new(integers.map(|value| *value as f32).collect::<Float32Array>()),
        // Arrays of texts are empty in every relation.
        _ => Arc::new(BinaryViewArray::from_iter_values(std::iter::empty::<&[u8]>())),
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Arc::new(ListArray::new(element.element_field(), offsets, values, None))
}
