//! State of `min`, `max`, `argMin` and `argMax`: the least or greatest value of each group and the row it came from.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use basalt_base::{Error, Result, SqlType};

use super::slots::{ByteRows, Null, bytes_to_array};
use super::{EmitTo, GroupedRows};
use crate::native_order::{Nan, ranked};

/// Values of one group compared in parallel: enough to fill vector registers.
const LANES: usize = 16;

/// Which end of the order is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Least,
    Greatest,
}

/// The extremum of each group so far. Among equal values the first stays; any number replaces NaN.
pub(super) trait ExtremumState: Send + Sync {
    fn fresh(&self) -> Box<dyn ExtremumState>;

    fn grow(&mut self, groups: usize);

    /// Adds rows to their groups. Appends `(row, group)` to `changed` for every row that becomes the extremum of its
    /// group, in order.
    fn update(
        &mut self,
        values: &ArrayRef,
        rows: &GroupedRows<'_>,
        changed: Option<&mut Vec<(usize, usize)>>,
    ) -> Result<()>;

    /// The extrema of the groups emitted (the type's default for an empty group), and which groups are not empty.
    fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, BooleanArray)>;

    fn bytes(&self) -> usize;
}

/// The state for values of `ty`.
pub(super) fn extremum_state(ty: &SqlType, end: End) -> Result<Box<dyn ExtremumState>> {
    match end {
        End::Least => extremum_state_for::<false>(ty),
        End::Greatest => extremum_state_for::<true>(ty),
    }
}

fn extremum_state_for<const GREATEST: bool>(ty: &SqlType) -> Result<Box<dyn ExtremumState>> {
    macro_rules! numbers {
        ($carrier:ty) => {
            Ok(Box::new(NumberExtremum::<$carrier, GREATEST>::new(ty.clone())))
        };
    }
    match ty.carrier() {
        DataType::Boolean | DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Decimal128(..) => numbers!(Decimal128Type),
        DataType::Decimal256(..) => numbers!(Decimal256Type),
        DataType::Null | DataType::Map(..) => {
            Err(Error::not_implemented(format!("the order of values of type {ty}")))
        }
        _ => Ok(Box::new(BytesExtremum::<GREATEST>::new(ty.clone()))),
    }
}

/// A number in the order of the dialect.
trait Ranked: Copy {
    /// Whether `self` replaces `other`.
    fn replaces<const GREATEST: bool>(self, other: Self) -> bool;
}

macro_rules! ranked_integers {
    ($($native:ty),+) => {
        $(impl Ranked for $native {
            #[inline(always)]
            fn replaces<const GREATEST: bool>(self, other: Self) -> bool {
                if GREATEST { self > other } else { self < other }
            }
        })+
    };
}

macro_rules! ranked_floats {
    ($($native:ty),+) => {
        $(impl Ranked for $native {
            #[inline(always)]
            fn replaces<const GREATEST: bool>(self, other: Self) -> bool {
                (if GREATEST { self > other } else { self < other }) | (other.is_nan() & !self.is_nan())
            }
        })+
    };
}

ranked_integers!(u8, u16, u32, u64, i8, i16, i32, i64, i128, i256);
ranked_floats!(f32, f64);

struct NumberExtremum<T: ArrowPrimitiveType, const GREATEST: bool> {
    ty: SqlType,
    seen: Vec<bool>,
    best: Vec<T::Native>,
    carrier: PhantomData<fn() -> T>,
}

impl<T: ArrowPrimitiveType, const GREATEST: bool> NumberExtremum<T, GREATEST> {
    fn new(ty: SqlType) -> NumberExtremum<T, GREATEST> {
        NumberExtremum { ty, seen: Vec::new(), best: Vec::new(), carrier: PhantomData }
    }
}

/// The extremum of a non-empty run.
#[inline]
fn best_of<N: Ranked, const GREATEST: bool>(run: &[N]) -> N {
    let mut lanes = [run[0]; LANES];
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value.replaces::<GREATEST>(*lane) { value } else { *lane };
        }
    }
    let all = lanes.iter().chain(rest);
    all.fold(run[0], |best, &value| if value.replaces::<GREATEST>(best) { value } else { best })
}

