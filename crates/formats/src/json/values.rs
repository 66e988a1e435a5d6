//! Finds the JSON values of an input that are complete.

use basalt_base::{Error, ErrorCode, Result};
use std::io::Read;

use crate::settings::FormatSettings;
use crate::text::JsonScanner;

/// The number of leading bytes that are spaces or `separators`.
pub(super) fn between_rows(bytes: &[u8], separators: &[u8]) -> usize {
    let between = |byte: &&u8| byte.is_ascii_whitespace() || separators.contains(byte);
    bytes.iter().take_while(between).count()
}

/// The end of the last complete value.
pub(super) fn whole_values(bytes: &[u8], separators: &[u8]) -> Option<usize> {
    let mut whole = None;
    loop {
        let at = whole.unwrap_or(0);
        let start = at + between_rows(&bytes[at..], separators);
        let mut scanner = JsonScanner::new(&bytes[start..]);
        match scanner.skip_value() {
            // A bare word at the end may be cut off.
            Ok(_) if start + scanner.position() == bytes.len() && !ends_with_bracket(bytes) => return whole,
            Ok(_) => whole = Some(start + scanner.position()),
            Err(error) => {
                let unfinished = [ErrorCode::UnexpectedEndOfFile, ErrorCode::CannotParseQuotedString]
                    .contains(&error.code());
                // Malformed, not incomplete: `parse_row` reports it.
                return if unfinished { whole } else { Some(bytes.len()) };
            }
        }
    }
}

/// The end of the first complete value.
pub(super) fn first_value_end(bytes: &[u8]) -> Option<usize> {
    let mut scanner = JsonScanner::new(bytes);
    scanner.skip_value().is_ok().then(|| scanner.position())
}

/// The whole input, which must be a document of the size of a row.
pub(super) fn read_document(mut input: Box<dyn Read + Send>, settings: &FormatSettings) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let limit = settings.max_row_bytes as u64;
    input.by_ref().take(limit.saturating_add(1)).read_to_end(&mut text).map_err(Error::of_reading)?;
    if text.len() as u64 > limit {
        let what = format!("a JSON document of more than {limit} bytes; use JSONEachRow");
        return Err(Error::new(ErrorCode::IncorrectData, what));
    }
    Ok(text)
}

fn ends_with_bracket(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'}' | b']' | b'"'))
}
