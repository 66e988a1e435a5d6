//! Equal strings are stored once: each rank has the index of a string in another store.
//!
//! # Layout
//!
//! ```text
//! number      the number of ranks
//! sections    the indexes, see `bits::blocks`
//! component   the distinct strings in the order of their first ranks, named `NAME/distinct`
//! ```
//!
//! # Invariants
//!
//! An index may be outside of the distinct strings: their store compares it.
//!
//! # Cost
//!
//! Building remembers the fingerprints of the last one to two [`GENERATION_STRINGS`] distinct strings, 64 MB; an equal
//! string that is farther away is stored again. A fingerprint is two hashes of 64 bits with keys that are random for
//! each build. The bytes are not compared, as that would need all of them in memory: two different strings have the same
//! fingerprint with a probability of 2^-128, and as nobody knows the keys, nobody can make such strings.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use basalt_base::query::checkpoint;
use basalt_base::string_views::gather;
use basalt_base::{Error, Result};
use basalt_codec::Tokens;

use super::folded_indexes::{BLOCK_RANKS, FoldedIndexes};
use super::input;
use super::onpair::OnPairStrings;
use crate::Rank;
use crate::bits::blocks::BlocksBuilder;
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::search::{TokenStrings, VisitCodes};
use crate::value::{ColumnStore, StoreBuilder, StringStore};

pub(super) const ENCODING: &str = "folded";

/// Fingerprints of a generation: when it is full, the one before is forgotten.
const GENERATION_STRINGS: usize = 1 << 20;

/// The name of the store of distinct strings.
pub(super) fn distinct_name(name: &str) -> String {
    format!("{name}/distinct")
}

/// Stores distinct strings with another builder.
pub(super) struct FoldingBuilder {
    name: String,
    reason: String,
    distinct: Box<dyn StoreBuilder>,
    distinct_count: u32,
    fingerprints: Fingerprints,
    indexes: BlocksBuilder,
    block: Vec<u64>,
    count: u64,
    raw_bytes: u64,
}

/// The indexes of recent strings by their fingerprints.
struct Fingerprints {
    keys: [RandomState; 2],
    /// The most strings of a generation.
    room: usize,
    recent: HashMap<u128, u32>,
    older: HashMap<u128, u32>,
}

impl Fingerprints {
    fn new(room: usize) -> Fingerprints {
        let keys = [RandomState::new(), RandomState::new()];
        Fingerprints { keys, room, recent: HashMap::new(), older: HashMap::new() }
    }

    /// The index of an equal string; else `next`, which it has from now on.
    fn find_or_add(&mut self, string: &[u8], next: u32) -> u32 {
        let [high, low] = self.keys.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            hasher.write(string);
            u128::from(hasher.finish())
        });
        let fingerprint = high << u64::BITS | low;
        if let Some(&index) = self.recent.get(&fingerprint) {
            return index;
        }
        let index = self.older.get(&fingerprint).copied().unwrap_or(next);
        if self.recent.len() >= self.room {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(fingerprint, index);
        index
    }

    #[cfg(test)]
    fn strings(&self) -> usize {
        self.recent.len() + self.older.len()
    }
}

impl FoldingBuilder {
    /// `distinct` builds the component [`distinct_name`].
    pub(super) fn new(
        name: &str,
        reason: &str,
        distinct: Box<dyn StoreBuilder>,
        place: &SpoolPlace,
    ) -> FoldingBuilder {
        FoldingBuilder {
            name: name.to_owned(),
            reason: reason.to_owned(),
            distinct,
            distinct_count: 0,
            fingerprints: Fingerprints::new(GENERATION_STRINGS),
            indexes: BlocksBuilder::new(place),
            block: Vec::with_capacity(BLOCK_RANKS),
            count: 0,
            raw_bytes: 0,
        }
    }

    fn push_index(&mut self, index: u32) -> Result<()> {
        self.block.push(index.into());
        self.count += 1;
        if self.block.len() == BLOCK_RANKS {
            self.indexes.push(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }
}

impl StoreBuilder for FoldingBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let (mut position, mut new) = (0, Vec::new());
        input::for_each(values, |string| {
            let index = self.fingerprints.find_or_add(string, self.distinct_count);
            if index == self.distinct_count {
                self.distinct_count += 1;
                new.push(position);
            }
            position += 1;
            self.raw_bytes += string.len() as u64;
            self.push_index(index)
        })?;
        let views = input::views(values)?;
        let nulls = views.nulls().map(|nulls| new.iter().map(|&at| nulls.is_valid(at as usize)).collect());
        self.distinct.push(&(Arc::new(gather(&views, &new, nulls)) as ArrayRef))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = PendingComponent::new(self.name, ENCODING);
        component.reason = self.reason;
        component.raw_bytes = self.raw_bytes;
        component.number(self.count);
        if !self.block.is_empty() {
            self.indexes.push(&self.block)?;
        }
        self.indexes.finish(&mut component)?;
        let mut components = vec![component];
        components.extend(self.distinct.finish()?);
        Ok(components)
    }
}

