//! Checks that arrays that are unfolded together have equal lengths in each row.
//!
//! DataFusion's unnest pads shorter arrays with NULL; ClickHouse refuses them. [`InStep`] returns its first argument
//! after comparing the lengths.

use std::sync::Arc;

use basalt_base::{Error, ErrorCode};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::into_datafusion;

/// `in_step(a, b, ...)`: `a`, if all lengths are equal.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct InStep {
    signature: Signature,
}

impl InStep {
    pub fn function() -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(InStep {
            signature: Signature::variadic_any(Volatility::Immutable),
        }))
    }
}

impl ScalarUDFImpl for InStep {
    fn name(&self) -> &str {
        "in_step"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types
            .first()
            .cloned()
            .ok_or_else(|| DataFusionError::Internal("in_step without arguments".into()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let first = args.arg_fields.first().map(Arc::clone);
        first.ok_or_else(|| DataFusionError::Internal("in_step without arguments".into()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let Some((first, rest)) = arrays.split_first() else {
            return Err(DataFusionError::Internal("in_step without arguments".into()));
        };
        let lengths = |array: &dyn Array| -> Result<Vec<usize>> {
            let list = array.as_list_opt::<i32>();
            let list = list.ok_or_else(|| DataFusionError::Internal("in_step takes lists".into()))?;
            Ok(list.offsets().lengths().collect())
        };
        let expected = lengths(first)?;
        for other in rest {
            if lengths(other)? != expected {
                return Err(into_datafusion(Error::new(
                    ErrorCode::SizesOfArraysDontMatch,
                    "the arrays of ARRAY JOIN have different lengths",
                )));
            }
        }
        Ok(ColumnarValue::Array(Arc::clone(first)))
    }
}
