//! `groupUniqArray(max_size)(x)`: the distinct values of a group in the order of their first occurrence.

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, SqlType};

use super::group_array::{Collected, size_limit};
use super::hash128::hash_rows;
use super::key_sets::KeySets;
use super::lists::{as_lists, for_each_element};
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States, only_arg};

pub(super) struct GroupUniqArray;

impl AggregateFunction for GroupUniqArray {
    fn name(&self) -> &'static str {
        "groupUniqArray"
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrEmpty
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let element = only_arg(self.name(), args)?.clone();
        let limit = size_limit(self.name(), parameters)?;
        let result = SqlType::array_of(element.clone());
        Ok(BoundStates::new(result.clone(), vec![result], move || GroupUniqArrayStates {
            seen: KeySets::new(),
            collected: Collected::new(element.clone()),
            limit,
        }))
    }
}

struct GroupUniqArrayStates {
    seen: KeySets<u128>,
    collected: Collected,
    limit: u64,
}

impl GroupUniqArrayStates {
    fn add(&mut self, block: &ArrayRef, mut places: Vec<(usize, usize)>) -> Result<()> {
        let keys = hash_rows(std::slice::from_ref(block))?;
        let (seen, limit) = (&mut self.seen, self.limit);
        places.retain(|&(row, group)| seen.count(group) < limit && seen.insert(group, keys[row]));
        self.collected.add(block, &places)
    }
}

impl States for GroupUniqArrayStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(GroupUniqArrayStates {
            seen: KeySets::new(),
            collected: self.collected.fresh(),
            limit: self.limit,
        })
    }

    fn grow(&mut self, groups: usize) {
        self.seen.grow(groups);
        self.collected.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let mut places = Vec::with_capacity(rows.count());
        rows.for_each(|row, group| places.push((row, group)));
        self.add(&args[0], places)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let list = as_lists(&states[0])?;
        let mut places = Vec::with_capacity(list.values().len());
        for_each_element(list, rows, |element, group| places.push((element, group)));
        self.add(list.values(), places)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.seen.take_counts(emit);
        self.collected.take(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.seen.bytes() + self.collected.bytes()
    }
}
