//! Reads the result of a query as JSON and JSONCompact write it.

use std::io::{Cursor, Read};
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result};

use super::row::Cells;
use super::rows_read::{ArrayParser, open_objects};
use super::values::read_document;
use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource};
use crate::header::by_name;
use crate::settings::FormatSettings;
use crate::text::JsonScanner;

/// A column of `meta`.
pub(super) type NameAndType = (String, String);

/// Opens the result of a query, as written by `FORMAT JSON` or `FORMAT JSONCompact`.
pub(crate) fn open_document(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let text = read_document(input, settings)?;
    if is_rows(&text) {
        return open_objects(columns, settings, Cells::Values, Box::new(Cursor::new(text)));
    }
    let (meta, data) = document_parts(&text)?;
    if !settings.json.ignore_metadata_types {
        check_types(&meta, columns)?;
    }
    let inside = data.strip_prefix(b"[").and_then(|data| data.strip_suffix(b"]"));
    let Some(inside) = inside else {
        return Err(Error::new(ErrorCode::IncorrectData, "`data` of the JSON document is not an array"));
    };
    let rows: Box<dyn Read + Send> = Box::new(Cursor::new(inside.to_vec()));
    if JsonScanner::new(inside).peek() != Some(b'[') {
        return open_objects(columns, settings, Cells::Values, rows);
    }
    let names: Vec<String> = meta.into_iter().map(|(name, _)| name).collect();
    let targets = by_name(&names, columns, settings.skip_unknown_fields)?;
    let allow_variable = settings.json.allow_variable_columns;
    let parser = Arc::new(ArrayParser { targets, cells: Cells::Values, allow_variable });
    chunks::open(ChunkSource::new(rows, settings), parser, columns, settings, 0)
}

/// Whether `text` has rows only: an array of objects, or objects that do not begin like a query's result.
pub(crate) fn is_rows(text: &[u8]) -> bool {
    let mut scanner = JsonScanner::new(text);
    match scanner.peek() {
        Some(b'[') => true,
        Some(b'{') => {
            let mut key = Vec::new();
            let known = |key: &[u8]| {
                let known: [&[u8]; 7] =
                    [b"meta", b"data", b"totals", b"extremes", b"rows", b"statistics", b"exception"];
                known.contains(&key)
            };
            scanner.expect(b'{').is_ok() && scanner.string(&mut key).is_ok_and(|key| !known(key))
        }
        _ => false,
    }
}

/// The names and types in `meta`, and the text of `data`.
pub(super) fn document_parts(text: &[u8]) -> Result<(Vec<NameAndType>, &[u8])> {
    let (mut meta, mut data, mut scratch) = (Vec::new(), None, Vec::new());
    let mut scanner = JsonScanner::new(text);
    scanner.expect(b'{')?;
    while !scanner.eat(b'}') {
        let key = scanner.string(&mut scratch)?.to_vec();
        scanner.expect(b':')?;
        match &key[..] {
            b"meta" => meta = meta_columns(scanner.skip_value()?),
            b"data" => data = Some(scanner.skip_value()?),
            _ => drop(scanner.skip_value()?),
        }
        if !scanner.eat(b',') {
            scanner.expect(b'}')?;
            break;
        }
    }
    let missing = || Error::new(ErrorCode::IncorrectData, "the JSON document has no `data`");
    Ok((meta, data.ok_or_else(missing)?))
}

fn meta_columns(meta: &[u8]) -> Vec<NameAndType> {
    let parsed: serde_json::Value = serde_json::from_slice(meta).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let column = |column: &serde_json::Value| (text(&column["name"]), text(&column["type"]));
    parsed.as_array().map(|columns| columns.iter().map(column).collect()).unwrap_or_default()
}

/// Fails if a column has another type than `meta` says.
pub(super) fn check_types(meta: &[NameAndType], columns: &Columns) -> Result<()> {
    for (name, ty) in meta {
        let Some(column) = columns.position(name).map(|at| &columns[at]) else { continue };
        if !ty.is_empty() && *ty != column.ty.to_string() {
            let what = format!("column `{name}` has type {ty} in `meta`, expected {}", column.ty);
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
    }
    Ok(())
}
