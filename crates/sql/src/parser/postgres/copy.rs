//! COPY between a table or a query and the client.

use crate::ast::{Literal, Setting};
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};
use crate::postgres::{CopyDirection, PostgresCopy};

impl Cursor<'_> {
    /// Whether a COPY reads from STDIN or writes to STDOUT, rather than a file of the server.
    pub(super) fn copies_to_client(&mut self) -> bool {
        let (mut ahead, mut open_count) = (1, 0_usize);
        loop {
            match self.peek_at(ahead).kind {
                TokenKind::End => return false,
                TokenKind::Symbol(Symbol::OpenParen) => open_count += 1,
                TokenKind::Symbol(Symbol::CloseParen) => open_count = open_count.saturating_sub(1),
                TokenKind::Word if open_count == 0 && self.is_one_of_at(ahead, &["STDIN", "STDOUT"]) => {
                    return true;
                }
                _ => {}
            }
            ahead += 1;
        }
    }

    pub(super) fn parse_postgres_copy(&mut self) -> Parsed<PostgresCopy> {
        self.expect("COPY")?;
        let start = self.offset();
        let direction = if self.eat_symbol(Symbol::OpenParen) {
            let query = self.parse_query()?;
            self.expect_symbol(Symbol::CloseParen)?;
            self.expect("TO")?;
            self.expect("STDOUT")?;
            CopyDirection::Out { query: query.to_string() }
        } else {
            self.parse_object_name()?;
            let name = self.source_text(start)?;
            let has_columns = self.is_symbol(Symbol::OpenParen);
            let columns =
                if has_columns { self.parse_parenthesized(Cursor::parse_column_name)? } else { Vec::new() };
            let target = self.source_text(start)?;
            let list: Vec<String> = columns.iter().map(|column| crate::quote_name(column)).collect();
            let list = if list.is_empty() { "*".to_owned() } else { list.join(", ") };
            let query = format!("SELECT {list} FROM {name}");
            if self.eat("FROM") {
                self.expect("STDIN")?;
                CopyDirection::In { target, query }
            } else {
                self.expect("TO")?;
                self.expect("STDOUT")?;
                CopyDirection::Out { query }
            }
        };
        Ok(PostgresCopy { direction, options: self.parse_copy_options()? })
    }

    /// The text from `start` to the last token taken.
    fn source_text(&mut self, start: usize) -> Parsed<String> {
        let token = self.peek();
        let text = self.source()[start..self.end_of_last()].to_vec();
        self.utf8(text, token, "the name of a table")
    }

    /// `WITH (FORMAT csv, HEADER)`, or the words of old versions: `CSV HEADER DELIMITER ','`.
    pub(in crate::parser) fn parse_copy_options(&mut self) -> Parsed<Vec<Setting>> {
        let _noise = self.eat("WITH");
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_copy_option);
        }
        let mut options = Vec::new();
        while !self.at_statement_end() {
            if self.is_one_of(&["CSV", "BINARY", "TEXT"]) {
                let format = self.parse_ident()?.to_ascii_lowercase();
                let value = Literal::String(format.into_bytes());
                options.push(Setting { name: "format".to_owned(), value });
            } else if self.is_word("HEADER") {
                self.take();
                options.push(Setting { name: "header".to_owned(), value: Literal::Bool(true) });
            } else {
                let name = self.parse_ident()?.to_ascii_lowercase();
                let _noise = self.eat("AS");
                options.push(Setting { name, value: self.parse_literal()? });
            }
        }
        Ok(options)
    }
}
