//! The format settings, under ClickHouse's names.

mod by_name;
mod format;
mod parse;
mod short_text;
mod text;

pub use self::format::{
    CsvSettings, CustomSettings, DEFAULT_BLOCK_ROWS, EscapingRule, FormatSettings, JsonSettings,
    SqlInsertSettings, TsvSettings,
};
pub use self::short_text::ShortText;
pub use self::text::{BoolWords, DateTimeInput, DateTimeOutput, TextSettings};
