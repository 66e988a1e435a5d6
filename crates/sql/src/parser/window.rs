//! Windows: the clause OVER, and the definitions of the WINDOW clause.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Ident, WindowBound, WindowFrame, WindowFrameUnit, WindowSpec};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    /// `name` or `(..)`.
    pub(super) fn parse_over(&mut self) -> Parsed<WindowSpec> {
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_window_spec();
        }
        Ok(WindowSpec { base: Some(self.parse_ident()?), ..WindowSpec::default() })
    }

    /// `name AS (..)` of the WINDOW clause.
    pub(super) fn parse_named_window(&mut self) -> Parsed<(Ident, WindowSpec)> {
        let name = self.parse_ident()?;
        self.expect("AS")?;
        Ok((name, self.parse_window_spec()?))
    }

    fn parse_window_spec(&mut self) -> Parsed<WindowSpec> {
        self.expect_symbol(Symbol::OpenParen)?;
        let mut spec = WindowSpec::default();
        let named = match self.peek_kind() {
            TokenKind::QuotedName => true,
            TokenKind::Word => !self.is_one_of(&["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"]),
            _ => false,
        };
        if named {
            spec.base = Some(self.parse_ident()?);
        }
        if self.eat("PARTITION BY") {
            spec.partition_by = self.parse_list(Cursor::parse_aliased_expr)?;
        }
        if self.eat("ORDER BY") {
            spec.order_by = self.parse_list(Cursor::parse_order_item)?;
        }
        spec.frame = self.parse_frame()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(spec)
    }

    fn parse_frame(&mut self) -> Parsed<Option<WindowFrame>> {
        let unit = match () {
            () if self.eat("ROWS") => WindowFrameUnit::Rows,
            () if self.eat("RANGE") => WindowFrameUnit::Range,
            () if self.eat("GROUPS") => WindowFrameUnit::Groups,
            () => return Ok(None),
        };
        if !self.eat("BETWEEN") {
            let start = self.parse_bound()?;
            return Ok(Some(WindowFrame { unit, start, end: WindowBound::CurrentRow }));
        }
        let start = self.parse_bound()?;
        self.expect("AND")?;
        Ok(Some(WindowFrame { unit, start, end: self.parse_bound()? }))
    }

    fn parse_bound(&mut self) -> Parsed<WindowBound> {
        if self.eat("CURRENT ROW") {
            return Ok(WindowBound::CurrentRow);
        }
        if self.eat("UNBOUNDED PRECEDING") {
            return Ok(WindowBound::UnboundedPreceding);
        }
        if self.eat("UNBOUNDED FOLLOWING") {
            return Ok(WindowBound::UnboundedFollowing);
        }
        // AND ends a bound, so only tighter operators may stand in one.
        let distance = Box::new(self.parse_power(super::expr::power::BETWEEN)?);
        if self.eat("PRECEDING") {
            return Ok(WindowBound::Preceding(distance));
        }
        self.expect("FOLLOWING")?;
        Ok(WindowBound::Following(distance))
    }
}
