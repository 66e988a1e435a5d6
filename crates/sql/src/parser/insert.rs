//! INSERT, and the bounds of its inline data.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Insert, InsertSource, InsertTarget, Setting, Statement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_insert(&mut self) -> Parsed<Statement> {
        self.expect("INSERT")?;
        let _noise = self.eat("INTO");
        let target = self.parse_insert_target()?;
        self.refuse_cluster()?;
        let columns = self.parse_insert_columns()?;
        if self.is_phrase("PARTITION BY") {
            return Err(self.not_implemented("PARTITION BY of an INSERT"));
        }
        if self.is_postgres() {
            return self.parse_postgres_insert(target, columns);
        }
        let mut settings = if self.eat("SETTINGS") { self.parse_settings()? } else { Vec::new() };
        let source = self.parse_insert_source(&mut settings)?;
        Ok(Statement::Insert(Box::new(Insert { target, columns, settings, source })))
    }

    fn parse_insert_target(&mut self) -> Parsed<InsertTarget> {
        let table_word = self.is_word("TABLE");
        let function = (table_word && self.is_word_at(1, "FUNCTION")) || self.is_word("FUNCTION");
        if function {
            let _noise = self.eat("TABLE");
            self.expect("FUNCTION")?;
            return self.parse_table_call().map(InsertTarget::Function);
        }
        // A table may be called `table`.
        if table_word && !self.is_symbol_at(1, Symbol::OpenParen) && !self.is_word_at(1, "VALUES") {
            self.take();
        }
        self.parse_object_name().map(InsertTarget::Table)
    }

    fn parse_insert_columns(&mut self) -> Parsed<Vec<String>> {
        if !self.is_symbol(Symbol::OpenParen)
            || self.is_query_at(1)
            || self.is_symbol_at(1, Symbol::OpenParen)
        {
            return Ok(Vec::new());
        }
        if self.is_symbol_at(1, Symbol::Asterisk) || self.is_symbol_at(2, Symbol::OpenParen) {
            return Err(self.not_implemented("an asterisk in the column list of an INSERT"));
        }
        self.parse_parenthesized(Cursor::parse_column_name)
    }

    fn parse_insert_source(&mut self, settings: &mut Vec<Setting>) -> Parsed<InsertSource> {
        if self.is_word("VALUES") {
            let text = self.take_values();
            return Ok(InsertSource::Values { text });
        }
        if self.eat("FORMAT") {
            return self.parse_format_source(settings);
        }
        if self.eat("FROM INFILE") {
            return self.parse_infile(settings);
        }
        if self.is_query_at(0) || self.is_symbol(Symbol::OpenParen) {
            return self.parse_query().map(|query| InsertSource::Query(Box::new(query)));
        }
        self.note("SELECT");
        self.note("VALUES");
        Err(self.unexpected())
    }

    /// Starts after FORMAT. `FORMAT Values` means the same as VALUES.
    fn parse_format_source(&mut self, settings: &mut Vec<Setting>) -> Parsed<InsertSource> {
        if self.is_word("VALUES") {
            let text = self.take_values();
            return Ok(InsertSource::Values { text });
        }
        let name = self.parse_ident()?;
        if self.is_word("SETTINGS") && self.is_symbol_at(2, Symbol::Equal) {
            self.take();
            settings.extend(self.parse_settings()?);
        }
        Ok(InsertSource::Format { name, bytes: self.take_format_bytes() })
    }

    fn parse_infile(&mut self, settings: &mut Vec<Setting>) -> Parsed<InsertSource> {
        let path = self.parse_string()?;
        let compression = if self.eat("COMPRESSION") { Some(self.parse_string()?) } else { None };
        if self.eat("SETTINGS") {
            settings.extend(self.parse_settings()?);
        }
        Ok(InsertSource::Infile { path, compression, format: self.parse_format()? })
    }

    /// The rows after the word VALUES, up to the `;` that ends them or the end of the text.
    fn take_values(&mut self) -> Vec<u8> {
        self.take();
        let start = self.end_of_last();
        let end = values_end(self.source(), start);
        self.jump(end);
        self.source()[start..end].trim_ascii().to_vec()
    }

    /// The bytes after the name of a format, up to the end of the text. They start on the next line, or at the next
    /// word of the same line. A `;` immediately after the name ends the statement.
    pub(super) fn take_format_bytes(&mut self) -> Vec<u8> {
        let source = self.source();
        let name_end = self.end_of_last();
        let rest = &source[name_end..];
        let blank_count = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        let start = match rest.get(blank_count) {
            None | Some(b';') => {
                self.jump(name_end);
                return Vec::new();
            }
            Some(b'\n') => name_end + blank_count + 1,
            Some(_) => name_end + blank_count,
        };
        self.jump(source.len());
        source[start..].to_vec()
    }
}

/// Where the rows that start at `start` end: at a `;` outside of quotes, brackets and comments.
fn values_end(source: &[u8], start: usize) -> usize {
    let mut position = start;
    let mut open_count = 0_usize;
    while let Some(&byte) = source.get(position) {
        match byte {
            b'\'' | b'"' | b'`' => {
                position = quote_end(source, position, byte);
                continue;
            }
            b'(' | b'[' | b'{' => open_count += 1,
            b')' | b']' | b'}' => open_count = open_count.saturating_sub(1),
            b';' if open_count == 0 => return position,
            b'-' if source.get(position + 1) == Some(&b'-') => {
                let rest = &source[position..];
                position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'/' if source.get(position + 1) == Some(&b'*') => {
                let rest = &source[position..];
                position += memchr::memmem::find(rest, b"*/").map_or(rest.len(), |length| length + 2);
                continue;
            }
            _ => {}
        }
        position += 1;
    }
    source.len()
}

/// The byte after the quote that closes the one at `start`; a doubled quote closes and opens again.
fn quote_end(source: &[u8], start: usize, quote: u8) -> usize {
    let mut position = start + 1;
    while let Some(length) = source.get(position..).and_then(|rest| memchr::memchr2(quote, b'\\', rest)) {
        position += length + 1;
        if source[position - 1] == quote {
            return position;
        }
        position += 1;
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_statement;

    fn check(statement: &str, expected: InsertSource) {
        match parse_statement(statement.as_bytes()) {
            Ok(Statement::Insert(insert)) => assert_eq!(insert.source, expected, "{statement}"),
            other => panic!("{statement}: {other:?}"),
        }
    }

    #[test]
    fn values_run_to_the_semicolon_outside_of_quotes_and_brackets() {
        let values = |text: &str| InsertSource::Values { text: text.into() };
        check("INSERT INTO t VALUES (1, 'a;b'), (2, '\\';');", values("(1, 'a;b'), (2, '\\';')"));
        check("INSERT INTO t FORMAT Values (1) /* ; */ , (2)", values("(1) /* ; */ , (2)"));
        check("INSERT INTO t VALUES", values(""));
    }

    #[test]
    fn format_data_runs_to_the_end_of_the_text() {
        let format = |bytes: &str| InsertSource::Format { name: "CSV".into(), bytes: bytes.into() };
        check("INSERT INTO t FORMAT CSV\n1;2\n '", format("1;2\n '"));
        check("INSERT INTO t FORMAT CSV 1,2", format("1,2"));
        check("INSERT INTO t FORMAT CSV \r\n\n1", format("\n1"));
        check("INSERT INTO t FORMAT CSV;", format(""));
    }
}
