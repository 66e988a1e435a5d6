//! Infers the schema of a file from its first bytes.

use std::fs::File;
use std::io::{BufReader, Read};

use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType};

use crate::columnar;
use crate::csv_read::{first_row_end, split_row};
use crate::header::Header;
use crate::json::is_rows;
use crate::native;
use crate::registry::{Format, lookup};
use crate::row_binary::{self, RowLayout};
use crate::settings::FormatSettings;
use crate::text::{
    JsonScanner, JsonValue, QuotedScanner, parse_date, parse_date_time, parse_float, parse_integer, unescape,
};

/// Bytes of a file that are examined, unless the columns are those of its first block.
const SAMPLE_BYTES: u64 = 1 << 20;
/// Rows that are examined.
const MAX_ROWS: usize = 10_000;
/// Arrays nested deeper than this are inferred as text.
const MAX_DEPTH: usize = 16;

/// The schema of a file in `format` by its first bytes. Names are those of the file if it has them, else `c1`, `c2`,
/// ..; types are those of the file, or inferred and nullable.
pub fn infer_schema(format: &str, input: &mut dyn Read, settings: &FormatSettings) -> Result<Columns> {
    let (info, format) = lookup(format)?;
    match format {
        Format::Native => return native::columns_of(&mut BufReader::new(input), settings),
        Format::Arrow => return columnar::infer_ipc(input, true),
        Format::ArrowStream => return columnar::infer_ipc(input, false),
        Format::Parquet => return columnar::infer_parquet(input),
        _ => {}
    }
    let mut sample = Vec::new();
    input.take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(Error::of_reading)?;
    let sample = &sample[..];
    let columns = match format {
        Format::RowBinary(RowLayout { header: Header::NamesAndTypes, .. }) => {
            return row_binary::header_columns(sample);
        }
        Format::Tsv(header) => from_rows(tsv_rows(sample, settings, true)?, header),
        Format::TsvRaw(header) => from_rows(tsv_rows(sample, settings, false)?, header),
        Format::Csv(header) => from_rows(csv_rows(sample, settings)?, header),
        Format::JsonEachRow(_) => from_objects(sample)?,
        Format::Json(..) if is_rows(sample) => from_objects(sample)?,
        Format::JsonCompactEachRow(_, Header::None) => from_arrays(sample)?,
        Format::Values => from_values(sample),
        Format::LineAsString(_) => vec![Column::new("line", SqlType::String)],
        Format::RawBlob => vec![Column::new("raw_blob", SqlType::String)],
        _ => {
            let what = format!(
                "finding the columns of a file in format {0} is not implemented: name them, as in file('..', '{0}', \
                 'a UInt8, b String')",
                info.name
            );
            return Err(Error::new(ErrorCode::NotImplemented, what));
        }
    };
    if columns.is_empty() {
        let what = "the columns cannot be guessed from an empty file; name them";
        return Err(Error::new(ErrorCode::CannotExtractTableStructure, what));
    }
    Ok(Columns::new(columns))
}

/// The schema of a regular file, for a format that [`crate::reads_in_place`].
pub fn infer_schema_of_file(format: &str, file: File) -> Result<Columns> {
    match lookup(format)?.1 {
        Format::Parquet => columnar::infer_parquet_file(file),
        _ => Err(Error::logical(format!("format {format} is not read in place"))),
    }
}

/// The inferred kind of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Guess {
    Null,
    Bool,
    Int64,
    UInt64,
    Float64,
    Date,
    DateTime,
    String,
    Array(Box<Guess>),
}

impl Guess {
    /// The narrowest kind that holds both.
    fn or(self, other: Guess) -> Guess {
        match (self, other) {
            (left, right) if left == right => left,
            (Guess::Null, found) | (found, Guess::Null) => found,
            (
                Guess::Int64 | Guess::UInt64 | Guess::Float64,
                Guess::Int64 | Guess::UInt64 | Guess::Float64,
            ) => Guess::Float64,
            (Guess::Date | Guess::DateTime, Guess::Date | Guess::DateTime) => Guess::DateTime,
            (Guess::Array(left), Guess::Array(right)) => Guess::Array(Box::new(left.or(*right))),
            _ => Guess::String,
        }
    }

    fn of_text(text: &[u8]) -> Guess {
        match text {
            b"" | b"\\N" | b"NULL" => return Guess::Null,
            b"true" | b"false" => return Guess::Bool,
            _ => {}
        }
        if parse_integer::<i64>(text).is_ok() {
            return Guess::Int64;
        }
        if parse_integer::<u64>(text).is_ok() {
            return Guess::UInt64;
        }
        if parse_float::<f64>(text).is_ok() {
            return Guess::Float64;
        }
        Guess::of_string(text)
    }

    /// The kind of a quoted value: it may be a date, but digits are text.
    fn of_string(text: &[u8]) -> Guess {
        let dashed = text.len() >= 8 && text.contains(&b'-') && text[0].is_ascii_digit();
        if dashed && parse_date(text).is_ok() {
            return Guess::Date;
        }
        if dashed && text.contains(&b':') && parse_date_time(text, basalt_base::zone::Zone::utc()).is_ok() {
            return Guess::DateTime;
        }
        Guess::String
    }

