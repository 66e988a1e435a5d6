//! The least or the greatest value of each group, and which row brought it.

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
use super::{EmitTo, Rows};
use crate::native_order::{Nan, ranked};

/// Candidates compared side by side in one group: enough to fill vector registers.
const LANES: usize = 16;

/// Which end of the order wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Least,
    Greatest,
}

/// The winners so far. Among equal values the first stays; NaN loses to every number.
pub(super) trait Contest: Send + Sync {
    fn fresh(&self) -> Box<dyn Contest>;

    fn grow(&mut self, groups: usize);

    /// Lets rows compete; `(row, group)` of every new winner is added to `winners`, in order.
    fn compete(
        &mut self,
        values: &ArrayRef,
        rows: &Rows<'_>,
        winners: Option<&mut Vec<(usize, usize)>>,
    ) -> Result<()>;

    /// The winners of the groups emitted (the type's default for a group without) and which groups
    /// have one.
    fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, BooleanArray)>;

    fn bytes(&self) -> usize;
}

/// A contest among values of `ty`.
pub(super) fn contest(ty: &SqlType, end: End) -> Result<Box<dyn Contest>> {
    match end {
        End::Least => contest_for::<false>(ty),
        End::Greatest => contest_for::<true>(ty),
    }
}

fn contest_for<const GREATEST: bool>(ty: &SqlType) -> Result<Box<dyn Contest>> {
    macro_rules! numbers {
        ($carrier:ty) => {
            Ok(Box::new(NumberContest::<$carrier, GREATEST>::new(ty.clone())))
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
        _ => Ok(Box::new(BytesContest::<GREATEST>::new(ty.clone()))),
    }
}

/// A number in the order of the dialect.
trait Ranked: Copy {
    /// Whether `self` takes the place of `other`.
    fn beats<const GREATEST: bool>(self, other: Self) -> bool;
}

macro_rules! ranked_integers {
    ($($native:ty),+) => {
        $(impl Ranked for $native {
            #[inline(always)]
            fn beats<const GREATEST: bool>(self, other: Self) -> bool {
                if GREATEST { self > other } else { self < other }
            }
        })+
    };
}

macro_rules! ranked_floats {
    ($($native:ty),+) => {
        $(impl Ranked for $native {
            #[inline(always)]
            fn beats<const GREATEST: bool>(self, other: Self) -> bool {
                (if GREATEST { self > other } else { self < other }) | (other.is_nan() & !self.is_nan())
            }
        })+
    };
}

ranked_integers!(u8, u16, u32, u64, i8, i16, i32, i64, i128, i256);
ranked_floats!(f32, f64);

struct NumberContest<T: ArrowPrimitiveType, const GREATEST: bool> {
    ty: SqlType,
    seen: Vec<bool>,
    best: Vec<T::Native>,
    carrier: PhantomData<fn() -> T>,
}

impl<T: ArrowPrimitiveType, const GREATEST: bool> NumberContest<T, GREATEST> {
    fn new(ty: SqlType) -> NumberContest<T, GREATEST> {
        NumberContest { ty, seen: Vec::new(), best: Vec::new(), carrier: PhantomData }
    }
}

/// The best of a run that is not empty.
#[inline]
fn best_of<N: Ranked, const GREATEST: bool>(run: &[N]) -> N {
    let mut lanes = [run[0]; LANES];
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value.beats::<GREATEST>(*lane) { value } else { *lane };
        }
    }
    let all = lanes.iter().chain(rest);
    all.fold(run[0], |best, &value| if value.beats::<GREATEST>(best) { value } else { best })
}

impl<T, const GREATEST: bool> Contest for NumberContest<T, GREATEST>
where
    T: ArrowPrimitiveType<Native: Ranked>,
{
    fn fresh(&self) -> Box<dyn Contest> {
        Box::new(NumberContest::<T, GREATEST>::new(self.ty.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.seen.resize(groups, false);
        self.best.resize(groups, T::Native::default());
    }

    fn compete(
        &mut self,
        values: &ArrayRef,
        rows: &Rows<'_>,
        winners: Option<&mut Vec<(usize, usize)>>,
    ) -> Result<()> {
        let values = match values.data_type() {
            DataType::Boolean => &cast(values, &DataType::UInt8).map_err(Error::of_arrow)?,
            _ => values,
        };
        let values = values.as_primitive::<T>().values();
        let (seen, best) = (&mut self.seen, &mut self.best);
        let mut compete = |group: usize, value: T::Native| {
            let wins = !seen[group] || value.beats::<GREATEST>(best[group]);
            if wins {
                seen[group] = true;
                best[group] = value;
            }
            wins
        };
        match winners {
            Some(winners) => rows.for_each(|row, group| {
                if compete(group, values[row]) {
                    winners.push((row, group));
                }
            }),
            None if rows.has_only_group() => rows.for_each_run(values, |run| {
                if !run.is_empty() {
                    compete(0, best_of::<_, GREATEST>(run));
                }
            }),
            None => rows.for_each_value(values, |group, value| {
                compete(group, value);
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

/// Strings, and nested values in an encoding that keeps their order. NULL and NaN inside of a value lose, too.
struct BytesContest<const GREATEST: bool> {
    ty: SqlType,
    seen: Vec<bool>,
    best: Vec<Box<[u8]>>,
    /// In all values of `best`.
    held: usize,
}

impl<const GREATEST: bool> BytesContest<GREATEST> {
    const NAN: Nan = if GREATEST { Nan::First } else { Nan::Last };
    const NULL: Null = if GREATEST { Null::First } else { Null::Last };

    fn new(ty: SqlType) -> BytesContest<GREATEST> {
        BytesContest { ty, seen: Vec::new(), best: Vec::new(), held: 0 }
    }
}

impl<const GREATEST: bool> Contest for BytesContest<GREATEST> {
    fn fresh(&self) -> Box<dyn Contest> {
        Box::new(BytesContest::<GREATEST>::new(self.ty.clone()))
    }

    fn grow(&mut self, groups: usize) {
        self.seen.resize(groups, false);
        self.best.resize(groups, Box::default());
    }

    fn compete(
        &mut self,
        values: &ArrayRef,
        rows: &Rows<'_>,
        mut winners: Option<&mut Vec<(usize, usize)>>,
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
            if let Some(winners) = &mut winners {
                winners.push((row, group));
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
        let mut contest = contest(&SqlType::Float64, end).unwrap();
        contest.grow(1);
        let array: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        contest.compete(&array, &Rows::of_only_group(values.len(), None), None).unwrap();
        contest.take(EmitTo::All).unwrap().0.as_primitive::<Float64Type>().value(0)
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
