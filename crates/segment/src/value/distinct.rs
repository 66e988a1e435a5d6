//! The distinct values of a column, as long as they are few.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;

/// The most distinct values: codes of two bytes.
const VALUES_MAX: usize = 1 << 16;
/// The most bytes of distinct strings, which every open segment holds in memory.
const BYTES_MAX: usize = 4 << 20;

/// Forgets the values when they are too many.
#[derive(Debug)]
pub(super) struct Distinct<K> {
    keys: Option<HashSet<K>>,
    bytes: usize,
}

impl<K> Default for Distinct<K> {
    fn default() -> Distinct<K> {
        Distinct { keys: Some(HashSet::new()), bytes: 0 }
    }
}

impl<K: Eq + Hash + Ord + Clone> Distinct<K> {
    /// Adds a key, which has this many bytes.
    #[inline]
    pub(super) fn add<Q>(&mut self, key: &Q, bytes: usize)
    where
        Q: Eq + Hash + ToOwned<Owned: Into<K>> + ?Sized,
        K: Borrow<Q>,
    {
        let Some(keys) = &mut self.keys else { return };
        if !keys.contains(key) {
            self.bytes += bytes;
            keys.insert(key.to_owned().into());
            if keys.len() > VALUES_MAX || self.bytes > BYTES_MAX {
                self.keys = None;
            }
        }
    }

    /// `None` if they were too many.
    pub(super) fn len(&self) -> Option<usize> {
        self.keys.as_ref().map(HashSet::len)
    }

    /// The bytes of all keys.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn sorted(&self) -> Option<Vec<K>> {
        let mut keys: Vec<K> = self.keys.as_ref()?.iter().cloned().collect();
        keys.sort_unstable();
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_known_and_many_are_not() {
        let mut few = Distinct::<u64>::default();
        (0..1000_u64).for_each(|at| few.add(&(at % 7), 8));
        assert_eq!((few.sorted(), few.len(), few.bytes()), (Some((0..7).collect()), Some(7), 56));
        let mut many = Distinct::<Box<[u8]>>::default();
        many.add(&b"x"[..], 1);
        assert_eq!(many.len(), Some(1));
        (0..=VALUES_MAX as u64).for_each(|at| many.add(&at.to_le_bytes()[..], 8));
        assert_eq!((many.sorted(), many.len()), (None, None));
        let mut long = Distinct::<Box<[u8]>>::default();
        long.add(&vec![0; BYTES_MAX + 1][..], BYTES_MAX + 1);
        assert_eq!(long.len(), None);
    }
}
