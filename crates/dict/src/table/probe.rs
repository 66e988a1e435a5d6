//! Looks up many keys so that their memory accesses overlap.
//!
//! A lookup is a sequence of steps, each of which reads memory that the step before has prefetched. One loop takes all
//! steps, each for other keys: it locates and prefetches the buckets of a group of keys, compares the buckets of the
//! keys [`AHEAD`] groups before it and prefetches what their payloads have spilled, and takes the payloads of the keys
//! before these. So a core computes while it waits, and its reads never pause for long. (Taking one step for a whole
//! batch of keys, and then the next, reached 0.9 of this speed with cuckoo tables, and 0.75 with 20 million cells on a
//! Xeon: no read is in flight while other steps compute.)
//!
//! A group prefetches all its buckets at once, because a core stops at a prefetch whose page is not in its TLB. In a
//! table larger than the TLB covers, every bucket is in such a page. The core translates several of them at a time
//! only if they are within its window of some hundred instructions. With 100 million keys, a tenth to a fifth more
//! keys are found per second than if each key prefetches by itself, on a guest whose host has small pages.
//!
//! All keys of a group take the same instructions, found or not: a mispredicted branch costs as much as a cache miss,
//! and vectors compute for all of them. The few keys that are not in their primary bucket wait in a queue, and then
//! go together to their alternate bucket.

use basalt_base::processor::{self, Form, Loop};
use basalt_base::words::{Mask, Words};

use super::Hits;
use crate::hash::ShardBits;

/// Keys that take a step together. With 16, lookups among 20 million keys were slower, and among 100 million faster.
pub(super) const GROUP: usize = 8;
/// Groups between the prefetch and the read of a bucket: more keys than a core has reads in flight (16 on a Xeon), and
/// few enough that their buckets stay in the caches. With half as many groups, an EPYC of the fifth generation did a
/// fifth fewer lookups per second among 20 million keys. With twice as many, one of the fourth generation was slower,
/// too.
const AHEAD: usize = 8;
/// Keys that wait for their alternate bucket: at both ends of their queue, a core waits with few reads in flight. With
/// 128, an EPYC of the fourth generation did a twentieth fewer lookups per second among 100 million keys, a fifth of
/// them in their alternate bucket. With 8192 it was no faster.
const RETRIES_MAX: usize = 2048;

/// A value for each key of a group.
pub(super) type Group<T = u64> = [T; GROUP];

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// The places in the index that say which cells may hold a group of keys.
    type IndexRef: Copy + Default;

    /// The cells that most probably hold a group of keys.
    type BucketRef: Copy + Default;

    /// The payloads of a group of keys, or where they are.
    type Matches: Copy + Default;

    /// Whether an entry has an alternate place, see [`Probe::retry_alternate`].
    const HAS_ALTERNATE: bool;

    /// Whether some payloads have spilled bytes, which are prefetched when their keys are found.
    const SPILLS_PAYLOADS: bool;

    /// Prefetches what [`Probe::locate`] reads.
    fn prefetch_index<F: Form>(&self, hashes: &Group, index: &mut Self::IndexRef);

    /// Finds out where entries of `hashes` most probably are, and prefetches these places.
    fn locate<F: Form>(&self, hashes: &Group, index: &Self::IndexRef, bucket: &mut Self::BucketRef);

    /// Compares the entries at these places with the hashes, and prefetches spilled bytes.
    fn compare<F: Form>(
        &self,
        hashes: &Group,
        bucket: &Self::BucketRef,
        matches: &mut Self::Matches,
    ) -> MatchMask;

    fn payloads<F: Form>(&self, matches: &Self::Matches) -> Group;

    /// Prefetches the alternate places of entries that [`Probe::compare`] did not find. A key that is not there
    /// either must be searched for: by [`Probe::find_in_stash`] if both places have no tag of it, else by
    /// [`Probe::search`].
    fn retry_alternate<F: Form>(&self, hashes: &Group, bucket: &mut Self::BucketRef);

    /// The payload of the first entry of `hash` in the stash that `accept` takes.
    fn find_in_stash(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;
}

/// Tables that each have a range of all hashes.
pub(super) struct Shards<S> {
    shards: Vec<S>,
    pub(super) bits: ShardBits,
}

impl<S> Shards<S> {
    pub(super) fn new(shards: Vec<S>, bits: ShardBits) -> Shards<S> {
        Shards { shards, bits }
    }

    /// The shard of a hash.
    #[inline(always)]
    pub(super) fn of(&self, hash: u64) -> &S {
        &self.shards[self.bits.split(hash).0]
    }

    /// The number of the shard of each hash.
    #[inline(always)]
    pub(super) fn numbers<F: Form>(&self, hashes: Words<F>) -> Words<F> {
        // As `ShardBits::split`.
        hashes >> 1 >> u64::from(u64::BITS - 1 - self.bits.count())
    }
}

/// The result of [`Probe::compare`]: a bit for each key of the group, the lowest one for the first key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MatchMask {
    /// The key was found.
    pub(super) found: u8,
    /// If the key was not found here, it is nowhere in the table.
    pub(super) conclusive: u8,
    /// The key is not at this place, because no tag there equals its own.
    pub(super) no_tag: u8,
}

