//! `count`: the number of rows, or of values that are not NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{Result, SqlType};

use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States, Statistic};
use super::{no_parameters, wrong_arity};

/// The planner gives `count()` a constant argument.
pub(super) struct Count;

impl AggregateFunction for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrEmpty
    }

    fn finds(&self) -> Option<Statistic> {
        Some(Statistic::Count)
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name(), parameters)?;
        if args.len() > 1 {
            return Err(wrong_arity(self.name(), "at most one argument", args.len()));
        }
        Ok(BoundStates::new(SqlType::UInt64, vec![SqlType::UInt64], Counts::default))
    }
}

#[derive(Default)]
struct Counts {
    counts: Vec<u64>,
}

impl States for Counts {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Counts::default())
    }

    fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, _args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let counts = &mut self.counts;
        if rows.has_only_group() {
            counts[0] += rows.kept() as u64;
        } else {
            rows.for_each(|_, group| counts[group] += 1);
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let counts = &mut self.counts;
        let added = states[0].as_primitive::<UInt64Type>().values();
        rows.for_each_value(added, |group, count| counts[group] += count);
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(UInt64Array::from(emit.take_needed(&mut self.counts))))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<u64>()
    }
}
