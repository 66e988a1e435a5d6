//! Distinct keys as bytes, numbered in order of arrival.

use basalt_base::{Result, bail};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::hash::hash_bytes;
use crate::values::{ROWS_MAX, StringArena};

/// A set of keys that only grows.
#[derive(Debug, Default)]
pub(crate) struct KeyNumbers {
    /// By number.
    keys: StringArena,
    /// Numbers, by hash of the key.
    table: HashTable<u32>,
}

impl KeyNumbers {
    /// The number of `key`, a new one if it has none yet.
    pub(crate) fn number(&mut self, key: &[u8]) -> Result<u32> {
        let KeyNumbers { keys, table } = self;
        let same = |&number: &u32| keys.get(number as usize) == key;
        match table.entry(hash_bytes(key), same, |&number| hash_bytes(keys.get(number as usize))) {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                if keys.len() >= ROWS_MAX {
                    bail!(ArgumentOutOfBound, "there can be at most {ROWS_MAX} keys");
                }
                let number = keys.len() as u32;
                entry.insert(number);
                keys.push(key);
                Ok(number)
            }
        }
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.table.find(hash_bytes(key), |&number| self.keys.get(number as usize) == key).copied()
    }

    pub(crate) fn get(&self, number: usize) -> &[u8] {
        self.keys.get(number)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The keys by number.
    pub(crate) fn into_keys(self) -> StringArena {
        self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_number() {
        let mut numbers = KeyNumbers::default();
        let keys: [&[u8]; 5] = [b"b", b"", b"a", b"b", b""];
        let given: Vec<u32> = keys.iter().map(|key| numbers.number(key).expect("few keys")).collect();
        assert_eq!(given, [0, 1, 2, 0, 1]);
        assert_eq!((numbers.len(), numbers.find(b"a"), numbers.find(b"c")), (3, Some(2), None));
        assert_eq!(numbers.get(0), b"b");
    }
}
