//! `avg`: the sum divided by the count, as Float64; NaN for no rows. The average of dates and times has their type.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, Float64Array, PrimitiveArray};
use arrow::array::{Int32Array, Int64Array, UInt16Array, UInt32Array, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::{Error, Result, SqlType};

use super::sum::{sum_run, sum_type};
use super::widen::{ToFloat, Widen};
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{illegal_type, no_parameters, only_arg};

pub(super) struct Avg;

impl AggregateFunction for Avg {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name(), parameters)?;
        let arg = only_arg(self.name(), args)?;
        if let Some(wide) = arg.wide() {
            return Ok(super::wide_average::bind(wide));
        }
        let (sum, result) = match arg {
            SqlType::Date | SqlType::DateTime(_) => (SqlType::UInt64, arg.clone()),
            SqlType::Date32 | SqlType::DateTime64 { .. } => (SqlType::Int64, arg.clone()),
            number => {
                let sum = sum_type(number).ok_or_else(|| illegal_type(self.name(), arg))?;
                (sum, SqlType::Float64)
            }
        };
        let states = bound_averages(arg, Kind { sum: sum.carrier(), result: result.carrier() })?;
        Ok(BoundStates { return_type: result, state_types: vec![sum, SqlType::UInt64], states })
    }
}

/// The carriers of the sum and of the result.
#[derive(Clone)]
struct Kind {
    sum: DataType,
    result: DataType,
}

fn bound_averages(arg: &SqlType, kind: Kind) -> Result<super::StatesFactory> {
    macro_rules! averages {
        ($from:ty, $to:ty) => {
            Box::new(move || Box::new(Averages::<$from, $to>::new(kind.clone())))
        };
    }
    Ok(match arg.carrier() {
        DataType::Boolean | DataType::UInt8 => averages!(UInt8Type, UInt64Type),
        DataType::UInt16 => averages!(UInt16Type, UInt64Type),
        DataType::UInt32 => averages!(UInt32Type, UInt64Type),
        DataType::UInt64 => averages!(UInt64Type, UInt64Type),
        DataType::Int8 => averages!(Int8Type, Int64Type),
        DataType::Int16 => averages!(Int16Type, Int64Type),
        DataType::Int32 => averages!(Int32Type, Int64Type),
        DataType::Int64 => averages!(Int64Type, Int64Type),
        DataType::Float32 => averages!(Float32Type, Float64Type),
        DataType::Float64 => averages!(Float64Type, Float64Type),
        DataType::Decimal128(..) => averages!(Decimal128Type, Decimal128Type),
        DataType::Decimal256(..) => averages!(Decimal256Type, Decimal256Type),
        other => return Err(Error::logical(format!("an average over {other}"))),
    })
}

/// Sum and count are adjacent: a group costs one cache line.
struct Averages<F: ArrowPrimitiveType, T: ArrowPrimitiveType> {
    groups: Vec<(T::Native, u64)>,
    kind: Kind,
    from: PhantomData<fn() -> F>,
}

impl<F: ArrowPrimitiveType, T: ArrowPrimitiveType> Averages<F, T> {
    fn new(kind: Kind) -> Averages<F, T> {
        Averages { groups: Vec::new(), kind, from: PhantomData }
    }

    /// The unit of the sum: a hundredth for a decimal with scale 2.
    fn divisor(&self) -> f64 {
        match self.kind.sum {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => 10_f64.powi(i32::from(scale)),
            _ => 1.0,
        }
    }
}

impl<F, T> States for Averages<F, T>
where
    F: ArrowPrimitiveType<Native: Widen<T::Native>>,
    T: ArrowPrimitiveType<Native: Widen<T::Native> + ToFloat + ArrowNativeTypeOp>,
{
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Averages::<F, T>::new(self.kind.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, (T::Native::ZERO, 0));
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let groups = &mut self.groups;
        let arg = match args[0].data_type() {
            DataType::Boolean => &cast(&args[0], &DataType::UInt8).map_err(Error::of_arrow)?,
            _ => &args[0],
        };
        let values = arg.as_primitive::<F>().values();
        if rows.has_only_group() {
            rows.for_each_run(values, |run| {
                let (sum, count) = &mut groups[0];
                *sum = sum.add_wrapping(sum_run(run));
                *count += run.len() as u64;
            });
            return Ok(());
        }
        rows.for_each_value(values, |group, value| {
            let (sum, count) = &mut groups[group];
            *sum = sum.add_wrapping(value.widen());
            *count += 1;
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let groups = &mut self.groups;
        let sums = states[0].as_primitive::<T>().values();
        let counts = states[1].as_primitive::<UInt64Type>().values();
        rows.for_each(|row, group| {
            let (sum, count) = &mut groups[group];
            *sum = sum.add_wrapping(sums[row]);
            *count += counts[row];
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let divisor = self.divisor();
        let groups = emit.take_needed(&mut self.groups);
        // 0 / 0 is NaN, the average of no rows.
        let averages = groups.into_iter().map(|(sum, count)| sum.to_float() / divisor / count as f64);
        Ok(match self.kind.result {
            DataType::UInt16 => Arc::new(UInt16Array::from_iter_values(averages.map(|value| value as u16))),
            DataType::UInt32 => Arc::new(UInt32Array::from_iter_values(averages.map(|value| value as u32))),
            DataType::Int32 => Arc::new(Int32Array::from_iter_values(averages.map(|value| value as i32))),
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(averages.map(|value| value as i64))),
            _ => Arc::new(Float64Array::from_iter_values(averages)),
        })
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts): (Vec<T::Native>, Vec<u64>) =
            emit.take_needed(&mut self.groups).into_iter().unzip();
        let sums = PrimitiveArray::<T>::new(sums.into(), None).with_data_type(self.kind.sum.clone());
        Ok(vec![Arc::new(sums), Arc::new(UInt64Array::from(counts))])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<(T::Native, u64)>()
    }
}