/// Compares keys whose hashes are equal: whether the entry with this payload has the key with this number. `None` if
/// the hash is the key.
///
/// It is a `dyn` function, because it would be compiled into many loops, and comparing keys is slow anyway.
pub(crate) type Accept<'a> = Option<&'a mut dyn FnMut(usize, u64) -> bool>;

/// Looks up `hashes`.
pub(super) fn find<T: Probe>(table: &T, hashes: &[u64], accept: Accept<'_>) -> Hits {
    processor::run(Find { table, hashes, accept })
}

/// [`find`] in each form that this processor has.
#[cfg(test)]
pub(super) fn find_in_all_forms<T: Probe>(table: &T, hashes: &[u64], accept: TestAccept<'_>) -> Vec<Hits> {
    processor::run_all(|| TestFind { table, hashes, accept })
}

/// [`Accept`] for several lookups.
#[cfg(test)]
pub(super) type TestAccept<'a> = Option<&'a dyn Fn(usize, u64) -> bool>;

#[cfg(test)]
struct TestFind<'a, T> {
    table: &'a T,
    hashes: &'a [u64],
    accept: TestAccept<'a>,
}

#[cfg(test)]
impl<T: Probe> Loop for TestFind<'_, T> {
    type Output = Hits;

    #[inline(always)]
    fn run<F: Form>(self) -> Hits {
        let TestFind { table, hashes, accept } = self;
        let mut accept = accept.map(|accept| move |key, payload| accept(key, payload));
        let accept = accept.as_mut().map(|accept| accept as &mut dyn FnMut(usize, u64) -> bool);
        Find { table, hashes, accept }.run::<F>()
    }
}

struct Find<'a, 'k, T> {
    table: &'a T,
    hashes: &'a [u64],
    accept: Accept<'k>,
}

impl<T: Probe> Loop for Find<'_, '_, T> {
    type Output = Hits;

    #[inline(always)]
    fn run<F: Form>(self) -> Hits {
        let Find { table, hashes, mut accept } = self;
        let len = hashes.len();
        let mut hits = Hits::with_capacity(hashes.len().next_multiple_of(GROUP));
        let mut retries = RetryQueue::with_capacity(RETRIES_MAX.min(len) + GROUP);
        pipeline::<T, F>(
            table,
            hashes,
            #[inline(always)]
            |hashes, index, bucket| table.locate::<F>(hashes, index, bucket),
            #[inline(always)]
            |first, hashes, matches, mask| {
                let seen = table.payloads::<F>(matches);
                let keys = u8::MAX >> (GROUP - GROUP.min(len - first));
                let mut found = mask.found & keys;
                if let Some(accept) = &mut accept {
                    let mut rest = found;
                    while rest != 0 {
                        let at = rest.trailing_zeros() as usize;
                        found &= !(u8::from(!accept(first + at, seen[at])) << at);
                        rest &= rest - 1;
                    }
                }
                hits.found.extend_from_slice(&UNPACKED[usize::from(found)]);
                let payloads = Words::<F>::of(seen) & Mask::of(found).ones();
                hits.payloads.extend_from_slice(&payloads.numbers());
                let left = keys & !found & (mask.found | !mask.conclusive);
                if left != 0 {
                    retries.push::<F>(first, hashes, left, mask.no_tag);
                    if retries.keys.len() >= RETRIES_MAX {
                        retries.run::<T, F>(table, &mut accept, &mut hits);
                    }
                }
            },
        );
        retries.run::<T, F>(table, &mut accept, &mut hits);
        hits.found.truncate(len);
        hits.payloads.truncate(len);
        hits
    }
}

/// The bits of a number, the lowest one first.
static UNPACKED: [Group<bool>; 1 << GROUP] = unpacked();

const fn unpacked() -> [Group<bool>; 1 << GROUP] {
    let mut all = [[false; GROUP]; 1 << GROUP];
    let mut bits = 0;
    while bits < all.len() {
        let mut at = 0;
        while at < GROUP {
            all[bits][at] = bits >> at & 1 != 0;
            at += 1;
        }
        bits += 1;
    }
    all
}

