//! `quantileExact(level)(x)` and variants: keep all values, and return one of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use basalt_base::{Error, Result, SqlType};

use super::lists::{as_lists, lists};
use super::quantile::{Levels, parse_levels};
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{illegal_type, only_arg};

pub(super) static QUANTILE_EXACT: QuantileExact =
    QuantileExact { name: "quantileExact", levels: Levels::One };
pub(super) static QUANTILES_EXACT: QuantileExact =
    QuantileExact { name: "quantilesExact", levels: Levels::Many };
pub(super) static MEDIAN_EXACT: QuantileExact = QuantileExact { name: "medianExact", levels: Levels::One };

pub(super) struct QuantileExact {
    name: &'static str,
    levels: Levels,
}

impl AggregateFunction for QuantileExact {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        let arg = only_arg(self.name, args)?;
        if let Some(wide) = arg.wide() {
            let levels = parse_levels(self.name, self.levels, parameters)?;
            return Ok(super::wide_quantile::bind(wide, levels, self.levels == Levels::Many));
        }
        if !(arg.is_number() || arg.is_date_or_time()) {
            return Err(illegal_type(self.name, arg));
        }
        // A Bool counts as a number.
        let value = if *arg == SqlType::Bool { SqlType::UInt8 } else { arg.clone() };
        let kind = Arc::new(Kind {
            levels: parse_levels(self.name, self.levels, parameters)?,
            many: self.levels == Levels::Many,
            value: value.clone(),
        });
        let state = SqlType::array_of(value.clone());
        let result = if kind.many { state.clone() } else { value };
        Ok(BoundStates { return_type: result, state_types: vec![state], states: bound_values(&kind)? })
    }
}

fn bound_values(kind: &Arc<Kind>) -> Result<super::StatesFactory> {
    let kind = Arc::clone(kind);
    macro_rules! exact {
        ($carrier:ty) => {
            Box::new(move || Box::new(ExactStates::<$carrier>::new(&kind)))
        };
    }
    Ok(match kind.value.carrier() {
        DataType::UInt8 => exact!(UInt8Type),
        DataType::UInt16 => exact!(UInt16Type),
        DataType::UInt32 => exact!(UInt32Type),
        DataType::UInt64 => exact!(UInt64Type),
        DataType::Int8 => exact!(Int8Type),
        DataType::Int16 => exact!(Int16Type),
        DataType::Int32 => exact!(Int32Type),
        DataType::Int64 => exact!(Int64Type),
        DataType::Float32 => exact!(Float32Type),
        DataType::Float64 => exact!(Float64Type),
        DataType::Decimal128(..) => exact!(Decimal128Type),
        DataType::Decimal256(..) => exact!(Decimal256Type),
        other => return Err(Error::logical(format!("a quantile over {other}"))),
    })
}

struct Kind {
    levels: Arc<[f64]>,
    many: bool,
    value: SqlType,
}

struct ExactStates<T: ArrowPrimitiveType> {
    groups: Vec<Vec<T::Native>>,
    held: usize,
    kind: Arc<Kind>,
}

impl<T: ArrowPrimitiveType> ExactStates<T> {
    fn new(kind: &Arc<Kind>) -> ExactStates<T> {
        ExactStates { groups: Vec::new(), held: 0, kind: Arc::clone(kind) }
    }

    fn to_array(&self, values: Vec<T::Native>) -> ArrayRef {
        let values = PrimitiveArray::<T>::new(values.into(), None);
        Arc::new(values.with_data_type(self.kind.value.carrier()))
    }
}

/// A number type, and the quantile of no values.
trait Value: ArrowNativeTypeOp {
    const OF_NOTHING: Self;

    /// NaN is ignored; it is the only value without an order.
    fn is_nan(self) -> bool {
        self.partial_cmp(&self).is_none()
    }
}

macro_rules! values {
    ($($native:ty => $of_nothing:expr),+ $(,)?) => {
        $(impl Value for $native {
            const OF_NOTHING: $native = $of_nothing;
        })+
    };
}

values! {
    u8 => 0, u16 => 0, u32 => 0, u64 => 0, i8 => 0, i16 => 0, i32 => 0, i64 => 0,
    i128 => 0, i256 => i256::ZERO, f32 => f32::NAN, f64 => f64::NAN,
}

/// The value with `level * count` smaller values, rounded as in ClickHouse.
fn pick<N: Value>(values: &mut [N], level: f64) -> N {
    let Some(index) = index_at(values.len(), level) else { return N::OF_NOTHING };
    *values.select_nth_unstable_by(index, |left, right| left.compare(*right)).1
}

/// The number of values below the one at `level`; `None` of no values.
pub(super) fn index_at(count: usize, level: f64) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let index = if level < 1.0 { (level * count as f64) as usize } else { last };
    Some(index.min(last))
}

impl<T> States for ExactStates<T>
where
    T: ArrowPrimitiveType<Native: Value>,
{
    fn fresh(&self) -> Box<dyn States> {
        Box::new(ExactStates::<T>::new(&self.kind))
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Vec::new);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let values = match args[0].data_type() {
            DataType::Boolean => &cast(&args[0], &DataType::UInt8).map_err(Error::of_arrow)?,
            _ => &args[0],
        };
        let groups = &mut self.groups;
        rows.for_each_value(values.as_primitive::<T>().values(), |group, value| {
            if !value.is_nan() {
                groups[group].push(value);
            }
        });
        self.held += rows.kept();
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let list = as_lists(&states[0])?;
        let (values, offsets) = (list.values().as_primitive::<T>().values(), list.value_offsets());
        rows.for_each(|row, group| {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            self.held += range.len();
            self.groups[group].extend_from_slice(&values[range]);
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = emit.take_needed(&mut self.groups);
        let rows = groups.len();
        let mut picked = Vec::with_capacity(rows * self.kind.levels.len());
        for mut group in groups {
            self.held = self.held.saturating_sub(group.len());
            picked.extend(self.kind.levels.iter().map(|&level| pick(&mut group, level)));
        }
        let values = self.to_array(picked);
        if self.kind.many {
            return lists(&self.kind.value, std::iter::repeat_n(self.kind.levels.len(), rows), values);
        }
        Ok(values)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit.take_needed(&mut self.groups);
        let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
        let values: Vec<T::Native> = groups.into_iter().flatten().collect();
        self.held = self.held.saturating_sub(values.len());
        Ok(vec![lists(&self.kind.value, lengths, self.to_array(values))?])
    }

    fn bytes(&self) -> usize {
        // Vectors grow by doubling: on average they allocate half of their size again.
        let values = self.held * size_of::<T::Native>() * 3 / 2;
        size_of_val(self) + self.groups.capacity() * size_of::<Vec<T::Native>>() + values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_what_clickhouse_picks() {
        let mut values: Vec<u64> = (0..10).rev().collect();
        assert_eq!(pick(&mut values, 0.5), 5);
        assert_eq!(pick(&mut values, 0.9), 9);
        assert_eq!(pick(&mut values, 1.0), 9);
        assert_eq!(pick(&mut values, 0.0), 0);
        assert_eq!(pick::<i32>(&mut [], 0.5), 0);
        assert!(pick::<f64>(&mut [], 0.5).is_nan());
    }
}
