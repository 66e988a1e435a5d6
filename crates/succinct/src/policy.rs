//! Which segments are merged.

use std::ops::Range;

/// What a choice needs to know of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentSize {
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    /// The rows that newer segments shadow.
    pub(crate) shadowed: u64,
}

/// The neighbours to merge next, if any: a segment of which more than `dead_share_max` is shadowed, alone; or, of more
/// than `segments_max` segments, those whose merge writes the fewest bytes for each segment that it saves.
pub(crate) fn choose(
    segments: &[SegmentSize],
    segments_max: usize,
    dead_share_max: f64,
) -> Option<Range<usize>> {
    let is_dead = |size: &SegmentSize| size.shadowed as f64 > dead_share_max * size.rows as f64;
    if let Some(at) = segments.iter().position(is_dead) {
        return Some(at..at + 1);
    }
    if segments.len() <= segments_max.max(1) {
        return None;
    }
    let windows = (0..segments.len()).flat_map(|from| (from + 2..=segments.len()).map(move |to| from..to));
    let cost = |window: &Range<usize>| {
        let bytes: u64 = segments[window.clone()].iter().map(|size| size.bytes).sum();
        bytes as f64 / (window.len() - 1) as f64
    };
    windows.min_by(|left, right| cost(left).total_cmp(&cost(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: u64, rows: u64, shadowed: u64) -> SegmentSize {
        SegmentSize { bytes, rows, shadowed }
    }

    #[test]
    fn segments_with_many_dead_rows_are_rewritten() {
        let sizes = [size(10, 100, 0), size(10, 100, 11), size(10, 100, 100)];
        assert_eq!(choose(&sizes, 5, 0.1), Some(1..2));
        assert_eq!(choose(&sizes[..1], 5, 0.1), None);
        assert_eq!(choose(&[], 5, 0.1), None);
    }

    #[test]
    fn small_neighbours_are_merged_before_large_ones() {
        let sizes = |bytes: &[u64]| bytes.iter().map(|&bytes| size(bytes, 100, 0)).collect::<Vec<_>>();
        assert_eq!(choose(&sizes(&[1, 1, 1, 1, 100]), 5, 0.1), None);
        assert_eq!(choose(&sizes(&[1, 1, 1, 1, 1, 100]), 5, 0.1), Some(0..5));
        assert_eq!(choose(&sizes(&[100, 100, 3, 2, 100, 100]), 5, 0.1), Some(2..4));
    }
}
