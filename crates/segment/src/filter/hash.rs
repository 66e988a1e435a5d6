//! The hash of a key, and its shard.

/// The hash of a key.
pub(super) fn hash_of(key: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, key)
}

/// The shard of a hash.
#[inline(always)]
pub(super) fn shard_of(hash: u64, shards: u64) -> u64 {
    high_product(hash, shards)
}

/// The high 64 bits of a product: a number below `count`, which ascends with `hash`.
#[inline(always)]
pub(super) fn high_product(hash: u64, count: u64) -> u64 {
    // The shifted product is less than `count`.
    ((u128::from(hash) * u128::from(count)) >> u64::BITS) as u64
}
