//! The groups of the rows of a block.

use arrow::buffer::BooleanBuffer;

/// The rows of a block that count, and their groups.
#[derive(Clone, Copy)]
pub struct GroupedRows<'a> {
    /// The group of each row; `None` if all rows belong to group 0, the only one.
    groups: Option<&'a [usize]>,
    /// The rows that count; `None` for all.
    keeps: Option<&'a BooleanBuffer>,
    count: usize,
}

impl<'a> GroupedRows<'a> {
    pub fn of_groups(groups: &'a [usize], keeps: Option<&'a BooleanBuffer>) -> GroupedRows<'a> {
        GroupedRows { groups: Some(groups), keeps, count: groups.len() }
    }

    pub fn of_only_group(count: usize, keeps: Option<&'a BooleanBuffer>) -> GroupedRows<'a> {
        GroupedRows { groups: None, keeps, count }
    }

    /// The number of rows of the block, including rows that do not count.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn keeps(&self) -> Option<&'a BooleanBuffer> {
        self.keeps
    }

    pub fn with_keeps(self, keeps: Option<&'a BooleanBuffer>) -> GroupedRows<'a> {
        GroupedRows { keeps, ..self }
    }

    pub fn has_only_group(&self) -> bool {
        self.groups.is_none()
    }

    /// The number of rows that count.
    pub fn kept(&self) -> usize {
        self.keeps.map_or(self.count, BooleanBuffer::count_set_bits)
    }

    /// Calls `add(row, group)` for every row that counts, in order.
    #[inline]
    pub fn for_each(&self, mut add: impl FnMut(usize, usize)) {
        match (self.groups, self.keeps) {
            (Some(groups), None) => groups.iter().enumerate().for_each(|(row, &group)| add(row, group)),
            (Some(groups), Some(keeps)) => keeps.set_indices().for_each(|row| add(row, groups[row])),
            (None, None) => (0..self.count).for_each(|row| add(row, 0)),
            (None, Some(keeps)) => keeps.set_indices().for_each(|row| add(row, 0)),
        }
    }

    /// Calls `add(group, value)` for every row that counts, like [`GroupedRows::for_each`] without a bounds check per
    /// value.
    #[inline]
    pub fn for_each_value<T: Copy>(&self, values: &[T], mut add: impl FnMut(usize, T)) {
        match (self.groups, self.keeps) {
            (Some(groups), None) => {
                groups.iter().zip(values).for_each(|(&group, &value)| add(group, value));
            }
            _ => self.for_each(|row, group| add(group, values[row])),
        }
    }

    /// Calls `add` for every run of values that count. Only for a single group.
    #[inline]
    pub fn for_each_run<T>(&self, values: &[T], mut add: impl FnMut(&[T])) {
        debug_assert!(self.groups.is_none(), "runs exist within one group only");
        match self.keeps {
            None => add(values),
            Some(keeps) => keeps.set_slices().for_each(|(start, end)| add(&values[start..end])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(rows: &GroupedRows<'_>) -> Vec<(usize, usize)> {
        let mut seen = Vec::new();
        rows.for_each(|row, group| seen.push((row, group)));
        seen
    }

    #[test]
    fn rows_left_out_are_not_visited() {
        let keeps = BooleanBuffer::from(vec![true, false, true]);
        assert_eq!(collect(&GroupedRows::of_groups(&[5, 6, 7], Some(&keeps))), [(0, 5), (2, 7)]);
        assert_eq!(collect(&GroupedRows::of_only_group(3, Some(&keeps))), [(0, 0), (2, 0)]);
        assert_eq!(collect(&GroupedRows::of_groups(&[1, 0], None)), [(0, 1), (1, 0)]);
        assert_eq!(GroupedRows::of_only_group(3, Some(&keeps)).kept(), 2);
    }

    #[test]
    fn runs_cover_what_counts() {
        let keeps = BooleanBuffer::from(vec![true, true, false, true]);
        let mut runs = Vec::new();
        GroupedRows::of_only_group(4, Some(&keeps))
            .for_each_run(&[1, 2, 3, 4], |run| runs.push(run.to_vec()));
        assert_eq!(runs, [vec![1, 2], vec![4]]);
    }
}
