//! `varPop`, `varSamp`, `stddevPop`, `stddevSamp`: from the count, the sum and the sum of squares.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use basalt_base::{Error, Result, SqlType};

use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{illegal_type, no_parameters, only_arg};

pub(super) static VAR_POP: Spread =
    Spread { name: "varPop", aliases: &["VAR_POP"], of: Population::Whole, root: false };
pub(super) static VAR_SAMP: Spread =
    Spread { name: "varSamp", aliases: &["VAR_SAMP"], of: Population::Sample, root: false };
pub(super) static STDDEV_POP: Spread = Spread {
    name: "stddevPop",
    aliases: &["STDDEV_POP", "STD", "STDDEV"],
    of: Population::Whole,
    root: true,
};
pub(super) static STDDEV_SAMP: Spread =
    Spread { name: "stddevSamp", aliases: &["STDDEV_SAMP"], of: Population::Sample, root: true };

pub(super) struct Spread {
    name: &'static str,
    aliases: &'static [&'static str],
    of: Population,
    /// Whether to take the root of the variance: the standard deviation.
    root: bool,
}

/// Whether the values are the whole population or a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Population {
    Whole,
    Sample,
}

impl AggregateFunction for Spread {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name, parameters)?;
        let arg = only_arg(self.name, args)?;
        if let Some(wide) = arg.wide() {
            return Ok(super::wide::as_floats(wide, self.bind(parameters, &[SqlType::Float64])?));
        }
        if !arg.is_number() {
            return Err(illegal_type(self.name, arg));
        }
        let narrow = *arg == SqlType::Float32;
        let result = if narrow { SqlType::Float32 } else { SqlType::Float64 };
        let (of, root) = (self.of, self.root);
        let states = move || SpreadStates { groups: Vec::new(), of, root, narrow };
        Ok(BoundStates::new(result, vec![SqlType::Float64; 3], states))
    }
}

/// Sums of the 0th, 1st and 2nd powers of the values.
type Moments = [f64; 3];

struct SpreadStates {
    groups: Vec<Moments>,
    of: Population,
    root: bool,
    /// Whether the result is Float32.
    narrow: bool,
}

impl SpreadStates {
    fn finish(&self, [count, sum, squares]: Moments) -> f64 {
        let divisor = match self.of {
            Population::Whole => count,
            Population::Sample => count - 1.0,
        };
        if divisor <= 0.0 {
            return f64::NAN;
        }
        // Rounding can make it negative.
        let variance = ((squares - sum * sum / count) / divisor).max(0.0);
        if self.root { variance.sqrt() } else { variance }
    }
}

impl States for SpreadStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(SpreadStates { groups: Vec::new(), ..*self })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, [0.0; 3]);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let values = cast(&args[0], &DataType::Float64).map_err(Error::of_arrow)?;
        let groups = &mut self.groups;
        rows.for_each_value(values.as_primitive::<Float64Type>().values(), |group, value| {
            let [count, sum, squares] = &mut groups[group];
            *count += 1.0;
            *sum += value;
            *squares += value * value;
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        for (moment, state) in states.iter().enumerate() {
            let groups = &mut self.groups;
            rows.for_each_value(state.as_primitive::<Float64Type>().values(), |group, value| {
                groups[group][moment] += value;
            });
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = emit.take_needed(&mut self.groups);
        let spreads = groups.into_iter().map(|moments| self.finish(moments));
        if self.narrow {
            return Ok(Arc::new(Float32Array::from_iter_values(spreads.map(|spread| spread as f32))));
        }
        Ok(Arc::new(Float64Array::from_iter_values(spreads)))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit.take_needed(&mut self.groups);
        let column = |moment: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(groups.iter().map(|moments| moments[moment])))
        };
        Ok((0..3).map(column).collect())
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<Moments>()
    }
}
