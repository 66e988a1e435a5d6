//! `sum`: integers to 64 bits, or the width of a wider type (wrapping), floats to Float64, decimals to the most digits; 0 for no rows.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::processor;
use basalt_base::types::{DECIMAL128_DIGITS, DECIMAL256_DIGITS, U256};
use basalt_base::{Error, Result, SqlType};

use super::widen::Widen;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{illegal_type, no_parameters, only_arg};

/// Partial sums in parallel: enough to fill vector registers, and the same number as in ClickHouse, so that floats
/// are added in the same order.
const LANES: usize = 16;

pub(super) struct Sum;

/// `sumWithOverflow`: the result has the argument's type.
pub(super) struct SumWithOverflow;

impl AggregateFunction for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name(), parameters)?;
        let arg = only_arg(self.name(), args)?;
        if let Some(wide) = arg.wide() {
            return Ok(super::wide::fold(wide, U256::wrapping_add, false));
        }
        let result = sum_type(arg).ok_or_else(|| illegal_type(self.name(), arg))?;
        let carrier = result.carrier();
        let states = bound_sums(arg, carrier)?;
        Ok(BoundStates { return_type: result.clone(), state_types: vec![result], states })
    }
}

impl AggregateFunction for SumWithOverflow {
    fn name(&self) -> &'static str {
        "sumWithOverflow"
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let arg = only_arg(self.name(), args)?;
        if arg.wide().is_some() {
            return Sum.bind(parameters, args);
        }
        if !(arg.is_integer() || *arg == SqlType::Float64) {
            return Err(illegal_type(self.name(), arg));
        }
        let mut bound = Sum.bind(parameters, args)?;
        let wide = bound.states;
        bound.return_type = arg.clone();
        let narrow = arg.carrier();
        bound.states = Box::new(move || Box::new(Narrowed { wide: wide(), narrow: narrow.clone() }));
        Ok(bound)
    }
}

/// The type of a sum; `None` for types without a sum.
pub(super) fn sum_type(arg: &SqlType) -> Option<SqlType> {
    Some(match arg {
        SqlType::Bool => SqlType::UInt64,
        ty if ty.is_unsigned() => SqlType::UInt64,
        ty if ty.is_integer() => SqlType::Int64,
        ty if ty.is_float() => SqlType::Float64,
        SqlType::Decimal { precision, scale } => SqlType::Decimal {
            precision: if *precision <= DECIMAL128_DIGITS { DECIMAL128_DIGITS } else { DECIMAL256_DIGITS },
            scale: *scale,
        },
        _ => return None,
    })
}

fn bound_sums(arg: &SqlType, carrier: DataType) -> Result<super::StatesFactory> {
    macro_rules! sums {
        ($from:ty, $to:ty) => {
            Box::new(move || Box::new(Sums::<$from, $to>::new(carrier.clone())))
        };
    }
    Ok(match arg.carrier() {
        DataType::Boolean => Box::new(|| Box::new(BoolSums { inner: Sums::new(DataType::UInt64) })),
        DataType::UInt8 => sums!(UInt8Type, UInt64Type),
        DataType::UInt16 => sums!(UInt16Type, UInt64Type),
        DataType::UInt32 => sums!(UInt32Type, UInt64Type),
        DataType::UInt64 => sums!(UInt64Type, UInt64Type),
        DataType::Int8 => sums!(Int8Type, Int64Type),
        DataType::Int16 => sums!(Int16Type, Int64Type),
        DataType::Int32 => sums!(Int32Type, Int64Type),
        DataType::Int64 => sums!(Int64Type, Int64Type),
        DataType::Float32 => sums!(Float32Type, Float64Type),
        DataType::Float64 => sums!(Float64Type, Float64Type),
        DataType::Decimal128(..) => sums!(Decimal128Type, Decimal128Type),
        DataType::Decimal256(..) => sums!(Decimal256Type, Decimal256Type),
        other => return Err(Error::logical(format!("a sum over {other}"))),
    })
}

/// The sum of consecutive values.
#[inline]
pub(super) fn sum_run<F, T>(values: &[F]) -> T
where
    F: Widen<T>,
    T: ArrowNativeTypeOp,
{
    let (chunks, rest) = values.as_chunks::<LANES>();
    let lanes = match chunks.len() {
        0..LANES => sum_chunks(chunks),
        _ => processor::run(
            #[inline(always)]
            || sum_chunks(chunks),
        ),
    };
    rest.iter().fold(lanes, |sum, value| sum.add_wrapping(value.widen()))
}

