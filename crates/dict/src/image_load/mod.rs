//! Loads a dictionary into its file: the memory of a load is bounded, whatever the number of rows.
//!
//! Rows up to [`LoadBounds::memory_bytes`] are loaded in memory. More rows are routed to spill partitions by the high
//! bits of their hash ([`load`]). Then one shard after the other is built from its partitions ([`shard`]), written,
//! and freed. When all shards are written and synced, the file is published ([`pending`]). A dictionary that opens it
//! is the one that a load in memory would have made, cut into shards.
//!
//! Keys that become positions in an array (FLAT, and AUTO of dense keys) are partitioned once more when all of them
//! are known, by ranges of positions: each range is a shard.
//!
//! Layouts that must sort all their keys at once have no shards: their keys stay in memory until the last row
//! ([`in_order`]).
//!
//! # Cost
//!
//! On disk: the rows while the load runs, and the version. In memory: [`LoadBounds::memory_bytes`] of rows, then the
//! rows and tables of as many shards as are built at once.

mod in_order;
mod load;
mod pending;
mod shard;

#[cfg(test)]
pub(crate) mod tests;

pub use load::load_image;
pub use pending::{ImagePlace, LoadBounds, LoadedImage, PendingImage};
