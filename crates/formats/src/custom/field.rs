//! The fields of CustomSeparated: finds their ends and reads their values, by the style of the settings.

use basalt_base::{Error, ErrorCode, Result, SqlType};
use memchr::memmem;

use crate::settings::{EscapingRule, FormatSettings};
use crate::text::{ColumnBuilder, JsonScanner, Parsed, unescape, unquote};
use crate::tsv_read::is_escaped;

/// Brackets that may be open inside one literal.
const DEPTH_MAX: usize = 1_000;

/// How fields are read.
pub(super) struct FieldStyle {
    rule: EscapingRule,
    tsv_null: Vec<u8>,
    csv_null: Vec<u8>,
    empty_as_default: bool,
    single_quotes: bool,
}

impl FieldStyle {
    pub(super) fn new(settings: &FormatSettings) -> Result<FieldStyle> {
        if settings.custom.rule == EscapingRule::Xml {
            let what = "`format_custom_escaping_rule` XML is for output only";
            return Err(Error::new(ErrorCode::BadArguments, what));
        }
        Ok(FieldStyle {
            rule: settings.custom.rule,
            tsv_null: settings.tsv.null.clone().into_bytes(),
            csv_null: settings.csv.null.clone().into_bytes(),
            empty_as_default: settings.csv.empty_as_default,
            single_quotes: settings.csv.allow_single_quotes,
        })
    }

    /// The end of the field at the start of `text`, before the first of `ends`; `None` if there is none of them.
    pub(super) fn length(&self, text: &[u8], ends: &[&[u8]]) -> Option<usize> {
        let from = match self.rule {
            EscapingRule::Escaped => return first_unescaped(text, ends),
            EscapingRule::Quoted => literal_length(text, ends)?,
            EscapingRule::Csv => self.quoted_length(text)?,
            EscapingRule::Json => {
                let mut scanner = JsonScanner::new(text);
                // Text that is no JSON ends at the first delimiter; its value is refused later.
                if scanner.skip_value().is_ok() { scanner.position() } else { 0 }
            }
            EscapingRule::Raw | EscapingRule::Xml => 0,
        };
        first_of(text, from, ends)
    }

    /// The length of the quotes at the start of a field of CSV, with what is in them; 0 if there are none.
    fn quoted_length(&self, text: &[u8]) -> Option<usize> {
        let start = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some(&quote @ (b'"' | b'\'')) = text.get(start) else { return Some(0) };
        if quote == b'\'' && !self.single_quotes {
            return Some(0);
        }
        let mut at = start + 1;
        loop {
            at += memchr::memchr(quote, text.get(at..)?)? + 1;
            if text.get(at) != Some(&quote) {
                return Some(at);
            }
            at += 1;
        }
    }

    pub(super) fn parse(&self, field: &[u8], column: &mut ColumnBuilder) -> Result<Parsed> {
        match self.rule {
            EscapingRule::Escaped if field == self.tsv_null => column.append_missing(),
            EscapingRule::Escaped if field.is_empty() && is_exact_number(column.ty()) => {
                column.parse_raw(b"0")
            }
            EscapingRule::Escaped => column.parse_escaped(field),
            EscapingRule::Quoted => column.parse_quoted(field.trim_ascii()),
            EscapingRule::Json => {
                let mut scanner = JsonScanner::new(field);
                let parsed = column.parse_json(&mut scanner)?;
                match scanner.peek() {
                    None => Ok(parsed),
                    Some(_) => Err(scanner.error("expected after the value")),
                }
            }
            EscapingRule::Csv => self.parse_csv(field.trim_ascii(), column),
            EscapingRule::Raw | EscapingRule::Xml => match field {
                b"\\N" if column.ty().accepts_null() => column.append_missing(),
                _ => column.parse_raw(field),
            },
        }
    }

    fn parse_csv(&self, field: &[u8], column: &mut ColumnBuilder) -> Result<Parsed> {
        if field == self.csv_null {
            return column.append_missing();
        }
        if field.is_empty() && self.empty_as_default {
            column.append_default();
            return Ok(Parsed::Default);
        }
        match self.unquoted(field) {
            Some(text) => column.parse_csv(&text, true),
            None => column.parse_csv(field, false),
        }
    }

    /// The text in the quotes of a field of CSV; `None` without quotes.
    fn unquoted(&self, field: &[u8]) -> Option<Vec<u8>> {
        let &quote = field.first()?;
        if self.quoted_length(field)? != field.len() || field.len() < 2 {
            return None;
        }
        let (mut text, mut rest) = (Vec::new(), &field[1..field.len() - 1]);
        while let Some(at) = memchr::memchr(quote, rest) {
            text.extend_from_slice(&rest[..=at]);
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        text.extend_from_slice(rest);
        Some(text)
    }

    /// A field of the header.
    pub(super) fn name(&self, field: &[u8]) -> Result<String> {
        let mut name = Vec::new();
        match self.rule {
            EscapingRule::Escaped => unescape(field, &mut name)?,
            EscapingRule::Quoted if field.trim_ascii().starts_with(b"'") => {
                unquote(field.trim_ascii(), &mut name)?;
            }
            EscapingRule::Json => {
                let mut scratch = Vec::new();
                name.extend_from_slice(JsonScanner::new(field).string(&mut scratch)?);
            }
            EscapingRule::Csv => {
                let field = field.trim_ascii();
                name = self.unquoted(field).unwrap_or_else(|| field.to_vec());
            }
            EscapingRule::Quoted | EscapingRule::Raw | EscapingRule::Xml => name.extend_from_slice(field),
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }
}

fn is_exact_number(ty: &SqlType) -> bool {
    let ty = ty.stripped();
    ty.is_whole() || matches!(ty, SqlType::Decimal { .. })
}

/// The position of the first of `ends`, not before `from`. An empty end is nowhere.
fn first_of(text: &[u8], from: usize, ends: &[&[u8]]) -> Option<usize> {
    let found = ends.iter().filter(|end| !end.is_empty()).filter_map(|end| memmem::find(&text[from..], end));
    found.min().map(|at| from + at)
}

fn first_unescaped(text: &[u8], ends: &[&[u8]]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = first_of(text, from, ends)?;
        if !is_escaped(text, end) {
            return Some(end);
        }
        from = end + 1;
    }
}

/// The length of a literal of SQL: up to one of `ends` outside of quotes and brackets.
fn literal_length(text: &[u8], ends: &[&[u8]]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let byte = *text.get(at)?;
        if depth == 0 && ends.iter().any(|end| !end.is_empty() && text[at..].starts_with(end)) {
            return Some(at);
        }
        match byte {
            b'\'' => {
                at += 1;
                loop {
                    at += memchr::memchr2(b'\'', b'\\', text.get(at..)?)?;
                    if text[at] == b'\'' {
                        break;
                    }
                    at += 2;
                }
            }
            b'(' | b'[' | b'{' if depth < DEPTH_MAX => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}
