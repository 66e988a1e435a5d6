//! The text of single values, as in `toString`, `CAST` and every text format.
//!
//! [`ValueWriter`] and [`ColumnBuilder`] convert whole columns; the free functions convert single values.

mod address;
mod best_effort;
mod builder;
mod escape;
mod ipv6;
mod json;
mod json_nested;
mod labels;
mod nested;
mod nested_write;
mod number;
mod scalar;
mod time;
mod values;
mod writer;

pub use crate::settings::TextSettings;
pub use address::{parse_bool, parse_ipv4, parse_strict_ipv4, parse_uuid, write_ipv4, write_uuid};
pub use best_effort::{DateOrder, Instant, parse_best_effort};
pub use builder::{ColumnBuilder, Parsed};
pub(crate) use escape::write_valid_utf8;
pub use escape::{
    unescape, unquote, write_csv_quoted, write_escaped, write_json_string, write_quoted, write_xml,
};
pub use ipv6::{IPV6_BYTES, ipv4_to_ipv6, parse_ipv6, write_ipv6};
pub use json::{JsonScanner, JsonValue};
pub(crate) use nested::QuotedScanner;
pub(crate) use nested_write::Indent;
pub use number::{
    parse_decimal, parse_float, parse_integer, parse_wide, write_decimal, write_float32, write_float64,
    write_integer,
};
pub use time::{
    parse_date, parse_date_time, parse_date_time64, write_date, write_date_time, write_date_time64,
};
pub(crate) use writer::NULL_SIGN;
pub use writer::{Style, ValueWriter, write_value};
