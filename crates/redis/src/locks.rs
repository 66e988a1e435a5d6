//! Locks of keys, and counters of their changes.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks of a database.
const LOCKS: usize = 256;
/// Counters of changes: WATCH may mistake a change of one key for that of another with the same counter.
const COUNTERS: usize = 1 << 14;

/// Locks and counters; a key has one of each.
pub(crate) struct Locks {
    locks: Vec<RwLock<()>>,
    changes: Vec<AtomicU64>,
    hasher: RandomState,
}

/// How a command uses its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Shared,
    Alone,
}

/// Locks that are held.
pub(crate) enum Held<'a> {
    None,
    #[expect(dead_code, reason = "dropping the guard releases the lock")]
    Shared(Vec<RwLockReadGuard<'a, ()>>),
    #[expect(dead_code, reason = "dropping the guard releases the lock")]
    OneShared(RwLockReadGuard<'a, ()>),
    #[expect(dead_code, reason = "dropping the guard releases the lock")]
    Alone(Vec<RwLockWriteGuard<'a, ()>>),
    #[expect(dead_code, reason = "dropping the guard releases the lock")]
    OneAlone(RwLockWriteGuard<'a, ()>),
}

impl Locks {
    pub(crate) fn new() -> Locks {
        Locks {
            locks: (0..LOCKS).map(|_| RwLock::new(())).collect(),
            changes: (0..COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Waits for the locks of `keys`, in one order for all callers.
    pub(crate) fn hold<'k>(&self, keys: impl Iterator<Item = &'k [u8]>, access: Access) -> Held<'_> {
        let mut numbers = keys.map(|key| self.hash(key) % LOCKS);
        let Some(first) = numbers.next() else { return Held::None };
        let Some(second) = numbers.next() else {
            let lock = &self.locks[first];
            return match access {
                Access::Shared => Held::OneShared(lock.read()),
                Access::Alone => Held::OneAlone(lock.write()),
            };
        };
        let mut numbers: Vec<usize> = [first, second].into_iter().chain(numbers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.hold_numbers(numbers.into_iter(), access)
    }

    pub(crate) fn hold_all(&self) -> Held<'_> {
        self.hold_numbers(0..LOCKS, Access::Alone)
    }

    fn hold_numbers(&self, numbers: impl Iterator<Item = usize>, access: Access) -> Held<'_> {
        match access {
            Access::Shared => Held::Shared(numbers.map(|number| self.locks[number].read()).collect()),
            Access::Alone => Held::Alone(numbers.map(|number| self.locks[number].write()).collect()),
        }
    }

    /// The number of changes of `key`, and of others that share its counter.
    pub(crate) fn changes(&self, key: &[u8]) -> u64 {
        self.changes[self.hash(key) % COUNTERS].load(Ordering::SeqCst)
    }

    pub(crate) fn changed(&self, key: &[u8]) {
        self.changes[self.hash(key) % COUNTERS].fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn changed_all(&self) {
        for count in &self.changes {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn hash(&self, key: &[u8]) -> usize {
        // Only the low bits are used.
        usize::try_from(self.hasher.hash_one(key) & 0xffff_ffff).unwrap_or_default()
    }
}
