//! Keys of up to eight bytes as big-endian integers.
//!
//! # Layout
//!
//! ```text
//! dense        numbers: bytes of a key | keys | first key; a key is the first one and its rank
//! ascending    number: bytes of a key; then the number and the sections of `bits::ascending`
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::query::checkpoint;
use basalt_base::{Error, Result};

use super::layout::{ASCENDING, DENSE, INTEGER_BYTES_MAX};
use crate::bits::ascending::{Ascending, AscendingBuilder};
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::key::index::{Flow, KeyIndex};
use crate::key::limits::after_prefix;
use crate::key::walk::KeyAutomaton;
use crate::key::walk_sorted::walk_sorted;
use crate::{Place, ROWS_MAX, Rank};

/// Keys between two checkpoints.
const KEYS_OF_A_CHECKPOINT: u32 = 8192;

/// Takes keys in order.
pub(in crate::key) struct IntegersBuilder {
    component: PendingComponent,
    /// `None`: the keys are consecutive.
    numbers: Option<AscendingBuilder>,
    bytes: usize,
    count: u64,
    last: u64,
}

impl IntegersBuilder {
    /// For keys of `bytes` bytes, which are consecutive if `is_dense`.
    pub(in crate::key) fn dense(name: &str, bytes: usize) -> IntegersBuilder {
        let component = PendingComponent::new(name, DENSE);
        IntegersBuilder { component, numbers: None, bytes, count: 0, last: 0 }
    }

    pub(in crate::key) fn ascending(name: &str, bytes: usize, place: &SpoolPlace) -> IntegersBuilder {
        let component = PendingComponent::new(name, ASCENDING);
        IntegersBuilder { component, numbers: Some(AscendingBuilder::new(place)), bytes, count: 0, last: 0 }
    }

    pub(in crate::key) fn push(&mut self, key: &[u8]) -> Result<()> {
        let number = number(key);
        match &mut self.numbers {
            _ if key.len() != self.bytes => return Err(different()),
            Some(numbers) => numbers.push(number)?,
            None if self.count > 0 && Some(number) != self.last.checked_add(1) => return Err(different()),
            None => {}
        }
        self.component.raw_bytes += key.len() as u64;
        self.count += 1;
        self.last = number;
        Ok(())
    }

    pub(in crate::key) fn finish(mut self) -> Result<PendingComponent> {
        self.component.number(self.bytes as u64);
        match self.numbers {
            Some(numbers) => numbers.finish(&mut self.component)?,
            None => {
                self.component.number(self.count);
                self.component.number(self.last - self.count.saturating_sub(1));
            }
        }
        Ok(self.component)
    }
}

fn different() -> Error {
    Error::logical("a key is none that the first pass over the keys has seen")
}

