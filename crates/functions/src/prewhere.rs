//! Marks a condition of PREWHERE, which a table evaluates before its other filters, and one of a row policy, which it
//! evaluates before all of them.
//!
//! [`Prewhere`] is a DataFusion function that returns its argument, so that operators that do not know the mark are
//! not affected.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// `prewhere(condition)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Prewhere {
    signature: Signature,
    is_policy: bool,
}

impl Prewhere {
    /// The conjuncts of `condition`, each marked.
    pub fn mark(condition: Expr) -> Vec<Expr> {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            let signature = Signature::any(1, Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Prewhere { signature, is_policy: false }))
        });
        let call = |condition| FUNCTION.call(vec![condition]);
        split_conjunction_owned(condition).into_iter().map(call).collect()
    }

    /// The condition of a row policy, marked.
    pub fn mark_of_policy(condition: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            let signature = Signature::any(1, Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Prewhere { signature, is_policy: true }))
        });
        FUNCTION.call(vec![condition])
    }

    /// Whether it is the condition of a row policy.
    pub fn is_of_policy(expr: &Expr) -> bool {
        let Expr::ScalarFunction(call) = expr else { return false };
        call.func.inner().downcast_ref::<Prewhere>().is_some_and(|mark| mark.is_policy)
    }

    /// The filter without marks.
    pub fn unmarked(filter: Expr) -> Result<Expr, DataFusionError> {
        let bare = |expr: Expr| match expr {
            Expr::ScalarFunction(mut call) if call.func.inner().is::<Prewhere>() => Ok(call
                .args
                .pop()
                .map_or_else(|| Transformed::no(Expr::ScalarFunction(call)), Transformed::yes)),
            other => Ok(Transformed::no(other)),
        };
        filter.transform_up(bare).data()
    }

    /// The condition inside a mark, and whether it is of a row policy.
    pub fn condition(expr: &Arc<dyn PhysicalExpr>) -> Option<(&Arc<dyn PhysicalExpr>, bool)> {
        let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
        let mark = call.fun().inner().downcast_ref::<Prewhere>()?;
        Some((call.args().first()?, mark.is_policy))
    }
}

impl ScalarUDFImpl for Prewhere {
    fn name(&self) -> &str {
        if self.is_policy { "row_policy" } else { "prewhere" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef, DataFusionError> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), DataType::Boolean, nullable)))
    }

    fn evaluate_bounds(&self, _inputs: &[&Interval]) -> Result<Interval, DataFusionError> {
        Interval::make_unbounded(&DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let condition = args.args.into_iter().next();
        condition.ok_or_else(|| DataFusionError::Internal("prewhere is of a condition".into()))
    }
}
