//! `INTERVAL 1 DAY`, `INTERVAL '1 day'` and the names of units.

use basalt_base::types::IntervalUnit;

use super::cursor::{Cursor, Parsed};
use crate::ast::{Expr, Literal, UnaryOp};
use crate::error::ParseErrorKind;
use crate::lexer::{Symbol, TokenKind};

const UNITS: &[(IntervalUnit, &[&str])] = &[
    (IntervalUnit::Second, &["SECOND", "SECONDS", "SS", "S", "SQL_TSI_SECOND"]),
    (IntervalUnit::Minute, &["MINUTE", "MINUTES", "MI", "N", "SQL_TSI_MINUTE"]),
    (IntervalUnit::Hour, &["HOUR", "HOURS", "HH", "H", "SQL_TSI_HOUR"]),
    (IntervalUnit::Day, &["DAY", "DAYS", "DD", "D", "SQL_TSI_DAY"]),
    (IntervalUnit::Week, &["WEEK", "WEEKS", "WK", "WW", "SQL_TSI_WEEK"]),
    (IntervalUnit::Month, &["MONTH", "MONTHS", "MM", "M", "SQL_TSI_MONTH"]),
    (IntervalUnit::Quarter, &["QUARTER", "QUARTERS", "QQ", "Q", "SQL_TSI_QUARTER"]),
    (IntervalUnit::Year, &["YEAR", "YEARS", "YYYY", "YY", "SQL_TSI_YEAR"]),
];

/// The unit that a word names.
pub(crate) fn interval_unit(word: &str) -> Option<IntervalUnit> {
    let named = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    UNITS.iter().find(|(_, names)| named(names)).map(|&(unit, _)| unit)
}

impl Cursor<'_> {
    /// The unit that the token `ahead` places on names.
    pub(super) fn unit_at(&mut self, ahead: usize) -> Option<IntervalUnit> {
        let token = self.peek_at(ahead);
        if token.kind != TokenKind::Word {
            return None;
        }
        std::str::from_utf8(self.text(token)).ok().and_then(interval_unit)
    }

    pub(super) fn parse_unit(&mut self) -> Parsed<IntervalUnit> {
        let Some(unit) = self.unit_at(0) else {
            self.note("unit of time");
            return Err(self.unexpected());
        };
        self.take();
        Ok(unit)
    }

    /// An interval, or `None` where `interval` is the name of a column.
    pub(super) fn try_interval(&mut self) -> Parsed<Option<Expr>> {
        if !self.starts_interval() {
            return Ok(None);
        }
        self.take();
        let token = self.peek();
        if token.kind == TokenKind::String && self.unit_at(1).is_none() {
            self.take();
            let text = self.utf8(self.unquoted(token), token, "an interval")?;
            return match spelled_interval(&text) {
                Some(interval) => Ok(Some(interval)),
                None => Err(self.failure(
                    ParseErrorKind::Syntax,
                    token,
                    "an interval in quotes is a number and a unit, such as '1 day'",
                )),
            };
        }
        let value = Box::new(self.parse_expr()?);
        Ok(Some(Expr::Interval { value, unit: self.parse_unit()? }))
    }

    fn starts_interval(&mut self) -> bool {
        let token = self.peek_at(1);
        match token.kind {
            TokenKind::Number | TokenKind::String | TokenKind::QuotedName => true,
            TokenKind::Symbol(Symbol::OpenParen | Symbol::OpenBrace) => true,
            TokenKind::Symbol(Symbol::Minus) => {
                self.peek_at(2).kind == TokenKind::Number && self.unit_at(3).is_some()
            }
            TokenKind::Word => !super::keyword::never_alias(self.text(token)),
            _ => false,
        }
    }
}

/// `1 day`, `-2 hours 5 minutes`: one interval, or a tuple of several.
fn spelled_interval(text: &str) -> Option<Expr> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (pairs, rest) = words.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut intervals =
        pairs.iter().map(|[number, unit]| single_interval(number, unit)).collect::<Option<Vec<_>>>()?;
    if intervals.len() == 1 { intervals.pop() } else { Some(Expr::Tuple(intervals)) }
}

fn single_interval(number: &str, unit: &str) -> Option<Expr> {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let literal = Expr::Literal(Literal::UInt(digits.parse().ok()?));
    let value = if digits.len() == number.len() {
        literal
    } else {
        Expr::Unary { op: UnaryOp::Minus, operand: Box::new(literal) }
    };
    Some(Expr::Interval { value: Box::new(value), unit: interval_unit(unit)? })
}
