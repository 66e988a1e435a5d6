//! The registry of formats: their names, which of them can be read and written, and how they are opened.

mod absent;
mod endings;
mod open;
mod table;

pub use self::endings::format_of_file_name;
pub use self::open::{
    open_file_reader, open_reader, open_reader_with, open_writer, reads_in_place, reads_single_columns,
};
pub(crate) use self::table::{Format, lookup};
pub use self::table::{FormatInfo, find, formats};
