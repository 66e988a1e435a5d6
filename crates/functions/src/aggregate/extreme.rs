//! `min`, `max` over any type with an order; the type's default for no rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use basalt_base::{Error, Result, SqlType};

use super::extremum_state::{End, ExtremumState, extremum_state};
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States, Statistic};
use super::{no_parameters, only_arg};

pub(super) static MIN: Extreme = Extreme { name: "min", end: End::Least };
pub(super) static MAX: Extreme = Extreme { name: "max", end: End::Greatest };

pub(super) struct Extreme {
    name: &'static str,
    end: End,
}

impl AggregateFunction for Extreme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn finds(&self) -> Option<Statistic> {
        Some(match self.end {
            End::Least => Statistic::Least,
            End::Greatest => Statistic::Greatest,
        })
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name, parameters)?;
        let arg = only_arg(self.name, args)?.clone();
        let prototype = extremum_state(&arg, self.end)?;
        let fresh = move || ExtremeStates { extremum: prototype.fresh() };
        Ok(BoundStates::new(arg.clone(), vec![arg, SqlType::Bool], fresh))
    }
}

struct ExtremeStates {
    extremum: Box<dyn ExtremumState>,
}

impl States for ExtremeStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ExtremeStates { extremum: self.extremum.fresh() })
    }

    fn grow(&mut self, groups: usize) {
        self.extremum.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.extremum.update(&args[0], rows, None)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let [best, seen] = states else {
            return Err(Error::logical("the state of an extreme has two columns"));
        };
        self.extremum.update(best, &rows.with_keeps(Some(seen.as_boolean().values())), None)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.extremum.take(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (best, seen) = self.extremum.take(emit)?;
        Ok(vec![best, Arc::new(seen)])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.extremum.bytes()
    }
}
