//! ClickHouse and Basalt servers: the rows of one query, or a target of rows, over the native protocol.
//!
//! - [`Client`]: a connection after its greeting.
//! - [`Rows`]: the blocks of a result, one at a time.
//! - [`Insert`]: the rows of an INSERT, block by block.

mod client;
mod insert;
mod rows;

pub use client::{Client, Statement};
pub use insert::Insert;
pub use rows::Rows;
