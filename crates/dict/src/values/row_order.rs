//! The order in which rows are packed: that of sorted rows, whose payloads are row numbers.
//!
//! The numbers are read in place, a piece at a time. Only some users need a list of all of them.

use std::cell::OnceCell;

use basalt_base::Result;
use basalt_base::region::RegionNumbers;

use super::cores::on_all_cores;
use crate::table::{PartitionRows, SortedShards};

/// The least rows of a piece, which one core packs. A partition with more rows is one piece.
pub(super) const STRETCH_ROWS: usize = 1 << 16;

/// All rows that are kept.
pub(crate) struct RowOrder<'a> {
    sorted: &'a SortedShards,
    listed: OnceCell<RegionNumbers>,
}

/// A piece: adjacent rows.
pub(super) enum RowStretch<'a> {
    Listed(&'a [u32]),
    Sorted { partitions: Vec<PartitionRows<'a>>, rows: usize },
}

impl<'a> RowOrder<'a> {
    pub(crate) fn new(sorted: &'a SortedShards) -> RowOrder<'a> {
        RowOrder { sorted, listed: OnceCell::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(super) fn stretches(&self) -> Vec<RowStretch<'a>> {
        let mut stretches = Vec::new();
        for partition in self.sorted.partitions() {
            match stretches.last_mut() {
                Some(RowStretch::Sorted { partitions, rows }) if *rows + partition.len() <= STRETCH_ROWS => {
                    *rows += partition.len();
                    partitions.push(partition);
                }
                _ => {
                    stretches.push(RowStretch::Sorted { rows: partition.len(), partitions: vec![partition] })
                }
            }
        }
        stretches
    }

    /// The numbers of all rows.
    pub(super) fn list(&self) -> Result<&[u32]> {
        if self.listed.get().is_none() {
            let mut numbers = RegionNumbers::zeroed(self.len())?;
            for_each_stretch(self.stretches(), &mut numbers, |numbers, places| {
                places.copy_from_slice(numbers);
            });
            // No other thread has set it: the order is of one thread.
            let _ = self.listed.set(numbers);
        }
        Ok(self.listed.get().map_or(&[], |numbers| numbers))
    }
}

impl<'a> RowStretch<'a> {
    /// The pieces of a list.
    pub(super) fn of_list(numbers: &'a [u32]) -> Vec<RowStretch<'a>> {
        numbers.chunks(STRETCH_ROWS).map(RowStretch::Listed).collect()
    }

    pub(super) fn len(&self) -> usize {
        match self {
            RowStretch::Listed(numbers) => numbers.len(),
            RowStretch::Sorted { rows, .. } => *rows,
        }
    }

    /// The numbers of its rows, in `scratch` unless there is a list.
    fn numbers<'b>(&'b self, scratch: &'b mut Vec<u32>) -> &'b [u32] {
        match self {
            RowStretch::Listed(numbers) => numbers,
            RowStretch::Sorted { partitions, rows } => {
                scratch.reserve(*rows);
                for partition in partitions {
                    partition.payloads().for_each(|payload| scratch.push(payload as u32));
                }
                scratch
            }
        }
    }
}

/// Runs `work` for each piece on all cores, and returns the results. `work` gets the numbers of the piece, and the
/// places of its rows in `out`.
pub(super) fn for_each_stretch<R: Send>(
    stretches: Vec<RowStretch<'_>>,
    out: &mut [u32],
    work: impl Fn(&[u32], &mut [u32]) -> R + Sync,
) -> Vec<R> {
    let mut left = out;
    let mut parts = Vec::with_capacity(stretches.len());
    for stretch in stretches {
        let (places, after) = left.split_at_mut(stretch.len());
        left = after;
        parts.push((stretch, places));
    }
    on_all_cores(parts.into_iter(), |(stretch, places)| work(stretch.numbers(&mut Vec::new()), places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payloads::Payloads;
    use crate::table::{TableBuilder, TableShape};

    #[test]
    fn stretches_and_the_list_have_the_rows_in_order_of_hash() {
        for count in [0, 1, 1000, 200_000_u64] {
            let shape = TableShape { shards: 1, queue_backlog: 1, payload_bytes: 4 };
            let mut builder = TableBuilder::new(shape).expect("threads");
            let hash = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for first in (0..count).step_by(50_000) {
                let rows = first..count.min(first + 50_000);
                builder.push(rows.clone().map(hash).collect(), Payloads::Numbers(rows)).expect("memory");
            }
            let sorted = builder.sort(|_, _| true).expect("memory");
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_unstable_by_key(|&row| hash(row.into()));
            let order = RowOrder::new(&sorted);
            assert_eq!(order.len(), expected.len());
            assert_eq!(order.list().expect("memory"), expected);
            let mut places = vec![0; expected.len()];
            let lens = for_each_stretch(RowStretch::of_list(&expected), &mut places, |numbers, places| {
                places.copy_from_slice(numbers);
                numbers.len()
            });
            assert_eq!((lens.iter().sum::<usize>(), places), (expected.len(), expected));
        }
    }
}
