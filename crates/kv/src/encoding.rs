//! The encodings of keys and rows, for tables that store them in other places too.

pub use crate::columns::ColumnBuilder;
pub use crate::error::Corrupt;
pub use crate::key_encoding::{EncodedKeys, KeyEncoder};
pub use crate::row_assembler::RowAssembler;
pub use crate::row_encoding::{RowFields, RowLayout, RowReader, RowWriter, StoredRow};
pub use crate::string_row::StringRows;
