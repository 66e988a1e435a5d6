//! Values converted so that their native order is their SQL order.
//!
//! ClickHouse compares the second halves of UUIDs first. Carriers, keys and indexes hold a UUID in its printed order,
//! so the halves are swapped where its SQL order is needed. Natively a negative NaN is below all numbers and a
//! positive one above; here every NaN is above. Natively the negative zero is below the positive one; here they are
//! equal.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, ListArray, StructArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use basalt_base::{Error, Result, SqlType};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

const UUID_BYTES: usize = 16;

static NATIVE_ORDER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(NativeOrder { signature: Signature::any(1, Volatility::Immutable) }))
});

/// A function of one UUID or float; the result has the carrier of the argument.
pub fn native_order() -> Arc<ScalarUDF> {
    Arc::clone(&NATIVE_ORDER)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NativeOrder {
    signature: Signature,
}

impl ScalarUDFImpl for NativeOrder {
    fn name(&self) -> &str {
        "_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> datafusion::common::Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| DataFusionError::Internal("`_order` of nothing".into()))
    }

    /// Bounds must have the type of the results. Otherwise comparing with them is an error, and no order of the
    /// expression is known.
    fn evaluate_bounds(&self, inputs: &[&Interval]) -> datafusion::common::Result<Interval> {
        Interval::make_unbounded(&inputs.first().map_or(DataType::Null, |input| input.data_type()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::common::Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let array = arrays.first().ok_or_else(|| DataFusionError::Internal("`_order` of nothing".into()))?;
        Ok(ColumnarValue::Array(match array.data_type() {
            DataType::FixedSizeBinary(_) => swap_halves(array),
            _ => comparable(array),
        }))
    }
}

/// UUIDs with their halves swapped; NULLs stay. The function is its own inverse.
pub(crate) fn swap_halves(uuids: &ArrayRef) -> ArrayRef {
    let uuids = uuids.as_fixed_size_binary();
    let mut swapped = Vec::with_capacity(uuids.len() * UUID_BYTES);
    for row in 0..uuids.len() {
        let (high, low) = uuids.value(row).split_at(UUID_BYTES / 2);
        swapped.extend_from_slice(low);
        swapped.extend_from_slice(high);
    }
    Arc::new(FixedSizeBinaryArray::new(UUID_BYTES as i32, swapped.into(), uuids.nulls().cloned()))
}

/// The position of NaN among floats inside a value.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nan {
    First,
    Last,
}

/// Values of `ty` converted so that their native order is their SQL order, also inside nested values. The function is
/// its own inverse, except for the signs of zeroes and NaN.
pub(crate) fn ranked(values: &ArrayRef, ty: &SqlType, nan: Nan) -> Result<ArrayRef> {
    Ok(match ty.stripped() {
        SqlType::Uuid => swap_halves(values),
        SqlType::Float32 | SqlType::Float64 if nan == Nan::First => nan_first(&comparable(values)),
        SqlType::Float32 | SqlType::Float64 => comparable(values),
        SqlType::Array(element) if has_own_order(element) => {
            let list = values.as_list::<i32>();
            let elements = ranked(list.values(), element, nan)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            let list = ListArray::try_new(element.element_field(), offsets, elements, nulls);
            Arc::new(list.map_err(Error::logical)?)
        }
        SqlType::Tuple(elements) if elements.iter().any(|element| has_own_order(&element.ty)) => {
            let tuple = values.as_struct();
            let columns = tuple.columns().iter().zip(elements.iter());
            let columns =
                columns.map(|(column, element)| ranked(column, &element.ty, nan)).collect::<Result<_>>()?;
            let tuple = StructArray::try_new(tuple.fields().clone(), columns, tuple.nulls().cloned());
            Arc::new(tuple.map_err(Error::logical)?)
        }
        _ => Arc::clone(values),
    })
}

/// Whether the native order of `ty` differs from its SQL order.
fn has_own_order(ty: &SqlType) -> bool {
    match ty.stripped() {
        SqlType::Uuid | SqlType::Float32 | SqlType::Float64 => true,
        SqlType::Array(element) => has_own_order(element),
        SqlType::Tuple(elements) => elements.iter().any(|element| has_own_order(&element.ty)),
        _ => false,
    }
}

/// Makes every NaN negative, which natively sorts before all numbers.
fn nan_first(values: &ArrayRef) -> ArrayRef {
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(floats.unary::<_, Float64Type>(|x| if x.is_nan() { -f64::NAN } else { x }));
    }
    match values.as_primitive_opt::<Float32Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float32Type>(|x| if x.is_nan() { -f32::NAN } else { x })),
        None => Arc::clone(values),
    }
}

/// Floats that are natively equal if they are equal in SQL.
fn comparable(values: &ArrayRef) -> ArrayRef {
    // The sum of the two zeroes is positive zero.
    let values = with_one_nan(values);
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(floats.unary::<_, Float64Type>(|x| x + 0.0));
    }
    match values.as_primitive_opt::<Float32Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float32Type>(|x| x + 0.0)),
        None => values,
    }
}

/// Floats with one bit pattern for NaN; other values unchanged.
pub(crate) fn with_one_nan(values: &ArrayRef) -> ArrayRef {
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(floats.unary::<_, Float64Type>(|x| if x.is_nan() { f64::NAN } else { x }));
    }
    match values.as_primitive_opt::<Float32Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float32Type>(|x| if x.is_nan() { f32::NAN } else { x })),
        None => Arc::clone(values),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;

    use super::*;

    #[test]
    fn halves_are_swapped_and_nulls_stay() {
        let uuid: Vec<u8> = (0..16).collect();
        let values = [Some(uuid.as_slice()), None].into_iter();
        let uuids: ArrayRef =
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16).unwrap());
        let swapped = swap_halves(&uuids);
        assert_eq!(swapped.as_fixed_size_binary().value(0)[..9], [8, 9, 10, 11, 12, 13, 14, 15, 0]);
        assert!(swapped.is_null(1));
        assert_eq!(&swap_halves(&swapped), &uuids);
    }

    #[test]
    fn nan_has_no_sign() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![-f64::NAN, -0.0]));
        let same = with_one_nan(&floats);
        let same = same.as_primitive::<Float64Type>();
        assert!(same.value(0).is_sign_positive() && same.value(1).is_sign_negative());
    }

    #[test]
    fn zero_has_no_sign_in_an_order() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![-f64::NAN, -0.0, -1.5]));
        let comparable = comparable(&floats);
        let comparable = comparable.as_primitive::<Float64Type>();
        assert!(comparable.value(0).is_sign_positive() && comparable.value(1).is_sign_positive());
        assert_eq!(comparable.value(2), -1.5);
    }
}
