//! A set of keys for each group.
//!
//! With one group, its keys are in a table of their own. The second group moves them into one table of (group, key)
//! pairs, so that a million groups of three keys cost one table, not a million.

use basalt_base::Result;
use basalt_base::query::check_allocation;
use hashbrown::HashTable;

use super::EmitTo;
use super::key::Key;
use super::key_set::KeySet;

pub(super) struct KeySets<K> {
    /// The keys of group 0, as long as it is the only one.
    only: KeySet<K>,
    pairs: HashTable<(u32, K)>,
    /// The number of keys of each group.
    counts: Vec<u64>,
}

impl<K: Key> KeySets<K> {
    pub(super) fn new() -> KeySets<K> {
        KeySets { only: KeySet::new(), pairs: HashTable::new(), counts: Vec::new() }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        if self.counts.len() <= 1 && groups > 1 {
            let only = std::mem::replace(&mut self.only, KeySet::new());
            self.pairs.reserve(only.len(), |&(group, key)| key.hash(group));
            for key in only.iter() {
                self.pairs.insert_unique(key.hash(0), (0, key), |&(group, key)| key.hash(group));
            }
        }
        self.counts.resize(groups, 0);
    }

    /// The number of keys of a group.
    pub(super) fn count(&self, group: usize) -> u64 {
        self.counts[group]
    }

    /// Inserts a key into a group; whether it is new there.
    #[inline]
    pub(super) fn insert(&mut self, group: usize, key: K) -> bool {
        let is_new = if self.counts.len() == 1 {
            self.only.insert(key)
        } else {
            insert_pair(&mut self.pairs, group as u32, key)
        };
        self.counts[group] += u64::from(is_new);
        is_new
    }

    /// An error if the query may not hold `more` new keys. A growing table is in memory twice.
    pub(super) fn check_growth(&self, more: usize) -> Result<()> {
        let bytes = if self.counts.len() <= 1 {
            self.only.growth_bytes(more)
        } else if self.pairs.capacity() - self.pairs.len() < more {
            2 * (self.pairs.capacity() + more) * (size_of::<(u32, K)>() + 1)
        } else {
            0
        };
        if bytes > 0 { check_allocation(bytes as u64) } else { Ok(()) }
    }

    /// Makes room for keys of another set.
    pub(super) fn reserve(&mut self, more: usize) {
        if self.counts.len() == 1 {
            self.only.reserve(more);
        } else {
            self.pairs.reserve(more, |&(group, key)| key.hash(group));
        }
    }

    /// Inserts a block of keys into the only group.
    pub(super) fn insert_all(&mut self, keys: &[K]) {
        debug_assert_eq!(self.counts.len(), 1, "a block goes into the only group");
        self.counts[0] += self.only.insert_all(keys) as u64;
    }

    /// The keys of the emitted groups: the number of each, and all keys, by group.
    pub(super) fn take(&mut self, emit: EmitTo) -> (Vec<u64>, Vec<K>) {
        let was_one = self.counts.len() == 1;
        let counts = emit.take_needed(&mut self.counts);
        if was_one {
            let only = std::mem::replace(&mut self.only, KeySet::new());
            let mut keys = Vec::with_capacity(only.len());
            keys.extend(only.iter());
            return (counts, keys);
        }
        let mut ends: Vec<usize> = counts
            .iter()
            .scan(0, |start, &count| Some(std::mem::replace(start, *start + count as usize)))
            .collect();
        let emitted = counts.len() as u32;
        let total: u64 = counts.iter().sum();
        let mut stays = KeySets::new();
        stays.grow(self.counts.len());
        let pairs = std::mem::take(&mut self.pairs);
        let Some(&(_, filler)) = pairs.iter().next() else { return (counts, Vec::new()) };
        let mut keys = vec![filler; total as usize];
        for (group, key) in pairs {
            if group < emitted {
                let end = &mut ends[group as usize];
                keys[*end] = key;
                *end += 1;
            } else {
                stays.insert((group - emitted) as usize, key);
            }
        }
        *self = stays;
        (counts, keys)
    }

    /// Like [`KeySets::take`], without the keys.
    pub(super) fn take_counts(&mut self, emit: EmitTo) -> Vec<u64> {
        if let EmitTo::First(_) = emit {
            return self.take(emit).0;
        }
        let counts = std::mem::take(&mut self.counts);
        *self = KeySets::new();
        counts
    }

    pub(super) fn bytes(&self) -> usize {
        let counts = self.counts.capacity() * size_of::<u64>();
        size_of_val(self) + self.only.bytes() + self.pairs.allocation_size() + counts
    }
}

#[inline]
fn insert_pair<K: Key>(table: &mut HashTable<(u32, K)>, group: u32, key: K) -> bool {
    use hashbrown::hash_table::Entry;
    let rehash = |&(group, key): &(u32, K)| key.hash(group);
    match table.entry(key.hash(group), |&other| other == (group, key), rehash) {
        Entry::Occupied(_) => false,
        Entry::Vacant(vacant) => {
            vacant.insert((group, key));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Inserts `(group, key)` pairs, emits in steps of `step` groups, and compares with sets.
    fn check(groups: usize, pairs: &[(usize, u64)], step: usize) {
        let mut sets = KeySets::<u64>::new();
        let mut model = vec![BTreeSet::new(); groups];
        let half = pairs.len() / 2;
        sets.grow(1);
        for &(_, key) in &pairs[..half] {
            assert_eq!(sets.insert(0, key), model[0].insert(key));
        }
        sets.grow(groups);
        for &(group, key) in &pairs[half..] {
            assert_eq!(sets.insert(group, key), model[group].insert(key));
        }
        let mut expected = model.into_iter();
        let mut left = groups;
        while left > 0 {
            let emitted = step.min(left);
            let (counts, keys) = sets.take(EmitTo::First(emitted));
            let mut keys = keys.into_iter();
            for count in counts {
                let set: BTreeSet<u64> = keys.by_ref().take(count as usize).collect();
                assert_eq!(Some(set), expected.next());
            }
            left -= emitted;
        }
    }

    #[test]
    fn sets_hold_what_was_inserted() {
        let pairs: Vec<(usize, u64)> = (0..2_000_u64).map(|i| ((i * i % 7) as usize, i * 31 % 211)).collect();
        for step in [1, 3, 7] {
            check(7, &pairs, step);
        }
        check(1, &pairs.iter().map(|&(_, key)| (0, key)).collect::<Vec<_>>(), 1);
    }
}
