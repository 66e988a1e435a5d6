//! The format settings, under ClickHouse's names.

use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result};

/// Rows in a reader's block: a little under 2^16, so that a row number fits 16 bits after padding.
pub const DEFAULT_BLOCK_ROWS: usize = 65_409;
const DEFAULT_MAX_ROW_BYTES: usize = 1 << 30;

/// The settings that affect the text of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSettings {
    /// The session's zone, for types without one.
    pub zone: Zone,
    /// NULL for a type that is not nullable becomes the default value; otherwise it is an error.
    pub null_as_default: bool,
    pub json_quote_64bit_integers: bool,
    pub json_quote_64bit_floats: bool,
    pub json_quote_decimals: bool,
    /// `"nan"` and `"inf"` instead of null.
    pub json_quote_denormals: bool,
    pub json_escape_forward_slashes: bool,
    /// `1.50` for a decimal of two digits instead of `1.5`.
    pub decimal_trailing_zeros: bool,
}

impl Default for TextSettings {
    fn default() -> TextSettings {
        TextSettings {
            zone: Zone::utc(),
            null_as_default: true,
            json_quote_64bit_integers: false,
            json_quote_64bit_floats: false,
            json_quote_decimals: false,
            json_quote_denormals: false,
            json_escape_forward_slashes: true,
            decimal_trailing_zeros: false,
        }
    }
}

/// The settings of a reader or writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatSettings {
    pub text: TextSettings,
    /// Most rows in a reader's block.
    pub max_block_rows: usize,
    /// A single row longer than this is refused.
    pub max_row_bytes: usize,
    /// Threads that parse; 1 parses on the caller's.
    pub threads: usize,
    /// Skip fields without a column in the table; otherwise they are an error.
    pub skip_unknown_fields: bool,
    pub csv_delimiter: u8,
    pub csv_null: String,
    /// An empty, unquoted field is the column's default.
    pub csv_empty_as_default: bool,
    pub csv_crlf_end_of_line: bool,
    pub tsv_delimiter: u8,
    pub tsv_null: String,
    pub tsv_empty_as_default: bool,
    pub tsv_crlf_end_of_line: bool,
    /// Lines to skip before the data.
    pub skip_first_lines: usize,
    /// Treat a first row that consists of the column names as a header.
    pub detect_header: bool,
    pub write_statistics: bool,
    pub pretty_max_rows: usize,
    pub pretty_max_column_pad_width: usize,
    pub pretty_max_value_width: usize,
    pub pretty_row_numbers: bool,
    /// Colour and bold by terminal escapes.
    pub pretty_color: bool,
}

impl Default for FormatSettings {
    fn default() -> FormatSettings {
        FormatSettings {
            text: TextSettings::default(),
            max_block_rows: DEFAULT_BLOCK_ROWS,
            max_row_bytes: DEFAULT_MAX_ROW_BYTES,
            threads: 1,
            skip_unknown_fields: true,
            csv_delimiter: b',',
            csv_null: "\\N".into(),
            csv_empty_as_default: true,
            csv_crlf_end_of_line: false,
            tsv_delimiter: b'\t',
            tsv_null: "\\N".into(),
            tsv_empty_as_default: false,
            tsv_crlf_end_of_line: false,
            skip_first_lines: 0,
            detect_header: true,
            write_statistics: true,
            pretty_max_rows: 10_000,
            pretty_max_column_pad_width: 250,
            pretty_max_value_width: 10_000,
            pretty_row_numbers: true,
            pretty_color: false,
        }
    }
}

impl FormatSettings {
    /// Sets ClickHouse's setting `name`; `false` if that is no format setting.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let text = &mut self.text;
        match name {
            "max_parsing_threads" => self.threads = number(name, value)?.max(1),
            "input_format_skip_unknown_fields" => self.skip_unknown_fields = flag(name, value)?,
            "input_format_null_as_default" => text.null_as_default = flag(name, value)?,
            "format_csv_delimiter" => self.csv_delimiter = single_byte(name, value)?,
            "format_csv_null_representation" => self.csv_null = value.into(),
            "input_format_csv_empty_as_default" => self.csv_empty_as_default = flag(name, value)?,
            "output_format_csv_crlf_end_of_line" => self.csv_crlf_end_of_line = flag(name, value)?,
            "format_tsv_null_representation" => self.tsv_null = value.into(),
            "input_format_tsv_empty_as_default" => self.tsv_empty_as_default = flag(name, value)?,
            "output_format_tsv_crlf_end_of_line" => self.tsv_crlf_end_of_line = flag(name, value)?,
            "input_format_csv_skip_first_lines" | "input_format_tsv_skip_first_lines" => {
                self.skip_first_lines = number(name, value)?;
            }
            "input_format_csv_detect_header" | "input_format_tsv_detect_header" => {
                self.detect_header = flag(name, value)?;
            }
            "output_format_write_statistics" => self.write_statistics = flag(name, value)?,
            "output_format_json_quote_64bit_integers" => text.json_quote_64bit_integers = flag(name, value)?,
            "output_format_json_quote_64bit_floats" => text.json_quote_64bit_floats = flag(name, value)?,
            "output_format_json_quote_decimals" => text.json_quote_decimals = flag(name, value)?,
            "output_format_json_quote_denormals" => text.json_quote_denormals = flag(name, value)?,
            "output_format_json_escape_forward_slashes" => {
                text.json_escape_forward_slashes = flag(name, value)?;
            }
            "output_format_decimal_trailing_zeros" => text.decimal_trailing_zeros = flag(name, value)?,
            pretty => return self.set_pretty(pretty, value),
        }
        Ok(true)
    }

    fn set_pretty(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "output_format_pretty_max_rows" => self.pretty_max_rows = number(name, value)?,
            "output_format_pretty_max_column_pad_width" => {
                self.pretty_max_column_pad_width = number(name, value)?;
            }
            "output_format_pretty_max_value_width" => self.pretty_max_value_width = number(name, value)?,
            "output_format_pretty_row_numbers" => self.pretty_row_numbers = flag(name, value)?,
            "output_format_pretty_color" => self.pretty_color = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        // The caller decides whether the terminal shows colour.
        "auto" => Ok(false),
        other => Err(bad_value(name, other, "0 or 1")),
    }
}

fn number(name: &str, value: &str) -> Result<usize> {
    value.parse().map_err(|_| bad_value(name, value, "a whole number"))
}

fn single_byte(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        &[byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err(bad_value(name, value, "one character")),
    }
}

fn bad_value(name: &str, value: &str, expected: &str) -> Error {
    Error::new(ErrorCode::BadArguments, format!("setting `{name}` is `{value}`, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_name() {
        let mut settings = FormatSettings::default();
        assert!(settings.set("format_csv_delimiter", ";").unwrap());
        assert!(settings.set("output_format_pretty_max_rows", "5").unwrap());
        assert_eq!((settings.csv_delimiter, settings.pretty_max_rows), (b';', 5));
        assert!(!settings.set("max_threads", "4").unwrap());
        assert!(settings.set("input_format_skip_unknown_fields", "maybe").is_err());
    }
}
