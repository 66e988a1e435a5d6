//! The settings of readers and writers.

use super::text::{DateTimeInput, TextSettings};
use crate::columnar::ColumnarSettings;

/// Rows in a reader's block: a little under 2^16, so that a row number fits 16 bits after padding.
pub const DEFAULT_BLOCK_ROWS: usize = 65_409;
const DEFAULT_MAX_ROW_BYTES: usize = 1 << 30;

/// The settings of a reader or writer.
#[derive(Clone, Debug, PartialEq)]
pub struct FormatSettings {
    pub text: TextSettings,
    pub csv: CsvSettings,
    pub tsv: TsvSettings,
    pub json: JsonSettings,
    pub custom: CustomSettings,
    pub sql_insert: SqlInsertSettings,
    /// Most rows in a reader's block.
    pub max_block_rows: usize,
    /// A single row longer than this is refused.
    pub max_row_bytes: usize,
    /// Threads that parse; 1 parses on the caller's.
    pub threads: usize,
    /// Skip fields without a column in the table; otherwise they are an error.
    pub skip_unknown_fields: bool,
    /// Names in a header choose the columns; otherwise fields are in the order of the table's columns.
    pub use_header_names: bool,
    /// Types in a header must be those of the columns.
    pub check_header_types: bool,
    /// Rows that may be skipped because they cannot be parsed.
    pub allow_errors_num: usize,
    /// Like `allow_errors_num`, as a part of all rows; an error counts if it exceeds both.
    pub allow_errors_ratio: f64,
    /// Lines to skip before the data.
    pub skip_first_lines: usize,
    /// Treat a first row that consists of the column names as a header.
    pub detect_header: bool,
    pub write_statistics: bool,
    /// The revision of ClickHouse's protocol in which Native is written; 0 is that of files.
    pub client_protocol_version: u64,
    /// Markdown's own characters get a backslash.
    pub markdown_escape: bool,
    pub pretty_max_rows: usize,
    pub pretty_max_column_pad_width: usize,
    pub pretty_max_value_width: usize,
    pub pretty_row_numbers: bool,
    /// Colour and bold by terminal escapes.
    pub pretty_color: bool,
    pub columnar: ColumnarSettings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvSettings {
    pub delimiter: u8,
    pub null: String,
    /// An empty, unquoted field is the column's default.
    pub empty_as_default: bool,
    pub crlf_end_of_line: bool,
    pub allow_double_quotes: bool,
    pub allow_single_quotes: bool,
    /// Spaces around an unquoted field are no part of it.
    pub trim_whitespaces: bool,
    /// A row may have fewer fields, which are missing, or more, which are skipped.
    pub allow_variable_columns: bool,
    /// A value that cannot be parsed is the column's default.
    pub default_on_bad_values: bool,
    pub skip_trailing_empty_lines: bool,
    /// A tuple is written, and read, as a field for each of its elements.
    pub write_tuples_apart: bool,
    pub read_tuples_apart: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TsvSettings {
    pub delimiter: u8,
    pub null: String,
    pub empty_as_default: bool,
    pub crlf_end_of_line: bool,
    pub allow_variable_columns: bool,
    pub skip_trailing_empty_lines: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonSettings {
    /// JSONEachRow is one array of rows.
    pub array_of_rows: bool,
    /// Invalid UTF-8 becomes the replacement character in formats of rows, too.
    pub validate_utf8: bool,
    /// Nested values of a document are on one line.
    pub flat: bool,
    /// A row of JSONCompactEachRow may have fewer values, which are missing, or more, which are skipped.
    pub allow_variable_columns: bool,
    /// The column with the names of the rows of JSONObjectEachRow; empty is none.
    pub object_name_column: String,
    /// Types in `meta` need not be those of the columns.
    pub ignore_metadata_types: bool,
}

/// The style of a field of CustomSeparated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EscapingRule {
    #[default]
    Escaped,
    Quoted,
    Csv,
    Json,
    Raw,
    Xml,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomSettings {
    pub rule: EscapingRule,
    pub field_delimiter: String,
    pub row_before: String,
    pub row_after: String,
    pub row_between: String,
    pub result_before: String,
    pub result_after: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlInsertSettings {
    pub table: String,
    pub rows_max: usize,
    pub write_names: bool,
    pub quote_names: bool,
    pub replace: bool,
}

impl Default for FormatSettings {
    fn default() -> FormatSettings {
        FormatSettings {
            text: TextSettings { date_time_input: DateTimeInput::BestEffort, ..TextSettings::default() },
            csv: CsvSettings::default(),
            tsv: TsvSettings::default(),
            json: JsonSettings::default(),
            custom: CustomSettings::default(),
            sql_insert: SqlInsertSettings::default(),
            max_block_rows: DEFAULT_BLOCK_ROWS,
            max_row_bytes: DEFAULT_MAX_ROW_BYTES,
            threads: 1,
            skip_unknown_fields: true,
            use_header_names: true,
            check_header_types: true,
            allow_errors_num: 0,
            allow_errors_ratio: 0.0,
            skip_first_lines: 0,
            detect_header: true,
            write_statistics: true,
            client_protocol_version: 0,
            markdown_escape: false,
            pretty_max_rows: 10_000,
            pretty_max_column_pad_width: 250,
            pretty_max_value_width: 10_000,
            pretty_row_numbers: true,
            pretty_color: false,
            columnar: ColumnarSettings::default(),
        }
    }
}

impl Default for CsvSettings {
    fn default() -> CsvSettings {
        CsvSettings {
            delimiter: b',',
            null: "\\N".into(),
            empty_as_default: true,
            crlf_end_of_line: false,
            allow_double_quotes: true,
            allow_single_quotes: false,
            trim_whitespaces: true,
            allow_variable_columns: false,
            default_on_bad_values: false,
            skip_trailing_empty_lines: false,
            write_tuples_apart: true,
            read_tuples_apart: true,
        }
    }
}

impl Default for TsvSettings {
    fn default() -> TsvSettings {
        TsvSettings {
            delimiter: b'\t',
            null: "\\N".into(),
            empty_as_default: false,
            crlf_end_of_line: false,
            allow_variable_columns: false,
            skip_trailing_empty_lines: false,
        }
    }
}

impl Default for CustomSettings {
    fn default() -> CustomSettings {
        CustomSettings {
            rule: EscapingRule::Escaped,
            field_delimiter: "\t".into(),
            row_before: String::new(),
            row_after: "\n".into(),
            row_between: String::new(),
            result_before: String::new(),
            result_after: String::new(),
        }
    }
}

impl Default for SqlInsertSettings {
    fn default() -> SqlInsertSettings {
        SqlInsertSettings {
            table: "table".into(),
            rows_max: DEFAULT_BLOCK_ROWS,
            write_names: true,
            quote_names: true,
            replace: false,
        }
    }
}