/// Compares all keys at the places that `locate` finds. `visit` gets the number of each group's first key, its
/// hashes, and what was found. The last group may have more hashes than there are keys.
#[inline(always)]
fn pipeline<T: Probe, F: Form>(
    table: &T,
    hashes: &[u64],
    locate: impl Fn(&Group, &T::IndexRef, &mut T::BucketRef),
    mut visit: impl FnMut(usize, &Group, &T::Matches, MatchMask),
) {
    let (whole, rest) = hashes.as_chunks::<GROUP>();
    let mut last = [hashes.first().copied().unwrap_or_default(); GROUP];
    last[..rest.len()].copy_from_slice(rest);
    let groups = whole.len() + usize::from(!rest.is_empty());
    let group = |at: usize| whole.get(at).copied().unwrap_or(last);

    let mut indexes = [T::IndexRef::default(); AHEAD];
    let mut buckets = [T::BucketRef::default(); AHEAD];
    let mut matches = [T::Matches::default(); AHEAD];
    let mut masks = [MatchMask::default(); AHEAD];
    let delay = if T::SPILLS_PAYLOADS { AHEAD } else { 0 };
    // The first steps only prefetch.
    for step in 0..2 * AHEAD + groups + delay {
        let slot = step % AHEAD;
        if let Some(at) = step.checked_sub(2 * AHEAD) {
            if T::SPILLS_PAYLOADS && at >= AHEAD {
                let at = at - AHEAD;
                visit(at * GROUP, &group(at), &matches[slot], masks[slot]);
            }
            if at < groups {
                masks[slot] = table.compare::<F>(&group(at), &buckets[slot], &mut matches[slot]);
                if !T::SPILLS_PAYLOADS {
                    visit(at * GROUP, &group(at), &matches[slot], masks[slot]);
                }
            }
        }
        if let Some(at) = step.checked_sub(AHEAD).filter(|&at| at < groups) {
            locate(&group(at), &indexes[slot], &mut buckets[slot]);
        }
        if step < groups {
            table.prefetch_index::<F>(&group(step), &mut indexes[slot]);
        }
    }
}

/// Keys that were not found at their primary place, and may be elsewhere.
struct RetryQueue {
    /// Twice the number of each key, plus one if no tag at its primary place equals its own.
    keys: Vec<u64>,
    hashes: Vec<u64>,
}

impl RetryQueue {
    fn with_capacity(keys: usize) -> RetryQueue {
        RetryQueue { keys: Vec::with_capacity(keys), hashes: Vec::with_capacity(keys) }
    }

    /// Adds the keys of a group whose bits are set in `retried`.
    #[inline(always)]
    fn push<F: Form>(&mut self, first: usize, hashes: &Group, retried: u8, no_tag: u8) {
        let numbers = Words::<F>::of(std::array::from_fn(|at| at as u64)) + first as u64;
        let keys = (numbers << 1) | (Mask::of(no_tag).ones() & 1);
        let count = retried.count_ones() as usize;
        extend(&mut self.keys, keys.packed(retried), count);
        extend(&mut self.hashes, Words::<F>::of(*hashes).packed(retried), count);
    }

    /// Looks up all keys at their alternate places, and empties the queue.
    #[inline(always)]
    fn run<T: Probe, F: Form>(&mut self, table: &T, accept: &mut Accept<'_>, hits: &mut Hits) {
        let RetryQueue { keys, hashes } = self;
        if T::HAS_ALTERNATE {
            pipeline::<T, F>(
                table,
                hashes,
                #[inline(always)]
                |hashes, _, bucket| table.retry_alternate::<F>(hashes, bucket),
                #[inline(always)]
                |first, hashes, matches, mask| {
                    let payloads = table.payloads::<F>(matches);
                    for (at, &key) in keys[first..].iter().take(GROUP).enumerate() {
                        let (is_found, has_no_tag) = (mask.found >> at & 1 != 0, mask.no_tag >> at & 1 != 0);
                        let (key, hash) = (Retry { key, has_no_tag }, hashes[at]);
                        if is_found && accept.is_none() {
                            key.answer(Some(payloads[at]), hits);
                        } else {
                            let seen = is_found.then_some(payloads[at]);
                            key.settle(table, hash, seen, accept, hits);
                        }
                    }
                },
            );
        } else {
            for (&key, &hash) in keys.iter().zip(hashes.iter()) {
                Retry { key, has_no_tag: false }.settle(table, hash, None, accept, hits);
            }
        }
        keys.clear();
        hashes.clear();
    }
}

/// One of [`RetryQueue::keys`], and whether no tag at its alternate place equals its own.
#[derive(Clone, Copy)]
struct Retry {
    key: u64,
    has_no_tag: bool,
}

impl Retry {
    /// Takes the payload that was found at its alternate place, if `accept` does, or searches for the key.
    #[inline(never)]
    fn settle<T: Probe>(
        self,
        table: &T,
        hash: u64,
        seen: Option<u64>,
        accept: &mut Accept<'_>,
        hits: &mut Hits,
    ) {
        let key = (self.key >> 1) as usize;
        let mut accept = |payload| accept.as_mut().is_none_or(|accept| accept(key, payload));
        let found =
            seen.filter(|&payload| accept(payload)).or_else(|| match self.key & 1 != 0 && self.has_no_tag {
                true => table.find_in_stash(hash, accept),
                false => table.search(hash, accept),
            });
        self.answer(found, hits);
    }

    #[inline(always)]
    fn answer(self, found: Option<u64>, hits: &mut Hits) {
        let key = (self.key >> 1) as usize;
        hits.payloads[key] = found.unwrap_or_default();
        hits.found[key] = found.is_some();
    }
}

/// Adds the first `count` of `numbers`. It writes all of a group first, because a copy of constant length is a few
/// moves.
#[inline(always)]
fn extend<F: Form>(to: &mut Vec<u64>, numbers: Words<F>, count: usize) {
    let len = to.len() + count;
    to.extend_from_slice(&numbers.numbers());
    to.truncate(len);
}
