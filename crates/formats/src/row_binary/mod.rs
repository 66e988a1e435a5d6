//! RowBinary: rows of values in binary form, without anything between them.
//!
//! # Layout
//!
//! The variants WithNames and WithNamesAndTypes begin with the number of columns as a varint, the names, and the names
//! of the types, as strings. The variants WithDefaults have a byte in front of each value of a column: 1 if the value is
//! missing, and then nothing follows.
//!
//! | type | a value |
//! |---|---|
//! | fixed width | as in Native, see `binary/fixed.rs` |
//! | String | its length as a varint, its bytes |
//! | Nullable(T) | 1 for NULL, or 0 and the value |
//! | LowCardinality(T) | as T |
//! | Array(T), Map(K, V) | the number of elements as a varint, the elements |
//! | Tuple | the elements |
//! | Nothing, Tuple() | no bytes |

mod bytes;
mod column;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use reader::{header_columns, open};
pub(crate) use writer::RowBinaryWriter;

use crate::header::Header;

/// A variant of RowBinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout {
    pub(crate) header: Header,
    /// A byte in front of each value says whether it is missing.
    pub(crate) marks_missing: bool,
}

impl RowLayout {
    pub(crate) const fn of_values(header: Header) -> RowLayout {
        RowLayout { header, marks_missing: false }
    }

    pub(crate) const fn with_defaults(header: Header) -> RowLayout {
        RowLayout { header, marks_missing: true }
    }
}
