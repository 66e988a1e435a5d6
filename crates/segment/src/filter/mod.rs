//! Filters over keys: most keys that are not in a segment are refused without a lookup.
//!
//! Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022), with fingerprints of eight bits:
//! nine bits a key, and one of 256 absent keys passes. Keys are spread over shards by their hashes; a shard is built in
//! memory, and all are together as large as the segment.
//!
//! # Layout
//!
//! ```text
//! numbers    keys | shards
//! sections   for each shard: seed u64 | byte of its first fingerprint u64 | segments u32 | log2 of slots of one u32
//!            fingerprints of all shards, u8
//! ```
//! The hash of a key is XXH64 with seed 0. Its product with the number of shards, less the low 64 bits, is its shard.
//!
//! # Invariants
//!
//! A shard without segments holds no keys. [`KeyFilter::open`] has compared the place of each shard with the section.
//!
//! - [`builder`]: spreads hashes over shards.
//! - [`fuse`]: a filter of one shard.
//! - [`shape`]: the slots of a hash.
//! - [`hash`], [`layout`]: the hash of a key, names and sizes.

mod builder;
mod fuse;
mod hash;
mod layout;
mod shape;

pub use builder::KeyFilterBuilder;
pub use fuse::KeyFilter;
