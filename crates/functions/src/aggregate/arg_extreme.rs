//! `argMin(arg, value)`, `argMax`: the `arg` of the row with the least or the greatest `value`; of
//! equal ones the first.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use basalt_base::{Error, Result, SqlType};

use super::contest::{Contest, End, contest};
use super::slots::Slots;
use super::{AggregateFunction, Bound, EmitTo, Parameter, Rows, States};
use super::{no_parameters, two_args};

pub(super) static ARG_MIN: ArgExtreme = ArgExtreme { name: "argMin", end: End::Least };
pub(super) static ARG_MAX: ArgExtreme = ArgExtreme { name: "argMax", end: End::Greatest };

pub(super) struct ArgExtreme {
    name: &'static str,
    end: End,
}

impl AggregateFunction for ArgExtreme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn depends_on_order(&self) -> bool {
        true
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<Bound> {
        no_parameters(self.name, parameters)?;
        let (arg, value) = two_args(self.name, args)?;
        let (arg, prototype) = (arg.clone(), contest(value, self.end)?);
        let state_types = vec![arg.clone(), value.clone(), SqlType::Bool];
        Ok(Bound::new(arg.clone(), state_types, move || ArgExtremeStates {
            contest: prototype.fresh(),
            args: Slots::new(arg.clone()),
            winners: Vec::new(),
        }))
    }
}

struct ArgExtremeStates {
    contest: Box<dyn Contest>,
    args: Slots,
    /// Kept from block to block for its memory only.
    winners: Vec<(usize, usize)>,
}

impl ArgExtremeStates {
    fn compete(&mut self, arg: &ArrayRef, value: &ArrayRef, rows: &Rows<'_>) -> Result<()> {
        self.winners.clear();
        self.contest.compete(value, rows, Some(&mut self.winners))?;
        self.args.put(arg, &self.winners)
    }
}

impl States for ArgExtremeStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ArgExtremeStates {
            contest: self.contest.fresh(),
            args: self.args.fresh(),
            winners: Vec::new(),
        })
    }

    fn grow(&mut self, groups: usize) {
        self.contest.grow(groups);
        self.args.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        self.compete(&args[0], &args[1], rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let [arg, value, seen] = states else {
            return Err(Error::logical("the state of argMin and argMax has three columns"));
        };
        self.compete(arg, value, &rows.with_keeps(Some(seen.as_boolean().values())))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.contest.take(emit)?;
        Ok(self.args.take(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (value, seen) = self.contest.take(emit)?;
        let (arg, _) = self.args.take(emit)?;
        Ok(vec![arg, value, Arc::new(seen)])
    }

    fn bytes(&self) -> usize {
        let winners = self.winners.capacity() * size_of::<(usize, usize)>();
        size_of_val(self) + self.contest.bytes() + self.args.bytes() + winners
    }
}
