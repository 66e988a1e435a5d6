//! The table of formats: a line a name.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result};

use super::absent::ABSENT;
use crate::header::Header;
use crate::json::{Cells, ColumnsFrame, Shape};
use crate::pretty::Frame;
use crate::row_binary::RowLayout;

/// A format, independent of the alias that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Tsv(Header),
    TsvRaw(Header),
    Csv(Header),
    Custom(Header),
    Tskv,
    Json(Shape, Cells),
    JsonEachRow(Cells),
    JsonCompactEachRow(Cells, Header),
    JsonProgress(Shape, Cells),
    PrettyJson,
    JsonObjectEachRow,
    JsonColumns(ColumnsFrame),
    JsonAsString,
    Xml,
    Values,
    Native,
    RowBinary(RowLayout),
    SqlInsert,
    Markdown,
    Pretty(Frame),
    Vertical,
    LineAsString(Header),
    RawBlob,
    Arrow,
    ArrowStream,
    Parquet,
    One,
    Null,
}

/// One line a name: its format, whether it can be read, whether it can be written.
pub(super) const FORMATS: &[(&str, Format, bool, bool)] = &[
    ("TabSeparated", Format::Tsv(Header::None), true, true),
    ("TabSeparatedWithNames", Format::Tsv(Header::Names), true, true),
    ("TabSeparatedWithNamesAndTypes", Format::Tsv(Header::NamesAndTypes), true, true),
    ("TSV", Format::Tsv(Header::None), true, true),
    ("TSVWithNames", Format::Tsv(Header::Names), true, true),
    ("TSVWithNamesAndTypes", Format::Tsv(Header::NamesAndTypes), true, true),
    ("TabSeparatedRaw", Format::TsvRaw(Header::None), true, true),
    ("TabSeparatedRawWithNames", Format::TsvRaw(Header::Names), true, true),
    ("TabSeparatedRawWithNamesAndTypes", Format::TsvRaw(Header::NamesAndTypes), true, true),
    ("TSVRaw", Format::TsvRaw(Header::None), true, true),
    ("TSVRawWithNames", Format::TsvRaw(Header::Names), true, true),
    ("TSVRawWithNamesAndTypes", Format::TsvRaw(Header::NamesAndTypes), true, true),
    ("Raw", Format::TsvRaw(Header::None), true, true),
    ("RawWithNames", Format::TsvRaw(Header::Names), true, true),
    ("RawWithNamesAndTypes", Format::TsvRaw(Header::NamesAndTypes), true, true),
    ("TSKV", Format::Tskv, true, true),
    ("CSV", Format::Csv(Header::None), true, true),
    ("CSVWithNames", Format::Csv(Header::Names), true, true),
    ("CSVWithNamesAndTypes", Format::Csv(Header::NamesAndTypes), true, true),
    ("CustomSeparated", Format::Custom(Header::None), true, true),
    ("CustomSeparatedWithNames", Format::Custom(Header::Names), true, true),
    ("CustomSeparatedWithNamesAndTypes", Format::Custom(Header::NamesAndTypes), true, true),
    ("JSON", Format::Json(Shape::Object, Cells::Values), true, true),
    ("JSONCompact", Format::Json(Shape::Array, Cells::Values), true, true),
    ("JSONStrings", Format::Json(Shape::Object, Cells::Text), false, true),
    ("JSONCompactStrings", Format::Json(Shape::Array, Cells::Text), false, true),
    ("JSONEachRow", Format::JsonEachRow(Cells::Values), true, true),
    ("JSONLines", Format::JsonEachRow(Cells::Values), true, true),
    ("NDJSON", Format::JsonEachRow(Cells::Values), true, true),
    ("JSONL", Format::JsonEachRow(Cells::Values), true, true),
    ("JSONStringsEachRow", Format::JsonEachRow(Cells::Text), true, true),
    ("JSONCompactEachRow", Format::JsonCompactEachRow(Cells::Values, Header::None), true, true),
    ("JSONCompactEachRowWithNames", Format::JsonCompactEachRow(Cells::Values, Header::Names), true, true),
    (
        "JSONCompactEachRowWithNamesAndTypes",
        Format::JsonCompactEachRow(Cells::Values, Header::NamesAndTypes),
        true,
        true,
    ),
    ("JSONCompactStringsEachRow", Format::JsonCompactEachRow(Cells::Text, Header::None), true, true),
    (
        "JSONCompactStringsEachRowWithNames",
        Format::JsonCompactEachRow(Cells::Text, Header::Names),
        true,
        true,
    ),
    (
        "JSONCompactStringsEachRowWithNamesAndTypes",
        Format::JsonCompactEachRow(Cells::Text, Header::NamesAndTypes),
        true,
        true,
    ),
    ("JSONEachRowWithProgress", Format::JsonProgress(Shape::Object, Cells::Values), false, true),
    ("JSONStringsEachRowWithProgress", Format::JsonProgress(Shape::Object, Cells::Text), false, true),
    ("JSONCompactEachRowWithProgress", Format::JsonProgress(Shape::Array, Cells::Values), false, true),
    ("JSONCompactStringsEachRowWithProgress", Format::JsonProgress(Shape::Array, Cells::Text), false, true),
    ("PrettyJSONEachRow", Format::PrettyJson, false, true),
    ("PrettyJSONLines", Format::PrettyJson, false, true),
    ("PrettyNDJSON", Format::PrettyJson, false, true),
    ("JSONObjectEachRow", Format::JsonObjectEachRow, true, true),
    ("JSONColumns", Format::JsonColumns(ColumnsFrame::Object), true, true),
    ("JSONCompactColumns", Format::JsonColumns(ColumnsFrame::Array), true, true),
    ("JSONColumnsWithMetadata", Format::JsonColumns(ColumnsFrame::Document), true, true),
    ("JSONAsString", Format::JsonAsString, true, false),
    ("XML", Format::Xml, false, true),
    ("Values", Format::Values, true, true),
    ("Native", Format::Native, true, true),
    ("RowBinary", Format::RowBinary(RowLayout::of_values(Header::None)), true, true),
    ("RowBinaryWithNames", Format::RowBinary(RowLayout::of_values(Header::Names)), true, true),
    (
        "RowBinaryWithNamesAndTypes",
        Format::RowBinary(RowLayout::of_values(Header::NamesAndTypes)),
        true,
        true,
    ),
    ("RowBinaryWithDefaults", Format::RowBinary(RowLayout::with_defaults(Header::None)), true, false),
    (
        "RowBinaryWithNamesAndTypesAndDefaults",
        Format::RowBinary(RowLayout::with_defaults(Header::NamesAndTypes)),
        true,
        false,
    ),
    ("SQLInsert", Format::SqlInsert, false, true),
    ("Markdown", Format::Markdown, false, true),
    ("MD", Format::Markdown, false, true),
    ("Pretty", Format::Pretty(Frame::Full), false, true),
    ("PrettyNoEscapes", Format::Pretty(Frame::Full), false, true),
    ("PrettyMonoBlock", Format::Pretty(Frame::Full), false, true),
    ("PrettyNoEscapesMonoBlock", Format::Pretty(Frame::Full), false, true),
    ("PrettyCompact", Format::Pretty(Frame::Compact), false, true),
    ("PrettyCompactNoEscapes", Format::Pretty(Frame::Compact), false, true),
    ("PrettyCompactMonoBlock", Format::Pretty(Frame::Compact), false, true),
    ("PrettyCompactNoEscapesMonoBlock", Format::Pretty(Frame::Compact), false, true),
    ("PrettySpace", Format::Pretty(Frame::Space), false, true),
    ("PrettySpaceNoEscapes", Format::Pretty(Frame::Space), false, true),
    ("PrettySpaceMonoBlock", Format::Pretty(Frame::Space), false, true),
    ("PrettySpaceNoEscapesMonoBlock", Format::Pretty(Frame::Space), false, true),
    ("Vertical", Format::Vertical, false, true),
    ("LineAsString", Format::LineAsString(Header::None), true, true),
    ("LineAsStringWithNames", Format::LineAsString(Header::Names), false, true),
    ("LineAsStringWithNamesAndTypes", Format::LineAsString(Header::NamesAndTypes), false, true),
    ("RawBLOB", Format::RawBlob, true, true),
    ("One", Format::One, true, false),
    ("Arrow", Format::Arrow, true, true),
    ("ArrowStream", Format::ArrowStream, true, true),
    ("Parquet", Format::Parquet, true, true),
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

/// The format called `name`; fails if there is none. Names are case-sensitive.
pub fn find(name: &str) -> Result<FormatInfo> {
    lookup(name).map(|(info, _)| info)
}

pub(crate) fn lookup(name: &str) -> Result<(FormatInfo, Format)> {
    let found = FORMATS.iter().find(|(known, ..)| *known == name);
    if let Some(&(name, format, can_read, can_write)) = found {
        return Ok((FormatInfo { name, can_read, can_write }, format));
    }
    if ABSENT.contains(&name) {
        return Err(Error::not_implemented(format!("format {name}")));
    }
    let hint = did_you_mean(name, FORMATS.iter().map(|(known, ..)| *known));
    Err(Error::new(ErrorCode::UnknownFormat, format!("unknown format `{name}`{hint}")))
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
    fn formats_of_clickhouse_are_known_or_refused_by_name() {
        let recorded = include_str!("../../testdata/clickhouse/formats.tsv");
        for line in recorded.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, is_input, is_output, content_type] = fields[..] else { panic!("{line}") };
            let Ok(info) = find(name) else {
                assert_eq!(find(name).unwrap_err().code(), ErrorCode::NotImplemented, "{name}");
                continue;
            };
            assert!(!ABSENT.contains(&name), "{name}");
            assert_eq!(
                (u8::from(info.can_read).to_string(), u8::from(info.can_write).to_string()),
                (is_input.to_owned(), is_output.to_owned()),
                "{name}"
            );
            if info.can_write {
                let columns = basalt_base::Columns::new(vec![basalt_base::Column::new(
                    "a",
                    basalt_base::SqlType::String,
                )]);
                let writer = crate::open_writer(name, &columns, &crate::FormatSettings::default()).unwrap();
                assert_eq!(writer.content_type(), content_type, "{name}");
            }
        }
        assert!(
            FORMATS
                .iter()
                .all(|(name, ..)| recorded.lines().any(|line| line.starts_with(&format!("{name}\t"))))
        );
    }
}