#[inline(always)]
fn sum_chunks<F, T>(chunks: &[[F; LANES]]) -> T
where
    F: Widen<T>,
    T: ArrowNativeTypeOp,
{
    let mut lanes = [T::ZERO; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = lane.add_wrapping(value.widen());
        }
    }
    lanes.into_iter().fold(T::ZERO, T::add_wrapping)
}

struct Sums<F: ArrowPrimitiveType, T: ArrowPrimitiveType> {
    sums: Vec<T::Native>,
    /// Includes precision and scale, which the type parameter does not have.
    carrier: DataType,
    from: PhantomData<fn() -> F>,
}

impl<F: ArrowPrimitiveType, T: ArrowPrimitiveType> Sums<F, T> {
    fn new(carrier: DataType) -> Sums<F, T> {
        Sums { sums: Vec::new(), carrier, from: PhantomData }
    }
}

impl<F, T> States for Sums<F, T>
where
    F: ArrowPrimitiveType<Native: Widen<T::Native>>,
    T: ArrowPrimitiveType<Native: Widen<T::Native> + ArrowNativeTypeOp>,
{
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Sums::<F, T>::new(self.carrier.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, T::Native::ZERO);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        add(&mut self.sums, args[0].as_primitive::<F>().values(), rows);
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        add(&mut self.sums, states[0].as_primitive::<T>().values(), rows);
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums);
        let sums = PrimitiveArray::<T>::new(sums.into(), None).with_data_type(self.carrier.clone());
        Ok(Arc::new(sums))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.sums.capacity() * size_of::<T::Native>()
    }
}

fn add<F: Widen<T>, T: ArrowNativeTypeOp>(sums: &mut [T], values: &[F], rows: &GroupedRows<'_>) {
    if rows.has_only_group() {
        rows.for_each_run(values, |run| sums[0] = sums[0].add_wrapping(sum_run(run)));
    } else {
        rows.for_each_value(values, |group, value| sums[group] = sums[group].add_wrapping(value.widen()));
    }
}

/// `sum(Bool)`: the number of true values.
struct BoolSums {
    inner: Sums<UInt64Type, UInt64Type>,
}

impl States for BoolSums {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(BoolSums { inner: Sums::new(DataType::UInt64) })
    }

    fn grow(&mut self, groups: usize) {
        self.inner.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let truths = args[0].as_boolean().values();
        let sums = &mut self.inner.sums;
        rows.for_each(|row, group| sums[group] += u64::from(truths.value(row)));
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.inner.merge(states, rows)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn bytes(&self) -> usize {
        self.inner.bytes()
    }
}

/// A sum truncated to the argument's width at the end: wrapping sums agree in their low bits.
struct Narrowed {
    wide: Box<dyn States>,
    narrow: DataType,
}

impl States for Narrowed {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Narrowed { wide: self.wide.fresh(), narrow: self.narrow.clone() })
    }

    fn grow(&mut self, groups: usize) {
        self.wide.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.wide.update(args, rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.wide.merge(states, rows)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let wide = self.wide.evaluate(emit)?;
        macro_rules! cut {
            ($wide:ty, $narrow:ty, $native:ty) => {
                Arc::new(wide.as_primitive::<$wide>().unary::<_, $narrow>(|sum| sum as $native))
            };
        }
        Ok(match self.narrow {
            DataType::UInt8 => cut!(UInt64Type, UInt8Type, u8),
            DataType::UInt16 => cut!(UInt64Type, UInt16Type, u16),
            DataType::UInt32 => cut!(UInt64Type, UInt32Type, u32),
            DataType::Int8 => cut!(Int64Type, Int8Type, i8),
            DataType::Int16 => cut!(Int64Type, Int16Type, i16),
            DataType::Int32 => cut!(Int64Type, Int32Type, i32),
            _ => wide,
        })
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.wide.state(emit)
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.wide.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summed_whole() {
        for count in [0_usize, 1, 15, 16, 17, 100] {
            let values: Vec<u8> = (0..count).map(|value| value as u8).collect();
            let expected: u64 = values.iter().map(|&value| u64::from(value)).sum();
            assert_eq!(sum_run::<u8, u64>(&values), expected);
        }
    }

    #[test]
    fn sum_types_are_clickhouse_types() {
        assert_eq!(sum_type(&SqlType::Bool), Some(SqlType::UInt64));
        assert_eq!(sum_type(&SqlType::Float32), Some(SqlType::Float64));
        assert_eq!(sum_type(&SqlType::Date), None);
        let sum = sum_type(&SqlType::Decimal { precision: 9, scale: 2 });
        assert_eq!(sum, Some(SqlType::Decimal { precision: 38, scale: 2 }));
    }
}
