//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is steps that each wait for what the step before asked for. Each step is done for a whole
//! batch of keys before the next: loops of few instructions, so that a core holds as many keys at once as it can
//! wait for lines. A pipeline of all steps for one key after the other reaches two thirds of that, because
//! the core's window is full of the other steps of few keys. Of a table whose steps are short, the lines of the next batch
//! are asked for one by one while this one is looked at ([`Probe::OVERLAPS`]), so that a core computes while it waits;
//! where steps are long, that takes a sixth longer than one after the other.
//!
//! All keys of a batch take the same instructions, found or not, because a branch that is guessed wrong costs as
//! much as a line. The few keys that are not where they most probably are wait until there are many of them, and then
//! go together to their second place.

use std::hint::select_unpredictable;

use basalt_base::processor::{self, Loop};

use super::Hits;

/// Keys that take a step together: their lines, and those of the next batch, fit into the first cache.
const BATCH: usize = 128;
/// Keys that were not where they were first looked for wait until there are so many.
const LATER: usize = 128;
/// So many wait at most: two batches may come to them.
const LATER_MAX: usize = (LATER + 2 * BATCH).next_power_of_two();

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// Where the cells of a key are expected.
    type Aim: Copy;

    /// What a look saw: a payload, or where one is.
    type Place: Copy;

    /// Whether what is asked for one batch is asked while the one before is looked at.
    const OVERLAPS: bool;

    /// Whether an entry has a second place, see [`Probe::turn`].
    const IS_TWOFOLD: bool;

    /// Whether a payload is not where its key is, and is asked for when that is found.
    const IS_APART: bool;

    /// Asks for what [`Probe::aim`] reads.
    fn approach(&self, hash: u64);

    /// Finds out where an entry of `hash` most probably is.
    fn aim(&self, hash: u64) -> Self::Aim;

    /// Asks for what is there.
    fn fetch(&self, aim: Self::Aim);

    /// Looks there and nowhere else.
    fn seek(&self, hash: u64, aim: Self::Aim) -> Sight<Self::Place>;

    /// Asks for the payload at `place`, if it is apart.
    fn fetch_payload(&self, place: Self::Place);

    fn payload(&self, place: Self::Place) -> u64;

    /// Where an entry of `hash` most probably is if the first look did not see it. Who does not see it there either
    /// has to search, if only [`Probe::beside`] where both looks were clear.
    fn turn(&self, hash: u64) -> Self::Aim;

    /// The payload of the first entry of `hash` that `accept` takes and that is at neither of its two places.
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;
}

/// What one look told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<P> {
    /// Of the entry that was seen, if one was, and any otherwise.
    pub(super) place: P,
    pub(super) is_found: bool,
    /// The key has no entry if none was seen.
    pub(super) is_all: bool,
    /// It has none there, for nothing there looks like it.
    pub(super) is_clear: bool,
}

/// Looks up `hashes`; `accept(index, payload)` says whether an entry with the hash of key `index`
/// really has its key.
pub(super) fn find<T: Probe>(table: &T, hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
    processor::run(Find { table, hashes, accept })
}

struct Find<'a, T, A> {
    table: &'a T,
    hashes: &'a [u64],
    accept: A,
}

impl<T: Probe, A: FnMut(usize, u64) -> bool> Loop for Find<'_, T, A> {
    const IS_WIDEST: bool = false;

    type Output = Hits;

    #[inline(always)]
    fn run(self) -> Hits {
        let Find { table, hashes, mut accept } = self;
        let mut hits = Hits { payloads: vec![0; hashes.len()], found: vec![false; hashes.len()] };
        let Some(&any) = hashes.first() else { return hits };
        let batch_from = |from: usize| {
            let rest = hashes.get(from..).unwrap_or_default();
            &rest[..rest.len().min(BATCH)]
        };
        let mut aims = [[table.aim(any); BATCH]; 2];
        let mut later = Later { keys: [(0, false); LATER_MAX], len: 0 };
        let any_place = table.seek(any, aims[0][0]).place;
        let mut seen = Seen { places: [(any_place, false); BATCH], first: 0, len: 0 };
        if T::OVERLAPS {
            aim_and_fetch(table, batch_from(0), &mut aims[0]);
        }
        for (number, first) in (0..hashes.len()).step_by(BATCH).enumerate() {
            let batch = batch_from(first);
            let [even, odd] = &mut aims;
            let (aims, next_aims) = if number % 2 == 0 { (even, odd) } else { (odd, even) };
            if T::OVERLAPS {
                aim_all(table, batch_from(first + BATCH), next_aims);
            } else {
                aim_and_fetch(table, batch, aims);
            }
            if T::IS_APART {
                seen.take(table, &mut accept, &mut hits, &mut later);
                (seen.first, seen.len) = (first, batch.len());
            }
            let out = hits.payloads[first..].iter_mut().zip(&mut hits.found[first..]).zip(&mut seen.places);
            let aims_of_both = aims.iter().zip(&*next_aims);
            for (at, ((&hash, (&aim, &next_aim)), ((payload, found), place))) in
                batch.iter().zip(aims_of_both).zip(out).enumerate()
            {
                if T::OVERLAPS {
                    table.fetch(next_aim);
                }
                let sight = table.seek(hash, aim);
                if T::IS_APART {
                    table.fetch_payload(sight.place);
                    *place = (sight.place, sight.is_found);
                    later.push_if(!sight.is_found & !sight.is_all, first + at, sight.is_clear);
                } else {
                    let seen = table.payload(sight.place);
                    let is_found = sight.is_found && accept(first + at, seen);
                    *found = is_found;
                    *payload = select_unpredictable(is_found, seen, 0);
                    later.push_if(!is_found & (sight.is_found | !sight.is_all), first + at, sight.is_clear);
                }
            }
            if later.len >= LATER {
                later.settle(table, hashes, aims, &mut accept, &mut hits);
            }
        }
        seen.take(table, &mut accept, &mut hits, &mut later);
        later.settle(table, hashes, &mut aims[0], &mut accept, &mut hits);
        hits
    }
}

