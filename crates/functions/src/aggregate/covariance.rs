//! `covarPop`, `covarSamp`, `corr`: covariance and correlation of two numbers.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use basalt_base::{Error, Result, SqlType};

use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{illegal_type, no_parameters, two_args};

pub(super) static COVAR_POP: Covariance =
    Covariance { name: "covarPop", aliases: &["COVAR_POP"], kind: Kind::Whole };
pub(super) static COVAR_SAMP: Covariance =
    Covariance { name: "covarSamp", aliases: &["COVAR_SAMP"], kind: Kind::Sample };
pub(super) static CORR: Covariance = Covariance { name: "corr", aliases: &[], kind: Kind::Correlation };

pub(super) struct Covariance {
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Sample,
    Correlation,
}

impl AggregateFunction for Covariance {
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
        let (x, y) = two_args(self.name, args)?;
        for arg in [x, y] {
            if !arg.is_number() {
                return Err(illegal_type(self.name, arg));
            }
        }
        let kind = self.kind;
        let states = move || CovarianceStates { groups: Vec::new(), kind };
        Ok(BoundStates::new(SqlType::Float64, vec![SqlType::Float64; MOMENTS], states))
    }
}

/// Count, sums of x, y, x*y, x*x, y*y.
const MOMENTS: usize = 6;

struct CovarianceStates {
    groups: Vec<[f64; MOMENTS]>,
    kind: Kind,
}

fn finish(kind: Kind, [count, x, y, xy, xx, yy]: [f64; MOMENTS]) -> f64 {
    match kind {
        Kind::Whole if count == 0.0 => f64::NAN,
        Kind::Whole => (xy - x * y / count) / count,
        Kind::Sample if count <= 1.0 => f64::NAN,
        Kind::Sample => (xy - x * y / count) / (count - 1.0),
        Kind::Correlation => (count * xy - x * y) / ((count * xx - x * x) * (count * yy - y * y)).sqrt(),
    }
}

impl States for CovarianceStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(CovarianceStates { groups: Vec::new(), kind: self.kind })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, [0.0; MOMENTS]);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let x = cast(&args[0], &DataType::Float64).map_err(Error::of_arrow)?;
        let y = cast(&args[1], &DataType::Float64).map_err(Error::of_arrow)?;
        let (x, y) = (x.as_primitive::<Float64Type>().values(), y.as_primitive::<Float64Type>().values());
        let groups = &mut self.groups;
        rows.for_each(|row, group| {
            let (x, y) = (x[row], y[row]);
            for (moment, value) in groups[group].iter_mut().zip([1.0, x, y, x * y, x * x, y * y]) {
                *moment += value;
            }
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
        Ok(Arc::new(Float64Array::from_iter_values(groups.into_iter().map(|group| finish(self.kind, group)))))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit.take_needed(&mut self.groups);
        let column = |moment: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(groups.iter().map(|moments| moments[moment])))
        };
        Ok((0..MOMENTS).map(column).collect())
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<[f64; MOMENTS]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_is_nan() {
        for kind in [Kind::Whole, Kind::Sample, Kind::Correlation] {
            assert!(finish(kind, [0.0; MOMENTS]).is_nan());
        }
        assert_eq!(finish(Kind::Whole, [1.0, 1.0, 2.0, 2.0, 1.0, 4.0]), 0.0);
    }
}
