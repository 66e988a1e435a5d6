//! Times: `EXTRACT(field FROM x)`, `TIMESTAMP WITH TIME ZONE '..'`.

use crate::ast::{BinaryOp, Expr, Literal};
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};

use super::type_name::{call, cast};

/// Fields of a time, and the functions of ours that give them.
const FIELDS: &[(&str, &str)] = &[
    ("second", "toSecond"),
    ("seconds", "toSecond"),
    ("minute", "toMinute"),
    ("minutes", "toMinute"),
    ("hour", "toHour"),
    ("hours", "toHour"),
    ("day", "toDayOfMonth"),
    ("days", "toDayOfMonth"),
    ("week", "toISOWeek"),
    ("month", "toMonth"),
    ("months", "toMonth"),
    ("quarter", "toQuarter"),
    ("year", "toYear"),
    ("years", "toYear"),
    ("isodow", "toDayOfWeek"),
    ("isoyear", "toISOYear"),
    ("doy", "toDayOfYear"),
];

/// Microseconds of a second: the unit of a `timestamptz`.
pub(super) const MICROSECONDS: u64 = 1_000_000;
/// Digits of a second in it.
const SECOND_DIGITS: u64 = 6;
/// Days of a week; Sunday is 0 as `dow` and 7 as `isodow`.
const WEEK_DAYS: u64 = 7;

impl Cursor<'_> {
    /// `EXTRACT(field FROM x)`; `None` for a plain call. The next tokens are a word and `(`.
    pub(in crate::parser) fn try_postgres_extract(&mut self) -> Parsed<Option<Expr>> {
        let token = self.peek_at(2);
        let field = match token.kind {
            TokenKind::Word => self.text(token).to_vec(),
            TokenKind::String => self.unquoted(token),
            _ => return Ok(None),
        };
        if !self.is_word_at(3, "FROM") {
            return Ok(None);
        }
        let Some(field) = Field::of(&String::from_utf8_lossy(&field).to_ascii_lowercase()) else {
            return Err(self.refuse("this field of a time is not supported in EXTRACT"));
        };
        for _ in 0..4 {
            self.take();
        }
        let value = self.parse_expr()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Some(field.meaning(value)))
    }

    /// Whether a word of a timestamp comes next, and a string after it.
    pub(super) fn starts_timestamp(&mut self) -> bool {
        if !self.is_one_of(&["timestamp", "timestamptz"]) {
            return false;
        }
        let is_long =
            self.is_phrase("TIMESTAMP WITH TIME ZONE") || self.is_phrase("TIMESTAMP WITHOUT TIME ZONE");
        self.peek_at(if is_long { 4 } else { 1 }).kind == TokenKind::String
    }

    pub(super) fn parse_timestamp_string(&mut self) -> Parsed<Expr> {
        let ty = self.parse_timestamp()?;
        let text = self.parse_string()?;
        Ok(cast(Expr::Literal(Literal::String(text.into_bytes())), ty))
    }
}

/// A part of a time.
enum Field {
    Named(&'static str),
    /// Seconds since 1970, with their fraction.
    Epoch,
    /// The day of the week, from Sunday.
    WeekDay,
}

impl Field {
    fn of(word: &str) -> Option<Field> {
        match word {
            "epoch" => Some(Field::Epoch),
            "dow" => Some(Field::WeekDay),
            _ => FIELDS.iter().find(|(name, _)| *name == word).map(|(_, function)| Field::Named(function)),
        }
    }

    fn meaning(self, value: Expr) -> Expr {
        let number = |number| Expr::Literal(Literal::UInt(number));
        let binary = |left, op, right| Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        match self {
            Field::Named(function) => call(function, vec![value]),
            Field::Epoch => {
                let exact = call("toDateTime64", vec![value, number(SECOND_DIGITS)]);
                let count = call("toUnixTimestamp64Micro", vec![exact]);
                binary(count, BinaryOp::Divide, number(MICROSECONDS))
            }
            Field::WeekDay => binary(call("toDayOfWeek", vec![value]), BinaryOp::Modulo, number(WEEK_DAYS)),
        }
    }
}
