//! Reads VALUES: SQL literals in brackets, `(1, 'a'), (2, 'b')`. Other expressions go to an evaluator.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result};
use memchr::memchr2;

use crate::block::{BlockReader, ExpressionEvaluator};
use crate::chunks::{self, ChunkSource, RowParser};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::{ColumnBuilder, Parsed, QuotedScanner, Style, TextSettings, ValueWriter};

/// Brackets that may be open inside one value.
const MAX_DEPTH: usize = 1_000;

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    evaluator: Option<Arc<dyn ExpressionEvaluator>>,
) -> Result<Box<dyn BlockReader>> {
    let parser = ValuesParser { columns: columns.len(), evaluator, text: settings.text };
    chunks::open(ChunkSource::new(input, settings), Arc::new(parser), columns, settings, 0)
}

struct ValuesParser {
    columns: usize,
    evaluator: Option<Arc<dyn ExpressionEvaluator>>,
    text: TextSettings,
}

impl ValuesParser {
    fn parse_value(&self, expression: &[u8], column: &mut ColumnBuilder) -> Result<Parsed> {
        if expression.eq_ignore_ascii_case(b"DEFAULT") {
            column.append_default();
            return Ok(Parsed::Default);
        }
        let failed = match column.parse_quoted(expression) {
            Ok(parsed) => return Ok(parsed),
            Err(failed) => failed,
        };
        // A number that does not fit is an error, not an expression.
        if failed.code() == ErrorCode::ArgumentOutOfBound {
            return Err(failed);
        }
        let Some(evaluator) = &self.evaluator else { return Err(failed) };
        let Ok(expression) = std::str::from_utf8(expression) else { return Err(failed) };
        let value = evaluator.evaluate(expression, column.ty())?;
        if value.len() != 1 {
            let what = format!("`{expression}` has {} values instead of one", value.len());
            return Err(Error::logical(what));
        }
        let mut literal = Vec::new();
        ValueWriter::new(column.ty(), &value, &self.text)?.write(0, Style::Quoted, &mut literal);
        column.parse_quoted(&literal)
    }
}

impl RowParser for ValuesParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut whole = None;
        loop {
            let at = whole.unwrap_or(0);
            let start = at + between_rows(&bytes[at..]);
            if bytes.get(start)? != &b'(' {
                return Some(bytes.len());
            }
            match value_len(&bytes[start..], b"") {
                Some(len) => whole = Some(start + len),
                None => return whole,
            }
        }
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let start = at + between_rows(&chunk[at..]);
        if start == chunk.len() {
            return Ok(start);
        }
        let mut scanner = QuotedScanner::new(&chunk[start..]);
        scanner.expect(b'(')?;
        for column in 0..self.columns {
            if column > 0 {
                scanner.expect(b',').map_err(no_row)?;
            }
            scanner.skip_spaces();
            let Some(len) = value_len(scanner.rest(), b",)") else {
                let what = "a row of VALUES has no closing bracket";
                return Err(Error::new(ErrorCode::UnexpectedEndOfFile, what).into());
            };
            let expression = scanner.rest()[..len].trim_ascii_end();
            let appended = rows.append(column, |builder| self.parse_value(expression, builder));
            appended.map_err(RowError::of_expression)?;
            scanner.seek(scanner.position() + len);
        }
        scanner.eat(b',');
        scanner.expect(b')').map_err(no_row)?;
        rows.end_row();
        Ok(start + scanner.position())
    }
}

/// The error for too few or too many values.
fn no_row(error: Error) -> Error {
    Error::new(ErrorCode::SyntaxError, error.message())
}

/// The number of leading bytes that are spaces, commas or semicolons.
fn between_rows(bytes: &[u8]) -> usize {
    let between = |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
    bytes.iter().take_while(between).count()
}

/// The length of an expression: up to one of `ends` outside of quotes and brackets, or, without `ends`, to the
/// bracket that closes the first one. `None` if the text ends before.
fn value_len(text: &[u8], ends: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let byte = *text.get(at)?;
        if depth == 0 && ends.contains(&byte) {
            return Some(at);
        }
        match byte {
            b'\'' | b'"' | b'`' => at += quoted_len(&text[at..], byte)?,
            b'(' | b'[' | b'{' if depth < MAX_DEPTH => {
                depth += 1;
                at += 1;
            }
            b')' | b']' | b'}' if depth > 0 => {
                depth -= 1;
                at += 1;
                if depth == 0 && ends.is_empty() {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

/// The length of the quoted text at the start of `text`.
fn quoted_len(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(quote, b'\\', text.get(at..)?)?;
        if text[at] == b'\\' {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}