/// Strings by rank, each of which is one of the distinct strings.
#[derive(Debug)]
pub(super) struct FoldedStrings {
    indexes: Arc<FoldedIndexes>,
    distinct: Arc<dyn ColumnStore>,
    coded: Option<FoldedCodes>,
    stored_bytes: u64,
}

/// The same strings as codes.
#[derive(Debug)]
struct FoldedCodes {
    indexes: Arc<FoldedIndexes>,
    distinct: Arc<OnPairStrings>,
}

impl FoldedStrings {
    pub(super) fn open(
        component: ComponentReader<'_>,
        distinct: Arc<dyn ColumnStore>,
    ) -> Result<FoldedStrings> {
        FoldedStrings::new(component, distinct, None)
    }

    pub(super) fn of_codes(component: ComponentReader<'_>, distinct: OnPairStrings) -> Result<FoldedStrings> {
        let distinct = Arc::new(distinct);
        FoldedStrings::new(component, Arc::clone(&distinct) as Arc<dyn ColumnStore>, Some(distinct))
    }

    fn new(
        component: ComponentReader<'_>,
        distinct: Arc<dyn ColumnStore>,
        codes: Option<Arc<OnPairStrings>>,
    ) -> Result<FoldedStrings> {
        let stored_bytes = component.component().stored_bytes() + distinct.stored_bytes();
        let indexes = Arc::new(FoldedIndexes::open(component)?);
        let coded = codes.map(|distinct| FoldedCodes { indexes: Arc::clone(&indexes), distinct });
        Ok(FoldedStrings { indexes, distinct, coded, stored_bytes })
    }

    /// The strings of `indexes`. Each of the distinct ones is decoded once.
    fn gather(&self, indexes: &[Rank]) -> Result<ArrayRef> {
        let mut distinct = indexes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() > indexes.len() / 2 {
            return self.distinct.take(indexes);
        }
        let strings = self.distinct.take(&distinct)?;
        let position = |index: &Rank| u32::try_from(distinct.partition_point(|other| other < index));
        let positions =
            indexes.iter().map(position).collect::<Result<Vec<_>, _>>().map_err(Error::logical)?;
        Ok(Arc::new(gather(strings.as_binary_view(), &positions, None)))
    }
}

impl ColumnStore for FoldedStrings {
    fn len(&self) -> u32 {
        self.indexes.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        checkpoint()?;
        let mut buffer = Vec::new();
        let indexes = ranks.iter().map(|&rank| self.indexes.get(rank, &mut buffer));
        self.gather(&indexes.collect::<Result<Vec<_>>>()?)
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        let mut indexes = Vec::with_capacity(ranks.len().min(self.indexes.len() as usize));
        self.indexes.each_block(ranks, |_, numbers| {
            for &number in numbers {
                indexes.push(Rank::try_from(number).map_err(|_| self.indexes.no_value(Rank::MAX))?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.gather(&indexes)
    }

    fn as_strings(&self) -> Option<&dyn StringStore> {
        Some(self)
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }
}

impl StringStore for FoldedStrings {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        let index = self.indexes.get(rank, &mut Vec::new())?;
        match self.distinct.as_strings() {
            Some(strings) => strings.append(index, out),
            None => Err(Error::logical("distinct strings are no store of strings")),
        }
    }

    fn as_tokens(&self) -> Option<&dyn TokenStrings> {
        self.coded.as_ref().map(|codes| codes as &dyn TokenStrings)
    }
}

impl StringStore for FoldedCodes {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.distinct.append(self.indexes.get(rank, &mut Vec::new())?, out)
    }

    fn as_tokens(&self) -> Option<&dyn TokenStrings> {
        Some(self)
    }
}

impl TokenStrings for FoldedCodes {
    fn tokens(&self) -> &Tokens {
        self.distinct.tokens()
    }

    fn scan_codes(&self, ranks: Range<Rank>, visit: &mut VisitCodes<'_>) -> Result<()> {
        let mut codes = Vec::new();
        self.indexes.each_block(ranks, |first, numbers| {
            for (rank, &number) in (first..).zip(numbers) {
                codes.clear();
                let index = Rank::try_from(number).map_err(|_| self.indexes.no_value(rank))?;
                self.distinct.codes(index, &mut codes)?;
                if visit(rank, &codes)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_have_a_bound_and_recent_strings_are_found() {
        let mut fingerprints = Fingerprints::new(100);
        for number in 0..10_000_u32 {
            assert_eq!(fingerprints.find_or_add(&number.to_le_bytes(), number), number);
            assert!(fingerprints.strings() <= 200);
            let before = number.saturating_sub(40);
            assert_eq!(fingerprints.find_or_add(&before.to_le_bytes(), u32::MAX), before);
        }
    }
}
