//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is steps that each read what the step before asked for. All steps are taken in one loop, each for other keys:
//! the lines of a group of keys are asked for, those of the keys [`AHEAD`] before it are looked at, and what their payloads
//! have elsewhere is asked for; the payloads of the keys before these are taken. So a core computes while it waits, and
//! its reads never pause for long. (Steps that are each done for a batch of keys before the next step reached 0.9 of that
//! with lines and 0.75 with 20 million cells on a Xeon: no read is on its way while other steps compute.)
//!
//! A group asks for all its lines at once, because a core does not go past a request whose page it does not know, and in a
//! table larger than the caches that have translations, each line is in such a page. It finds several of them out at the
//! same time only if it meets them within its window of some hundred instructions. Among 100 million keys, a tenth to a
//! fifth more are found so than if each key asks by itself, on a guest whose host has small pages.
//!
//! All keys of a group take the same instructions, found or not, because a branch that is guessed wrong costs as
//! much as a line, and because vectors then compute for all of them. The few keys that are not where they most probably
//! are wait until there are many of them, and then go together to their second place.

use basalt_base::processor::{self, Form, Loop};
use basalt_base::words::{Mask, Words};

use super::Hits;
use crate::hash::ShardBits;

/// So many keys take a step together. With 16 it was slower among 20 million keys, and faster among 100 million.
pub(super) const GROUP: usize = 8;
/// So many groups lie between what asks for memory and what reads it: more keys than a core waits for at once (16 on a
/// Xeon), and few enough that their lines stay in the caches until then. With half as many an EPYC of the fifth generation found
/// a fifth fewer of 20 million keys, with twice as many one of the fourth fewer, too.
const AHEAD: usize = 8;
/// Keys that were not where they were first looked for wait until there are so many: before the first and behind the last of
/// their second looks a core waits with few requests on their way. With 128, an EPYC of the fourth generation found a twentieth
/// fewer of 100 million keys, of which one in five is away; with 8192 no more.
const OPEN_MAX: usize = 2048;

/// One of each key of a group.
pub(super) type Group<T = u64> = [T; GROUP];

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// What says where the cells of a group of keys are.
    type Way: Copy + Default;

    /// Where the cells of a group are expected.
    type Aim: Copy + Default;

    /// What the looks of a group saw: payloads, or where they are.
    type Places: Copy + Default;

    /// Whether an entry has a second place, see [`Probe::turn`].
    const IS_TWOFOLD: bool;

    /// Whether some payloads are not whole where their keys are, and the rest is asked for when that is found.
    const HANGS_OVER: bool;

    /// Asks for what [`Probe::aim`] reads.
    fn approach<F: Form>(&self, hashes: &Group, way: &mut Self::Way);

    /// Finds out where entries of `hashes` most probably are, and asks for what is there.
    fn aim<F: Form>(&self, hashes: &Group, way: &Self::Way, aim: &mut Self::Aim);

    /// Looks there and nowhere else, and asks for what payloads have elsewhere.
    fn seek<F: Form>(&self, hashes: &Group, aim: &Self::Aim, places: &mut Self::Places) -> Sight;

    fn payloads<F: Form>(&self, places: &Self::Places) -> Group;

    /// Where entries most probably are if the first look did not see them, and asks for it. Who does not see one there
    /// either has to search, if only [`Probe::beside`] where both looks were clear.
    fn turn<F: Form>(&self, hashes: &Group, aim: &mut Self::Aim);

    /// The payload of the first entry of `hash` that `accept` takes and that is at neither of its two places.
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;
}

/// The tables of which each has a stretch of all hashes, as a probe sees them.
pub(super) struct Shards<S> {
    shards: Vec<S>,
    pub(super) bits: ShardBits,
}

impl<S> Shards<S> {
    pub(super) fn new(shards: Vec<S>, bits: ShardBits) -> Shards<S> {
        Shards { shards, bits }
    }

    /// That of a hash.
    #[inline(always)]
    pub(super) fn of(&self, hash: u64) -> &S {
        &self.shards[self.bits.split(hash).0]
    }

    /// Of each hash, which of them that is.
    #[inline(always)]
    pub(super) fn numbers<F: Form>(&self, hashes: Words<F>) -> Words<F> {
        // As `ShardBits::split`.
        hashes >> 1 >> u64::from(u64::BITS - 1 - self.bits.count())
    }
}

/// What the looks of a group told: a bit for each key, that of the first one the lowest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    /// An entry was seen, at its place.
    pub(super) found: u8,
    /// The key has no entry if none was seen.
    pub(super) all: u8,
    /// It has none there, for nothing there looks like it.
    pub(super) clear: u8,
}

/// Says whether the entry with this payload and the hash of the key with this number really has that key. Without it all
/// have, for their hash is the key.
///
/// It is not compiled into each loop, of which there are many: who compares keys waits for them.
pub(crate) type Accept<'a> = Option<&'a mut dyn FnMut(usize, u64) -> bool>;

/// Looks up `hashes`.
pub(super) fn find<T: Probe>(table: &T, hashes: &[u64], accept: Accept<'_>) -> Hits {
    processor::run(Find { table, hashes, accept })
}

