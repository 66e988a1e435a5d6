//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is steps that each wait for what the step before asked for. Each step is done for a whole
//! batch of keys before the next: loops of few instructions, so that a core holds as many keys at once as it can
//! wait for lines. A pipeline of all steps for one key after the other reaches two thirds of that, because
//! the core's window is full of the other steps of few keys.
//!
//! All keys of a batch take the same instructions, found or not, because a branch that is guessed wrong costs as
//! much as a line. The few keys that are not where they most probably are wait until there are many of them.

use basalt_base::processor::{self, Loop};

use super::Hits;

/// Keys that take a step together. Their lines fit into the first cache several times.
const BATCH: usize = 128;
/// Keys that were not where they were first looked for wait until there are so many.
const LATER: usize = 128;

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// Where the cells of a key are expected.
    type Aim: Copy + Default;

    /// Asks for what [`Probe::aim`] reads.
    fn approach(&self, hash: u64);

    /// Finds out where an entry of `hash` most probably is.
    fn aim(&self, hash: u64) -> Self::Aim;

    /// Asks for what is there.
    fn fetch(&self, aim: Self::Aim);

    /// Looks there and nowhere else.
    fn seek(&self, hash: u64, aim: Self::Aim) -> Sight;

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64>;
}

/// What one look told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Of the entry that was seen, if one was.
    pub(super) payload: u64,
    pub(super) is_found: bool,
    /// The key has no entry if none was seen.
    pub(super) is_all: bool,
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
        let mut aims = [T::Aim::default(); BATCH];
        let mut later = Vec::with_capacity(LATER + BATCH);
        for (first, batch) in (0..).step_by(BATCH).zip(hashes.chunks(BATCH)) {
            batch.iter().for_each(|&hash| table.approach(hash));
            for (aim, &hash) in aims.iter_mut().zip(batch) {
                *aim = table.aim(hash);
            }
            aims[..batch.len()].iter().for_each(|&aim| table.fetch(aim));
            let out = hits.payloads[first..].iter_mut().zip(&mut hits.found[first..]);
            for (at, ((&hash, &aim), (payload, found))) in batch.iter().zip(&aims).zip(out).enumerate() {
                let sight = table.seek(hash, aim);
                *found = sight.is_found && accept(first + at, sight.payload);
                *payload = if *found { sight.payload } else { 0 };
                if !*found && (sight.is_found || !sight.is_all) {
                    later.push(first + at);
                }
            }
            if later.len() >= LATER {
                settle(table, hashes, &mut later, &mut accept, &mut hits);
            }
        }
        settle(table, hashes, &mut later, &mut accept, &mut hits);
        hits
    }
}

/// Looks up the keys `later` of `hashes`, whose first look left them open.
#[inline(always)]
fn settle<T: Probe>(
    table: &T,
    hashes: &[u64],
    later: &mut Vec<usize>,
    accept: &mut impl FnMut(usize, u64) -> bool,
    hits: &mut Hits,
) {
    for index in later.drain(..) {
        if let Some(payload) = table.search(hashes[index], |payload| accept(index, payload)) {
            hits.payloads[index] = payload;
            hits.found[index] = true;
        }
    }
}