/// Where the payloads of a batch are, which were asked for a while ago.
struct Seen<P> {
    /// Each with whether the key is there.
    places: [(P, bool); BATCH],
    first: usize,
    len: usize,
}

impl<P: Copy> Seen<P> {
    /// Takes those of the keys that were found.
    #[inline(always)]
    fn take<T: Probe<Place = P>>(
        &mut self,
        table: &T,
        accept: &mut impl FnMut(usize, u64) -> bool,
        hits: &mut Hits,
        later: &mut Later,
    ) {
        let places = &self.places[..self.len];
        let out = hits.payloads[self.first..].iter_mut().zip(&mut hits.found[self.first..]);
        for (at, (&(place, was_found), (payload, found))) in places.iter().zip(out).enumerate() {
            let seen = table.payload(place);
            let is_found = was_found && accept(self.first + at, seen);
            // What was not seen may have been found at its second place by now.
            *found |= is_found;
            *payload = select_unpredictable(is_found, seen, *payload);
            later.push_if(was_found & !is_found, self.first + at, false);
        }
        self.len = 0;
    }
}

#[inline(always)]
fn aim_all<T: Probe>(table: &T, batch: &[u64], aims: &mut [T::Aim; BATCH]) {
    for &hash in batch {
        table.approach(hash);
    }
    for (aim, &hash) in aims.iter_mut().zip(batch) {
        *aim = table.aim(hash);
    }
}

#[inline(always)]
fn aim_and_fetch<T: Probe>(table: &T, batch: &[u64], aims: &mut [T::Aim; BATCH]) {
    aim_all(table, batch, aims);
    for &aim in &aims[..batch.len()] {
        table.fetch(aim);
    }
}

/// Keys whose first look left them open.
struct Later {
    /// Each with whether the first look was clear.
    keys: [(usize, bool); LATER_MAX],
    len: usize,
}

impl Later {
    /// Takes the same instructions whatever `is_open` says.
    #[inline(always)]
    fn push_if(&mut self, is_open: bool, key: usize, is_clear: bool) {
        self.keys[self.len % LATER_MAX] = (key, is_clear);
        self.len += usize::from(is_open);
    }

    /// Looks them up in `hashes`.
    #[inline(always)]
    fn settle<T: Probe>(
        &mut self,
        table: &T,
        hashes: &[u64],
        aims: &mut [T::Aim; BATCH],
        accept: &mut impl FnMut(usize, u64) -> bool,
        hits: &mut Hits,
    ) {
        for keys in self.keys[..self.len].chunks(BATCH) {
            let mut sights = [None; BATCH];
            if T::IS_TWOFOLD {
                for (aim, &(key, _)) in aims.iter_mut().zip(keys) {
                    *aim = table.turn(hashes[key]);
                }
                for &aim in &aims[..keys.len()] {
                    table.fetch(aim);
                }
                for ((sight, &aim), &(key, _)) in sights.iter_mut().zip(&*aims).zip(keys) {
                    let seen = table.seek(hashes[key], aim);
                    table.fetch_payload(seen.place);
                    *sight = Some(seen);
                }
            }
            for (sight, &(key, was_clear)) in sights.iter().zip(keys) {
                let hash = hashes[key];
                let seen = sight.filter(|sight| sight.is_found).map(|sight| table.payload(sight.place));
                let are_clear = was_clear && sight.is_some_and(|sight| sight.is_clear);
                let found = seen.filter(|&payload| accept(key, payload)).or_else(|| match are_clear {
                    true => table.beside(hash, |payload| accept(key, payload)),
                    false => table.search(hash, |payload| accept(key, payload)),
                });
                hits.payloads[key] = found.unwrap_or_default();
                hits.found[key] = found.is_some();
            }
        }
        self.len = 0;
    }
}
