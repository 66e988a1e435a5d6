//! A set of keys: one flat table with linear probing.
//!
//! # Cost
//!
//! The high bits of a key's hash are its position, so that growing and merging tables walks memory in order. Blocks
//! of keys are prefetched: a key of a large set costs a cache miss, which overlaps with those of its neighbours.

use basalt_base::prefetch::prefetch_read;

use super::key::Key;

const SLOTS_MIN: usize = 16;
/// Prefetch distance in keys.
const AHEAD: usize = 16;

#[derive(Default)]
pub(super) struct KeySet<K> {
    /// A power of two, at most half used; the empty key marks free slots.
    slots: Vec<K>,
    /// Whether the empty key itself is in the set.
    has_empty: bool,
    /// Keys in `slots`.
    used: usize,
}

impl<K: Key> KeySet<K> {
    pub(super) fn new() -> KeySet<K> {
        KeySet { slots: Vec::new(), has_empty: false, used: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.used + usize::from(self.has_empty)
    }

    /// Makes room for `more` keys. Required before inserting keys in the order of another table: in a smaller table
    /// they would all collide.
    pub(super) fn reserve(&mut self, more: usize) {
        let wanted = ((self.used + more) * 2).next_power_of_two().max(SLOTS_MIN);
        if wanted > self.slots.len() {
            self.resize(wanted);
        }
    }

    /// Inserts a key; whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, key: K) -> bool {
        if key == K::EMPTY {
            return !std::mem::replace(&mut self.has_empty, true);
        }
        if self.used * 2 >= self.slots.len() {
            self.resize((self.slots.len() * 2).max(SLOTS_MIN));
        }
        let is_new = place(&mut self.slots, key);
        self.used += usize::from(is_new);
        is_new
    }

    /// Inserts a block of keys; returns how many are new.
    pub(super) fn insert_all(&mut self, keys: &[K]) -> usize {
        let before = self.len();
        for (index, &key) in keys.iter().enumerate() {
            if let (Some(&next), false) = (keys.get(index + AHEAD), self.slots.is_empty()) {
                prefetch_read(&self.slots, start(&self.slots, next));
            }
            self.insert(key);
        }
        self.len() - before
    }

    /// The bytes to allocate if `more` new keys come; 0 if they fit.
    pub(super) fn growth_bytes(&self, more: usize) -> usize {
        let wanted = ((self.used + more) * 2).next_power_of_two();
        if wanted > self.slots.len() { wanted * size_of::<K>() } else { 0 }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let used = self.slots.iter().copied().filter(|&key| key != K::EMPTY);
        self.has_empty.then_some(K::EMPTY).into_iter().chain(used)
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<K>()
    }

    #[cold]
    fn resize(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![K::EMPTY; slots]);
        for key in old.into_iter().filter(|&key| key != K::EMPTY) {
            place(&mut self.slots, key);
        }
    }
}

/// The first slot to probe for a key.
#[inline(always)]
fn start<K: Key>(slots: &[K], key: K) -> usize {
    (key.hash(0) >> (u64::BITS - slots.len().trailing_zeros())) as usize
}

/// Puts a key other than the empty key into a table with a free slot; whether it is new.
#[inline(always)]
fn place<K: Key>(slots: &mut [K], key: K) -> bool {
    let mask = slots.len() - 1;
    let mut at = start(slots, key);
    loop {
        let slot = &mut slots[at & mask];
        if *slot == K::EMPTY {
            *slot = key;
            return true;
        }
        if *slot == key {
            return false;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(keys: &[u64]) {
        let mut set = KeySet::new();
        let mut model = BTreeSet::new();
        for block in keys.chunks(100) {
            let before = model.len();
            model.extend(block);
            assert_eq!(set.insert_all(block), model.len() - before);
        }
        assert_eq!(set.len(), model.len());
        assert_eq!(set.iter().collect::<BTreeSet<u64>>(), model);
    }

    #[test]
    fn holds_what_was_inserted() {
        check(&[]);
        check(&[0, 0, 1, u64::MAX]);
        check(&(0..10_000).map(|key| key * key % 7_001).collect::<Vec<_>>());
    }

    #[test]
    fn merging_in_table_order_stays_fast() {
        let mut large = KeySet::new();
        (0..200_000_u64).for_each(|key| {
            large.insert(key);
        });
        let mut merged = KeySet::new();
        merged.reserve(large.len());
        let keys: Vec<u64> = large.iter().collect();
        assert_eq!(merged.insert_all(&keys), 200_000);
    }
}
