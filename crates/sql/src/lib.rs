//! What does this text say? Lexer, parser, syntax tree and printer of the SQL dialect.
//!
//! # Where to look
//!
//! - [`ast`]: the tree; every node prints itself (`Display`) as text that parses back to it.
//! - [`parse_statement`], [`parse_expr`], [`parse_type`], [`parse_codec`]: one whole text.
//! - [`Script`]: several statements separated by `;`.
//! - [`postgres`]: the dialect of clients of the Postgres interface.
//! - [`resolve_type`]: what a written type means, aliases included.
//!
//! # Not here
//!
//! Nothing here knows a table, a function or what a name means: that is `planner`.

pub mod ast;
mod dialect;
mod error;
mod lexer;
mod parser;
pub mod postgres;
mod print;
mod secrets;
mod types;

pub use dialect::Dialect;
pub use error::{ParseError, ParseErrorKind};
pub use parser::{
    ParsedStatement, Script, parse_codec, parse_expr, parse_postgres, parse_postgres_command,
    parse_postgres_type, parse_statement, parse_statement_with, parse_type, postgres_array_literal,
    split_postgres,
};
pub use print::quote_name;
pub use secrets::hide_passwords;
pub use types::{NamedType, resolve_type, type_names};
