//! The parts that Native and RowBinary share: values in binary form, types by name, columns matched by name.

mod fixed;
mod header;
mod matching;
mod safe_cast;
mod strings;
#[cfg(test)]
mod tests;
mod type_name;
mod varint;

pub(crate) use fixed::{array_of_fixed, check_labels, fixed_of_array, fixed_width, null_buffer};
pub(crate) use header::{COLUMNS_MAX, NAME_BYTES_MAX};
pub(crate) use matching::Matching;
pub(crate) use safe_cast::with_defaults;
pub(crate) use strings::write_strings;
pub(crate) use type_name::{named_type, without_low_cardinality};
pub(crate) use varint::{read_varint, write_string, write_varint};
