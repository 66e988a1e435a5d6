//! Layouts: how a key finds its payload.
//!
//! | file | layouts | key | a lookup costs |
//! |---|---|---|---|
//! | [`flat`], [`positions`] | FLAT | small integers | one array access |
//! | [`auto`], [`dense`] | AUTO: one of FLAT, HASHED, COMPACT_HASHED | any `UInt64` | that of its choice |
//! | [`hashed`] | HASHED, SPARSE_HASHED, HASHED_ARRAY, COMPACT_HASHED | any `UInt64` | one or two cache lines of a table |
//! | [`complex_key_hashed`] | the COMPLEX_KEY_ forms of these | any columns | the same, and a comparison with the key |
//! | [`range_hashed`] | RANGE_HASHED, COMPLEX_KEY_RANGE_HASHED | either, and a point | a hash, and a search in the key's ranges |
//! | [`ip_trie`] | IP_TRIE | an address | a binary search |
//! | [`regexp_tree`], [`tree_nodes`], [`tree_expressions`] | REGEXP_TREE | a text | a run of all regular expressions |
//! | [`polygon`] | POLYGON, POLYGON_SIMPLE, POLYGON_INDEX_EACH, POLYGON_INDEX_CELL | a point | a search in an R-tree, and the edges of few polygons |
//! | [`cache`] | CACHE, SSD_CACHE, their COMPLEX_KEY_ forms | either | a hash; a request to the source for missing rows |
//! | [`direct`] | DIRECT, COMPLEX_KEY_DIRECT | either | a request to the source |
//!
//! The layouts from [`range_hashed`] on are dictionaries of their own. The others implement [`contract::Layout`]: a
//! layout never sees attribute types, it returns payloads, which `values` turns into arrays.

mod auto;
mod auto_choice;
mod cache;
mod complex_key_hashed;
mod contract;
mod dense;
mod direct;
mod flat;
mod hashed;
mod intervals;
mod ip_ranges;
mod ip_trie;
mod point_index;
mod polygon;
mod polygon_shapes;
mod positions;
mod range_bounds;
mod range_hashed;
mod range_rows;
mod read_values;
mod regexp_tree;
mod sorted_rows;
mod tree_expressions;
mod tree_nodes;

#[cfg(test)]
pub(crate) mod conformance;

pub(crate) use auto::{AutoBuilder, AutoKeys, dense_part, open_auto};
pub(crate) use auto_choice::AutoChoice;
pub use cache::{CacheSpec, CacheSurroundings, LockDirectory, SsdSpec, build_cache};
pub(crate) use complex_key_hashed::{ComplexKeyHashed, ComplexKeyHashedBuilder};
pub(crate) use contract::{Layout, LayoutBuilder};
pub(crate) use dense::DensePart;
pub use direct::build_direct;
pub(crate) use flat::{FlatBuilder, FlatPart, check_flat_key};
pub(crate) use hashed::{Hashed, HashedBuilder, hashes};
pub use intervals::RangeLookup;
pub(crate) use ip_trie::{GivenPrefixes, build_ip_trie, check_prefix_key, open_ip_trie};
pub(crate) use polygon::{GivenPolygons, build_polygon, open_polygon};
pub(crate) use positions::{Cut, Part, Positions};
pub(crate) use range_hashed::{build_range, open_range};
pub(crate) use range_rows::{RangeShard, RangeShardBuilder, range_shard_builder};
pub use read_values::ReadValues;
pub(crate) use regexp_tree::{build_regexp_tree, open_regexp_tree};
pub use tree_expressions::RegexpFlags;
pub(crate) use tree_nodes::{node_block, node_columns};
