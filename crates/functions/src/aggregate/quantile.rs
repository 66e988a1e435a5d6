//! `quantile(level)(x)`, `quantiles(level, ...)(x)`, `median`: interpolated, over a sample of at most 8192 values per
//! group.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::array::{Decimal128Array, Int32Array, Int64Array, UInt16Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, UInt64Type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::lists::{as_lists, lists};
use super::reservoir::{CAPACITY, Reservoir, interpolate};
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States};
use super::{illegal_type, only_arg};

pub(super) static QUANTILE: Quantile = Quantile { name: "quantile", aliases: &[], levels: Levels::One };
pub(super) static QUANTILES: Quantile = Quantile { name: "quantiles", aliases: &[], levels: Levels::Many };
pub(super) static MEDIAN: Quantile = Quantile { name: "median", aliases: &[], levels: Levels::One };

pub(super) struct Quantile {
    name: &'static str,
    aliases: &'static [&'static str],
    levels: Levels,
}

/// Whether the result is one value or an array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Levels {
    One,
    Many,
}

impl AggregateFunction for Quantile {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrNull
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let arg = only_arg(self.name, args)?;
        if let Some(wide) = arg.wide() {
            return Ok(super::wide::as_floats(wide, self.bind(parameters, &[SqlType::Float64])?));
        }
        let value = match arg {
            SqlType::Date | SqlType::Date32 | SqlType::DateTime(_) | SqlType::DateTime64 { .. } => {
                arg.clone()
            }
            SqlType::Decimal { precision, .. } if *precision <= basalt_base::types::DECIMAL128_DIGITS => {
                arg.clone()
            }
            ty if ty.is_integer() || ty.is_float() || *ty == SqlType::Bool => SqlType::Float64,
            _ => return Err(illegal_type(self.name, arg)),
        };
        let levels = parse_levels(self.name, self.levels, parameters)?;
        let many = self.levels == Levels::Many;
        let result = if many { SqlType::array_of(value.clone()) } else { value.clone() };
        let state_types = vec![SqlType::array_of(SqlType::Float64), SqlType::UInt64];
        Ok(BoundStates::new(result, state_types, move || QuantileStates {
            groups: Vec::new(),
            held: 0,
            value: value.clone(),
            levels: Arc::clone(&levels),
            many,
        }))
    }
}

/// The levels of a call; 0.5 without parameters.
pub(super) fn parse_levels(name: &str, levels: Levels, parameters: &[Parameter]) -> Result<Arc<[f64]>> {
    if parameters.is_empty() {
        return Ok(Arc::new([0.5]));
    }
    if levels == Levels::One && parameters.len() > 1 {
        return Err(Error::new(
            ErrorCode::NumberOfArgumentsDoesntMatch,
            format!("aggregate function `{name}` takes one level, got {}", parameters.len()),
        ));
    }
    parameters
        .iter()
        .map(|parameter| {
            let level = parameter_number(name, parameter)?;
            if (0.0..=1.0).contains(&level) {
                return Ok(level);
            }
            Err(Error::new(
                ErrorCode::ParameterOutOfBound,
                format!("the level of `{name}` lies between 0 and 1, got {level}"),
            ))
        })
        .collect()
}

/// The value of a numeric parameter.
pub(super) fn parameter_number(name: &str, parameter: &Parameter) -> Result<f64> {
    let number = parameter.ty.stripped().is_number() && !parameter.value.is_null(0);
    let value = number.then(|| cast(&parameter.value, &DataType::Float64).ok()).flatten();
    match value {
        Some(value) => Ok(value.as_primitive::<Float64Type>().value(0)),
        None => Err(Error::new(
            ErrorCode::BadArguments,
            format!("a parameter of `{name}` is a number, got one of type {}", parameter.ty),
        )),
    }
}

struct QuantileStates {
    groups: Vec<Reservoir>,
    /// The number of samples in all groups.
    held: usize,
    value: SqlType,
    levels: Arc<[f64]>,
    many: bool,
}