    fn of_json(scanner: &mut JsonScanner<'_>, depth: usize) -> Result<Guess> {
        let mut scratch = Vec::new();
        Ok(match scanner.peek_value()? {
            JsonValue::String => Guess::of_string(scanner.string(&mut scratch)?),
            JsonValue::Array if depth < MAX_DEPTH => {
                let mut element = Guess::Null;
                scanner.expect(b'[')?;
                while !scanner.eat(b']') {
                    element = element.or(Guess::of_json(scanner, depth + 1)?);
                    if !scanner.eat(b',') {
                        scanner.expect(b']')?;
                        break;
                    }
                }
                Guess::Array(Box::new(element))
            }
            JsonValue::Null => {
                scanner.skip_value()?;
                Guess::Null
            }
            // A string column takes an object's text.
            JsonValue::Object | JsonValue::Array => {
                scanner.skip_value()?;
                Guess::String
            }
            JsonValue::Bool | JsonValue::Number => Guess::of_text(scanner.token()),
        })
    }

    fn into_type(self) -> SqlType {
        match self {
            Guess::Null | Guess::String => SqlType::String.into_nullable(),
            Guess::Bool => SqlType::Bool.into_nullable(),
            Guess::Int64 => SqlType::Int64.into_nullable(),
            Guess::UInt64 => SqlType::UInt64.into_nullable(),
            Guess::Float64 => SqlType::Float64.into_nullable(),
            Guess::Date => SqlType::Date32.into_nullable(),
            Guess::DateTime => SqlType::DateTime64 { precision: 9, zone: None }.into_nullable(),
            Guess::Array(element) => SqlType::array_of(element.into_type()),
        }
    }
}

/// A field's text, and whether it was in quotes.
type Row = Vec<(Vec<u8>, bool)>;

fn tsv_rows(sample: &[u8], settings: &FormatSettings, escaped: bool) -> Result<Vec<Row>> {
    let field = |field: &[u8]| {
        let mut text = Vec::new();
        if escaped && field != b"\\N" {
            unescape(field, &mut text)?
        } else {
            text.extend_from_slice(field)
        }
        Ok((text, false))
    };
    let row = |line: &[u8]| -> Result<Row> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.split(|&byte| byte == settings.tsv.delimiter).map(field).collect()
    };
    whole_lines(sample)
        .split(|&byte| byte == b'\n')
        .skip(settings.skip_first_lines)
        .take(MAX_ROWS)
        .map(row)
        .collect()
}

fn csv_rows(sample: &[u8], settings: &FormatSettings) -> Result<Vec<Row>> {
    let (mut rows, mut rest) = (Vec::new(), sample);
    while !rest.is_empty() && rows.len() < MAX_ROWS {
        let end = match first_row_end(rest, &settings.csv) {
            Some(end) => end,
            // Only a single row may lack its newline: a later row without one may be cut off.
            None if rows.is_empty() => rest.len(),
            None => break,
        };
        rows.push(split_row(&rest[..end], &settings.csv)?);
        rest = &rest[end..];
    }
    rows.drain(..settings.skip_first_lines.min(rows.len()));
    Ok(rows)
}

/// The sample without its last line, which may be cut off, and without the final newline.
fn whole_lines(sample: &[u8]) -> &[u8] {
    memchr::memrchr(b'\n', sample).map_or(sample, |end| &sample[..end])
}

fn from_rows(mut rows: Vec<Row>, header: Header) -> Vec<Column> {
    let text = |row: Row| row.into_iter().map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
    let header_rows = match header {
        Header::None if looks_like_header(&rows) => 1,
        other => other.rows(),
    };
    let mut above = rows.drain(..header_rows.min(rows.len()));
    let names: Vec<String> = above.next().map(text).into_iter().flatten().collect();
    drop(above);
    let guesses = merge_rows(&rows);
    let width = names.len().max(guesses.len());
    let name = |at: usize| names.get(at).cloned().unwrap_or_else(|| format!("c{}", at + 1));
    let ty = |at: usize| guesses.get(at).cloned().unwrap_or(Guess::String).into_type();
    (0..width).map(|at| Column::new(name(at), ty(at))).collect()
}

fn merge_rows(rows: &[Row]) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = Vec::new();
    for row in rows {
        guesses.resize(guesses.len().max(row.len()), Guess::Null);
        for (guess, (text, in_quotes)) in guesses.iter_mut().zip(row) {
            let found = if *in_quotes { Guess::of_string(text) } else { Guess::of_text(text) };
            *guess = std::mem::replace(guess, Guess::Null).or(found);
        }
    }
    guesses
}

/// Whether the first row consists of distinct texts, and the other rows do not.
fn looks_like_header(rows: &[Row]) -> bool {
    let Some((first, others)) = rows.split_first() else { return false };
    let all_text = first.iter().all(|(text, _)| Guess::of_text(text) == Guess::String);
    let distinct: std::collections::HashSet<&[u8]> = first.iter().map(|(text, _)| &text[..]).collect();
    let any_typed = merge_rows(others).iter().any(|guess| !matches!(guess, Guess::String | Guess::Null));
    all_text && distinct.len() == first.len() && any_typed
}

