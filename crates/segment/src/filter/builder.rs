//! Builds a filter.

use basalt_base::query::checkpoint;
use basalt_base::{Error, Result};

use super::hash::{hash_of, shard_of};
use super::layout::{ENCODING, ENTRY_BYTES};
use super::shape::{Shape, fingerprint, mixed};
use crate::file::{PendingComponent, Spool, SpoolPlace};

/// The keys of a shard: about 30 MB while it is built.
const SHARD_KEYS: u64 = 1 << 20;
/// Spools in use at once. More shards than these are split from the hashes of one spool.
const SPOOLS_MAX: u64 = 64;
/// Seeds that are tried. Each succeeds with a probability above 0.9.
const SEEDS_MAX: u32 = 64;
const HASH_BYTES: usize = size_of::<u64>();
const PIECE_BYTES: usize = 64 << 10;

/// Takes keys in any order.
#[derive(Debug)]
pub struct KeyFilterBuilder {
    component: PendingComponent,
    place: SpoolPlace,
    /// Hashes, by the front of their shard.
    spools: Vec<Spool>,
    /// The shards of a spool.
    split: u64,
    keys: u64,
}

impl KeyFilterBuilder {
    /// For about `keys` keys.
    pub fn new(name: &str, keys: u64, place: &SpoolPlace) -> KeyFilterBuilder {
        let shards = keys.div_ceil(SHARD_KEYS).max(1);
        let spools = shards.min(SPOOLS_MAX);
        KeyFilterBuilder {
            component: PendingComponent::new(name, ENCODING),
            place: place.clone(),
            spools: (0..spools).map(|_| place.spool()).collect(),
            split: shards.div_ceil(spools),
            keys: 0,
        }
    }

    pub fn push(&mut self, key: &[u8]) -> Result<()> {
        let hash = hash_of(key);
        self.keys += 1;
        self.component.raw_bytes += key.len() as u64;
        let spool = shard_of(hash, self.spools.len() as u64);
        self.spools[spool as usize].write(&hash.to_le_bytes())
    }

    pub fn finish(mut self) -> Result<PendingComponent> {
        let (mut table, mut prints) = (self.place.spool(), self.place.spool());
        let shards = self.spools.len() as u64 * self.split;
        for (index, spool) in self.spools.into_iter().enumerate() {
            let first = index as u64 * self.split;
            for shard in split(spool, first..first + self.split, shards, &self.place)? {
                checkpoint()?;
                write_shard(read_all(shard)?, &mut table, &mut prints)?;
            }
        }
        self.component.number(self.keys);
        self.component.number(shards);
        self.component.section(table);
        self.component.section(prints);
        Ok(self.component)
    }
}

/// The hashes of each of the shards `part`.
fn split(spool: Spool, part: std::ops::Range<u64>, shards: u64, place: &SpoolPlace) -> Result<Vec<Spool>> {
    if part.end - part.start == 1 {
        return Ok(vec![spool]);
    }
    let mut spools: Vec<Spool> = part.clone().map(|_| place.spool()).collect();
    each_hash(spool, |hash| {
        spools[(shard_of(hash, shards) - part.start) as usize].write(&hash.to_le_bytes())
    })?;
    Ok(spools)
}

fn read_all(spool: Spool) -> Result<Vec<u64>> {
    let mut hashes = Vec::with_capacity((spool.len() / HASH_BYTES as u64) as usize);
    each_hash(spool, |hash| {
        hashes.push(hash);
        Ok(())
    })?;
    Ok(hashes)
}

fn each_hash(spool: Spool, mut take: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let (mut reader, mut piece) = (spool.into_reader()?, vec![0; PIECE_BYTES]);
    loop {
        checkpoint()?;
        let bytes = reader.read(&mut piece)?;
        if bytes == 0 {
            return Ok(());
        }
        for hash in piece[..bytes].as_chunks::<HASH_BYTES>().0 {
            take(u64::from_le_bytes(*hash))?;
        }
    }
}

fn write_shard(mut hashes: Vec<u64>, table: &mut Spool, prints: &mut Spool) -> Result<()> {
    // Keys with the same hash are one.
    hashes.sort_unstable();
    hashes.dedup();
    let (seed, shape, shard) = build(&hashes)?;
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&seed.to_le_bytes());
    entry[8..16].copy_from_slice(&prints.len().to_le_bytes());
    entry[16..20].copy_from_slice(&shape.segments.to_le_bytes());
    entry[20..].copy_from_slice(&shape.segment_bits.to_le_bytes());
    table.write(&entry)?;
    prints.write(&shard)
}

