//! One value out of an array of numbers, and running sums: `arrayMin`, `arrayMax`, `arraySum`,
//! `arrayAvg`, `arrayProduct`, `arrayCumSum`, `arrayDifference`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, Float64Array, PrimitiveArray,
    UInt32Array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use basalt_base::types::{Arithmetic, DECIMAL128_DIGITS, U256, Wide, arithmetic_type};
use basalt_base::{Error, Result, SqlType};

use super::lists::{Keys, Lists, chain, element_of};
use crate::scalar::arithmetic::nans_of;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::whole::{collect_wide, wholes_of};
use crate::scalar::{Arity, Bound, Converter, Operand};

pub(super) static ARRAY_MIN: Definition =
    Definition::new("arrayMin", Arity::Exactly(1), |call| bind_extreme(call, false));

pub(super) static ARRAY_MAX: Definition =
    Definition::new("arrayMax", Arity::Exactly(1), |call| bind_extreme(call, true));

pub(super) static ARRAY_SUM: Definition =
    Definition::new("arraySum", Arity::Exactly(1), |call| bind_sum(call, false));

pub(super) static ARRAY_CUM_SUM: Definition =
    Definition::new("arrayCumSum", Arity::Exactly(1), |call| bind_sum(call, true));

pub(super) static ARRAY_AVG: Definition = Definition::new("arrayAvg", Arity::Exactly(1), |call| {
    bind_floats(call, |values| {
        // An empty array gives 0, unlike `avg` over no rows.
        values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
    })
});

pub(super) static ARRAY_PRODUCT: Definition = Definition::new("arrayProduct", Arity::Exactly(1), |call| {
    // An empty array gives 0.
    bind_floats(call, |values| if values.is_empty() { 0.0 } else { values.iter().product() })
});

/// The difference to the previous element; 0 for the first.
pub(super) static ARRAY_DIFFERENCE: Definition =
    Definition::new("arrayDifference", Arity::Exactly(1), bind_difference);

/// The element type, which must be a number, or an integer of any width, that is not Nullable.
fn summand_of<'a>(call: &Call<'a>) -> Result<&'a SqlType> {
    let element = element_of(call, 0)?;
    if element.is_number() || element.is_whole() { Ok(element) } else { Err(call.illegal(0)) }
}

/// The element type, which must be a number that is not Nullable.
fn number_of<'a>(call: &Call<'a>) -> Result<&'a SqlType> {
    let element = element_of(call, 0)?;
    if element.is_number() { Ok(element) } else { Err(call.illegal(0)) }
}

fn bind_extreme(call: &Call<'_>, greatest: bool) -> Result<Bound> {
    let element = element_of(call, 0)?.clone();
    if element.accepts_null() {
        return Err(call.illegal(0));
    }
    Ok(Bound::new(element.clone(), move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let keys = Keys::of_type(lists.elements(), &element)?;
        let is_nan = nans_of(lists.elements())?;
        let is_nan = |at: usize| is_nan.as_ref().is_some_and(|nans| nans.value(at));
        let default = lists.elements().len();
        let picked = (0..rows).map(|row| {
            let best = lists.range(row).reduce(|best, candidate| {
                // A number replaces NaN.
                if is_nan(candidate) || is_nan(best) {
                    return if is_nan(best) { candidate } else { best };
                }
                let order = keys.get(candidate).cmp(keys.get(best));
                if (greatest && order.is_gt()) || (!greatest && order.is_lt()) { candidate } else { best }
            });
            best.unwrap_or(default) as u32
        });
        let picked = UInt32Array::from_iter_values(picked);
        let elements = chain(&element, &[Arc::clone(lists.elements()), element.default_array(1)])?;
        take(&elements, &picked, None).map_err(Error::of_arrow)
    }))
}

fn sum_type(element: &SqlType) -> Option<SqlType> {
    Some(match element {
        SqlType::Decimal { precision, scale } if *precision <= DECIMAL128_DIGITS => {
            SqlType::Decimal { precision: DECIMAL128_DIGITS, scale: *scale }
        }
        SqlType::Decimal { .. } => return None,
        ty if ty.is_float() => SqlType::Float64,
        ty if ty.is_unsigned() || *ty == SqlType::Bool => SqlType::UInt64,
        _ => SqlType::Int64,
    })
}

