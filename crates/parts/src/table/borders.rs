//! The borders of a layer: a range of the sorting key.

use std::ops::Range;
use std::sync::Arc;

use arrow::row::Rows;

/// The key range of a layer, in the row format of the sorting key. `None` is no limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Borders {
    /// The first key of the range, or a prefix of the first keys.
    pub(crate) low: Option<Arc<[u8]>>,
    /// The first key after the range.
    pub(crate) high: Option<Arc<[u8]>>,
}

impl Borders {
    /// The rows of `keys`, which ascend, that are in the range.
    pub(crate) fn rows(&self, keys: &Rows) -> Range<usize> {
        let below = |border: &[u8]| {
            let (mut low, mut high) = (0, keys.num_rows());
            while low < high {
                let middle = low + (high - low) / 2;
                if keys.row(middle).data() < border { low = middle + 1 } else { high = middle }
            }
            low
        };
        let start = self.low.as_deref().map_or(0, below);
        start..self.high.as_deref().map_or(keys.num_rows(), below).max(start)
    }
}
