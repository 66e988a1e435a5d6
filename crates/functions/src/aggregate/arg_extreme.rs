//! `argMin(arg, value)`, `argMax`: the `arg` of the row with the least or greatest `value`; the first row among equal
//! values.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use basalt_base::{Error, Result, SqlType};

use super::extremum_state::{End, ExtremumState, extremum_state};
use super::slots::Slots;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
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

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name, parameters)?;
        let (arg, value) = two_args(self.name, args)?;
        let (arg, prototype) = (arg.clone(), extremum_state(value, self.end)?);
        let state_types = vec![arg.clone(), value.clone(), SqlType::Bool];
        Ok(BoundStates::new(arg.clone(), state_types, move || ArgExtremeStates {
            extremum: prototype.fresh(),
            args: Slots::new(arg.clone()),
            changed: Vec::new(),
        }))
    }
}

struct ArgExtremeStates {
    extremum: Box<dyn ExtremumState>,
    args: Slots,
    /// Reused between blocks to save the allocation.
    changed: Vec<(usize, usize)>,
}

impl ArgExtremeStates {
    fn update(&mut self, arg: &ArrayRef, value: &ArrayRef, rows: &GroupedRows<'_>) -> Result<()> {
        self.changed.clear();
        self.extremum.update(value, rows, Some(&mut self.changed))?;
        self.args.put(arg, &self.changed)
    }
}

impl States for ArgExtremeStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ArgExtremeStates {
            extremum: self.extremum.fresh(),
            args: self.args.fresh(),
            changed: Vec::new(),
        })
    }

    fn grow(&mut self, groups: usize) {
        self.extremum.grow(groups);
        self.args.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.update(&args[0], &args[1], rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let [arg, value, seen] = states else {
            return Err(Error::logical("the state of argMin and argMax has three columns"));
        };
        self.update(arg, value, &rows.with_keeps(Some(seen.as_boolean().values())))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.extremum.take(emit)?;
        Ok(self.args.take(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (value, seen) = self.extremum.take(emit)?;
        let (arg, _) = self.args.take(emit)?;
        Ok(vec![arg, value, Arc::new(seen)])
    }

    fn bytes(&self) -> usize {
        let changed = self.changed.capacity() * size_of::<(usize, usize)>();
        size_of_val(self) + self.extremum.bytes() + self.args.bytes() + changed
    }
}
