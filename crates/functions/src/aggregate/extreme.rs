//! `min`, `max`: of every type that has an order; the type's default for nothing.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use basalt_base::{Error, Result, SqlType};

use super::contest::{Contest, End, contest};
use super::{AggregateFunction, Bound, EmitTo, Parameter, Rows, States, Statistic};
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

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<Bound> {
        no_parameters(self.name, parameters)?;
        let arg = only_arg(self.name, args)?.clone();
        let prototype = contest(&arg, self.end)?;
        let fresh = move || ExtremeStates { contest: prototype.fresh() };
        Ok(Bound::new(arg.clone(), vec![arg, SqlType::Bool], fresh))
    }
}

struct ExtremeStates {
    contest: Box<dyn Contest>,
}

impl States for ExtremeStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ExtremeStates { contest: self.contest.fresh() })
    }

    fn grow(&mut self, groups: usize) {
        self.contest.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        self.contest.compete(&args[0], rows, None)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let [best, seen] = states else {
            return Err(Error::logical("the state of an extreme has two columns"));
        };
        self.contest.compete(best, &rows.with_keeps(Some(seen.as_boolean().values())), None)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.contest.take(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (best, seen) = self.contest.take(emit)?;
        Ok(vec![best, Arc::new(seen)])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.contest.bytes()
    }
}
