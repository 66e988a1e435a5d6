//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is steps that each read what the step before asked for. All steps are taken in one loop, each for another
//! key: the line of a key is asked for, that of the key [`AHEAD`] before it is looked at, and its payload, if that is
//! apart, is asked for; the payload of the key before these is taken. So a core computes while it waits, and its reads
//! never pause. Each step is few instructions, because as many keys wait at once as the core's window has room for.
//! (Steps that are each done for a batch of keys before the next step reached 0.9 of that with lines and 0.75 with 20
//! million cells on a Xeon whose window holds 512 instructions: no read is on its way while other steps compute.)
//!
//! All keys take the same instructions, found or not, because a branch that is guessed wrong costs as
//! much as a line. The few keys that are not where they most probably are wait until there are many of them, and then
//! go together to their second place.

use std::hint::select_unpredictable;
use std::mem::replace;

use basalt_base::processor::{self, Loop};

use super::Hits;

/// So many keys lie between what asks for memory and what reads it: more than a core waits for at once (16 on a Xeon), and
/// few enough that their lines stay in the first cache.
const AHEAD: usize = 32;
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
    fn run(self) -> Hits {
        let Find { table, hashes, mut accept } = self;
        let mut hits = Hits { payloads: vec![0; hashes.len()], found: vec![false; hashes.len()] };
        let mut open = Open { keys: [OpenKey::default(); OPEN_MAX], len: 0 };
        look(
            table,
            hashes.len(),
            #[inline(always)]
            |key| hashes[key],
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

/// Looks for `count` keys, of which number `key` has the hash `hash(key)`, where `aim` says, and tells `see` what was
/// seen of each.
#[inline(always)]
fn look<T: Probe>(
    table: &T,
    count: usize,
    hash: impl Fn(usize) -> u64,
    aim: impl Fn(u64) -> T::Aim,
    mut see: impl FnMut(usize, Sight<T::Place>),
) {
    if count == 0 {
        return;
    }
    let mut looks = Looks::new(table, count, hash, aim);
    if !T::IS_APART {
        for key in 0..count {
            see(key, looks.take(key));
        }
        return;
    }
    let first = looks.take(0);
    table.fetch_payload(first.place);
    let mut sights = [first; AHEAD];
    for key in 1..count {
        let sight = looks.take(key);
        table.fetch_payload(sight.place);
        let before = replace(&mut sights[key % AHEAD], sight);
        if key >= AHEAD {
            see(key - AHEAD, before);
        }
    }
    for key in count.saturating_sub(AHEAD)..count {
        see(key, sights[key % AHEAD]);
    }
}

/// Looks for keys, one after the other, that ask for what later ones will read.
struct Looks<'a, T: Probe, H, A> {
    table: &'a T,
    count: usize,
    hash: H,
    aim: A,
    aims: [T::Aim; AHEAD],
}

impl<'a, T: Probe, H: Fn(usize) -> u64, A: Fn(u64) -> T::Aim> Looks<'a, T, H, A> {
    #[inline(always)]
    fn new(table: &'a T, count: usize, hash: H, aim: A) -> Looks<'a, T, H, A> {
        let any = aim(hash(0));
        let mut looks = Looks { table, count, hash, aim, aims: [any; AHEAD] };
        for key in 0..2 * AHEAD {
            table.approach(looks.hash(key));
        }
        for key in 0..AHEAD {
            let next = (looks.aim)(looks.hash(key));
            table.fetch(next);
            looks.aims[key] = next;
        }
        looks
    }

    /// Behind the last key, the first one is asked for again.
    #[inline(always)]
    fn hash(&self, key: usize) -> u64 {
        (self.hash)(if key < self.count { key } else { 0 })
    }

    #[inline(always)]
    fn take(&mut self, key: usize) -> Sight<T::Place> {
        self.table.approach(self.hash(key + 2 * AHEAD));
        let next = (self.aim)(self.hash(key + AHEAD));
        self.table.fetch(next);
        let aim = replace(&mut self.aims[key % AHEAD], next);
        self.table.seek(self.hash(key), aim)
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
            look(
                table,
                keys.len(),
                #[inline(always)]
                |at| hashes[keys[at].key()],
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
