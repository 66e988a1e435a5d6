//! ORDER BY, with FILL and INTERPOLATE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Expr, Interpolation, OrderBy, Select, WithFill};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_order_clause(&mut self, select: &mut Select) -> Parsed<()> {
        if !self.eat("ORDER BY") {
            return Ok(());
        }
        if self.is_word("ALL")
            && !self.is_symbol_at(1, Symbol::Comma)
            && !self.is_symbol_at(1, Symbol::OpenParen)
        {
            self.take();
            select.order_by_all = true;
            if self.is_one_of(&["DESC", "DESCENDING", "NULLS"]) {
                return Err(self.not_implemented("a direction after ORDER BY ALL"));
            }
            let _noise = self.eat("ASC") || self.eat("ASCENDING");
            return Ok(());
        }
        select.order_by = self.parse_list(Cursor::parse_order_item)?;
        if self.eat("INTERPOLATE") {
            if !self.is_symbol(Symbol::OpenParen) {
                return Err(self.not_implemented("INTERPOLATE without a list"));
            }
            select.interpolate = self.parse_parenthesized(Cursor::parse_interpolation)?;
        }
        Ok(())
    }

    fn parse_interpolation(&mut self) -> Parsed<Interpolation> {
        let column = self.parse_column_name()?;
        let value = if self.eat("AS") { Some(self.parse_expr()?) } else { None };
        Ok(Interpolation { column, value })
    }

    /// `expr [ASC|DESC] [NULLS FIRST|LAST] [COLLATE 'x'] [WITH FILL ..]`.
    pub(super) fn parse_order_item(&mut self) -> Parsed<OrderBy> {
        let expr = self.parse_aliased_expr()?;
        self.parse_direction(expr)
    }

    /// The direction and the options after the expression of a sorting key.
    pub(super) fn parse_direction(&mut self, expr: Expr) -> Parsed<OrderBy> {
        let descending = self.eat("DESC") || self.eat("DESCENDING");
        if !descending {
            let _noise = self.eat("ASC") || self.eat("ASCENDING");
        }
        let nulls_first = match () {
            () if self.eat("NULLS FIRST") => Some(true),
            () if self.eat("NULLS LAST") => Some(false),
            () => None,
        };
        let collate = if self.eat("COLLATE") { Some(self.parse_string()?) } else { None };
        let fill = if self.eat("WITH FILL") { Some(self.parse_fill()?) } else { None };
        Ok(OrderBy { expr, descending, nulls_first, collate, fill })
    }

    fn parse_fill(&mut self) -> Parsed<WithFill> {
        let mut fill = WithFill::default();
        if self.eat("FROM") {
            fill.from = Some(self.parse_expr()?);
        }
        if self.eat("TO") {
            fill.to = Some(self.parse_expr()?);
        }
        if self.eat("STEP") {
            fill.step = Some(self.parse_expr()?);
        }
        if self.is_word("STALENESS") {
            return Err(self.not_implemented("STALENESS of WITH FILL"));
        }
        Ok(fill)
    }
}