/// The same in each form that this processor has.
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
        let mut open = Open::with_capacity(OPEN_MAX.min(len) + GROUP);
        look::<T, F>(
            table,
            hashes,
            #[inline(always)]
            |hashes, way, aim| table.aim::<F>(hashes, way, aim),
            #[inline(always)]
            |first, hashes, places, sight| {
                let seen = table.payloads::<F>(places);
                let keys = u8::MAX >> (GROUP - GROUP.min(len - first));
                let mut found = sight.found & keys;
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
                let left = keys & !found & (sight.found | !sight.all);
                if left != 0 {
                    open.push::<F>(first, hashes, left, sight.clear);
                    if open.keys.len() >= OPEN_MAX {
                        open.settle::<T, F>(table, &mut accept, &mut hits);
                    }
                }
            },
        );
        open.settle::<T, F>(table, &mut accept, &mut hits);
        hits.found.truncate(len);
        hits.payloads.truncate(len);
        hits
    }
}

/// Which bits of a number are set, the lowest one first.
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

/// Looks for the keys of `hashes` where `aim` says, and tells `see` the number of each group's first key, its hashes, and
/// what was seen. What is behind the last key is not to be looked at.
#[inline(always)]
fn look<T: Probe, F: Form>(
    table: &T,
    hashes: &[u64],
    aim: impl Fn(&Group, &T::Way, &mut T::Aim),
    mut see: impl FnMut(usize, &Group, &T::Places, Sight),
) {
    let (whole, rest) = hashes.as_chunks::<GROUP>();
    let mut last = [hashes.first().copied().unwrap_or_default(); GROUP];
    last[..rest.len()].copy_from_slice(rest);
    let groups = whole.len() + usize::from(!rest.is_empty());
    let group = |at: usize| whole.get(at).copied().unwrap_or(last);

    let mut ways = [T::Way::default(); AHEAD];
    let mut aims = [T::Aim::default(); AHEAD];
    let mut places = [T::Places::default(); AHEAD];
    let mut sights = [Sight::default(); AHEAD];
    let behind = if T::HANGS_OVER { AHEAD } else { 0 };
    // Steps before the first group prepare the first ones.
    for step in 0..2 * AHEAD + groups + behind {
        let slot = step % AHEAD;
        if let Some(at) = step.checked_sub(2 * AHEAD) {
            if T::HANGS_OVER && at >= AHEAD {
                let at = at - AHEAD;
                see(at * GROUP, &group(at), &places[slot], sights[slot]);
            }
            if at < groups {
                sights[slot] = table.seek::<F>(&group(at), &aims[slot], &mut places[slot]);
                if !T::HANGS_OVER {
                    see(at * GROUP, &group(at), &places[slot], sights[slot]);
                }
            }
        }
        if let Some(at) = step.checked_sub(AHEAD).filter(|&at| at < groups) {
            aim(&group(at), &ways[slot], &mut aims[slot]);
        }
        if step < groups {
            table.approach::<F>(&group(step), &mut ways[slot]);
        }
    }
}

/// Keys whose first look left them open.
struct Open {
    /// Twice the number of each, and one more if the first look was clear.
    keys: Vec<u64>,
    hashes: Vec<u64>,
}

impl Open {
    fn with_capacity(keys: usize) -> Open {
        Open { keys: Vec::with_capacity(keys), hashes: Vec::with_capacity(keys) }
    }

    /// Adds those of a group whose bits are set.
    #[inline(always)]
    fn push<F: Form>(&mut self, first: usize, hashes: &Group, open: u8, clear: u8) {
        let numbers = Words::<F>::of(std::array::from_fn(|at| at as u64)) + first as u64;
        let keys = (numbers << 1) | (Mask::of(clear).ones() & 1);
        let count = open.count_ones() as usize;
        extend(&mut self.keys, keys.packed(open), count);
        extend(&mut self.hashes, Words::<F>::of(*hashes).packed(open), count);
    }

    /// Looks them up.
    #[inline(always)]
    fn settle<T: Probe, F: Form>(&mut self, table: &T, accept: &mut Accept<'_>, hits: &mut Hits) {
        let Open { keys, hashes } = self;
        if T::IS_TWOFOLD {
            look::<T, F>(
                table,
                hashes,
                #[inline(always)]
                |hashes, _, aim| table.turn::<F>(hashes, aim),
                #[inline(always)]
                |first, hashes, places, sight| {
                    let payloads = table.payloads::<F>(places);
                    for (at, &key) in keys[first..].iter().take(GROUP).enumerate() {
                        let (is_found, is_clear) = (sight.found >> at & 1 != 0, sight.clear >> at & 1 != 0);
                        let (key, hash) = (OpenKey { key, is_clear }, hashes[at]);
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
                OpenKey { key, is_clear: false }.settle(table, hash, None, accept, hits);
            }
        }
        keys.clear();
        hashes.clear();
    }
}

/// One of [`Open::keys`], and whether the second look was clear.
#[derive(Clone, Copy)]
struct OpenKey {
    key: u64,
    is_clear: bool,
}

impl OpenKey {
    /// Keeps what was seen at its second place, if that is its own, or searches for it.
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
            seen.filter(|&payload| accept(payload)).or_else(|| match self.key & 1 != 0 && self.is_clear {
                true => table.beside(hash, accept),
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

/// Adds the first `count` of `numbers`: all of a group are written first, for a copy of a length known here is a few moves.
#[inline(always)]
fn extend<F: Form>(to: &mut Vec<u64>, numbers: Words<F>, count: usize) {
    let len = to.len() + count;
    to.extend_from_slice(&numbers.numbers());
    to.truncate(len);
}