impl QuantileStates {
    /// Samples are floats, so a decimal is converted to its unscaled number.
    fn as_floats(&self, values: &ArrayRef) -> Result<ArrayRef> {
        if let DataType::Decimal128(..) = values.data_type() {
            let units = values.as_primitive::<Decimal128Type>().unary::<_, Float64Type>(|unit| unit as f64);
            return Ok(Arc::new(units));
        }
        cast(values, &DataType::Float64).map_err(Error::of_arrow)
    }

    fn to_values(&self, floats: Vec<f64>) -> Result<ArrayRef> {
        let floats = floats.into_iter();
        Ok(match self.value.carrier() {
            DataType::UInt16 => Arc::new(UInt16Array::from_iter_values(floats.map(|value| value as u16))),
            DataType::UInt32 => Arc::new(UInt32Array::from_iter_values(floats.map(|value| value as u32))),
            DataType::Int32 => Arc::new(Int32Array::from_iter_values(floats.map(|value| value as i32))),
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(floats.map(|value| value as i64))),
            DataType::Decimal128(precision, scale) => {
                let units = Decimal128Array::from_iter_values(floats.map(|value| value as i128));
                Arc::new(units.with_precision_and_scale(precision, scale).map_err(Error::logical)?)
            }
            _ => Arc::new(Float64Array::from_iter_values(floats)),
        })
    }

    fn take(&mut self, emit: EmitTo) -> Vec<Reservoir> {
        let groups = emit.take_needed(&mut self.groups);
        self.held -= groups.iter().map(|group| group.samples().len()).sum::<usize>();
        groups
    }
}

impl States for QuantileStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(QuantileStates {
            groups: Vec::new(),
            held: 0,
            value: self.value.clone(),
            levels: Arc::clone(&self.levels),
            many: self.many,
        })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Reservoir::new);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let values = self.as_floats(&args[0])?;
        let (groups, held) = (&mut self.groups, &mut self.held);
        rows.for_each_value(values.as_primitive::<Float64Type>().values(), |group, value| {
            let reservoir = &mut groups[group];
            let before = reservoir.samples().len();
            reservoir.insert(value);
            *held += reservoir.samples().len() - before;
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let list = as_lists(&states[0])?;
        let (samples, offsets) = (list.values().as_primitive::<Float64Type>().values(), list.value_offsets());
        let totals = states[1].as_primitive::<UInt64Type>().values();
        rows.for_each(|row, group| {
            let reservoir = &mut self.groups[group];
            let before = reservoir.samples().len();
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            reservoir.merge(&samples[range], totals[row]);
            self.held += reservoir.samples().len().saturating_sub(before);
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = self.take(emit);
        let rows = groups.len();
        let mut floats = Vec::with_capacity(rows * self.levels.len());
        for group in groups {
            let sorted = group.into_sorted();
            floats.extend(self.levels.iter().map(|&level| interpolate(&sorted, level)));
        }
        let values = self.to_values(floats)?;
        if self.many {
            return lists(&self.value, std::iter::repeat_n(self.levels.len(), rows), values);
        }
        Ok(values)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit);
        let totals = UInt64Array::from_iter_values(groups.iter().map(Reservoir::total));
        let samples = groups.iter().flat_map(|group| group.samples().iter().copied());
        let samples = Float64Array::from_iter_values(samples);
        let lengths: Vec<usize> = groups.iter().map(|group| group.samples().len()).collect();
        Ok(vec![lists(&SqlType::Float64, lengths, Arc::new(samples))?, Arc::new(totals)])
    }

    fn bytes(&self) -> usize {
        let spare = self.groups.len().min(CAPACITY);
        let samples = (self.held + spare) * size_of::<f64>();
        size_of_val(self) + self.groups.capacity() * size_of::<Reservoir>() + samples
    }
}
