//! The settings of Arrow and Parquet.

use basalt_base::{Error, ErrorCode, Result};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};

/// The settings of the columnar formats, with ClickHouse's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnarSettings {
    /// String columns are declared as text; otherwise as binary.
    pub(super) arrow_string_as_string: bool,
    pub(super) arrow_compression: Option<arrow_ipc::CompressionType>,
    /// Names of columns match in any case.
    pub(super) arrow_any_case: bool,
    /// A column that the file lacks has its default; otherwise it is an error.
    pub(super) arrow_allow_missing: bool,
    pub(super) parquet_string_as_string: bool,
    pub(super) parquet_compression: Compression,
    /// Most rows and bytes of a row group.
    pub(super) parquet_row_group_rows: usize,
    pub(super) parquet_row_group_bytes: usize,
    pub(super) parquet_page_bytes: usize,
    pub(super) parquet_any_case: bool,
    pub(super) parquet_allow_missing: bool,
}

impl Default for ColumnarSettings {
    fn default() -> ColumnarSettings {
        ColumnarSettings {
            arrow_string_as_string: true,
            arrow_compression: Some(arrow_ipc::CompressionType::LZ4_FRAME),
            arrow_any_case: false,
            arrow_allow_missing: true,
            parquet_string_as_string: true,
            parquet_compression: Compression::ZSTD(ZstdLevel::default()),
            parquet_row_group_rows: 1_000_000,
            parquet_row_group_bytes: 512 << 20,
            parquet_page_bytes: 1 << 20,
            parquet_any_case: false,
            parquet_allow_missing: true,
        }
    }
}

impl ColumnarSettings {
    /// Sets ClickHouse's setting `name`; `false` if it is none of these.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let field = match name {
            "output_format_arrow_string_as_string" => &mut self.arrow_string_as_string,
            "input_format_arrow_case_insensitive_column_matching" => &mut self.arrow_any_case,
            "input_format_arrow_allow_missing_columns" => &mut self.arrow_allow_missing,
            "output_format_parquet_string_as_string" => &mut self.parquet_string_as_string,
            "input_format_parquet_case_insensitive_column_matching" => &mut self.parquet_any_case,
            "input_format_parquet_allow_missing_columns" => &mut self.parquet_allow_missing,
            "output_format_arrow_compression_method" => {
                self.arrow_compression = match value {
                    "none" => None,
                    "lz4_frame" => Some(arrow_ipc::CompressionType::LZ4_FRAME),
                    "zstd" => Some(arrow_ipc::CompressionType::ZSTD),
                    _ => return Err(bad_value(name, value, "none, lz4_frame or zstd")),
                };
                return Ok(true);
            }
            _ => return self.set_size(name, value),
        };
        *field = match value {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Err(bad_value(name, value, "0 or 1")),
        };
        Ok(true)
    }

    fn set_size(&mut self, name: &str, value: &str) -> Result<bool> {
        let field = match name {
            "output_format_parquet_row_group_size" => &mut self.parquet_row_group_rows,
            "output_format_parquet_row_group_size_bytes" => &mut self.parquet_row_group_bytes,
            "output_format_parquet_data_page_size" => &mut self.parquet_page_bytes,
            "output_format_parquet_compression_method" => {
                self.parquet_compression = match value {
                    "none" => Compression::UNCOMPRESSED,
                    "snappy" => Compression::SNAPPY,
                    "lz4" => Compression::LZ4_RAW,
                    "gzip" => Compression::GZIP(GzipLevel::default()),
                    "zstd" => Compression::ZSTD(ZstdLevel::default()),
                    _ => return Err(bad_value(name, value, "none, snappy, lz4, gzip or zstd")),
                };
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let size = value.parse().ok().filter(|&size: &usize| size > 0);
        *field = size.ok_or_else(|| bad_value(name, value, "a number above 0"))?;
        Ok(true)
    }
}

fn bad_value(name: &str, value: &str, expected: &str) -> Error {
    Error::new(ErrorCode::BadArguments, format!("setting `{name}` is `{value}`, expected {expected}"))
}
