//! Any bytes are rows or an error; rows that were read are written as text that reads back to itself.
//!
//! The first byte chooses the format, the second the column types, the rest is the input.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::types::Wide;
use basalt_base::{Column, Columns, SqlType};
use basalt_formats::settings::EscapingRule;
use basalt_formats::{FormatSettings, Statistics, open_reader, open_writer};

const FORMATS: [&str; 24] = [
    "TabSeparated",
    "CSV",
    "JSONEachRow",
    "Values",
    "TabSeparatedWithNamesAndTypes",
    "CSVWithNamesAndTypes",
    "JSONCompactEachRow",
    "JSONCompact",
    "JSON",
    "TSKV",
    "JSONStringsEachRow",
    "JSONCompactStringsEachRow",
    "JSONCompactEachRowWithNamesAndTypes",
    "JSONObjectEachRow",
    "JSONColumns",
    "JSONCompactColumns",
    "JSONColumnsWithMetadata",
    "CustomSeparated",
    "CustomSeparatedWithNames",
    "CustomSeparatedWithNamesAndTypes",
    "Native",
    "RowBinary",
    "RowBinaryWithNames",
    "RowBinaryWithNamesAndTypes",
];

/// The styles of CustomSeparated whose fields read back.
const RULES: [EscapingRule; 4] =
    [EscapingRule::Escaped, EscapingRule::Quoted, EscapingRule::Csv, EscapingRule::Json];

/// Sets of column types.
const TYPES: usize = 6;

/// So that an input of a few kilobytes spans several blocks.
const BLOCK_ROWS: usize = 16;

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [format, types, input @ ..] = bytes else { return };
    let format = FORMATS[usize::from(*format) % FORMATS.len()];
    let columns = columns(*types);
    let mut settings = settings();
    settings.custom.rule = RULES[usize::from(*types) / TYPES % RULES.len()];
    let Some(batches) = read(format, &columns, &settings, input) else { return };
    // Values that are not read from text can be written as text, too.
    write("TabSeparated", &columns, &settings, &batches);
    let text = write(format, &columns, &settings, &batches);
    let again = read(format, &columns, &settings, &text).unwrap_or_else(|| {
        panic!("{format} does not read what it wrote: {}", String::from_utf8_lossy(&text))
    });
    let text_again = write(format, &columns, &settings, &again);
    assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&text_again), "{format}");
}

fn settings() -> FormatSettings {
    let mut settings = FormatSettings {
        max_block_rows: BLOCK_ROWS,
        max_row_bytes: 1 << 20,
        detect_header: false,
        ..FormatSettings::default()
    };
    // Otherwise NaN is written as null, which is read as the type's default.
    settings.text.json_quote_denormals = true;
    settings
}

/// The first column always has text, so that no row is an empty line.
fn columns(choice: u8) -> Columns {
    let types = match usize::from(choice) % TYPES {
        0 => vec![SqlType::UInt8, SqlType::String],
        1 => vec![SqlType::Int64, SqlType::String.into_nullable(), SqlType::Float64],
        2 => vec![
            SqlType::Date,
            SqlType::DateTime(None),
            SqlType::Decimal { precision: 18, scale: 4 },
            SqlType::Uuid,
        ],
        3 => vec![
            SqlType::Enum8([("a".to_owned(), 1), ("b\n".to_owned(), -2)].into()),
            SqlType::DateTime64 { precision: 3, zone: None },
            SqlType::LowCardinality(Arc::new(SqlType::String.into_nullable())),
            SqlType::Float32,
        ],
        4 => vec![
            SqlType::Ipv6,
            SqlType::Wide(Wide::Int128),
            SqlType::Wide(Wide::UInt256).into_nullable(),
            SqlType::Date32,
            SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::Int8)),
        ],
        _ => vec![
            SqlType::Bool,
            SqlType::array_of(SqlType::String.into_nullable()),
            SqlType::tuple_of([SqlType::Ipv4, SqlType::FixedString(3)]),
        ],
    };
    let columns = types.into_iter().enumerate();
    Columns::new(columns.map(|(position, ty)| Column::new(format!("c{position}"), ty)).collect())
}

/// `None` if the input is refused.
fn read(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    input: &[u8],
) -> Option<Vec<RecordBatch>> {
    let input = Box::new(Cursor::new(input.to_vec()));
    // Some formats read a header here.
    let mut reader = open_reader(format, columns, settings, input).ok()?;
    let mut batches = Vec::new();
    while let Some(block) = reader.next_block().ok()? {
        batches.push(block.batch);
    }
    Some(batches)
}

fn write(format: &str, columns: &Columns, settings: &FormatSettings, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = open_writer(format, columns, settings).expect("the format writes these types");
    let mut out = Vec::new();
    writer.start(&mut out);
    for batch in batches {
        writer.write(batch, &mut out).expect("rows that were read");
    }
    writer.finish(&Statistics::default(), &mut out).expect("rows that were read");
    out
}
