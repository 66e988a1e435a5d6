//! The filter of a file.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::hash::{hash_of, shard_of};
use super::layout::{ENCODING, ENTRY_BYTES};
use super::shape::{SEGMENT_BITS_MAX, Shape, fingerprint, mixed};
use crate::file::SegmentFile;
use crate::{Place, ROWS_MAX};

/// Tells of most absent keys that they are absent.
#[derive(Debug)]
pub struct KeyFilter {
    shards: Vec<Shard>,
    fingerprints: Section,
    keys: u64,
}

/// A shard whose slots are inside of the section.
#[derive(Clone, Copy, Debug)]
struct Shard {
    seed: u64,
    start: u64,
    shape: Shape,
}

impl KeyFilter {
    /// Opens the filter `name` of a file.
    pub fn open(file: &SegmentFile, name: &str) -> Result<KeyFilter> {
        let mut component = file.component(name)?;
        let place = component.place().clone();
        if component.encoding() != ENCODING {
            return Err(place.corrupt(format!("no filter has the encoding `{}`", component.encoding())));
        }
        let keys = component.number_to(ROWS_MAX)?;
        let count = component.number_to(ROWS_MAX)?;
        let table = component.resident_of(count * ENTRY_BYTES as u64)?;
        let fingerprints = component.resident()?;
        component.finish()?;
        let entries = table.as_chunks::<ENTRY_BYTES>().0.iter();
        let shards = entries.map(|entry| Shard::decode(entry, fingerprints.len() as u64, &place));
        Ok(KeyFilter { shards: shards.collect::<Result<_>>()?, fingerprints, keys })
    }

    /// `false`: no key is `key`.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        let hash = hash_of(key);
        let index = usize::try_from(shard_of(hash, self.shards.len() as u64)).unwrap_or(usize::MAX);
        let Some(shard) = self.shards.get(index).filter(|shard| shard.shape.segments > 0) else {
            return false;
        };
        let mixed = mixed(hash, shard.seed);
        let slots = shard.shape.slots_of(mixed).map(|slot| {
            let at = usize::try_from(shard.start + slot).unwrap_or(usize::MAX);
            self.fingerprints.get(at).copied().unwrap_or(0)
        });
        slots.into_iter().fold(fingerprint(mixed), |left, print| left ^ print) == 0
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.keys
    }

    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// The bytes that it takes in the file.
    pub fn stored_bytes(&self) -> u64 {
        (self.shards.len() * ENTRY_BYTES + self.fingerprints.len()) as u64
    }
}

impl Shard {
    fn decode(entry: &[u8; ENTRY_BYTES], bytes: u64, place: &Place) -> Result<Shard> {
        let words = entry.as_chunks::<8>().0;
        let [seed, start, shape] =
            [0, 1, 2].map(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)));
        let segments = u32::try_from(shape & u64::from(u32::MAX)).map_err(Error::logical)?;
        let segment_bits = u32::try_from(shape >> 32).map_err(Error::logical)?;
        let shape = Shape { segments, segment_bits };
        let is_inside = segment_bits <= SEGMENT_BITS_MAX
            && start.checked_add(shape.slots()).is_some_and(|end| end <= bytes);
        is_inside
            .then_some(Shard { seed, start, shape })
            .ok_or_else(|| place.corrupt("a shard is outside of its section"))
    }
}
