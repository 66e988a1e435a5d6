//! How many operations took how long, to one part in 64.

use std::time::Duration;

/// Numbers below this have a bucket each; above, each power of two has half as many buckets.
const EXACT: u64 = 128;
const EXACT_BITS: u32 = EXACT.ilog2();
const BUCKETS: usize = (EXACT + (64 - EXACT_BITS) as u64 * EXACT / 2) as usize;

/// Counts of durations.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], count: 0, sum_ns: 0 }
    }

    pub(crate) fn add(&mut self, duration: Duration) {
        let ns = duration.as_nanos() as u64;
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += ns;
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn average_us(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64 / 1000.0
    }

    /// The duration that a `share` of the operations does not exceed; 0 if there is none.
    pub(crate) fn quantile_us(&self, share: f64) -> f64 {
        let rank = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.filter(|_| self.count > 0).map_or(0.0, |bucket| middle(bucket) / 1000.0)
    }
}

fn bucket(ns: u64) -> usize {
    if ns < EXACT {
        return ns as usize;
    }
    let shift = ns.ilog2() - (EXACT_BITS - 1);
    (u64::from(shift) * EXACT / 2 + (ns >> shift)) as usize
}

/// Nanoseconds in the middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket as f64;
    }
    let shift = bucket / (EXACT / 2) - 1;
    let low = (bucket - shift * (EXACT / 2)) << shift;
    low as f64 + (1_u64 << shift) as f64 / 2.0
}
