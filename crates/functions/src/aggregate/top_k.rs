//! `topK(n)(x)`: the most frequent values, most frequent first.
//!
//! ClickHouse keeps a sketch of bounded size. Here every value is counted, so the answer is the one that the sketch
//! estimates. Equally frequent values are in the order of their first occurrence.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::group_array::Collected;
use super::hash128::hash_rows;
use super::lists::{as_lists, for_each_element, lists};
use super::quantile::parameter_number;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States, only_arg};

/// The maximum number of values of one call, as in ClickHouse.
const VALUES_MAX: f64 = 65_536.0;
const VALUES_DEFAULT: usize = 10;

pub(super) struct TopK;

impl AggregateFunction for TopK {
    fn name(&self) -> &'static str {
        "topK"
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrEmpty
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let element = only_arg(self.name(), args)?.clone();
        let limit = match parameters.first() {
            None => VALUES_DEFAULT,
            Some(parameter) => {
                let limit = parameter_number(self.name(), parameter)?;
                if !(1.0..=VALUES_MAX).contains(&limit) {
                    return Err(Error::new(
                        ErrorCode::ArgumentOutOfBound,
                        format!("the parameter of `topK` lies between 1 and {VALUES_MAX}, got {limit}"),
                    ));
                }
                limit as usize
            }
        };
        let state_types = vec![SqlType::array_of(element.clone()), SqlType::array_of(SqlType::UInt64)];
        Ok(BoundStates::new(SqlType::array_of(element.clone()), state_types, move || TopKStates {
            collected: Collected::new(element.clone()),
            groups: Vec::new(),
            values: 0,
            element: element.clone(),
            limit,
        }))
    }
}

/// The position of a value within its group, and its count.
type Counts = hashbrown::HashMap<u128, usize>;

#[derive(Default)]
struct Group {
    places: Counts,
    /// In the order of first occurrence.
    counts: Vec<u64>,
}

struct TopKStates {
    /// The distinct values of each group, in the order of first occurrence.
    collected: Collected,
    groups: Vec<Group>,
    /// The number of distinct values in all groups.
    values: usize,
    element: SqlType,
    limit: usize,
}

impl TopKStates {
    /// Adds `(row, group, count)` entries.
    fn add(&mut self, block: &ArrayRef, rows: impl Iterator<Item = (usize, usize, u64)>) -> Result<()> {
        let keys = hash_rows(std::slice::from_ref(block))?;
        let mut places = Vec::new();
        for (row, group, count) in rows {
            let Group { places: known, counts } = &mut self.groups[group];
            let place = *known.entry(keys[row]).or_insert_with(|| {
                counts.push(0);
                places.push((row, group));
                counts.len() - 1
            });
            counts[place] += count;
        }
        self.values += places.len();
        self.collected.add(block, &places)
    }

    fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, Vec<Group>)> {
        let groups = emit.take_needed(&mut self.groups);
        self.values -= groups.iter().map(|group| group.counts.len()).sum::<usize>();
        Ok((self.collected.take(emit)?, groups))
    }
}

impl States for TopKStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(TopKStates {
            collected: self.collected.fresh(),
            groups: Vec::new(),
            values: 0,
            element: self.element.clone(),
            limit: self.limit,
        })
    }

    fn grow(&mut self, groups: usize) {
        self.collected.grow(groups);
        self.groups.resize_with(groups, Group::default);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let mut added = Vec::with_capacity(rows.count());
        rows.for_each(|row, group| added.push((row, group, 1)));
        self.add(&args[0], added.into_iter())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let (values, counts) = (as_lists(&states[0])?, as_lists(&states[1])?);
        let counts = counts.values().as_primitive::<UInt64Type>().values();
        let mut added = Vec::with_capacity(counts.len());
        for_each_element(values, rows, |element, group| added.push((element, group, counts[element])));
        self.add(values.values(), added.into_iter())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (values, groups) = self.take(emit)?;
        let values = values.as_list::<i32>();
        let mut picked: Vec<u32> = Vec::new();
        let mut lengths = Vec::with_capacity(groups.len());
        for (row, group) in groups.iter().enumerate() {
            let start = values.value_offsets()[row] as u32;
            let mut order: Vec<usize> = (0..group.counts.len()).collect();
            order.sort_by_key(|&place| std::cmp::Reverse(group.counts[place]));
            order.truncate(self.limit);
            lengths.push(order.len());
            picked.extend(order.into_iter().map(|place| start + place as u32));
        }
        let picked = arrow::array::UInt32Array::from(picked);
        let best = arrow::compute::take(values.values(), &picked, None).map_err(Error::logical)?;
        lists(&self.element, lengths, best)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (values, groups) = self.take(emit)?;
        let lengths: Vec<usize> = groups.iter().map(|group| group.counts.len()).collect();
        let counts = UInt64Array::from_iter_values(groups.into_iter().flat_map(|group| group.counts));
        Ok(vec![values, lists(&SqlType::UInt64, lengths, Arc::new(counts))?])
    }

    fn bytes(&self) -> usize {
        // A key, its position, a control byte and a count, in tables that are half empty on average.
        let counted = self.values * 2 * (size_of::<(u128, usize)>() + size_of::<u64>());
        size_of_val(self) + self.collected.bytes() + self.groups.capacity() * size_of::<Group>() + counted
    }
}
