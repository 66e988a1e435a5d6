//! Opens the reader or writer of a format by its name.

use std::fs::File;
use std::io::Read;

use basalt_base::{Columns, Error, ErrorCode, Result};

use super::table::{Format, lookup};
use crate::block::{BlockReader, BlockWriter, Callbacks};
use crate::columnar::{self, IpcWriter, ParquetInput, ParquetWriter};
use crate::custom::CustomWriter;
use crate::header::Header;
use crate::json::{
    Cells, ColumnsFrame, JsonColumnsWriter, JsonObjectRowsWriter, JsonProgressWriter, JsonRowsWriter,
    JsonWriter, Layout, Shape,
};
use crate::lines::PlainWriter;
use crate::markdown_write::MarkdownWriter;
use crate::native::{self, NativeWriter};
use crate::pretty::PrettyWriter;
use crate::row_binary::{self, RowBinaryWriter, RowLayout};
use crate::settings::FormatSettings;
use crate::sql_insert_write::SqlInsertWriter;
use crate::tabular_write::{Dialect, TabularWriter};
use crate::values_write::{NullWriter, ValuesWriter};
use crate::vertical::VerticalWriter;
use crate::xml_write::XmlWriter;
use crate::{csv_read, custom, json, lines, one_read, tskv_read, tsv_read, values_read};

/// Opens a reader of `format` for rows of `columns`. `VALUES` may hold literals only, and types that a binary file says
/// must be those of the columns, up to LowCardinality and Nullable.
pub fn open_reader(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    open_reader_with(format, columns, settings, input, Callbacks::default())
}

/// Like [`open_reader`], with an evaluator for expressions in `VALUES` and a converter of types.
pub fn open_reader_with(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    callbacks: Callbacks,
) -> Result<Box<dyn BlockReader>> {
    let (info, format) = lookup(format)?;
    match format {
        Format::Tsv(header) => tsv_read::open(columns, settings, input, header, false),
        Format::TsvRaw(header) => tsv_read::open(columns, settings, input, header, true),
        Format::Csv(header) => csv_read::open(columns, settings, input, header),
        Format::Custom(header) => custom::open(columns, settings, header, input),
        Format::Tskv => tskv_read::open(columns, settings, input),
        Format::Json(_, Cells::Values) => json::open_document(columns, settings, input),
        Format::JsonEachRow(cells) => json::open_objects(columns, settings, cells, input),
        Format::JsonCompactEachRow(cells, header) => {
            json::open_arrays(columns, settings, cells, header, input)
        }
        Format::JsonObjectEachRow => json::open_object_rows(columns, settings, input),
        Format::JsonColumns(frame) => json::open_columns(columns, settings, frame, input),
        Format::JsonAsString => json::open_texts(columns, settings, input),
        Format::Values => values_read::open(columns, settings, input, callbacks.evaluator),
        Format::Native => native::open(columns, settings, input, callbacks.converter),
        Format::RowBinary(layout) => row_binary::open(columns, settings, input, layout, callbacks.converter),
        Format::LineAsString(Header::None) => lines::open_lines(columns, settings, input),
        Format::RawBlob => lines::open_blob(columns, settings, input),
        Format::Arrow => columnar::open_file(columns, settings, input),
        Format::ArrowStream => columnar::open_stream(columns, settings, input),
        Format::Parquet => columnar::open_parquet(columns, settings, ParquetInput::Stream(input)),
        Format::One => one_read::open(columns),
        Format::Json(_, Cells::Text)
        | Format::JsonProgress(..)
        | Format::PrettyJson
        | Format::Xml
        | Format::SqlInsert
        | Format::Markdown
        | Format::Pretty(_)
        | Format::Vertical
        | Format::LineAsString(_)
        | Format::Null => {
            let what = format!("format {} is only written, never read", info.name);
            Err(Error::new(ErrorCode::FormatIsNotSuitableForInput, what))
        }
    }
}

/// Like [`open_reader`], of a regular file, for a format that [`reads_in_place`].
pub fn open_file_reader(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    file: File,
) -> Result<Box<dyn BlockReader>> {
    match lookup(format)?.1 {
        Format::Parquet => columnar::open_parquet(columns, settings, ParquetInput::File(file)),
        _ => open_reader(format, columns, settings, Box::new(file)),
    }
}

/// Whether the metadata of `format` are at the end of a file, so that it had better be read in place.
pub fn reads_in_place(format: &str) -> Result<bool> {
    Ok(matches!(lookup(format)?.1, Format::Parquet))
}

