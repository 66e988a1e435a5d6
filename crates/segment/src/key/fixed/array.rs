//! Keys of one length, one after the other.
//!
//! # Layout
//!
//! ```text
//! numbers    bytes of a key | keys | bytes of the common prefix
//! sections   the common prefix of all keys | the rest of each key
//! ```
//!
//! # Cost
//!
//! A lookup takes a few steps of interpolation by the first eight bytes of the rests, which random keys such as UUIDs
//! end after three or four, and then a binary search of what is left.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::query::checkpoint;
use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::layout::{ARRAY, FIXED_BYTES_MAX};
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::key::index::{Flow, KeyIndex};
use crate::key::limits::after_prefix;
use crate::key::walk::KeyAutomaton;
use crate::key::walk_sorted::walk_sorted;
use crate::{Place, ROWS_MAX, Rank};

const KEYS_OF_A_CHECKPOINT: u32 = 8192;
/// Steps of interpolation. Each leaves a part of the keys that a binary search would need several steps for, or none
/// if the keys are unevenly spread.
const STEPS_MAX: usize = 4;
/// The keys that a binary search needs no help with.
const FEW_KEYS: usize = 32;

/// Takes keys in order.
pub(in crate::key) struct ArrayBuilder {
    component: PendingComponent,
    prefix: Spool,
    keys: Spool,
    bytes: usize,
    common: usize,
    count: u64,
}

impl ArrayBuilder {
    /// For keys of `bytes` bytes which all begin with `prefix`.
    pub(in crate::key) fn new(
        name: &str,
        bytes: usize,
        prefix: &[u8],
        place: &SpoolPlace,
    ) -> Result<ArrayBuilder> {
        Ok(ArrayBuilder {
            component: PendingComponent::new(name, ARRAY),
            prefix: place.spool_of(prefix)?,
            keys: place.spool(),
            bytes,
            common: prefix.len(),
            count: 0,
        })
    }

    pub(in crate::key) fn push(&mut self, key: &[u8]) -> Result<()> {
        if key.len() != self.bytes {
            return Err(Error::logical("a key is none that the first pass over the keys has seen"));
        }
        self.count += 1;
        self.component.raw_bytes += key.len() as u64;
        self.keys.write(&key[self.common..])
    }

    pub(in crate::key) fn finish(mut self) -> PendingComponent {
        self.component.number(self.bytes as u64);
        self.component.number(self.count);
        self.component.number(self.common as u64);
        self.component.section(self.prefix);
        self.component.section(self.keys);
        self.component
    }
}

/// Keys as an array.
#[derive(Debug)]
pub(in crate::key) struct ArrayIndex {
    prefix: Section,
    rests: Section,
    /// Bytes of a rest, at least one.
    bytes: usize,
    count: u32,
    place: Place,
}

impl ArrayIndex {
    pub(in crate::key) fn open(mut component: ComponentReader<'_>) -> Result<ArrayIndex> {
        let place = component.place().clone();
        let bytes = component.number_to(FIXED_BYTES_MAX as u64)?;
        let count = component.number_to(ROWS_MAX)?;
        let common = component.number_to(bytes.saturating_sub(1))?;
        if common >= bytes {
            return Err(place.corrupt("keys of no bytes"));
        }
        let prefix = component.resident_of(common)?;
        let rests = component.resident_of(count * (bytes - common))?;
        component.finish()?;
        let bytes = usize::try_from(bytes - common).map_err(Error::logical)?;
        Ok(ArrayIndex { prefix, rests, bytes, count: u32::try_from(count).map_err(Error::logical)?, place })
    }

    #[inline(always)]
    fn rest(&self, rank: usize) -> &[u8] {
        self.rests.get(rank * self.bytes..(rank + 1) * self.bytes).unwrap_or_default()
    }

    /// The keys whose rests are less than `rest`. It halves the range with the place that an even spread suggests.
    fn less(&self, rest: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.count as usize);
        let target = head(rest);
        for _ in 0..STEPS_MAX {
            if high - low <= FEW_KEYS {
                break;
            }
            let (first, last) = (head(self.rest(low)), head(self.rest(high - 1)));
            if target <= first || target >= last {
                break;
            }
            let part = u128::from(target - first) * ((high - low) as u128) / u128::from(last - first);
            let guess = low + usize::try_from(part).unwrap_or(0).min(high - low - 1);
            // A margin on both sides, so that each step leaves a small range.
            let margin = (high - low).isqrt();
            let (below, above) =
                (guess.saturating_sub(margin).max(low), guess.saturating_add(margin).min(high - 1));
            match (self.rest(below) < rest, self.rest(above) < rest) {
                (false, _) => high = below,
                (true, true) => low = above + 1,
                (true, false) => (low, high) = (below + 1, above),
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            match self.rest(middle) < rest {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn check_range(&self, ranks: &Range<Rank>) -> Result<()> {
        match ranks.start <= ranks.end && ranks.end <= self.count {
            true => Ok(()),
            false => Err(self.place.corrupt(format!("key {} of {} was referred to", ranks.end, self.count))),
        }
    }
}

/// The first eight bytes as a number, padded with zeroes.
#[inline(always)]
fn head(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(head) => u64::from_be_bytes(*head),
        None => bytes
            .iter()
            .fold(0, |head, &byte| head << 8 | u64::from(byte))
            .checked_shl(u32::try_from(8 * (size_of::<u64>() - bytes.len())).unwrap_or(0))
            .unwrap_or(0),
    }
}

impl KeyIndex for ArrayIndex {
    fn len(&self) -> u32 {
        self.count
    }

    fn find(&self, key: &[u8]) -> Result<Option<Rank>> {
        let Some(rest) = key.strip_prefix(&*self.prefix).filter(|rest| rest.len() == self.bytes) else {
            return Ok(None);
        };
        let rank = self.less(rest);
        Ok(u32::try_from(rank).ok().filter(|&rank| rank < self.count && self.rest(rank as usize) == rest))
    }

    fn lower_bound(&self, key: &[u8]) -> Result<u32> {
        let front = &key[..key.len().min(self.prefix.len())];
        Ok(match front.cmp(&self.prefix[..front.len()]) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => self.count,
            std::cmp::Ordering::Equal => u32::try_from(self.less(&key[front.len()..])).unwrap_or(u32::MAX),
        })
    }

    fn prefix(&self, prefix: &[u8]) -> Result<Range<Rank>> {
        let start = self.lower_bound(prefix)?;
        let end = after_prefix(prefix).map_or(Ok(self.count), |after| self.lower_bound(&after))?;
        Ok(start..end.max(start))
    }

    fn key(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.check_range(&(rank..rank.saturating_add(1)))?;
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(self.rest(rank as usize));
        Ok(())
    }

    fn scan(&self, ranks: Range<Rank>, visit: &mut dyn FnMut(Rank, &[u8]) -> Flow) -> Result<()> {
        self.check_range(&ranks)?;
        let mut key = self.prefix.to_vec();
        for rank in ranks {
            if rank.is_multiple_of(KEYS_OF_A_CHECKPOINT) {
                checkpoint()?;
            }
            key.truncate(self.prefix.len());
            key.extend_from_slice(self.rest(rank as usize));
            if visit(rank, &key)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn search(
        &self,
        ranks: Range<Rank>,
        automaton: &mut dyn KeyAutomaton,
        found: &mut dyn FnMut(Range<Rank>) -> Flow,
    ) -> Result<()> {
        self.check_range(&ranks)?;
        walk_sorted(self, ranks, automaton, found)
    }

    fn stored_bytes(&self) -> u64 {
        (self.prefix.len() + self.rests.len()) as u64
    }
}
