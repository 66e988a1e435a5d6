//! JSON: the whole result of a query, a line a row, or an array a column.

mod columns_read;
mod columns_write;
mod document;
mod document_read;
mod object_rows;
mod object_rows_read;
mod progress;
mod row;
mod rows_read;
mod rows_write;
mod values;

pub(crate) use self::columns_read::open_columns;
pub(crate) use self::columns_write::{ColumnsFrame, JsonColumnsWriter};
pub(crate) use self::document::JsonWriter;
pub(crate) use self::document_read::{is_rows, open_document};
pub(crate) use self::object_rows::JsonObjectRowsWriter;
pub(crate) use self::object_rows_read::open_object_rows;
pub(crate) use self::progress::JsonProgressWriter;
pub(crate) use self::row::{Cells, Shape};
pub(crate) use self::rows_read::{open_arrays, open_objects, open_texts};
pub(crate) use self::rows_write::{JsonRowsWriter, Layout};