fn bind_sum(call: &Call<'_>, running: bool) -> Result<Bound> {
    let element = summand_of(call)?;
    if let Some(wide) = element.wide() {
        return Ok(bind_wide_sum(wide, running));
    }
    let sum =
        sum_type(element).ok_or_else(|| Error::not_implemented("sums of 256-bit decimals in arrays"))?;
    let widen = Converter::new(element, &sum, call.context)?;
    let ty = if running { SqlType::array_of(sum.clone()) } else { sum.clone() };
    Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let elements = widen.convert(lists.elements())?;
        let sums = match elements.data_type() {
            DataType::Float64 => sums::<Float64Type>(&lists, &elements, running),
            DataType::UInt64 => sums::<UInt64Type>(&lists, &elements, running),
            DataType::Int64 => sums::<Int64Type>(&lists, &elements, running),
            _ => sums::<Decimal128Type>(&lists, &elements, running),
        };
        if running { lists.with_elements(&sum, sums) } else { Ok(sums) }
    }))
}

/// Sums of wide integers have their type.
fn bind_wide_sum(wide: Wide, running: bool) -> Bound {
    let element = SqlType::Wide(wide);
    let ty = if running { SqlType::array_of(element.clone()) } else { element.clone() };
    Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let values = wholes_of(&element, lists.elements())?;
        let mut out = vec![U256::ZERO; if running { values.len() } else { 0 }];
        for row in 0..lists.rows() {
            let mut sum = U256::ZERO;
            for at in lists.range(row) {
                sum = sum.wrapping_add(values[at].bits());
                if running {
                    out[at] = sum;
                }
            }
            if !running {
                out.push(sum);
            }
        }
        let sums = collect_wide(wide, out.into_iter())?;
        if running { lists.with_elements(&element, sums) } else { Ok(sums) }
    })
}

/// One sum per row, or one per element.
fn sums<T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
    lists: &Lists,
    elements: &ArrayRef,
    running: bool,
) -> ArrayRef {
    let values = elements.as_primitive::<T>().values();
    let carrier = elements.data_type().clone();
    let mut out = vec![T::Native::ZERO; if running { values.len() } else { 0 }];
    for row in 0..lists.rows() {
        let mut sum = T::Native::ZERO;
        for element in lists.range(row) {
            sum = sum.add_wrapping(values[element]);
            if running {
                out[element] = sum;
            }
        }
        if !running {
            out.push(sum);
        }
    }
    Arc::new(PrimitiveArray::<T>::new(out.into(), None).with_data_type(carrier))
}

fn bind_floats(call: &Call<'_>, fold: fn(&[f64]) -> f64) -> Result<Bound> {
    let element = summand_of(call)?;
    let widen = Converter::new(element, &SqlType::Float64, call.context)?;
    Ok(Bound::new(SqlType::Float64, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let elements = widen.convert(lists.elements())?;
        let values = elements.as_primitive::<Float64Type>().values();
        let folded = (0..rows).map(|row| fold(&values[lists.range(row)]));
        Ok(Arc::new(Float64Array::from_iter_values(folded)) as ArrayRef)
    }))
}

fn bind_difference(call: &Call<'_>) -> Result<Bound> {
    let element = number_of(call)?;
    let result = arithmetic_type(Arithmetic::Minus, element, element).ok_or_else(|| call.illegal(0))?;
    if matches!(result, SqlType::Decimal { .. }) {
        return Err(Error::not_implemented("`arrayDifference` of decimals"));
    }
    // Differences are computed in the widest type and truncated to the result's: wrapping agrees in the low bits.
    let wide = if result.is_float() { SqlType::Float64 } else { SqlType::Int64 };
    let widen = Converter::new(element, &wide, call.context)?;
    let narrow = Converter::new(&wide, &result, call.context)?;
    Ok(Bound::new(SqlType::array_of(result.clone()), move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let elements = widen.convert(lists.elements())?;
        let differences = match elements.data_type() {
            DataType::Float64 => differences::<Float64Type>(&lists, &elements),
            _ => {
                differences::<Int64Type>(&lists, &cast(&elements, &DataType::Int64).map_err(Error::of_arrow)?)
            }
        };
        lists.with_elements(&result, narrow.convert(&differences)?)
    }))
}

fn differences<T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
    lists: &Lists,
    elements: &ArrayRef,
) -> ArrayRef {
    let values = elements.as_primitive::<T>().values();
    let mut out = vec![T::Native::ZERO; values.len()];
    for row in 0..lists.rows() {
        for element in lists.range(row).skip(1) {
            out[element] = values[element].sub_wrapping(values[element - 1]);
        }
    }
    Arc::new(PrimitiveArray::<T>::new(out.into(), None))
}
