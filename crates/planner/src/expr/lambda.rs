//! Lambdas: `arrayMap(x -> x * 2, xs)` and other higher-order functions.
//!
//! Three calls do the work: map, filter and sort. Every other function is one of these inside a function of plain
//! arrays: `arraySum(f, xs)` is `arraySum(arrayMap(f, xs))`.

use std::sync::Arc;

use arrow::datatypes::Field;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_exec::lambda::{LambdaCall, LambdaKind};
use basalt_sql::ast;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Operator};

use super::Binder;
use super::fold::fold_call;
use crate::bound_expr::{
    BoundExpr, collect, contains, is_aggregate, is_argument, is_column, is_unnest, is_window, replace,
};
use crate::correlated;
use crate::scope::{ColumnValue, ScopeColumn, bare_column};

/// Functions over the results of the lambda. Each is also a function of one plain array.
const OVER_VALUES: &[&str] =
    &["arraySum", "arrayMin", "arrayMax", "arrayAvg", "arrayProduct", "arrayCumSum", "arrayDifference"];

/// A lambda bound over the elements of its arrays.
struct BoundLambda {
    arrays: Vec<BoundExpr>,
    body: BoundExpr,
    params: Vec<String>,
}

impl Binder<'_> {
    /// Binds a call whose first argument is a lambda; `None` for other calls.
    pub(super) fn bind_lambda_call(&self, call: &ast::FunctionCall) -> Result<Option<BoundExpr>> {
        let Some((ast::Expr::Lambda(lambda), arrays)) = call.args.split_first() else {
            return Ok(None);
        };
        let name = call.name.as_str();
        let lambda = || self.bind_lambda(name, lambda, arrays);
        let bound = match name {
            "arrayMap" => self.mapped(name, lambda()?)?,
            "arrayFilter" => self.filtered(name, lambda()?)?,
            "arraySort" => self.sorted(name, lambda()?, false)?,
            "arrayReverseSort" => self.sorted(name, lambda()?, true)?,
            "arrayFirst" => self.element_of_filtered(name, lambda()?, 1)?,
            "arrayLast" => self.element_of_filtered(name, lambda()?, -1)?,
            "arrayCount" => self.count_true(name, lambda()?, true)?,
            "arrayExists" => {
                let count = self.count_true(name, lambda()?, true)?;
                self.compare(Operator::NotEq, count, BoundExpr::uint8(0))?
            }
            "arrayAll" => {
                let count = self.count_true(name, lambda()?, false)?;
                self.compare(Operator::Eq, count, BoundExpr::uint8(0))?
            }
            "arrayFirstIndex" => {
                let mask = self.mask(name, lambda()?, true)?;
                let index = self.call("indexOf", vec![mask, BoundExpr::uint8(1)])?;
                self.call("toUInt32", vec![index])?
            }
            "arrayLastIndex" => self.last_index(name, lambda()?)?,
            _ if OVER_VALUES.contains(&name) => {
                let mapped = self.mapped(name, lambda()?)?;
                self.call(name, vec![mapped])?
            }
            _ => {
                basalt_functions::registry::expect_scalar(name)?;
                return Err(Error::not_implemented(format!("a lambda in the function `{name}`")));
            }
        };
        Ok(Some(bound))
    }

    /// Binds the arrays, and the body over their elements.
    fn bind_lambda(&self, name: &str, lambda: &ast::Lambda, arrays: &[ast::Expr]) -> Result<BoundLambda> {
        if arrays.len() != lambda.params.len() || arrays.is_empty() {
            bail!(
                NumberOfArgumentsDoesntMatch,
                "the lambda of `{name}` has {} parameters, and there are {} arrays",
                lambda.params.len(),
                arrays.len()
            );
        }
        let arrays: Vec<BoundExpr> = self.bind_list(arrays)?.into_iter().map(BoundExpr::into_value).collect();
        let (mut scope, mut aliases) = (self.scope.clone(), self.aliases.clone());
        // Inside the body, a parameter hides columns with its name.
        for column in scope.columns.iter_mut().filter(|column| lambda.params.contains(&column.name)) {
            column.only_qualified = true;
        }
        let mut params = Vec::with_capacity(arrays.len());
        for (param, array) in lambda.params.iter().zip(&arrays) {
            aliases.remove(param);
            let SqlType::Array(element) = array.ty.stripped() else {
                return Err(Error::new(
                    ErrorCode::IllegalTypeOfArgument,
                    format!("`{name}` takes a lambda and arrays, not a value of type `{}`", array.ty),
                ));
            };
            let column = self.session.unique(&format!("__lambda_{param}"));
            scope.columns.push(ScopeColumn {
                table: None,
                name: param.clone(),
                ty: element.as_ref().clone(),
                value: ColumnValue::Plan(bare_column(&column)),
                in_asterisk: false,
                only_qualified: false,
                is_constant: false,
            });
            params.push(column);
        }
        let inner = Binder::new(self.session, self.env, &scope, &aliases, self.windows);
        inner.in_aggregate.set(self.in_aggregate.get());
        let body = inner.bind(&lambda.body)?;
        correlated::refuse(&body.expr, "a lambda")?;
        if contains(&body.expr, is_window) || contains(&body.expr, is_unnest) {
            return Err(Error::not_implemented("a window function or arrayJoin inside a lambda"));
        }
        refuse_aggregates_of(name, &body.expr, &params)?;
        Ok(BoundLambda { arrays, body, params })
    }

    fn mapped(&self, name: &str, mut lambda: BoundLambda) -> Result<BoundExpr> {
        lambda.body = lambda.body.into_value();
        let ty = SqlType::array_of(lambda.body.ty.clone());
        Ok(lambda_call(name, LambdaKind::Map, lambda, ty))
    }

    fn filtered(&self, name: &str, mut lambda: BoundLambda) -> Result<BoundExpr> {
        let ty = lambda.arrays[0].ty.clone();
        lambda.body = BoundExpr::truth(lambda.body.into_condition()?, true);
        Ok(lambda_call(name, LambdaKind::Filter, lambda, ty))
    }

    fn sorted(&self, name: &str, mut lambda: BoundLambda, descending: bool) -> Result<BoundExpr> {
        let ty = lambda.arrays[0].ty.clone();
        lambda.body = lambda.body.into_value();
        Ok(lambda_call(name, LambdaKind::Sort { descending }, lambda, ty))
    }

    fn element_of_filtered(&self, name: &str, lambda: BoundLambda, index: i64) -> Result<BoundExpr> {
        let filtered = self.filtered(name, lambda)?;
        let index = BoundExpr::literal(datafusion::common::ScalarValue::Int64(Some(index)), SqlType::Int64);
        self.call("arrayElement", vec![filtered, index])
    }

    /// An array with 1 where the body is true (with `when` false: where it is not), and 0 elsewhere.
    fn mask(&self, name: &str, mut lambda: BoundLambda, when: bool) -> Result<BoundExpr> {
        let condition = lambda.body.into_condition()?;
        let condition = if when { condition.is_true() } else { condition.is_not_true() };
        lambda.body = BoundExpr::truth(condition, false);
        self.mapped(name, lambda)
    }

    fn count_true(&self, name: &str, lambda: BoundLambda, when: bool) -> Result<BoundExpr> {
        let mask = self.mask(name, lambda, when)?;
        self.call("arrayCount", vec![mask])
    }

    /// Converts a position counted from the end; 0 stays 0.
    fn last_index(&self, name: &str, lambda: BoundLambda) -> Result<BoundExpr> {
        let mask = self.mask(name, lambda, true)?;
        let reversed = self.call("arrayReverse", vec![mask.clone()])?;
        let from_end = self.call("indexOf", vec![reversed, BoundExpr::uint8(1)])?;
        let length = self.call("length", vec![mask])?;
        let one_past_end = self.call("plus", vec![length, BoundExpr::uint8(1)])?;
        let index = self.call("minus", vec![one_past_end, from_end.clone()])?;
        let found = self.compare(Operator::NotEq, from_end, BoundExpr::uint8(0))?;
        let index = self.call("multiply", vec![index, found])?;
        self.call("toUInt32", vec![index])
    }
}

