//! TTL: rows and values that expire, and what merges do with them.
//!
//! - [`rule`]: when rows expire and what happens then, as given by the engine.
//! - [`bounds`]: the bounds of each rule in a part's metadata; [`recorder`] computes them.
//! - [`apply`]: applies the rules to a stream of sorted rows; [`grouped_rows`] aggregates expired rows of one key.
//!
//! Nothing happens to a row at the moment when it expires: only merges apply the TTL. Some merges run for that
//! reason, see [`crate::table`].

pub(crate) mod apply;
pub(crate) mod bounds;
mod grouped_rows;
pub(crate) mod recorder;
pub(crate) mod rule;
#[cfg(test)]
pub(crate) mod tests;
