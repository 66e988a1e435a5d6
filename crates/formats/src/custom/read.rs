//! Reads CustomSeparated.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result};

use super::field::FieldStyle;
use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, HeaderRows, Target, by_position, take_header};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::{CustomSettings, EscapingRule, FormatSettings};

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    header: Header,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    check_delimiters(&settings.custom)?;
    let mut source = ChunkSource::new(input, settings);
    let mut parser = CustomParser {
        style: FieldStyle::new(settings)?,
        custom: settings.custom.clone(),
        targets: by_position(columns, false),
    };
    take_prefix(&mut source, settings.custom.result_before.as_bytes())?;
    let fields = by_position(columns, false);
    let (targets, rows_before) = take_header(&parser, &mut source, header, fields, columns, settings)?;
    parser.targets = targets;
    chunks::open(source, Arc::new(parser), columns, settings, rows_before)
}

/// An escaped field ends only where its escapes end it.
fn check_delimiters(custom: &CustomSettings) -> Result<()> {
    let fits = |delimiter: &str| delimiter.is_empty() || delimiter.starts_with(['\t', '\n']);
    if custom.rule == EscapingRule::Escaped && !(fits(&custom.field_delimiter) && fits(&custom.row_after)) {
        let what = "a field that is Escaped ends with a tab or a newline: delimiters must begin with these; choose \
                    another `format_custom_escaping_rule`";
        return Err(Error::new(ErrorCode::BadArguments, what));
    }
    Ok(())
}

fn take_prefix(source: &mut ChunkSource, prefix: &[u8]) -> Result<()> {
    if prefix.is_empty() {
        return Ok(());
    }
    let found = source.peek_row(|bytes| (bytes.len() >= prefix.len()).then_some(prefix.len()))?;
    if found != prefix {
        let what = "the input does not begin with `format_custom_result_before_delimiter`";
        return Err(Error::new(ErrorCode::CannotParseInput, what));
    }
    source.take(prefix.len());
    Ok(())
}

struct CustomParser {
    style: FieldStyle,
    custom: CustomSettings,
    targets: Vec<Target>,
}

impl CustomParser {
    /// What may follow the last field of a row.
    fn row_ends(&self) -> Vec<&[u8]> {
        match self.custom.row_after.as_bytes() {
            b"" => vec![self.custom.row_between.as_bytes(), self.custom.result_after.as_bytes()],
            after => vec![after],
        }
    }

    /// The start of the first field of the row at `at`; `None` if it does not begin there.
    fn row_start(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let between = self.custom.row_between.as_bytes();
        let start = if bytes[at..].starts_with(between) { at + between.len() } else { at };
        let before = self.custom.row_before.as_bytes();
        bytes[start..].starts_with(before).then_some(start + before.len())
    }

    /// Whether nothing but the end of the result is left.
    fn is_end(&self, rest: &[u8]) -> bool {
        let after = self.custom.result_after.as_bytes();
        let rest = if after.is_empty() || rest == after { rest } else { rest.trim_ascii_end() };
        if !after.is_empty() {
            return rest == after || rest == after.trim_ascii_end();
        }
        // An empty line is a row of one empty field.
        self.targets.len() > 1 && rest.iter().all(u8::is_ascii_whitespace)
    }

    /// The position after the row that starts at `at`; `None` if it may go on.
    fn row_end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let delimiter = self.custom.field_delimiter.as_bytes();
        let mut at = self.row_start(bytes, at)?;
        let mut ends = self.row_ends();
        ends.insert(0, delimiter);
        loop {
            at += self.style.length(&bytes[at..], &ends)?;
            if !delimiter.is_empty() && bytes[at..].starts_with(delimiter) {
                at += delimiter.len();
            } else {
                return Some(at + self.custom.row_after.len());
            }
        }
    }
}

impl HeaderRows for CustomParser {
    fn row_length(&self, bytes: &[u8]) -> Option<usize> {
        self.row_end(bytes, 0)
    }

    fn names(&self, row: &[u8]) -> Result<Vec<String>> {
        let no_row = || Error::new(ErrorCode::CannotParseInput, "the header is not a row");
        let mut at = self.row_start(row, 0).ok_or_else(no_row)?;
        let delimiter = self.custom.field_delimiter.as_bytes();
        let end = row.len() - self.custom.row_after.len().min(row.len() - at);
        let mut names = Vec::new();
        loop {
            let length = self.style.length(&row[at..end], &[delimiter]).unwrap_or(end - at);
            names.push(self.style.name(&row[at..at + length])?);
            at += length + delimiter.len();
            if at > end || delimiter.is_empty() {
                return Ok(names);
            }
        }
    }
}

impl RowParser for CustomParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut whole = None;
        while let Some(end) = self.row_end(bytes, whole.unwrap_or(0)) {
            if end <= whole.unwrap_or(0) {
                break;
            }
            whole = Some(end);
        }
        whole
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        if self.is_end(&chunk[at..]) {
            return Ok(chunk.len());
        }
        let missing = |what: &str| Error::new(ErrorCode::CannotParseInput, format!("{what} is missing"));
        let before = || missing("`format_custom_row_before_delimiter`");
        let begins = at;
        let mut at = self.row_start(chunk, at).ok_or_else(before)?;
        let (row_ends, delimiter) = (self.row_ends(), self.custom.field_delimiter.as_bytes());
        for (index, target) in self.targets.iter().enumerate() {
            let last = index + 1 == self.targets.len();
            let length = if last {
                self.style.length(&chunk[at..], &row_ends).unwrap_or(chunk.len() - at)
            } else {
                let length = self.style.length(&chunk[at..], &[delimiter]);
                length.ok_or_else(|| missing("`format_custom_field_delimiter`"))?
            };
            let field = &chunk[at..at + length];
            if let Target::Column(column) = *target {
                rows.append(column, |builder| self.style.parse(field, builder))?;
            }
            at += length;
            if !last {
                at += delimiter.len();
            }
        }
        rows.end_row();
        let end = (at + self.custom.row_after.len()).min(chunk.len());
        if end == begins {
            return Err(missing("the delimiter after a row").into());
        }
        Ok(end)
    }
}
