//! The values of a column, as text and in binary.
//!
//! - `column`: the column, ready to be written row by row.
//! - `text`, `binary`: one value.
//! - `time`: instants with their zones.

mod binary;
mod column;
mod text;
mod time;

pub(super) use column::ColumnValues;
