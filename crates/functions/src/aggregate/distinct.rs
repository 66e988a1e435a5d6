//! `sum(DISTINCT x)`: an aggregate function over the distinct values of each group.
//!
//! The distinct values of a group are kept in the order of their first occurrence, and passed to the function at the
//! end. Partial states contain values, not states of the function, so that values seen by two threads count once.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef};
use basalt_base::{Error, Result, SqlType};

use super::group_array::Collected;
use super::hash128::hash_rows;
use super::key_sets::KeySets;
use super::lists::{as_lists, for_each_element};
use super::{
    AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States, StatesFactory,
};

/// The form of a function that sees each value once. Its name differs from the function's name, because calls with
/// the same name and arguments are computed once.
pub(crate) struct Distinct {
    inner: &'static dyn AggregateFunction,
    name: &'static str,
}

/// The distinct form of `function`; `None` for a function that distinguishes NULL from values.
pub fn distinct(function: &dyn AggregateFunction) -> Option<&'static dyn AggregateFunction> {
    if function.nulls() == NullRule::Custom {
        return None;
    }
    FORMS.get(function.name()).map(|form| form as &dyn AggregateFunction)
}

static FORMS: LazyLock<HashMap<&'static str, Distinct>> = LazyLock::new(|| {
    let form = |&inner: &&'static dyn AggregateFunction| {
        // Leaked once per process: the table lives as long as the process.
        let name = String::leak(format!("{}Distinct", inner.name()));
        (inner.name(), Distinct { inner, name })
    };
    super::all().iter().map(form).collect()
});

impl AggregateFunction for Distinct {
    fn name(&self) -> &'static str {
        self.name
    }

    fn nulls(&self) -> NullRule {
        self.inner.nulls()
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let BoundStates { return_type, states, .. } = self.inner.bind(parameters, args)?;
        let (inner, args): (Arc<StatesFactory>, Vec<SqlType>) = (Arc::new(states), args.to_vec());
        let state_types = args.iter().cloned().map(SqlType::array_of).collect();
        Ok(BoundStates::new(return_type, state_types, move || DistinctStates {
            seen: KeySets::new(),
            args: args.iter().cloned().map(Collected::new).collect(),
            inner: Arc::clone(&inner),
        }))
    }
}

struct DistinctStates {
    seen: KeySets<u128>,
    /// The distinct values, one entry per argument.
    args: Vec<Collected>,
    inner: Arc<StatesFactory>,
}

impl DistinctStates {
    fn add(&mut self, args: &[ArrayRef], mut places: Vec<(usize, usize)>) -> Result<()> {
        let keys = hash_rows(args)?;
        places.retain(|&(row, group)| self.seen.insert(group, keys[row]));
        self.args.iter_mut().zip(args).try_for_each(|(collected, block)| collected.add(block, &places))
    }
}

impl States for DistinctStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(DistinctStates {
            seen: KeySets::new(),
            args: self.args.iter().map(Collected::fresh).collect(),
            inner: Arc::clone(&self.inner),
        })
    }

    fn grow(&mut self, groups: usize) {
        self.seen.grow(groups);
        self.args.iter_mut().for_each(|collected| collected.grow(groups));
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let mut places = Vec::with_capacity(rows.count());
        rows.for_each(|row, group| places.push((row, group)));
        self.add(args, places)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let lists = states.iter().map(as_lists).collect::<Result<Vec<_>>>()?;
        let Some(first) = lists.first() else {
            return Err(Error::logical("a distinct aggregate without arguments"));
        };
        let mut places = Vec::with_capacity(first.values().len());
        for_each_element(first, rows, |element, group| places.push((element, group)));
        let values: Vec<ArrayRef> = lists.iter().map(|list| Arc::clone(list.values())).collect();
        self.add(&values, places)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = self.state(emit)?;
        let lists = states.iter().map(as_lists).collect::<Result<Vec<_>>>()?;
        let Some(first) = lists.first() else {
            return Err(Error::logical("a distinct aggregate without arguments"));
        };
        let mut inner = (self.inner)();
        inner.grow(first.len());
        let lengths = first.offsets().lengths().enumerate();
        let groups: Vec<usize> =
            lengths.flat_map(|(group, length)| std::iter::repeat_n(group, length)).collect();
        let start = first.value_offsets()[0] as usize;
        let values: Vec<ArrayRef> =
            lists.iter().map(|list| list.values().slice(start, groups.len())).collect();
        inner.update(&values, &GroupedRows::of_groups(&groups, None))?;
        inner.evaluate(EmitTo::All)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.seen.take_counts(emit);
        self.args.iter_mut().map(|collected| collected.take(emit)).collect()
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.seen.bytes() + self.args.iter().map(Collected::bytes).sum::<usize>()
    }
}
