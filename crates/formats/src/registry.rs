//! The table of formats: their names, and which of them can be read and written.

use std::io::Read;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, ErrorCode, Result};

use crate::block::{BlockReader, BlockWriter, ExpressionEvaluator};
use crate::header::Header;
use crate::json_write::{JsonLinesWriter, JsonWriter};
use crate::lines::PlainWriter;
use crate::pretty::{Frame, PrettyWriter};
use crate::settings::FormatSettings;
use crate::tabular_write::{Dialect, TabularWriter};
use crate::values_write::{NullWriter, ValuesWriter};
use crate::vertical::VerticalWriter;
use crate::{csv_read, json_read, lines, tsv_read, values_read};

/// A format, independent of the alias that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Tsv(Header),
    TsvRaw(Header),
    Csv(Header),
    Tskv,
    Json,
    JsonCompact,
    JsonEachRow,
    JsonCompactEachRow,
    Values,
    Pretty(Frame),
    Vertical,
    LineAsString,
    RawBlob,
    Null,
}

/// One line a name: its format, whether it can be read, whether it can be written.
const FORMATS: &[(&str, Format, bool, bool)] = &[
    ("TabSeparated", Format::Tsv(Header::None), true, true),
    ("TabSeparatedWithNames", Format::Tsv(Header::Names), true, true),
    ("TabSeparatedWithNamesAndTypes", Format::Tsv(Header::NamesAndTypes), true, true),
    ("TabSeparatedRaw", Format::TsvRaw(Header::None), true, true),
    ("TabSeparatedRawWithNames", Format::TsvRaw(Header::Names), true, true),
    ("TabSeparatedRawWithNamesAndTypes", Format::TsvRaw(Header::NamesAndTypes), true, true),
    ("TSV", Format::Tsv(Header::None), true, true),
    ("TSVWithNames", Format::Tsv(Header::Names), true, true),
    ("TSVWithNamesAndTypes", Format::Tsv(Header::NamesAndTypes), true, true),
    ("TSVRaw", Format::TsvRaw(Header::None), true, true),
    ("Raw", Format::TsvRaw(Header::None), true, true),
    ("TSVRawWithNames", Format::TsvRaw(Header::Names), true, true),
    ("TSVRawWithNamesAndTypes", Format::TsvRaw(Header::NamesAndTypes), true, true),
    ("TSKV", Format::Tskv, false, true),
    ("CSV", Format::Csv(Header::None), true, true),
    ("CSVWithNames", Format::Csv(Header::Names), true, true),
    ("CSVWithNamesAndTypes", Format::Csv(Header::NamesAndTypes), true, true),
    ("JSON", Format::Json, true, true),
    ("JSONCompact", Format::JsonCompact, true, true),
    ("JSONEachRow", Format::JsonEachRow, true, true),
    ("JSONLines", Format::JsonEachRow, true, true),
    ("NDJSON", Format::JsonEachRow, true, true),
    ("JSONL", Format::JsonEachRow, true, true),
    ("JSONCompactEachRow", Format::JsonCompactEachRow, true, true),
    ("Values", Format::Values, true, true),
    ("Pretty", Format::Pretty(Frame::Full), false, true),
    ("PrettyNoEscapes", Format::Pretty(Frame::Full), false, true),
    ("PrettyMonoBlock", Format::Pretty(Frame::Full), false, true),
    ("PrettyCompact", Format::Pretty(Frame::Compact), false, true),
    ("PrettyCompactNoEscapes", Format::Pretty(Frame::Compact), false, true),
    ("PrettyCompactMonoBlock", Format::Pretty(Frame::Compact), false, true),
    ("PrettySpace", Format::Pretty(Frame::Space), false, true),
    ("PrettySpaceNoEscapes", Format::Pretty(Frame::Space), false, true),
    ("PrettySpaceMonoBlock", Format::Pretty(Frame::Space), false, true),
    ("Vertical", Format::Vertical, false, true),
    ("LineAsString", Format::LineAsString, true, true),
    ("RawBLOB", Format::RawBlob, true, true),
    ("Null", Format::Null, false, true),
];

