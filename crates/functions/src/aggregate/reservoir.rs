//! A sample of bounded size, in which every value is equally likely.

/// The maximum size of a sample. As in ClickHouse, quantiles of fewer values are exact.
pub(super) const CAPACITY: usize = 8_192;
const SEED: u64 = 123_456;
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// The sample, and the number of values it represents.
#[derive(Clone, Debug)]
pub(super) struct Reservoir {
    samples: Vec<f64>,
    total: u64,
    random: u64,
}

impl Reservoir {
    pub(super) fn new() -> Reservoir {
        Reservoir { samples: Vec::new(), total: 0, random: SEED | 3 }
    }

    pub(super) fn samples(&self) -> &[f64] {
        &self.samples
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// NaN is ignored.
    #[inline]
    pub(super) fn insert(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        self.total += 1;
        if self.samples.len() < CAPACITY {
            self.samples.push(value);
            return;
        }
        let place = self.draw(self.total);
        if let Some(sample) = self.samples.get_mut(place as usize) {
            *sample = value;
        }
    }

    /// Adds a sample that represents `total` values.
    pub(super) fn merge(&mut self, samples: &[f64], total: u64) {
        if total <= samples.len() as u64 {
            samples.iter().for_each(|&sample| self.insert(sample));
            return;
        }
        let whole = self.total <= CAPACITY as u64;
        let mine = std::mem::take(&mut self.samples);
        let mine_total = self.total;
        self.samples = samples.to_vec();
        self.total = total;
        if whole {
            // The smaller side holds all of its values: insert them one by one.
            mine.into_iter().for_each(|sample| self.insert(sample));
            return;
        }
        self.total += mine_total;
        // Each position keeps a value of either side, in proportion to the totals of the sides.
        let kept = self.samples.len();
        for (place, sample) in mine.into_iter().enumerate() {
            if self.draw(self.total) < mine_total && place < kept {
                self.samples[place] = sample;
            }
        }
    }

    /// The sorted samples.
    pub(super) fn into_sorted(mut self) -> Vec<f64> {
        self.samples.sort_unstable_by(f64::total_cmp);
        self.samples
    }

    /// A number below `limit`, from a multiplicative congruential generator with permuted output (`pcg32_fast`, as in
    /// ClickHouse).
    fn draw(&mut self, limit: u64) -> u64 {
        if let Ok(limit) = u32::try_from(limit) {
            return u64::from(self.next_random() % limit);
        }
        let high = u64::from(self.next_random());
        (high << u32::BITS | u64::from(self.next_random())) % limit
    }

    fn next_random(&mut self) -> u32 {
        let state = self.random;
        self.random = state.wrapping_mul(MULTIPLIER);
        ((state ^ (state >> 22)) >> (22 + (state >> 61))) as u32
    }
}

/// The value at `level` (0 to 1) of sorted samples, interpolated between neighbours; NaN for none.
pub(super) fn interpolate(sorted: &[f64], level: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let index = (level * last as f64).clamp(0.0, last as f64);
    let left = index as usize;
    let right = left + 1;
    if right > last {
        return sorted[left];
    }
    let left_share = right as f64 - index;
    let right_share = index - left as f64;
    sorted[left] * left_share + sorted[right] * right_share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_of_a_large_stream_is_clickhouse_own() {
        let mut reservoir = Reservoir::new();
        (0..60_000).for_each(|value| reservoir.insert(f64::from(value)));
        assert_eq!(reservoir.total(), 60_000);
        assert_eq!(reservoir.samples().len(), CAPACITY);
        let median = interpolate(&reservoir.into_sorted(), 0.5);
        assert!((median - 30_000.0).abs() < 1_500.0, "{median}");
    }

    #[test]
    fn small_samples_are_exact() {
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(interpolate(&sorted, 0.9), 89.10000000000001);
        assert_eq!(interpolate(&sorted, 1.0), 99.0);
        assert_eq!(interpolate(&sorted[..10], 0.99), 8.91);
        assert!(interpolate(&[], 0.5).is_nan());
    }

    #[test]
    fn merged_samples_stand_for_both_sides() {
        let mut left = Reservoir::new();
        let mut right = Reservoir::new();
        (0..50_000).for_each(|value| left.insert(f64::from(value)));
        (50_000..100_000).for_each(|value| right.insert(f64::from(value)));
        left.merge(right.samples(), right.total());
        assert_eq!((left.total(), left.samples().len()), (100_000, CAPACITY));
        let median = interpolate(&left.into_sorted(), 0.5);
        assert!((median - 50_000.0).abs() < 2_500.0, "{median}");
    }
}
