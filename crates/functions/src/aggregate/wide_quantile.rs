//! `quantileExact` and its variants over integers of 128 and 256 bits.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::types::{Wide, WideNumber};
use basalt_base::{Result, SqlType};

use super::lists::{as_lists, for_each_element, lists};
use super::quantile_exact::index_at;
use super::{BoundStates, EmitTo, GroupedRows, States};
use crate::scalar::whole::{collect_wide, wholes_of};

pub(super) fn bind(wide: Wide, levels: Arc<[f64]>, many: bool) -> BoundStates {
    let value = SqlType::Wide(wide);
    let state = SqlType::array_of(value.clone());
    let result = if many { state.clone() } else { value };
    BoundStates::new(result, vec![state], move || ExactStates {
        wide,
        levels: Arc::clone(&levels),
        many,
        groups: Vec::new(),
        held: 0,
    })
}

/// All values of each group.
struct ExactStates {
    wide: Wide,
    levels: Arc<[f64]>,
    many: bool,
    groups: Vec<Vec<WideNumber>>,
    held: usize,
}

impl ExactStates {
    fn take(&mut self, emit: EmitTo) -> Vec<Vec<WideNumber>> {
        let groups = emit.take_needed(&mut self.groups);
        self.held -= groups.iter().map(Vec::len).sum::<usize>();
        groups
    }

    fn to_array(&self, values: Vec<WideNumber>) -> Result<ArrayRef> {
        collect_wide(self.wide, values.into_iter().map(WideNumber::bits))
    }
}

/// The value at a level; 0 of no values.
fn pick(values: &mut [WideNumber], level: f64) -> WideNumber {
    match index_at(values.len(), level) {
        Some(index) => *values.select_nth_unstable(index).1,
        None => WideNumber::default(),
    }
}

impl States for ExactStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ExactStates { levels: Arc::clone(&self.levels), groups: Vec::new(), held: 0, ..*self })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Vec::new);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let wholes = wholes_of(&SqlType::Wide(self.wide), &args[0])?;
        rows.for_each(|row, group| self.groups[group].push(wholes[row]));
        self.held += rows.kept();
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let list = as_lists(&states[0])?;
        let wholes = wholes_of(&SqlType::Wide(self.wide), list.values())?;
        for_each_element(list, rows, |element, group| {
            self.groups[group].push(wholes[element]);
            self.held += 1;
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = self.take(emit);
        let rows = groups.len();
        let mut picked = Vec::with_capacity(rows * self.levels.len());
        for mut group in groups {
            picked.extend(self.levels.iter().map(|&level| pick(&mut group, level)));
        }
        let values = self.to_array(picked)?;
        if self.many {
            return lists(&SqlType::Wide(self.wide), std::iter::repeat_n(self.levels.len(), rows), values);
        }
        Ok(values)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit);
        let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
        let values = self.to_array(groups.into_iter().flatten().collect())?;
        Ok(vec![lists(&SqlType::Wide(self.wide), lengths, values)?])
    }

    fn bytes(&self) -> usize {
        // Vectors grow by doubling: on average they allocate half of their size again.
        let values = self.held * size_of::<WideNumber>() * 3 / 2;
        size_of_val(self) + self.groups.capacity() * size_of::<Vec<WideNumber>>() + values
    }
}