/// A format's name and capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    pub name: &'static str,
    pub can_read: bool,
    pub can_write: bool,
}

/// All names of all formats.
pub fn formats() -> impl Iterator<Item = FormatInfo> {
    FORMATS.iter().map(|&(name, _, can_read, can_write)| FormatInfo { name, can_read, can_write })
}

/// File extensions that are not a format's own name.
const ENDINGS: &[(&str, &str)] = &[("json", "JSON"), ("jsonl", "JSONEachRow"), ("ndjson", "JSONEachRow")];

/// File extensions of ClickHouse's formats that are not supported.
const OTHER_ENDINGS: &[&str] = &[
    "arrow",
    "avro",
    "bin",
    "bson",
    "capnp",
    "feather",
    "markdown",
    "md",
    "messagepack",
    "msgpack",
    "native",
    "npy",
    "orc",
    "parquet",
    "pb",
    "prometheus",
    "protobuf",
    "rowbinary",
    "xml",
];

/// File extensions of compressed files.
const COMPRESSIONS: &[&str] = &["br", "bz2", "deflate", "gz", "gzip", "lz4", "snappy", "xz", "zst", "zstd"];

/// The format of a file extension; `None` if it is unknown. Fails if the format is not supported, or the file is
/// compressed.
pub fn format_of_file_name(name: &str) -> Result<Option<&'static str>> {
    let Some((_, ending)) = name.rsplit_once('/').map_or(name, |(_, file)| file).rsplit_once('.') else {
        return Ok(None);
    };
    let ending = ending.to_ascii_lowercase();
    if COMPRESSIONS.contains(&&*ending) {
        return Err(Error::not_implemented(format!("`{name}`: compression of files (.{ending})")));
    }
    if OTHER_ENDINGS.contains(&&*ending) {
        return Err(Error::not_implemented(format!("`{name}`: the format of files called .{ending}")));
    }
    let by_ending = ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format);
    let by_name =
        || FORMATS.iter().map(|(format, ..)| *format).find(|format| format.eq_ignore_ascii_case(&ending));
    Ok(by_ending.or_else(by_name))
}

/// The format called `name`; fails if there is none. Names are case-sensitive.
pub fn find(name: &str) -> Result<FormatInfo> {
    lookup(name).map(|(info, _)| info)
}

pub(crate) fn lookup(name: &str) -> Result<(FormatInfo, Format)> {
    let found = FORMATS.iter().find(|(known, ..)| *known == name);
    let Some(&(name, format, can_read, can_write)) = found else {
        let hint = did_you_mean(name, FORMATS.iter().map(|(known, ..)| *known));
        return Err(Error::new(ErrorCode::UnknownFormat, format!("unknown format `{name}`{hint}")));
    };
    Ok((FormatInfo { name, can_read, can_write }, format))
}

/// Opens a reader of `format` for rows of `columns`. `VALUES` may hold literals only.
pub fn open_reader(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    open_reader_with(format, columns, settings, input, None)
}

/// Like [`open_reader`], with an evaluator for expressions in `VALUES`.
pub fn open_reader_with(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    evaluator: Option<Arc<dyn ExpressionEvaluator>>,
) -> Result<Box<dyn BlockReader>> {
    let (info, format) = lookup(format)?;
    match format {
        Format::Tsv(header) => tsv_read::open(columns, settings, input, header, false),
        Format::TsvRaw(header) => tsv_read::open(columns, settings, input, header, true),
        Format::Csv(header) => csv_read::open(columns, settings, input, header),
        Format::Json | Format::JsonCompact => json_read::open_document(columns, settings, input),
        Format::JsonEachRow => json_read::open_objects(columns, settings, input),
        Format::JsonCompactEachRow => json_read::open_arrays(columns, settings, input),
        Format::Values => values_read::open(columns, settings, input, evaluator),
        Format::LineAsString => lines::open_lines(columns, settings, input),
        Format::RawBlob => lines::open_blob(columns, settings, input),
        Format::Tskv | Format::Pretty(_) | Format::Vertical | Format::Null => {
            let what = format!("format {} is only written, never read", info.name);
            Err(Error::new(ErrorCode::FormatIsNotSuitableForInput, what))
        }
    }
}