/// An aggregate inside a lambda is computed outside, where the parameters are unknown.
fn refuse_aggregates_of(name: &str, body: &Expr, params: &[String]) -> Result<()> {
    let (mut aggregates, mut columns) = (Vec::new(), Vec::new());
    collect(body, is_aggregate, &mut aggregates);
    for aggregate in &aggregates {
        collect(aggregate, is_column, &mut columns);
    }
    if columns.iter().any(|column| params.iter().any(|param| *column == bare_column(param))) {
        bail!(
            NotFoundColumnInBlock,
            "an aggregate function in the lambda of `{name}` takes a parameter of the lambda: it is computed over \
             rows, where that has no value"
        );
    }
    Ok(())
}

/// The call with the arrays and the values that the body captures.
fn lambda_call(name: &str, kind: LambdaKind, lambda: BoundLambda, ty: SqlType) -> BoundExpr {
    let BoundLambda { arrays, body, params } = lambda;
    let mut outside = Vec::new();
    collect(&body.expr, |part| is_column(part) || is_argument(part) || is_aggregate(part), &mut outside);
    outside.retain(|part| !params.iter().any(|param| *part == bare_column(param)));
    let mut columns = params;
    let mut replacements = Vec::with_capacity(outside.len());
    for (at, part) in outside.iter().enumerate() {
        let column = format!("__captured_{at}");
        replacements.push((part.clone(), bare_column(&column)));
        columns.push(column);
    }
    // The replaced parts are parts of the expression, so it stays well formed.
    let body_expr = replace(body.expr.clone(), &replacements).unwrap_or(body.expr);
    let array_count = arrays.len();
    let mut args: Vec<Expr> = arrays.into_iter().map(|array| array.expr).collect();
    args.extend(outside);
    let return_field = Arc::new(Field::new(name, ty.carrier(), false));
    let function = LambdaCall::function(name.to_owned(), kind, body_expr, columns, array_count, return_field);
    if let Some(value) = fold_call(&function, &args) {
        return BoundExpr::literal(value, ty);
    }
    BoundExpr::new(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)), ty)
}
