//! What does this text say? Lexer, parser, syntax tree and printer of the SQL dialect.
//!
//! # Not here
//!
//! Nothing here knows a table, a function or what a name means: that is `planner`.

pub mod ast;