/// Whether a reader of `format` finds its columns by name, so that one for some of them reads no others.
pub fn reads_single_columns(format: &str) -> Result<bool> {
    Ok(matches!(lookup(format)?.1, Format::Arrow | Format::ArrowStream | Format::Parquet))
}

/// Opens a writer of `format` for rows of `columns`.
pub fn open_writer(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
) -> Result<Box<dyn BlockWriter>> {
    let tabular = |dialect, header| Box::new(TabularWriter::new(columns, settings, dialect, header));
    let rows = |shape, cells, header| JsonRowsWriter::new(columns, settings, shape, cells, header);
    let (info, format) = lookup(format)?;
    Ok(match format {
        Format::Tsv(header) => tabular(Dialect::Tsv, header),
        Format::TsvRaw(header) | Format::LineAsString(header) => tabular(Dialect::TsvRaw, header),
        Format::Csv(header) => tabular(Dialect::Csv, header),
        Format::Custom(header) => Box::new(CustomWriter::new(columns, settings, header)),
        Format::Tskv => tabular(Dialect::Tskv, Header::None),
        Format::Json(shape, cells) => Box::new(JsonWriter::new(columns, settings, shape, cells)),
        Format::JsonEachRow(cells) => Box::new(rows(Shape::Object, cells, Header::None)),
        Format::JsonCompactEachRow(cells, header) => Box::new(rows(Shape::Array, cells, header)),
        Format::JsonProgress(shape, cells) => {
            Box::new(JsonProgressWriter::new(columns, settings, shape, cells))
        }
        Format::PrettyJson => {
            Box::new(rows(Shape::Object, Cells::Values, Header::None).with_layout(Layout::Pretty))
        }
        Format::JsonObjectEachRow => Box::new(JsonObjectRowsWriter::new(columns, settings)?),
        Format::JsonColumns(ColumnsFrame::Object) => {
            Box::new(JsonColumnsWriter::new(columns, settings, Shape::Object))
        }
        Format::JsonColumns(ColumnsFrame::Array) => {
            Box::new(JsonColumnsWriter::new(columns, settings, Shape::Array))
        }
        Format::JsonColumns(ColumnsFrame::Document) => Box::new(JsonWriter::of_columns(columns, settings)),
        Format::Xml => Box::new(XmlWriter::new(columns, settings)),
        Format::Values => {
            Box::new(ValuesWriter { columns: columns.clone(), text: settings.text, any_row: false })
        }
        Format::Native => {
            Box::new(NativeWriter { columns: columns.clone(), revision: settings.client_protocol_version })
        }
        Format::RowBinary(RowLayout { header, marks_missing: false }) => {
            Box::new(RowBinaryWriter { columns: columns.clone(), header })
        }
        Format::SqlInsert => Box::new(SqlInsertWriter::new(columns, settings)),
        Format::Markdown => Box::new(MarkdownWriter::new(columns, settings)),
        Format::Pretty(frame) => Box::new(PrettyWriter::new(columns, settings, frame)),
        Format::Vertical => Box::new(VerticalWriter::new(columns, settings)),
        Format::RawBlob => Box::new(PlainWriter { columns: columns.clone(), text: settings.text }),
        Format::Arrow => Box::new(IpcWriter::new(columns, settings, true)?),
        Format::ArrowStream => Box::new(IpcWriter::new(columns, settings, false)?),
        Format::Parquet => Box::new(ParquetWriter::new(columns, settings)?),
        Format::Null => Box::new(NullWriter),
        Format::JsonAsString | Format::One | Format::RowBinary(_) => {
            let what = format!("format {} is only read, never written", info.name);
            return Err(Error::new(ErrorCode::FormatIsNotSuitableForOutput, what));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::formats;
    use super::*;

    #[test]
    fn the_table_tells_what_can_be_done() {
        let columns = Columns::new(vec![basalt_base::Column::new("a", basalt_base::SqlType::String)]);
        let settings = FormatSettings::default();
        for info in formats() {
            let input = &b"{\"data\":[]}"[..];
            let refused = open_reader(info.name, &columns, &settings, Box::new(input)).err();
            let is_written_only =
                refused.is_some_and(|error| error.code() == ErrorCode::FormatIsNotSuitableForInput);
            assert_eq!(is_written_only, !info.can_read, "{}", info.name);
            assert_eq!(open_writer(info.name, &columns, &settings).is_ok(), info.can_write, "{}", info.name);
        }
    }
}
