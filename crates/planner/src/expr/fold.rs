//! Constant folding while planning: the value of an expression without columns.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};
use basalt_exec::error::from_datafusion;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, Volatility,
};
use datafusion::physical_expr::create_physical_expr;

static OPTIONS: LazyLock<Arc<ConfigOptions>> = LazyLock::new(Arc::default);

/// The result of a call with constant arguments only. `None` if the call must wait until the query runs: the function
/// is volatile, or it fails (a branch that is never taken may fail).
pub(super) fn fold_call(function: &ScalarUDF, args: &[Expr]) -> Option<ScalarValue> {
    if function.signature().volatility == Volatility::Volatile {
        return None;
    }
    let values = args
        .iter()
        .map(|arg| match arg {
            Expr::Literal(value, _) => Some(value.clone()),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    let arg_fields: Vec<_> =
        values.iter().map(|value| Arc::new(Field::new("", value.data_type(), value.is_null()))).collect();
    let scalars: Vec<Option<&ScalarValue>> = values.iter().map(Some).collect();
    let return_field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &arg_fields, scalar_arguments: &scalars });
    let call = ScalarFunctionArgs {
        args: values.into_iter().map(ColumnarValue::Scalar).collect(),
        arg_fields,
        number_rows: 1,
        return_field: return_field.ok()?,
        config_options: Arc::clone(&OPTIONS),
    };
    first(function.invoke_with_args(call).ok()?).ok()
}

/// The value of an expression without columns.
pub(crate) fn evaluate(expr: &Expr) -> Result<ScalarValue> {
    if let Expr::Literal(value, _) = expr {
        return Ok(value.clone());
    }
    let props = ExecutionProps::new();
    let physical =
        create_physical_expr(expr, &DFSchema::empty(), &props, &PhysicalPlanningContext::default())
            .map_err(from_datafusion)?;
    let schema = Arc::new(Schema::new(vec![Field::new("dummy", DataType::UInt8, false)]));
    let dummy: ArrayRef = Arc::new(UInt8Array::from(vec![0]));
    let row = RecordBatch::try_new(schema, vec![dummy]).map_err(Error::of_arrow)?;
    first(physical.evaluate(&row).map_err(from_datafusion)?)
}

fn first(value: ColumnarValue) -> Result<ScalarValue> {
    match value {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0).map_err(Error::logical),
    }
}
