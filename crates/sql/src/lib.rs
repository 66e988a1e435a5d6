//! What does this text say? Lexer, parser, syntax tree and printer of the SQL dialect.
//!
//! # Where to look
//!
//! - [`ast`]: the tree; every node prints itself (`Display`) as text that parses back to it.
//! - [`parse_statement`], [`parse_expr`], [`parse_type`], [`parse_codec`]: one whole text.
//! - [`Script`]: several statements separated by `;`.
//! - [`resolve_type`]: what a written type means, aliases included.
//!
//! # Not here
//!
//! Nothing here knows a table, a function or what a name means: that is `planner`.

pub mod ast;
mod error;
mod lexer;
mod parser;
mod print;
mod types;

pub use error::{ParseError, ParseErrorKind};
pub use parser::{
    ParsedStatement, Script, parse_codec, parse_expr, parse_statement, parse_statement_with, parse_type,
};
pub use print::quote_name;
pub use types::resolve_type;
