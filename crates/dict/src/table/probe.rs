//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is steps that each read what the step before asked for. All steps are taken in one loop, each for other keys:
//! the lines of a group of keys are asked for, those of the keys [`AHEAD`] before it are looked at, and their payloads, if
//! they are apart, are asked for; the payloads of the keys before these are taken. So a core computes while it waits, and
//! its reads never pause for long. (Steps that are each done for a batch of keys before the next step reached 0.9 of that
//! with lines and 0.75 with 20 million cells on a Xeon: no read is on its way while other steps compute.)
//!
//! A group asks for all its lines at once, because a core does not go past a request whose page it does not know, and in a
//! table larger than the caches that have translations, each line is in such a page. It finds several of them out at the
//! same time only if it meets them within its window of some hundred instructions. Among 100 million keys, a tenth to a
//! fifth more are found so than if each key asks by itself, on a guest whose host has small pages.
//!
//! All keys take the same instructions, found or not, because a branch that is guessed wrong costs as
//! much as a line. The few keys that are not where they most probably are wait until there are many of them, and then
//! go together to their second place.

use std::hint::select_unpredictable;
use std::mem::replace;

use basalt_base::processor::{self, Form, Loop};

use super::Hits;

/// So many keys lie between what asks for memory and what reads it: more than a core waits for at once (16 on a Xeon), and
/// few enough that their lines stay in the first cache.
const AHEAD: usize = 32;
/// So many keys take a step together. With 16 it was slower among 20 million keys, and faster among 100 million.
const GROUP: usize = 8;
/// Keys that were not where they were first looked for wait until there are so many.
const OPEN_MAX: usize = 128;

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// Where the cells of a key are expected.
    type Aim: Copy;

    /// What a look saw: a payload, or where one is.
    type Place: Copy;

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
    fn run<F: Form>(self) -> Hits {
        let Find { table, hashes, mut accept } = self;
        let mut hits = Hits { payloads: vec![0; hashes.len()], found: vec![false; hashes.len()] };
        let mut open = Open { keys: [OpenKey::default(); OPEN_MAX], len: 0 };
        look(
            table,
            hashes,
            #[inline(always)]
            |hash| table.aim(hash),
            #[inline(always)]
            |key, sight| {
                let seen = table.payload(sight.place);
                let is_found = sight.is_found && accept(key, seen);
                hits.found[key] = is_found;
                hits.payloads[key] = select_unpredictable(is_found, seen, 0);
                let is_open = !is_found & (sight.is_found | !sight.is_all);
                open.push_if(is_open, OpenKey::new(key, sight.is_clear));
                if open.len == OPEN_MAX {
                    open.settle(table, hashes, &mut accept, &mut hits);
                }
            },
        );
        open.settle(table, hashes, &mut accept, &mut hits);
        hits
    }
}

/// Looks for the keys of `hashes` where `aim` says, and tells `see` what was seen of each.
#[inline(always)]
fn look<T: Probe>(
    table: &T,
    hashes: &[u64],
    aim: impl Fn(u64) -> T::Aim,
    mut see: impl FnMut(usize, Sight<T::Place>),
) {
    let Some(&any) = hashes.first() else { return };
    let mut looks = Looks { table, hashes, aims: [aim(any); AHEAD], aim };
    for first in (0..AHEAD).step_by(GROUP) {
        looks.approach(first);
    }
    for first in (0..AHEAD).step_by(GROUP) {
        looks.ask(first);
        looks.approach(first + AHEAD);
    }
    let mut sights = [table.seek(any, looks.aims[0]); AHEAD];
    let behind = if T::IS_APART { AHEAD } else { 0 };
    for first in (0..hashes.len() + behind).step_by(GROUP) {
        for (at, hash) in looks.group(first).into_iter().enumerate() {
            let slot = (first + at) % AHEAD;
            let sight = table.seek(hash, looks.aims[slot]);
            let before = replace(&mut sights[slot], sight);
            let key = (first + at).wrapping_sub(behind);
            if key < hashes.len() {
                see(key, if T::IS_APART { before } else { sight });
            }
        }
        if T::IS_APART {
            for at in 0..GROUP {
                table.fetch_payload(sights[(first + at) % AHEAD].place);
            }
        }
        looks.ask(first + AHEAD);
        looks.approach(first + 2 * AHEAD);
    }
}

