//! Looks up many keys so that their waits for memory overlap.
//!
//! A lookup is three steps that each wait for what the step before asked for. They run as a pipeline:
//! while one key is sought, the cells of a later key and the index of a still later one are on their way.

use super::Hits;

/// Keys between two steps of the pipeline: about as many lines as a core can wait for at once.
const AHEAD: usize = 32;

/// A table, or several that answer as one.
pub(super) trait Probe {
    /// Where the cells of a key are expected.
    type Aim: Copy + Default;

    /// Asks for what [`Probe::aim`] reads.
    fn approach(&self, hash: u64);

    /// Finds out where the walk for `hash` begins, and asks for it.
    fn aim(&self, hash: u64) -> Self::Aim;

    /// The payload of the first entry of `hash` that `accept` takes.
    fn seek(&self, hash: u64, aim: Self::Aim, accept: impl FnMut(u64) -> bool) -> Option<u64>;
}

/// Looks up `hashes`; `accept(index, payload)` says whether an entry with the hash of key `index`
/// really has its key.
#[inline(always)]
pub(super) fn find<T: Probe>(table: &T, hashes: &[u64], mut accept: impl FnMut(usize, u64) -> bool) -> Hits {
    let mut hits = Hits { payloads: vec![0; hashes.len()], found: vec![false; hashes.len()] };
    let mut aims = [T::Aim::default(); 2 * AHEAD];
    hashes.iter().take(2 * AHEAD).for_each(|&hash| table.approach(hash));
    for (index, &hash) in hashes.iter().take(AHEAD).enumerate() {
        aims[index] = table.aim(hash);
    }
    for (index, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(index + 2 * AHEAD) {
            table.approach(later);
        }
        if let Some(&later) = hashes.get(index + AHEAD) {
            aims[(index + AHEAD) % (2 * AHEAD)] = table.aim(later);
        }
        if let Some(payload) = table.seek(hash, aims[index % (2 * AHEAD)], |payload| accept(index, payload)) {
            hits.payloads[index] = payload;
            hits.found[index] = true;
        }
    }
    hits
}
