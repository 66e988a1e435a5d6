//! Values whose native order is not that of SQL, as values whose native order is.
//!
//! ClickHouse compares the second halves of UUIDs first. A UUID is carried as it is printed, and so are keys and
//! indexes of it sorted; where the order is to be seen, the halves are swapped. A NaN with a sign lies natively
//! below all numbers, one without above: here all of them are above.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

const UUID_BYTES: usize = 16;

static NATIVE_ORDER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(NativeOrder { signature: Signature::any(1, Volatility::Immutable) }))
});

/// A function of one UUID or float, whose results have the carrier of the argument.
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::common::Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let array = arrays.first().ok_or_else(|| DataFusionError::Internal("`_order` of nothing".into()))?;
        Ok(ColumnarValue::Array(match array.data_type() {
            DataType::FixedSizeBinary(_) => swap_halves(array),
            _ => with_one_nan(array),
        }))
    }
}

/// UUIDs with their second halves in front; NULLs stay. Twice, it gives what was there.
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

/// Floats of which every NaN is the same; other values as they are.
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
}