fn from_objects(sample: &[u8]) -> Result<Vec<Column>> {
    let mut found: Vec<(String, Guess)> = Vec::new();
    for object in whole_values(sample, b"[],") {
        let mut scanner = JsonScanner::new(object);
        let mut scratch = Vec::new();
        scanner.expect(b'{')?;
        while !scanner.eat(b'}') {
            let key = String::from_utf8_lossy(scanner.string(&mut scratch)?).into_owned();
            scanner.expect(b':')?;
            let guess = Guess::of_json(&mut scanner, 0)?;
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = known.clone().or(guess),
                None => found.push((key, guess)),
            }
            if !scanner.eat(b',') {
                scanner.expect(b'}')?;
                break;
            }
        }
    }
    Ok(found.into_iter().map(|(name, guess)| Column::new(name, guess.into_type())).collect())
}

fn from_arrays(sample: &[u8]) -> Result<Vec<Column>> {
    let mut guesses: Vec<Guess> = Vec::new();
    for array in whole_values(sample, b",") {
        let mut scanner = JsonScanner::new(array);
        scanner.expect(b'[')?;
        for at in 0.. {
            if scanner.eat(b']') {
                break;
            }
            let guess = Guess::of_json(&mut scanner, 0)?;
            guesses.resize(guesses.len().max(at + 1), Guess::Null);
            guesses[at] = guesses[at].clone().or(guess);
            scanner.eat(b',');
        }
    }
    Ok(numbered(guesses))
}

/// The complete JSON values of the sample.
fn whole_values<'a>(sample: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let between = |byte: &&u8| byte.is_ascii_whitespace() || separators.contains(byte);
        at += sample[at..].iter().take_while(between).count();
        let mut scanner = JsonScanner::new(&sample[at..]);
        let value = scanner.skip_value().ok()?;
        at += scanner.position();
        Some(value)
    })
    .take(MAX_ROWS)
}

/// Infers from the literals of the first rows; anything else is text.
fn from_values(sample: &[u8]) -> Vec<Column> {
    let mut scanner = QuotedScanner::new(sample);
    let mut guesses: Vec<Guess> = Vec::new();
    for _ in 0..MAX_ROWS {
        if !scanner.eat(b'(') {
            break;
        }
        for at in 0.. {
            let mut text = Vec::new();
            let guess = match scanner.peek() {
                Some(b'\'') if scanner.string(&mut text).is_ok() => Guess::of_string(&text),
                Some(b'\'') | None => return numbered(guesses),
                _ => Guess::of_text(scanner.token()),
            };
            guesses.resize(guesses.len().max(at + 1), Guess::Null);
            guesses[at] = guesses[at].clone().or(guess);
            if scanner.eat(b')') {
                break;
            }
            if !scanner.eat(b',') {
                return numbered(guesses);
            }
        }
        scanner.eat(b',');
    }
    numbered(guesses)
}

fn numbered(guesses: Vec<Guess>) -> Vec<Column> {
    let column = |(at, guess): (usize, Guess)| Column::new(format!("c{}", at + 1), guess.into_type());
    guesses.into_iter().enumerate().map(column).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks the inferred columns, given as `name Type, ..`.
    fn check(format: &str, sample: &str, expected: &str) {
        let columns = infer_schema(format, &mut sample.as_bytes(), &FormatSettings::default()).unwrap();
        let shown: Vec<String> =
            columns.iter().map(|column| format!("{} {}", column.name, column.ty)).collect();
        assert_eq!(shown.join(", "), expected, "{format} of {sample:?}");
    }

    #[test]
    fn names_and_types_are_guessed() {
        check(
            "CSV",
            "1,x,\n2.5,y,2024-01-02\n3,z",
            "c1 Nullable(Float64), c2 Nullable(String), c3 Nullable(Date32)",
        );
        check("CSV", "id,name\n1,x\n", "id Nullable(Int64), name Nullable(String)");
        check("CSVWithNames", "a,b\n\"1\",true\n", "a Nullable(String), b Nullable(Bool)");
        check(
            "TSV",
            "2024-01-02 03:04:05\t18446744073709551615\n",
            "c1 Nullable(DateTime64(9)), c2 Nullable(UInt64)",
        );
        let objects = "{\"a\":1,\"b\":[1,2.5]}\n{\"a\":null,\"c\":{\"x\":1}}\n{\"cut";
        check("JSONEachRow", objects, "a Nullable(Int64), b Array(Nullable(Float64)), c Nullable(String)");
        check("Values", "(1, 'a'), (2, 'b')", "c1 Nullable(Int64), c2 Nullable(String)");
        check("LineAsString", "x\n", "line String");
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(sample: Vec<u8>) {
            for info in crate::formats() {
                let _ = infer_schema(info.name, &mut &sample[..], &FormatSettings::default());
            }
        }
    }
}