/// The filter of distinct hashes: its seed and fingerprints.
fn build(hashes: &[u64]) -> Result<(u64, Shape, Vec<u8>)> {
    if hashes.is_empty() {
        return Ok((0, Shape { segments: 0, segment_bits: 0 }, Vec::new()));
    }
    for attempt in 0..SEEDS_MAX {
        let seed = mixed(u64::from(attempt), 0x9e37_79b9_7f4a_7c15);
        // Few keys may need more room.
        let shape = Shape::of(hashes.len(), attempt);
        if let Some(order) = peel(hashes, seed, shape) {
            return Ok((seed, shape, assign(&order, shape)));
        }
    }
    Err(Error::logical(format!("no filter of {} keys was found", hashes.len())))
}

/// Takes hashes one by one that have a slot for themselves alone. Returns all with these slots, in this order; `None` if
/// some have none.
fn peel(hashes: &[u64], seed: u64, shape: Shape) -> Option<Vec<(u64, u64)>> {
    let slots = shape.slots() as usize;
    // How many hashes have each slot, and all of them combined.
    let (mut counts, mut combined) = (vec![0_u32; slots], vec![0_u64; slots]);
    for &hash in hashes {
        let mixed = mixed(hash, seed);
        for slot in shape.slots_of(mixed) {
            counts[slot as usize] += 1;
            combined[slot as usize] ^= mixed;
        }
    }
    let mut alone: Vec<u64> = (0..slots as u64).filter(|&slot| counts[slot as usize] == 1).collect();
    let mut order = Vec::with_capacity(hashes.len());
    while let Some(slot) = alone.pop() {
        if counts[slot as usize] != 1 {
            continue;
        }
        let mixed = combined[slot as usize];
        order.push((mixed, slot));
        for slot in shape.slots_of(mixed) {
            counts[slot as usize] -= 1;
            combined[slot as usize] ^= mixed;
            if counts[slot as usize] == 1 {
                alone.push(slot);
            }
        }
    }
    (order.len() == hashes.len()).then_some(order)
}

/// Sets the slot of each hash, the last one first, so that its three slots make its fingerprint.
fn assign(order: &[(u64, u64)], shape: Shape) -> Vec<u8> {
    let mut prints = vec![0; shape.slots() as usize];
    for &(mixed, own) in order.iter().rev() {
        let slots = shape.slots_of(mixed);
        // Its own slot is still zero.
        let print = slots.iter().fold(fingerprint(mixed), |print, &slot| print ^ prints[slot as usize]);
        prints[own as usize] = print;
    }
    prints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir};
    use crate::filter::KeyFilter;

    fn key(at: u64) -> Vec<u8> {
        format!("key {at}").into_bytes()
    }

    fn build(dir: &TestDir, keys: u64, expected: u64) -> Parts {
        let mut builder = KeyFilterBuilder::new("filter", expected, dir.place());
        (0..keys).for_each(|at| builder.push(&key(at)).expect("room"));
        Parts::of(builder.finish().expect("a filter"))
    }

    fn open(dir: &TestDir, parts: &Parts) -> Result<KeyFilter> {
        KeyFilter::open(&dir.file(std::slice::from_ref(parts), Access::Mapped), "filter")
    }

    #[test]
    fn every_key_may_be_there_and_few_others() {
        let dir = TestDir::new();
        // The last ones are told of more keys than there are, so that shards are split.
        for (keys, expected) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (7, 7),
            (100, 100),
            (30_000, 30_000),
            (20_000, 3 << 20),
            (20_000, 100 << 20),
        ] {
            let filter = open(&dir, &build(&dir, keys, expected)).expect("a filter");
            assert_eq!(filter.len(), keys);
            assert!((0..keys).all(|at| filter.may_contain(&key(at))), "{keys}");
            let passed = (keys..keys + 20_000).filter(|&at| filter.may_contain(&key(at))).count();
            assert!(passed < 20_000 / 150, "{passed} pass with {keys} keys");
            if keys == 30_000 {
                let bits = filter.stored_bytes() as f64 * 8.0 / keys as f64;
                assert!(bits < 10.5, "{bits}");
            }
        }
    }

    #[test]
    fn repeated_keys_are_one() {
        let dir = TestDir::new();
        let mut builder = KeyFilterBuilder::new("filter", 10, dir.place());
        (0..10).for_each(|at| builder.push(&key(at % 3)).expect("room"));
        let filter = open(&dir, &Parts::of(builder.finish().expect("a filter"))).expect("a filter");
        assert!((0..3).all(|at| filter.may_contain(&key(at))));
    }

    #[test]
    fn damaged_filters_give_an_error_or_some_answer() {
        let dir = TestDir::new();
        build(&dir, 40, 3 << 20).each_damage(|damaged| {
            if let Ok(filter) = open(&dir, damaged) {
                let _ = (0..50).filter(|&at| filter.may_contain(&key(at))).count();
            }
        });
    }
}
