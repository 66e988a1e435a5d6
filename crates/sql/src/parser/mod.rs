//! From tokens to the tree: recursive descent for statements, operator precedence for expressions.
//!
//! One file per family of statements. Each parse function either consumes its construct or fails at the token that
//! does not fit. The parser collects the words that would have fitted, and the message lists them.
//!
//! # Invariants
//!
//! - **Bounded**: parsing recurses at most [`cursor::NESTING_MAX`] deep, and no tree is higher than
//!   [`cursor::HEIGHT_MAX`], so code that walks the tree may recurse.
//! - **Linear**: the parser looks ahead by tokens. Where it backtracks, nothing inside backtracks again.

mod access;
mod alter;
mod backup;
mod copy;
mod create;
mod cursor;
mod dictionary;
mod drop;
mod element;
mod explain;
mod expr;
mod from;
mod function;
mod grant;
mod insert;
mod interval;
mod keyword;
mod literal;
mod name;
mod named_collection;
mod operand;
mod order;
mod partition;
mod postgres;
mod query;
mod script;
mod select;
mod show;
mod statement;
mod system;
mod table;
mod ttl;
mod type_name;
mod view;
mod window;

pub(crate) use expr::power;
pub(crate) use interval::interval_unit;
pub(crate) use keyword::{is_function_word, is_reserved};
pub use postgres::{
    parse_postgres, parse_postgres_command, parse_postgres_type, postgres_array_literal, split_postgres,
};
pub use script::{ParsedStatement, Script};
pub(crate) use type_name::is_compound_type;

use std::collections::HashMap;

use crate::ast::{CodecCall, Expr, Statement, TypeName};
use crate::error::ParseError;
use cursor::{Cursor, Parsed};

/// Parses a text that is one statement, with or without `;` at its end.
pub fn parse_statement(text: &[u8]) -> Result<Statement, ParseError> {
    parse_whole(text, |cursor| {
        let statement = cursor.parse_statement()?;
        cursor.eat_semicolons();
        Ok(statement)
    })
}

/// Like [`parse_statement`]. `{name:Identifier}` stands for the value of `name` in `parameters`.
pub fn parse_statement_with(
    text: &[u8],
    parameters: &HashMap<String, String>,
) -> Result<Statement, ParseError> {
    let mut cursor = Cursor::new(text, 0).with_parameters(parameters);
    let parsed = cursor.parse_statement().and_then(|statement| {
        cursor.eat_semicolons();
        cursor.expect_end().map(|()| statement)
    });
    parsed.map_err(|failure| ParseError::new(text, *failure))
}

/// Parses a text that is one expression.
pub fn parse_expr(text: &[u8]) -> Result<Expr, ParseError> {
    parse_whole(text, Cursor::parse_expr)
}

/// Parses a text that is one type, such as the second argument of `CAST(x, 'Array(UInt8)')`.
pub fn parse_type(text: &[u8]) -> Result<TypeName, ParseError> {
    parse_whole(text, Cursor::parse_type)
}

/// Parses `CODEC(a, b(1))`, with or without the word and its parentheses.
pub fn parse_codec(text: &[u8]) -> Result<Vec<CodecCall>, ParseError> {
    parse_whole(text, Cursor::parse_codec_text)
}

fn parse_whole<'a, T>(
    text: &'a [u8],
    parse: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>,
) -> Result<T, ParseError> {
    let mut cursor = Cursor::new(text, 0);
    let parsed = parse(&mut cursor).and_then(|tree| cursor.expect_end().map(|()| tree));
    parsed.map_err(|failure| ParseError::new(text, *failure))
}
