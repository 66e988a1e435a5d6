//! A correlated subquery in an expression: a function of its arguments.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use basalt_base::SqlType;
use basalt_sql::ast;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::outer::{Argument, Outer};

/// How the rows of the subquery become a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CorrelatedKind {
    /// The value of the subquery's one column.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// Whether a row equals the operands, which are the last arguments of the call.
    In,
}

/// A subquery as a function of the values it uses from the outer query. [`super::apply()`] replaces it by a column; a
/// clause that does not pass through it cannot run the call.
#[derive(Debug)]
pub(crate) struct Correlated {
    signature: Signature,
    query: ast::Query,
    pub(super) kind: CorrelatedKind,
    pub(super) plan: LogicalPlan,
    /// The columns of `plan`.
    pub(super) columns: Vec<String>,
    /// The type of the value.
    pub(super) ty: SqlType,
    pub(super) relation: String,
    pub(super) arguments: Vec<Argument>,
}

impl Correlated {
    /// Builds the call. `operands` are the operands of IN; `plan` is the plan of `query` with its columns.
    pub(crate) fn call(
        kind: CorrelatedKind,
        query: &ast::Query,
        (plan, columns): (LogicalPlan, Vec<String>),
        ty: SqlType,
        outer: &Outer,
        operands: Vec<Expr>,
    ) -> Expr {
        let arguments = outer.arguments();
        let mut args: Vec<Expr> = arguments.iter().map(|argument| argument.value.expr.clone()).collect();
        args.extend(operands);
        let signature = Signature::variadic_any(Volatility::Stable);
        let relation = outer.relation.clone();
        let query = query.clone();
        let call = Correlated { signature, query, kind, plan, columns, ty, relation, arguments };
        Arc::new(ScalarUDF::new_from_impl(call)).call(args)
    }

    /// The subquery that `expr` calls, and the arguments of the call.
    pub(super) fn of(expr: &Expr) -> Option<(&Correlated, &[Expr])> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let correlated = call.func.inner().downcast_ref::<Correlated>()?;
        Some((correlated, &call.args))
    }
}

// The same text over the same values is equal, so that an expression bound twice matches a key of GROUP BY.
impl PartialEq for Correlated {
    fn eq(&self, other: &Correlated) -> bool {
        fn values(call: &Correlated) -> impl Iterator<Item = &Expr> {
            call.arguments.iter().map(|argument| &argument.value.expr)
        }
        self.kind == other.kind
            && self.ty == other.ty
            && self.query == other.query
            && values(self).eq(values(other))
    }
}

impl Eq for Correlated {}

impl Hash for Correlated {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.arguments.len().hash(state);
    }
}

impl ScalarUDFImpl for Correlated {
    fn name(&self) -> &str {
        &self.relation
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(match self.kind {
            CorrelatedKind::Scalar => self.ty.carrier(),
            CorrelatedKind::Exists | CorrelatedKind::In => DataType::Boolean,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef, DataFusionError> {
        let ty = self.return_type(
            &args.arg_fields.iter().map(|field| field.data_type().clone()).collect::<Vec<_>>(),
        )?;
        Ok(Arc::new(Field::new(self.name(), ty, true)))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        Err(DataFusionError::NotImplemented("a correlated subquery in this clause".into()))
    }
}