/// Opens a writer of `format` for rows of `columns`.
pub fn open_writer(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
) -> Result<Box<dyn BlockWriter>> {
    let tabular = |dialect, header| Box::new(TabularWriter::new(columns, settings, dialect, header));
    let (_, format) = lookup(format)?;
    Ok(match format {
        Format::Tsv(header) => tabular(Dialect::Tsv, header),
        Format::TsvRaw(header) => tabular(Dialect::TsvRaw, header),
        Format::Csv(header) => tabular(Dialect::Csv, header),
        Format::Tskv => tabular(Dialect::Tskv, Header::None),
        Format::Json => Box::new(JsonWriter::new(columns, settings, false)),
        Format::JsonCompact => Box::new(JsonWriter::new(columns, settings, true)),
        Format::JsonEachRow => Box::new(JsonLinesWriter::new(columns, settings, false)),
        Format::JsonCompactEachRow => Box::new(JsonLinesWriter::new(columns, settings, true)),
        Format::Values => {
            Box::new(ValuesWriter { columns: columns.clone(), text: settings.text, any_row: false })
        }
        Format::Pretty(frame) => Box::new(PrettyWriter::new(columns, settings, frame)),
        Format::Vertical => Box::new(VerticalWriter::new(columns, settings)),
        Format::LineAsString => {
            Box::new(PlainWriter { columns: columns.clone(), text: settings.text, suffix: b"\n" })
        }
        Format::RawBlob => {
            Box::new(PlainWriter { columns: columns.clone(), text: settings.text, suffix: b"" })
        }
        Format::Null => Box::new(NullWriter),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_formats_suggest_known_ones() {
        let error = find("PrettyCompct").unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownFormat);
        assert!(error.message().contains("did you mean `PrettyCompact`?"), "{error}");
        assert!(find("csv").unwrap_err().message().contains("did you mean `CSV`?"));
    }

    #[test]
    fn endings_of_file_names_mean_formats() {
        for (name, format) in [
            ("a.csv", Some("CSV")),
            ("/x.y/a.CSV", Some("CSV")),
            ("a.tsv", Some("TSV")),
            ("a.json", Some("JSON")),
            ("a.jsonl", Some("JSONEachRow")),
            ("a.ndjson", Some("JSONEachRow")),
            ("a.tskv", Some("TSKV")),
            ("a.vertical", Some("Vertical")),
            ("a.txt", None),
            ("/x.csv/a", None),
            ("a", None),
        ] {
            assert_eq!(format_of_file_name(name).unwrap(), format, "{name}");
        }
        for name in ["a.parquet", "a.csv.gz", "a.json.zst", "a.Arrow"] {
            assert_eq!(format_of_file_name(name).unwrap_err().code(), ErrorCode::NotImplemented, "{name}");
        }
    }

    #[test]
    fn the_table_tells_what_can_be_done() {
        let columns = Columns::new(vec![basalt_base::Column::new("a", basalt_base::SqlType::String)]);
        let settings = FormatSettings::default();
        for info in formats() {
            let reader = open_reader(info.name, &columns, &settings, Box::new(&b"{\"data\":[]}"[..]));
            assert_eq!(reader.is_ok(), info.can_read, "{}", info.name);
            assert_eq!(open_writer(info.name, &columns, &settings).is_ok(), info.can_write, "{}", info.name);
        }
    }
}
