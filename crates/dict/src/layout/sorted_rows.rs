//! Properties of the sorted rows that a layout must know before it builds its table.

use basalt_base::Result;

use crate::table::SortedShards;
use crate::values::{Bitmap, Extent, InlineValues, Values};

/// Drops the attribute rows that no key has any more, and returns which rows are left and the new number of each;
/// `None` if all are left.
pub(super) fn drop_dead_rows(
    sorted: &SortedShards,
    values: &mut Values,
) -> Result<Option<(Bitmap, Vec<u32>)>> {
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

/// The least and the greatest value of each attribute.
pub(super) fn extents(sorted: &SortedShards, inline: &InlineValues) -> Vec<Extent> {
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
