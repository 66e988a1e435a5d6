//! The dialect of clients of the Postgres interface: Postgres' lexical rules, casts, operators and `$1` parameters over
//! the grammar of this crate, and the commands that a session answers itself.
//!
//! What Postgres writes in its own way becomes the tree of the same meaning, so the planner knows no second dialect.
//! Unquoted names keep their case, and every statement of ClickHouse's dialect is accepted.

mod command;
mod declared;
mod parameter;

pub use crate::ast::{Literal, Setting, TypeName};
pub use crate::parser::{
    parse_postgres as parse, parse_postgres_command as parse_command, split_postgres as split,
};
pub use command::{CopyDirection, PostgresCommand, PostgresCopy};
pub use parameter::{ParameterValue, PostgresParameter, PostgresStatement};