/// Looks for keys, one group after the other, that ask for what later ones will read.
struct Looks<'a, T: Probe, A> {
    table: &'a T,
    hashes: &'a [u64],
    aim: A,
    aims: [T::Aim; AHEAD],
}

impl<T: Probe, A: Fn(u64) -> T::Aim> Looks<'_, T, A> {
    /// Of the keys from `first` on; behind the last one, the first one again.
    #[inline(always)]
    fn group(&self, first: usize) -> [u64; GROUP] {
        if let Some(group) = self.hashes.get(first..).and_then(|rest| rest.first_chunk()) {
            return *group;
        }
        let mut group = [self.hashes[0]; GROUP];
        let rest = self.hashes.get(first..).unwrap_or_default();
        group[..rest.len()].copy_from_slice(rest);
        group
    }

    #[inline(always)]
    fn approach(&self, first: usize) {
        if first < self.hashes.len() {
            for hash in self.group(first) {
                self.table.approach(hash);
            }
        }
    }

    /// Finds out where the keys from `first` on are, and asks for all of that.
    #[inline(always)]
    fn ask(&mut self, first: usize) {
        if first < self.hashes.len() {
            for (at, hash) in self.group(first).into_iter().enumerate() {
                self.aims[(first + at) % AHEAD] = (self.aim)(hash);
            }
            for at in 0..GROUP {
                self.table.fetch(self.aims[(first + at) % AHEAD]);
            }
        }
    }
}

/// Keys whose first look left them open.
struct Open {
    keys: [OpenKey; OPEN_MAX],
    len: usize,
}

/// The number of a key, and whether the first look was clear: one number, because it is written for each key.
#[derive(Clone, Copy, Default)]
struct OpenKey(usize);

impl OpenKey {
    #[inline(always)]
    fn new(key: usize, is_clear: bool) -> OpenKey {
        OpenKey(key << 1 | usize::from(is_clear))
    }

    #[inline(always)]
    fn key(self) -> usize {
        self.0 >> 1
    }

    /// Keeps what was seen at its second place, if that is its own, or searches for it.
    #[inline(always)]
    fn settle<T: Probe>(
        self,
        table: &T,
        hashes: &[u64],
        seen: Option<u64>,
        is_clear: bool,
        accept: &mut impl FnMut(usize, u64) -> bool,
        hits: &mut Hits,
    ) {
        let (key, was_clear) = (self.key(), self.0 & 1 != 0);
        let hash = hashes[key];
        let found = seen.filter(|&payload| accept(key, payload)).or_else(|| match was_clear && is_clear {
            true => table.beside(hash, |payload| accept(key, payload)),
            false => table.search(hash, |payload| accept(key, payload)),
        });
        hits.payloads[key] = found.unwrap_or_default();
        hits.found[key] = found.is_some();
    }
}

impl Open {
    /// Takes the same instructions whatever `is_open` says.
    #[inline(always)]
    fn push_if(&mut self, is_open: bool, key: OpenKey) {
        self.keys[self.len % OPEN_MAX] = key;
        self.len += usize::from(is_open);
    }

    /// Looks them up in `hashes`.
    #[inline(always)]
    fn settle<T: Probe>(
        &mut self,
        table: &T,
        hashes: &[u64],
        accept: &mut impl FnMut(usize, u64) -> bool,
        hits: &mut Hits,
    ) {
        let keys = &self.keys[..self.len];
        if T::IS_TWOFOLD {
            let open = keys.iter().map(|key| hashes[key.key()]);
            let mut open_hashes = [0; OPEN_MAX];
            open_hashes.iter_mut().zip(open).for_each(|(to, hash)| *to = hash);
            look(
                table,
                &open_hashes[..keys.len()],
                #[inline(always)]
                |hash| table.turn(hash),
                #[inline(always)]
                |at, sight| {
                    let seen = sight.is_found.then(|| table.payload(sight.place));
                    keys[at].settle(table, hashes, seen, sight.is_clear, accept, hits);
                },
            );
        } else {
            keys.iter().for_each(|key| key.settle(table, hashes, None, false, accept, hits));
        }
        self.len = 0;
    }
}
