//! What the Postgres dialect adds to the grammar; [`crate::postgres`] says what it is for.
//!
//! The other files of the parser call into this folder where [`Cursor::is_postgres`](super::cursor::Cursor) holds.

mod call;
mod column_name;
mod command;
mod copy;
mod format;
mod insert;
mod known;
mod operand;
mod operator;
mod parameter;
mod query;
mod state;
mod substring;
mod table_function;
mod table_key;
mod time;
mod type_name;

pub(super) use call::zip_sets;
pub use command::{parse_postgres_command, split_postgres};
pub(super) use operator::PostgresOperator;
pub(super) use state::PostgresState;
pub(super) use substring::substring;
pub(super) use table_key::require_keys;
pub use type_name::{parse_postgres_type, postgres_array_literal};

use super::cursor::Cursor;
use crate::error::ParseError;
use crate::postgres::{PostgresParameter, PostgresStatement};

/// Parses one statement of the Postgres dialect, with what is known of its parameters.
pub fn parse_postgres(
    text: &[u8],
    parameters: &[PostgresParameter],
) -> Result<PostgresStatement, ParseError> {
    let text = known::statement(text);
    let mut cursor = Cursor::new(text, 0).with_postgres(PostgresState::new(parameters), 0);
    let parsed = cursor.parse_statement().and_then(|statement| {
        cursor.eat_semicolons();
        cursor.expect_end().map(|()| statement)
    });
    let statement = parsed.map_err(|failure| ParseError::new(text, *failure))?;
    Ok(cursor.postgres.take().unwrap_or_else(|| PostgresState::new(parameters)).into_statement(statement))
}

#[cfg(test)]
mod tests;