impl<T, const GREATEST: bool> ExtremumState for NumberExtremum<T, GREATEST>
where
    T: ArrowPrimitiveType<Native: Ranked>,
{
    fn fresh(&self) -> Box<dyn ExtremumState> {
        Box::new(NumberExtremum::<T, GREATEST>::new(self.ty.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.seen.resize(groups, false);
        self.best.resize(groups, T::Native::default());
    }

    fn update(
        &mut self,
        values: &ArrayRef,
        rows: &GroupedRows<'_>,
        changed: Option<&mut Vec<(usize, usize)>>,
    ) -> Result<()> {
        let values = match values.data_type() {
            DataType::Boolean => &cast(values, &DataType::UInt8).map_err(Error::of_arrow)?,
            _ => values,
        };
        let values = values.as_primitive::<T>().values();
        let (seen, best) = (&mut self.seen, &mut self.best);
        let mut update = |group: usize, value: T::Native| {
            let wins = !seen[group] || value.replaces::<GREATEST>(best[group]);
            if wins {
                seen[group] = true;
                best[group] = value;
            }
            wins
        };
        match changed {
            Some(changed) => rows.for_each(|row, group| {
                if update(group, values[row]) {
                    changed.push((row, group));
                }
            }),
            None if rows.has_only_group() => rows.for_each_run(values, |run| {
                if !run.is_empty() {
                    update(0, best_of::<_, GREATEST>(run));
                }
            }),
            None => rows.for_each_value(values, |group, value| {
                update(group, value);
            }),
        }
        Ok(())
    }

    fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, BooleanArray)> {
        let seen = emit.take_needed(&mut self.seen);
        let mut best = emit.take_needed(&mut self.best);
        if matches!(self.ty, SqlType::Enum8(_) | SqlType::Enum16(_)) {
            let default = self.ty.default_array(1).as_primitive::<T>().value(0);
            best.iter_mut().zip(&seen).filter(|(_, seen)| !**seen).for_each(|(value, _)| *value = default);
        }
        let best = PrimitiveArray::<T>::new(best.into(), None);
        let carrier = self.ty.carrier();
        let best: ArrayRef = if carrier == DataType::Boolean {
            cast(&best, &carrier).map_err(Error::of_arrow)?
        } else {
            Arc::new(best.with_data_type(carrier))
        };
        Ok((best, BooleanArray::from(seen)))
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.seen.capacity() + self.best.capacity() * size_of::<T::Native>()
    }
}

/// Strings, and nested values in an encoding that preserves their order. Any value also replaces NULL and NaN inside
/// nested values.
struct BytesExtremum<const GREATEST: bool> {
    ty: SqlType,
    seen: Vec<bool>,
    best: Vec<Box<[u8]>>,
    /// Total bytes of the values in `best`.
    held: usize,
}

impl<const GREATEST: bool> BytesExtremum<GREATEST> {
    const NAN: Nan = if GREATEST { Nan::First } else { Nan::Last };
    const NULL: Null = if GREATEST { Null::First } else { Null::Last };

    fn new(ty: SqlType) -> BytesExtremum<GREATEST> {
        BytesExtremum { ty, seen: Vec::new(), best: Vec::new(), held: 0 }
    }
}

impl<const GREATEST: bool> ExtremumState for BytesExtremum<GREATEST> {
    fn fresh(&self) -> Box<dyn ExtremumState> {
        Box::new(BytesExtremum::<GREATEST>::new(self.ty.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.seen.resize(groups, false);
        self.best.resize(groups, Box::default());
    }

    fn update(
        &mut self,
        values: &ArrayRef,
        rows: &GroupedRows<'_>,
        mut changed: Option<&mut Vec<(usize, usize)>>,
    ) -> Result<()> {
        let values = ranked(values, &self.ty, Self::NAN)?;
        let values = ByteRows::new(&values, Self::NULL)?;
        rows.for_each(|row, group| {
            let value = values.value(row);
            let best = &mut self.best[group];
            let wins = !self.seen[group] || if GREATEST { value > &**best } else { value < &**best };
            if !wins {
                return;
            }
            self.seen[group] = true;
            self.held = self.held + value.len() - best.len();
            if best.len() == value.len() {
                best.copy_from_slice(value);
            } else {
                *best = value.into();
            }
            if let Some(changed) = &mut changed {
                changed.push((row, group));
            }
        });
        Ok(())
    }

    fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, BooleanArray)> {
        let seen = emit.take_needed(&mut self.seen);
        let best = emit.take_needed(&mut self.best);
        self.held -= best.iter().map(|value| value.len()).sum::<usize>();
        let array = bytes_to_array(&self.ty, &best, &seen, Self::NULL)?;
        let array = ranked(&array, &self.ty, Nan::Last)?;
        Ok((array, BooleanArray::from(seen)))
    }

    fn bytes(&self) -> usize {
        let slots = self.best.capacity() * size_of::<Box<[u8]>>();
        size_of_val(self) + self.seen.capacity() + slots + self.held
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;

    use super::*;

    fn best(values: Vec<f64>, end: End) -> f64 {
        let mut extremum = extremum_state(&SqlType::Float64, end).unwrap();
        extremum.grow(1);
        let array: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        extremum.update(&array, &GroupedRows::of_only_group(values.len(), None), None).unwrap();
        extremum.take(EmitTo::All).unwrap().0.as_primitive::<Float64Type>().value(0)
    }

    #[test]
    fn nan_loses_to_every_number() {
        for values in [vec![f64::NAN, 1.0, 2.0], vec![1.0, f64::NAN, 2.0], vec![2.0, 1.0, f64::NAN]] {
            assert_eq!((best(values.clone(), End::Least), best(values, End::Greatest)), (1.0, 2.0));
        }
        assert!(best(vec![f64::NAN; 40], End::Least).is_nan());
    }

    #[test]
    fn lanes_agree_with_a_plain_loop() {
        let values: Vec<f64> = (0..100).map(|row| f64::from(row * 37 % 101)).collect();
        assert_eq!(best(values.clone(), End::Least), 0.0);
        assert_eq!(best(values, End::Greatest), 100.0);
    }
}
