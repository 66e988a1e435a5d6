//! TTL: rows and values that expire, and what a merge makes of them.
//!
//! - [`rule`]: when rows expire and what happens then, as the engine states it.
//! - [`bounds`]: what the metadata of a part says of each rule; [`recorder`]: how it comes to know.
//! - [`apply`]: a stream of sorted rows as the rules leave it; [`grouped_rows`]: expired rows of one key
//!   that become one.
//!
//! Nothing happens to a row at the moment at which it expires: only merges look. They come because of the
//! TTL, too, see [`crate::table`].

pub(crate) mod apply;
pub(crate) mod bounds;
mod grouped_rows;
pub(crate) mod recorder;
pub(crate) mod rule;
#[cfg(test)]
pub(crate) mod tests;
