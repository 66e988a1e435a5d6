//! Tables whose merges fail: each waits longer after every failure, so that a full disk is not written to again
//! and again.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;

/// The pause after the first failure; each later one is twice as long.
const PAUSE_FIRST_US: u64 = 1_000_000;

/// How often the pause doubles at most.
const DOUBLED_MAX: u32 = 8;

/// The tables that wait.
#[derive(Default)]
pub(super) struct PostponedMerges {
    tables: Mutex<HashMap<Uuid, Postponed>>,
}

struct Postponed {
    failures: u32,
    until_us: u64,
}

impl PostponedMerges {
    pub(super) fn is_postponed(&self, table: Uuid, now_us: u64) -> bool {
        self.tables.lock().get(&table).is_some_and(|postponed| now_us < postponed.until_us)
    }

    /// Records a failed merge; returns the pause in seconds if it is the first failure since a success.
    pub(super) fn note_failure(&self, table: Uuid, now_us: u64) -> Option<u64> {
        let mut tables = self.tables.lock();
        let postponed = tables.entry(table).or_insert(Postponed { failures: 0, until_us: 0 });
        let pause_us = PAUSE_FIRST_US << postponed.failures.min(DOUBLED_MAX);
        postponed.failures = postponed.failures.saturating_add(1);
        postponed.until_us = now_us.saturating_add(pause_us);
        (postponed.failures == 1).then_some(pause_us / 1_000_000)
    }

    /// Forgets the failures: a merge succeeded, or a user requested another try.
    pub(super) fn forget(&self, table: Uuid) {
        self.tables.lock().remove(&table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_until_a_merge_succeeds() {
        let (postponed, table) = (PostponedMerges::default(), Uuid::from_u128(1));
        let mut now_us = 0;
        let mut pauses = Vec::new();
        for failure in 0..100 {
            assert_eq!(postponed.note_failure(table, now_us), (failure == 0).then_some(1));
            assert!(!postponed.is_postponed(Uuid::from_u128(2), now_us));
            let before_us = now_us;
            while postponed.is_postponed(table, now_us) {
                now_us += 500_000;
            }
            pauses.push((now_us - before_us) / 1_000_000);
        }
        assert_eq!(pauses[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
        assert!(pauses[10..].iter().all(|pause| *pause == 256));
        postponed.note_failure(table, now_us);
        postponed.forget(table);
        assert!(!postponed.is_postponed(table, now_us));
        assert_eq!(postponed.note_failure(table, now_us), Some(1));
    }
}
