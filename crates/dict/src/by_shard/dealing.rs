//! Which shard of a dictionary has a key, and what the key is called there.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::SHARDS;
use crate::block::{integer_keys, key_column};
use crate::hash::scramble;
use crate::layout_kind::LayoutKind;
use crate::piles::KeyHasher;
use crate::spec::DictionarySpec;

const SHARDS_U64: u64 = SHARDS as u64;

pub(super) enum Dealing {
    /// By the low bits of the hash; the key keeps its name.
    Hashed(KeyHasher),
    /// Of layouts that may be arrays. Each sixteen keys that follow on each other are one key in each shard, which is
    /// their number divided by sixteen, so a shard's array is as dense as one of all keys would be. Which of them goes
    /// where turns from sixteen to sixteen: keys that are all multiples of something are in all shards too.
    Turned,
}

impl Dealing {
    pub(super) fn of(spec: &DictionarySpec) -> Result<Dealing> {
        Ok(match spec.layout.kind {
            LayoutKind::Flat | LayoutKind::Auto => Dealing::Turned,
            _ => Dealing::Hashed(KeyHasher::of(spec)?),
        })
    }

    /// The shard of each key, and the keys as the shards have them.
    pub(super) fn deal(&self, keys: &[ArrayRef]) -> Result<(Vec<usize>, Vec<ArrayRef>)> {
        Ok(match self {
            Dealing::Hashed(hasher) => {
                let shards = hasher.hashes(keys)?.into_iter().map(|hash| hash as usize % SHARDS);
                (shards.collect(), keys.to_vec())
            }
            Dealing::Turned => {
                let (shards, inside) = integer_keys(&keys[0])?.into_iter().map(turn).unzip();
                (shards, vec![key_column(inside)])
            }
        })
    }

    /// The first key column of a block of a shard as it is outside; the others are the same there.
    pub(super) fn undo(&self, shard: usize, key: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            Dealing::Hashed(_) => Arc::clone(key),
            Dealing::Turned => {
                let keys = integer_keys(key)?.into_iter().map(|inside| turn_back(shard, inside));
                key_column(keys.collect())
            }
        })
    }
}

fn turn(key: u64) -> (usize, u64) {
    let inside = key / SHARDS_U64;
    ((key.wrapping_add(scramble(inside)) % SHARDS_U64) as usize, inside)
}

fn turn_back(shard: usize, inside: u64) -> u64 {
    inside * SHARDS_U64 + (shard as u64).wrapping_sub(scramble(inside)) % SHARDS_U64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_shard() {
        for key in (0..10_000).chain(u64::MAX - 10_000..=u64::MAX) {
            let (shard, inside) = turn(key);
            assert_eq!(turn_back(shard, inside), key);
        }
    }

    #[test]
    fn keys_of_every_stride_are_in_all_shards_alike() {
        for stride in [1, 2, 16, 48, 1 << 20] {
            let mut counts = [0; SHARDS];
            (0..16_000).for_each(|row| counts[turn(row * stride).0] += 1);
            assert!(counts.iter().all(|count| (800..1200).contains(count)), "{stride}: {counts:?}");
        }
    }
}
