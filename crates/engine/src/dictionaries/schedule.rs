//! When a dictionary is loaded again: at a random time of its LIFETIME, and ever later after failures.

/// Seconds until the first retry after a failure, at least.
const BACKOFF_SECONDS: u64 = 5;
/// Seconds between retries, at most.
const BACKOFF_SECONDS_MAX: u64 = 600;

/// `LIFETIME(MIN a MAX b)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifetime {
    pub(crate) min_seconds: u64,
    pub(crate) max_seconds: u64,
}

impl Lifetime {
    /// Microseconds from the end of a load to the next one: a random time between the bounds, so that many servers do
    /// not ask a source at once. `None` is never.
    pub(super) fn until_next_us(self, random: u64) -> Option<u64> {
        if self.max_seconds == 0 {
            return None;
        }
        let most = self.max_seconds.saturating_mul(1_000_000);
        let least = self.min_seconds.saturating_mul(1_000_000).min(most);
        Some(least + random % (most - least).saturating_add(1))
    }
}

/// Microseconds from the end of the `failures`-th failed load in a row to the next one.
pub(super) fn backoff_us(failures: u64, random: u64) -> u64 {
    let range = 1_u64 << failures.saturating_sub(1).min(20);
    let seconds = (BACKOFF_SECONDS + random % (range + 1)).min(BACKOFF_SECONDS_MAX);
    seconds * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_load_is_within_the_lifetime() {
        let lifetime = Lifetime { min_seconds: 10, max_seconds: 20 };
        let moments: Vec<u64> =
            (0..1000).map(|random| lifetime.until_next_us(random * 1_234_567).expect("some day")).collect();
        assert!(moments.iter().all(|moment| (10_000_000..=20_000_000).contains(moment)));
        assert!(moments.iter().any(|&moment| moment < 11_000_000));
        assert!(moments.iter().any(|&moment| moment > 19_000_000));
        assert_eq!(Lifetime::default().until_next_us(7), None);
        assert_eq!(Lifetime { min_seconds: 9, max_seconds: 3 }.until_next_us(7), Some(3_000_000));
    }

    #[test]
    fn failures_are_repeated_later_and_later() {
        for random in [0, 1, u64::MAX] {
            assert!((5_000_000..=7_000_000).contains(&backoff_us(1, random)));
            assert!(backoff_us(u64::MAX, random) <= 600_000_000);
        }
        assert!(backoff_us(20, u64::MAX / 3) > backoff_us(2, u64::MAX / 3));
    }
}
