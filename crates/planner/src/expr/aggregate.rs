//! Aggregate functions and their combinators.
//!
//! `-If` and FILTER become the filter of the call; `-OrNull` and `-OrDefault` count the rows. A DISTINCT that changes
//! nothing is dropped; any other becomes a form of the function.

use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_functions::aggregate::{AggregateFunction, BoundAggregate, Parameter};
use basalt_functions::registry;
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::AggregateFunction as AggregateCall;

use super::Binder;
use crate::bound_expr::{BoundExpr, all_of, case, contains, default_value, is_aggregate, is_window};

/// Functions whose result does not change with duplicates.
const BLIND_TO_DUPLICATES: &[&str] =
    &["min", "max", "any", "anyLast", "uniq", "uniqExact", "uniqCombined", "uniqHLL12", "groupUniqArray"];

/// The suffixes of aggregate functions.
pub const COMBINATORS: &[&str] = &["Distinct", "If", "OrDefault", "OrNull"];

/// Known combinators that are not implemented.
const MISSING_COMBINATORS: &[&str] = &[
    "SimpleState",
    "MergeState",
    "State",
    "Merge",
    "ForEach",
    "Resample",
    "ArgMin",
    "ArgMax",
    "Array",
    "Map",
];

/// An aggregate function with the combinators in its name.
#[derive(Clone, Copy)]
struct Named {
    function: &'static dyn AggregateFunction,
    with_condition: bool,
    distinct: bool,
    when_empty: WhenEmpty,
}

/// The result for a group without rows.
#[derive(Clone, Copy, PartialEq)]
enum WhenEmpty {
    Own,
    Null,
    Default,
}

/// The parts of a call that is not planned yet.
pub(super) struct Call {
    pub(super) function: std::sync::Arc<datafusion::logical_expr::AggregateUDF>,
    pub(super) args: Vec<Expr>,
    pub(super) filter: Option<Expr>,
    pub(super) ty: SqlType,
}

impl Binder<'_> {
    /// `None` if no aggregate function has that name.
    pub(super) fn bind_aggregate(&self, call: &ast::FunctionCall) -> Result<Option<BoundExpr>> {
        let Some(named) = find(&call.name)? else {
            return Ok(None);
        };
        if self.in_aggregate.get() {
            bail!(
                IllegalAggregation,
                "the aggregate function `{}` is inside another aggregate function",
                call.name
            );
        }
        self.in_aggregate.set(true);
        let parts = self.aggregate_call(call, named);
        self.in_aggregate.set(false);
        let Call { function, args, filter, ty } = parts?;
        if args.iter().any(|arg| contains(arg, is_aggregate) || contains(arg, is_window)) {
            bail!(
                IllegalAggregation,
                "the arguments of `{}` hold an aggregate or window function",
                call.name
            );
        }
        let aggregate = |function, args, filter: Option<Expr>| {
            Expr::AggregateFunction(AggregateCall::new_udf(
                function,
                args,
                false,
                filter.map(Box::new),
                vec![],
                None,
            ))
        };
        let when_empty = match named.when_empty {
            WhenEmpty::Own | WhenEmpty::Default if self.gives_null_when_empty(named.function.name(), &ty) => {
                WhenEmpty::Null
            }
            when_empty => when_empty,
        };
        let expr = aggregate(function, args, filter.clone());
        if when_empty == WhenEmpty::Own {
            return Ok(Some(BoundExpr::new(expr, ty)));
        }
        let (count, _) = BoundAggregate::bind(count_function()?, &[], &[])?;
        let rows = aggregate(count, vec![one()], filter);
        let is_empty = rows.eq(Expr::Literal(ScalarValue::UInt64(Some(0)), None));
        Ok(Some(match when_empty {
            WhenEmpty::Null if ty.clone().into_nullable().accepts_null() => {
                let ty = ty.into_nullable();
                let null = ScalarValue::try_from(&ty.carrier()).map_err(Error::logical)?;
                BoundExpr::new(case(vec![(is_empty, Expr::Literal(null, None))], expr), ty)
            }
            // The default for a Nullable argument is NULL.
            _ if ty.accepts_null() => BoundExpr::new(expr, ty),
            _ => BoundExpr::new(case(vec![(is_empty, default_value(&ty)?)], expr), ty),
        }))
    }

    /// The function with its arguments, for an aggregation or a window.
    pub(super) fn window_aggregate(&self, call: &ast::FunctionCall) -> Result<Option<Call>> {
        let Some(named) = find(&call.name)? else {
            return Ok(None);
        };
        if named.when_empty != WhenEmpty::Own {
            return Err(Error::not_implemented(format!("the window function `{}`", call.name)));
        }
        self.aggregate_call(call, named).map(Some)
    }

    fn aggregate_call(&self, call: &ast::FunctionCall, named: Named) -> Result<Call> {
        let counts_rows = named.function.name() == "count"
            && matches!(call.args.as_slice(), [ast::Expr::Asterisk { qualifier, .. }, ..] if qualifier.is_empty());
        let written = if counts_rows { &call.args[1..] } else { call.args.as_slice() };
        let mut args = self.bind_list(written)?;
        let mut conditions = Vec::new();
        if named.with_condition {
            let condition = args.pop().ok_or_else(|| {
                Error::new(
                    ErrorCode::NumberOfArgumentsDoesntMatch,
                    format!("`{}` needs a condition as its last argument", call.name),
                )
            })?;
            conditions.push(definite(condition)?);
        }
        if let Some(filter) = &call.filter {
            conditions.push(definite(self.bind(filter)?)?);
        }
        let function = distinct_form(named.function, (named.distinct || call.distinct) && !args.is_empty())?;
        let parameters = self.aggregate_parameters(&call.parameters)?;
        let args: Vec<BoundExpr> = args.into_iter().map(BoundExpr::into_value).collect();
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let (function, ty) = BoundAggregate::bind(function, &parameters, &types)?;
        let mut args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        if args.is_empty() {
            // The plan needs an argument to count rows.
            args.push(one());
        }
        Ok(Call { function, args, filter: all_of(conditions), ty })
    }

    /// Whether the setting `aggregate_functions_null_for_empty` changes the result of this function.
    fn gives_null_when_empty(&self, name: &str, ty: &SqlType) -> bool {
        const COUNTING: &[&str] = &["count", "uniq", "uniqExact", "uniqHLL12", "uniqUpTo", "regr_count"];
        self.session.ctx.settings.aggregate_functions_null_for_empty
            && !COUNTING.contains(&name)
            && ty.clone().into_nullable().accepts_null()
    }

    fn aggregate_parameters(&self, parameters: &[ast::Expr]) -> Result<Vec<Parameter>> {
        parameters
            .iter()
            .map(|parameter| {
                let bound = self.bind_constant(parameter)?;
                let value = super::evaluate(&bound.expr)?.to_array().map_err(Error::logical)?;
                Ok(Parameter { ty: bound.ty, value })
            })
            .collect()
    }
}

