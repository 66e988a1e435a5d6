//! The attributes of a loaded dictionary: what a layout's payload stands for.
//!
//! - [`inline`]: narrow attributes packed into the payload itself.
//! - [`store`]: columns, and the payload is a row number; a column is one of
//!   - [`fixed`]: values of one width, back to back;
//!   - [`strings`]: all strings in one arena;
//!   - [`packed`]: the same in as few bits as they need;
//!   - [`nested`]: arrow arrays of any other type.

mod bitmap;
mod fixed;
mod inline;
mod nested;
mod packed;
mod store;
mod strings;

pub(crate) use bitmap::Bitmap;
pub(crate) use fixed::{fixed_array, fixed_bytes_of, fixed_width};
pub(crate) use inline::InlineValues;
pub(crate) use store::ColumnStore;
pub(crate) use strings::StringArena;

use arrow::array::ArrayRef;
use basalt_base::Result;

use crate::dictionary::Attribute;
use crate::table::Hits;

/// The most rows that a dictionary with row numbers holds: they are `u32`.
pub(crate) const ROWS_MAX: usize = u32::MAX as usize;

/// Turns payloads into attribute arrays.
pub(crate) enum Values {
    Inline(InlineValues),
    Rows(ColumnStore),
}

impl Values {
    /// Packed into the payload where `may_inline` and the attributes are narrow enough, else columns.
    pub(crate) fn new(attributes: &[Attribute], may_inline: bool) -> Values {
        match InlineValues::new(attributes) {
            Some(inline) if may_inline => Values::Inline(inline),
            _ => Values::Rows(ColumnStore::new(attributes)),
        }
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        match self {
            Values::Inline(inline) => inline.payload_bytes(),
            Values::Rows(_) => size_of::<u32>(),
        }
    }

    /// Takes a block of attribute columns and returns the payload of each row.
    pub(crate) fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        match self {
            Values::Inline(inline) => inline.payloads(columns, rows),
            Values::Rows(store) => store.push(columns, rows),
        }
    }

    /// The arrays of `attributes` for each hit; the default where it is missing.
    pub(crate) fn get(&self, attributes: &[usize], hits: &Hits) -> Result<Vec<ArrayRef>> {
        match self {
            Values::Inline(inline) => attributes.iter().map(|&at| inline.get(at, hits)).collect(),
            Values::Rows(store) => attributes.iter().map(|&at| store.get(at, hits)).collect(),
        }
    }

    /// Ends the rows: must be called before the first [`Values::get`].
    pub(crate) fn shrink(&mut self) -> Result<()> {
        match self {
            Values::Inline(_) => Ok(()),
            Values::Rows(store) => store.shrink(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Values::Inline(_) => 0,
            Values::Rows(store) => store.heap_bytes(),
        }
    }
}
