//! Layouts: how a key finds its payload.
//!
//! | file | layouts | key | a lookup costs |
//! |---|---|---|---|
//! | [`flat`], [`positions`] | FLAT | small integers | one array access |
//! | [`auto`], [`dense`] | AUTO: one of FLAT, HASHED, COMPACT_HASHED | any `UInt64` | what it became costs |
//! | [`hashed`] | HASHED, SPARSE_HASHED, HASHED_ARRAY, COMPACT_HASHED | any `UInt64` | one line of a table, or two |
//! | [`complex_key_hashed`] | the COMPLEX_KEY_ forms of these | any columns | the same, and one look at the key |
//! | [`range_hashed`] | RANGE_HASHED, COMPLEX_KEY_RANGE_HASHED | either, and a point | a hash, and a search in the key's ranges |
//! | [`ip_trie`] | IP_TRIE | an address | a binary search |
//! | [`regexp_tree`], [`tree_expressions`] | REGEXP_TREE | a text | a run of all regular expressions |
//! | [`polygon`] | POLYGON and its kin | a point | a walk in a tree, and the edges of few polygons |
//! | [`cache`] | CACHE, SSD_CACHE, their COMPLEX_KEY_ forms | either | a hash; a question to the source for what is not kept |
//! | [`direct`] | DIRECT, COMPLEX_KEY_DIRECT | either | a question to the source |
//!
//! From [`range_hashed`] on they are dictionaries of their own. A [`Layout`] never sees attribute types: it hands out payloads, which `values` turns into arrays.

mod auto;
mod auto_choice;
mod cache;
mod complex_key_hashed;
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
mod regexp_tree;
mod tree_expressions;

#[cfg(test)]
pub(crate) mod conformance;

pub(crate) use auto::{AutoBuilder, AutoKeys, dense_part, open_auto};
pub(crate) use auto_choice::AutoChoice;
pub use cache::{CacheSpec, CacheSurroundings, LockDirectory, SsdSpec, build_cache};
pub(crate) use complex_key_hashed::{ComplexKeyHashed, ComplexKeyHashedBuilder};
pub(crate) use dense::DensePart;
pub use direct::build_direct;
pub(crate) use flat::{FlatBuilder, FlatPart, check_flat_key};
pub(crate) use hashed::{Hashed, HashedBuilder, hashes};
pub use intervals::RangeLookup;
pub(crate) use ip_trie::{GivenPrefixes, build_ip_trie, check_prefix_key, open_ip_trie};
pub(crate) use polygon::{GivenPolygons, build_polygon, check_polygon_key, open_polygon};
pub(crate) use positions::{Cut, Part, Positions};
pub(crate) use range_bounds::is_range_type;
pub(crate) use range_hashed::{build_range, open_range};
pub(crate) use range_rows::{RangeShard, RangeShardBuilder, range_shard_builder};
pub use regexp_tree::ReadValues;
pub(crate) use regexp_tree::{
    build_regexp_tree, node_block, node_columns, open_regexp_tree, regexp_tree_columns,
};
pub use tree_expressions::RegexpFlags;

use arrow::array::ArrayRef;
use basalt_base::Result;

use crate::image::ImageWriter;
use crate::payloads::Payloads;
use crate::table::{Hits, SortedShards};
use crate::values::{Bitmap, Extent, InlineValues, Values};

/// Rows in a block of a scan, at most.
pub(crate) const SCAN_BLOCK_ROWS: usize = 65_536;

/// Called with each block of a scan: the key columns and the payloads of its rows.
pub(crate) type VisitBlock<'a> = dyn FnMut(Vec<ArrayRef>, Vec<u64>) -> Result<()> + 'a;

/// The loaded keys. Frozen: nothing changes after the load, so readers take no lock.
pub(crate) trait Layout: Send + Sync {
    /// The payload of each key. The keys' number, types and lengths are right and none is NULL.
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits>;

    /// Makes sure that what [`Layout::find`] reads is what was written.
    fn check(&self, keys: &[ArrayRef]) -> Result<()>;

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()>;

    /// Shows every entry once, in blocks.
    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()>;

    fn len(&self) -> usize;

    fn heap_bytes(&self) -> usize;

    /// Filled slots over all slots.
    fn load_factor(&self) -> f64;

    /// The layout's name where the definition does not say it.
    fn name(&self) -> Option<&'static str> {
        None
    }
}

/// Takes the keys of a source block by block.
pub(crate) trait LayoutBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()>;

    /// Ends the load. A key that came twice has its last row; `values` loses the rows before it.
    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>>;
}

/// Drops the attribute rows that no key has any more and returns the new number of each row that stays;
/// `None` if nothing changed.
fn drop_dead_rows(sorted: &SortedShards, values: &mut Values) -> Result<Option<(Bitmap, Vec<u32>)>> {
    let Values::Rows(store) = values else {
        return Ok(None);
    };
    if sorted.len() == store.rows() {
        return Ok(None);
    }
    let mut alive = Bitmap::zeroes(store.rows());
    sorted.payloads().for_each(|row| alive.set(row as usize));
    let numbers = alive.ranks();
    store.retain(&alive)?;
    Ok(Some((alive, numbers)))
}

/// The least and the greatest value of each attribute in `sorted`.
fn extents(sorted: &SortedShards, inline: &InlineValues) -> Vec<Extent> {
    let of_shards = sorted.each(|rows| {
        let mut extents = Vec::new();
        rows.for_each_block(|payloads| inline.widen(&mut extents, payloads));
        extents
    });
    let join = |left: Vec<Extent>, right: Vec<Extent>| {
        left.into_iter().zip(right).map(|(left, right)| left.join(right)).collect()
    };
    of_shards.into_iter().reduce(join).unwrap_or_default()
}