/// The condition with NULL replaced by false.
fn definite(condition: BoundExpr) -> Result<Expr> {
    let nullable = condition.accepts_null();
    let condition = condition.into_condition()?;
    Ok(if nullable { condition.is_true() } else { condition })
}

fn one() -> Expr {
    Expr::Literal(ScalarValue::UInt8(Some(1)), None)
}

fn count_function() -> Result<&'static dyn AggregateFunction> {
    registry::aggregate("count").ok_or_else(|| Error::not_implemented("the aggregate function `count`"))
}

/// `count(DISTINCT x)` is `uniqExact(x)`; other functions see every value once.
fn distinct_form(
    function: &'static dyn AggregateFunction,
    distinct: bool,
) -> Result<&'static dyn AggregateFunction> {
    let name = function.name();
    if !distinct || BLIND_TO_DUPLICATES.contains(&name) {
        return Ok(function);
    }
    let distinct_name = match name {
        "count" => Some("uniqExact"),
        "groupArray" => Some("groupUniqArray"),
        _ => None,
    };
    distinct_name
        .and_then(registry::aggregate)
        .or_else(|| basalt_functions::aggregate::distinct(function))
        .ok_or_else(|| Error::not_implemented(format!("DISTINCT in the aggregate function `{name}`")))
}

/// The function called `name`; combinators are stripped from the right.
fn find(name: &str) -> Result<Option<Named>> {
    let mut rest = name;
    let (mut with_condition, mut distinct, mut when_empty) = (false, false, WhenEmpty::Own);
    loop {
        if let Some(function) = registry::aggregate(rest) {
            return Ok(Some(Named { function, with_condition, distinct, when_empty }));
        }
        if registry::scalar(name).is_some() {
            return Ok(None);
        }
        if let Some(shorter) = rest.strip_suffix("If") {
            with_condition = true;
            rest = shorter;
        } else if let Some(shorter) = rest.strip_suffix("Distinct") {
            distinct = true;
            rest = shorter;
        } else if let Some(shorter) = rest.strip_suffix("OrNull") {
            when_empty = WhenEmpty::Null;
            rest = shorter;
        } else if let Some(shorter) = rest.strip_suffix("OrDefault") {
            when_empty = WhenEmpty::Default;
            rest = shorter;
        } else {
            return missing_combinator(rest, name).map_or(Ok(None), Err);
        }
    }
}

/// NOT_IMPLEMENTED if a known combinator follows a known function.
fn missing_combinator(rest: &str, name: &str) -> Option<Error> {
    let found = MISSING_COMBINATORS.iter().find(|combinator| {
        rest.strip_suffix(**combinator).is_some_and(|base| registry::aggregate(base).is_some())
    })?;
    Some(Error::not_implemented(format!("the combinator `-{found}` of `{name}`")))
}
