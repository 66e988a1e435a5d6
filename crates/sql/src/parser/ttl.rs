//! TTL of tables: an expression, and the action on expired rows.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Expr, Ident, TtlAction, TtlElement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    /// `expr [DELETE] [WHERE ..] | expr TO DISK .. | expr TO VOLUME .. | expr GROUP BY .. | expr RECOMPRESS ..`.
    pub(super) fn parse_ttl(&mut self) -> Parsed<TtlElement> {
        let expr = self.parse_expr()?;
        let action = match () {
            () if self.eat("TO DISK") => {
                let if_exists = self.eat_if_exists();
                TtlAction::ToDisk { name: self.parse_string()?, if_exists }
            }
            () if self.eat("TO VOLUME") => {
                let if_exists = self.eat_if_exists();
                TtlAction::ToVolume { name: self.parse_string()?, if_exists }
            }
            () if self.eat("GROUP BY") => {
                let keys = self.parse_list(Cursor::parse_expr)?;
                let assignments = if self.eat("SET") { self.parse_assignments()? } else { Vec::new() };
                TtlAction::Group { keys, assignments }
            }
            () if self.eat("RECOMPRESS") => TtlAction::Recompress { codec: self.parse_codec_clause()? },
            () => {
                self.eat("DELETE");
                TtlAction::Delete { filter: if self.eat("WHERE") { Some(self.parse_expr()?) } else { None } }
            }
        };
        Ok(TtlElement { expr, action })
    }

    /// `a = x, b = y`; the next element of the TTL may follow a comma instead.
    fn parse_assignments(&mut self) -> Parsed<Vec<(Ident, Expr)>> {
        let mut assignments = vec![self.parse_assignment()?];
        while self.is_symbol(Symbol::Comma) && self.is_symbol_at(2, Symbol::Equal) {
            self.eat_symbol(Symbol::Comma);
            assignments.push(self.parse_assignment()?);
        }
        Ok(assignments)
    }
}