/// The integer that `key` is, padded to eight bytes with zeroes in front; of longer keys, of their first bytes.
fn number(key: &[u8]) -> u64 {
    key.iter().take(INTEGER_BYTES_MAX).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Integers as keys.
#[derive(Debug)]
pub(in crate::key) struct IntegersIndex {
    bytes: usize,
    keys: Keys,
    place: Place,
}

#[derive(Debug)]
enum Keys {
    Dense { first: u64, count: u32 },
    Ascending(Ascending),
}

/// Where a key of any length is among keys of one length.
enum Target {
    /// A key of this length.
    Key(u64),
    /// Between two keys: as many are less as are less than this number.
    Before(u64),
    /// After all.
    End,
}

impl IntegersIndex {
    pub(in crate::key) fn open(mut component: ComponentReader<'_>) -> Result<IntegersIndex> {
        let place = component.place().clone();
        let bytes =
            usize::try_from(component.number_to(INTEGER_BYTES_MAX as u64)?).map_err(Error::logical)?;
        let most = u64::MAX.checked_shr(u64::BITS - 8 * u32::try_from(bytes).unwrap_or(0)).unwrap_or(0);
        let keys = match component.encoding() {
            DENSE => {
                let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
                Keys::Dense { first: component.number()?, count }
            }
            _ => Keys::Ascending(Ascending::open(&mut component)?),
        };
        component.finish()?;
        let index = IntegersIndex { bytes, keys, place };
        let last = index.len().checked_sub(1).map_or(Some(0), |last| index.checked_number(last));
        match last {
            Some(last) if last <= most => Ok(index),
            _ => Err(index.place.corrupt("a key is longer than all keys are")),
        }
    }

    fn checked_number(&self, rank: Rank) -> Option<u64> {
        match &self.keys {
            Keys::Dense { first, .. } => first.checked_add(rank.into()),
            Keys::Ascending(numbers) => Some(numbers.get(rank as usize)),
        }
    }

    #[inline]
    fn append(&self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_be_bytes()[INTEGER_BYTES_MAX - self.bytes..]);
    }

    /// A key that is shorter than the others is less than all keys that begin with it, a longer one is greater than its
    /// front.
    fn target(&self, key: &[u8]) -> Target {
        let padded = |key: &[u8]| number(key) << (8 * (self.bytes - key.len()).min(7));
        match key.get(..self.bytes) {
            Some(_) if key.len() == self.bytes => Target::Key(number(key)),
            Some(front) => {
                let after = after_prefix(front).filter(|after| !after.is_empty());
                after.map_or(Target::End, |after| Target::Before(padded(&after)))
            }
            None if key.is_empty() => Target::Before(0),
            None => Target::Before(padded(key)),
        }
    }

    fn less(&self, number: u64) -> (u32, bool) {
        match &self.keys {
            Keys::Dense { first, count } => {
                let less = number.saturating_sub(*first);
                let is_there = number >= *first && less < u64::from(*count);
                (u32::try_from(less).map_or(*count, |less| less.min(*count)), is_there)
            }
            Keys::Ascending(numbers) => {
                let (less, is_there) = numbers.locate(number);
                (u32::try_from(less).unwrap_or(u32::MAX).min(self.len()), is_there)
            }
        }
    }

    fn for_each(&self, ranks: Range<Rank>, mut take: impl FnMut(Rank, u64) -> Flow) -> Result<()> {
        let mut rank = ranks.start;
        // `Err(None)` ends the loop.
        let mut step = |number: u64| -> std::result::Result<(), Option<Error>> {
            if rank.is_multiple_of(KEYS_OF_A_CHECKPOINT) {
                checkpoint().map_err(Some)?;
            }
            let flow = take(rank, number).map_err(Some)?;
            rank += 1;
            if flow.is_break() { Err(None) } else { Ok(()) }
        };
        let done = match &self.keys {
            Keys::Dense { first, .. } => {
                ranks.into_iter().try_for_each(|rank| step(first.wrapping_add(rank.into())))
            }
            Keys::Ascending(numbers) => numbers.for_each(ranks.start as usize..ranks.end as usize, step),
        };
        match done {
            Err(Some(error)) => Err(error),
            Ok(()) | Err(None) => Ok(()),
        }
    }

    fn check_range(&self, ranks: &Range<Rank>) -> Result<()> {
        match ranks.start <= ranks.end && ranks.end <= self.len() {
            true => Ok(()),
            false => Err(self.place.corrupt(format!("key {} of {} was referred to", ranks.end, self.len()))),
        }
    }
}

impl KeyIndex for IntegersIndex {
    fn len(&self) -> u32 {
        match &self.keys {
            Keys::Dense { count, .. } => *count,
            // The number of keys was compared with the limit.
            Keys::Ascending(numbers) => u32::try_from(numbers.len()).unwrap_or(u32::MAX),
        }
    }

    fn find(&self, key: &[u8]) -> Result<Option<Rank>> {
        if key.len() != self.bytes {
            return Ok(None);
        }
        let (rank, is_there) = self.less(number(key));
        Ok(is_there.then_some(rank))
    }

    fn lower_bound(&self, key: &[u8]) -> Result<u32> {
        Ok(match self.target(key) {
            Target::Key(number) | Target::Before(number) => self.less(number).0,
            Target::End => self.len(),
        })
    }

    fn prefix(&self, prefix: &[u8]) -> Result<Range<Rank>> {
        let start = self.lower_bound(prefix)?;
        if prefix.len() > self.bytes {
            return Ok(start..start);
        }
        let end = after_prefix(prefix).map_or(Ok(self.len()), |after| self.lower_bound(&after))?;
        Ok(start..end.max(start))
    }

    fn key(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.check_range(&(rank..rank.saturating_add(1)))?;
        self.append(self.checked_number(rank).unwrap_or(0), out);
        Ok(())
    }

    fn scan(&self, ranks: Range<Rank>, visit: &mut dyn FnMut(Rank, &[u8]) -> Flow) -> Result<()> {
        self.check_range(&ranks)?;
        self.for_each(ranks, |rank, number| {
            visit(rank, &number.to_be_bytes()[INTEGER_BYTES_MAX - self.bytes..])
        })
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
        match &self.keys {
            Keys::Dense { .. } => 0,
            Keys::Ascending(numbers) => numbers.stored_bytes(),
        }
    }
}
