//! `groupArray(max_size)(x)`: all values of a group in their order of arrival.

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array};
use arrow::compute::{interleave, take};
use basalt_base::array_bytes::taken_bytes;
use basalt_base::query::check_allocation;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::lists::{as_lists, for_each_element, lists};
use super::quantile::parameter_number;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States, only_arg};

pub(super) struct GroupArray;

impl AggregateFunction for GroupArray {
    fn name(&self) -> &'static str {
        "groupArray"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["array_agg"]
    }

    fn depends_on_order(&self) -> bool {
        true
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrEmpty
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let element = only_arg(self.name(), args)?.clone();
        let limit = size_limit(self.name(), parameters)?;
        let result = SqlType::array_of(element.clone());
        Ok(BoundStates::new(result.clone(), vec![result], move || GroupArrayStates {
            collected: Collected::new(element.clone()),
            limit,
        }))
    }
}

/// The limit in `groupArray(10)(x)`; without a parameter there is none.
pub(super) fn size_limit(name: &str, parameters: &[Parameter]) -> Result<u64> {
    let [parameter] = parameters else {
        if parameters.is_empty() {
            return Ok(u64::MAX);
        }
        return Err(Error::new(
            ErrorCode::NumberOfArgumentsDoesntMatch,
            format!("aggregate function `{name}` takes at most one parameter"),
        ));
    };
    let limit = parameter_number(name, parameter)?;
    if limit < 1.0 || limit.fract() != 0.0 {
        return Err(Error::new(
            ErrorCode::BadArguments,
            format!("the parameter of `{name}` is a positive integer, got {limit}"),
        ));
    }
    Ok(limit as u64)
}

/// Values of any type, stored as references to a block and a row.
pub(super) struct Collected {
    element: SqlType,
    blocks: Vec<ArrayRef>,
    block_bytes: usize,
    entries: Vec<Entry>,
    counts: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Entry {
    group: u32,
    block: u32,
    row: u32,
}

impl Collected {
    pub(super) fn new(element: SqlType) -> Collected {
        Collected { element, blocks: Vec::new(), block_bytes: 0, entries: Vec::new(), counts: Vec::new() }
    }

    pub(super) fn fresh(&self) -> Collected {
        Collected::new(self.element.clone())
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    pub(super) fn count(&self, group: usize) -> u64 {
        self.counts[group]
    }

    /// Adds the rows of `block` at `places`, which are `(row, group)` pairs.
    pub(super) fn add(&mut self, block: &ArrayRef, places: &[(usize, usize)]) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        // A block with few needed rows is copied, to free the rest.
        let copied = places.len() * 2 < block.len();
        let block = if copied {
            let rows = UInt32Array::from_iter_values(places.iter().map(|&(row, _)| row as u32));
            take(block, &rows, None).map_err(Error::of_arrow)?
        } else {
            ArrayRef::clone(block)
        };
        self.block_bytes += block.get_array_memory_size();
        let block_index = self.blocks.len() as u32;
        self.blocks.push(block);
        for (position, &(row, group)) in places.iter().enumerate() {
            let row = if copied { position } else { row } as u32;
            self.counts[group] += 1;
            self.entries.push(Entry { group: group as u32, block: block_index, row });
        }
        Ok(())
    }

    /// The lists of the emitted groups.
    pub(super) fn take(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let counts = emit.take_needed(&mut self.counts);
        let emitted = counts.len() as u32;
        let entries = std::mem::take(&mut self.entries);
        check_allocation(self.gathered_bytes(entries.len()))?;
        let (now, later) = match emit {
            EmitTo::All => (entries, Vec::new()),
            EmitTo::First(_) => entries.into_iter().partition(|entry| entry.group < emitted),
        };
        let elements = self.gather(&now, &counts)?;
        self.entries = later;
        self.entries.iter_mut().for_each(|entry| entry.group -= emitted);
        if self.entries.is_empty() {
            self.blocks.clear();
            self.block_bytes = 0;
        }
        lists(&self.element, counts.into_iter().map(|count| count as usize), elements)
    }

    /// The bytes of lists with that many values, including intermediate positions.
    fn gathered_bytes(&self, values: usize) -> u64 {
        let Some(block) = self.blocks.iter().find(|block| !block.is_empty()) else { return 0 };
        let block_bytes = taken_bytes(block.as_ref(), 0..block.len()) as f64;
        let value = block_bytes / block.len() as f64 + size_of::<(usize, usize)>() as f64;
        (values as f64 * value) as u64
    }

    /// The values of `entries` by group, in order of arrival within a group.
    fn gather(&self, entries: &[Entry], counts: &[u64]) -> Result<ArrayRef> {
        if entries.is_empty() {
            return Ok(new_empty_array(&self.element.carrier()));
        }
        let mut ends: Vec<usize> = counts
            .iter()
            .scan(0, |start, &count| Some(std::mem::replace(start, *start + count as usize)))
            .collect();
        let mut indices = vec![(0, 0); entries.len()];
        for entry in entries {
            let end = &mut ends[entry.group as usize];
            indices[*end] = (entry.block as usize, entry.row as usize);
            *end += 1;
        }
        let blocks: Vec<&dyn Array> = self.blocks.iter().map(AsRef::as_ref).collect();
        interleave(&blocks, &indices).map_err(Error::of_arrow)
    }

    pub(super) fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        size_of_val(self) + self.block_bytes + entries + self.counts.capacity() * size_of::<u64>()
    }
}

struct GroupArrayStates {
    collected: Collected,
    limit: u64,
}

impl States for GroupArrayStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(GroupArrayStates { collected: self.collected.fresh(), limit: self.limit })
    }

    fn grow(&mut self, groups: usize) {
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
        self.collected.take(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.collected.take(emit)?])
    }

    fn bytes(&self) -> usize {
        self.collected.bytes()
    }
}

impl GroupArrayStates {
    fn add(&mut self, block: &ArrayRef, mut places: Vec<(usize, usize)>) -> Result<()> {
        if self.limit < u64::MAX {
            let mut added = std::collections::HashMap::new();
            places.retain(|&(_, group)| {
                let new: &mut u64 = added.entry(group).or_default();
                *new += 1;
                self.collected.count(group) + *new <= self.limit
            });
        }
        self.collected.add(block, &places)
    }
}
