//! Calls: forms that the plan expresses itself, aggregates, windows, and all other scalar functions.

use basalt_base::types::IntervalUnit;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_functions::registry;
use basalt_functions::scalar::{Argument, BoundScalar, ScalarFunction as ScalarCall};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::{ScalarFunction, Unnest};
use datafusion::logical_expr::{Expr, Operator, Volatility};

use super::fold::fold_call;
use super::{Binder, convert};
use crate::bound_expr::{BoundExpr, contains, is_aggregate, is_argument, is_unnest, is_window};

impl Binder<'_> {
    pub(super) fn bind_call(&self, call: &ast::FunctionCall) -> Result<BoundExpr> {
        if call.over.is_some() || super::window::is_window_only(&call.name) {
            return self.bind_window(call);
        }
        if let Some(bound) = self.bind_lambda_call(call)? {
            return Ok(bound);
        }
        if let Some(bound) = self.bind_form(call)? {
            return Ok(bound);
        }
        if let Some(bound) = self.bind_aggregate(call)? {
            return Ok(bound);
        }
        if call.distinct || call.filter.is_some() || !call.parameters.is_empty() {
            let name = &call.name;
            registry::expect_scalar(name)?;
            bail!(
                BadArguments,
                "`{name}` is not an aggregate function: it takes no DISTINCT, FILTER or parameters"
            );
        }
        let args = match call.args.split_first() {
            Some((first, rest)) if names_an_object(&call.name) => {
                let mut args = vec![self.bind_object_name(first)?];
                args.extend(self.bind_list(rest)?);
                args
            }
            _ => self.bind_list(&call.args)?,
        };
        if let Some(bound) = self.bind_lazy_default(&call.name, &args)? {
            return Ok(bound);
        }
        self.call(&call.name, args)
    }

    /// Functions that the plan expresses without a function.
    fn bind_form(&self, call: &ast::FunctionCall) -> Result<Option<BoundExpr>> {
        let args = call.args.as_slice();
        let lower = call.name.to_ascii_lowercase();
        let comparison = |op| match args {
            [left, right] => self.bind_comparison(op, left, right),
            _ => Err(wrong_count(&call.name, "2", args.len())),
        };
        Ok(Some(match call.name.as_str() {
            "equals" => comparison(Operator::Eq)?,
            "notEquals" => comparison(Operator::NotEq)?,
            "less" => comparison(Operator::Lt)?,
            "lessOrEquals" => comparison(Operator::LtEq)?,
            "greater" => comparison(Operator::Gt)?,
            "greaterOrEquals" => comparison(Operator::GtEq)?,
            "multiIf" | "caseWithoutExpression" => self.bind_multi_if(call)?,
            "isNull" | "isNotNull" => match args {
                [operand] => self.bind_is_null(operand, call.name == "isNotNull")?,
                _ => return Err(wrong_count(&call.name, "1", args.len())),
            },
            "in" | "notIn" | "globalIn" | "globalNotIn" => match args {
                [operand, set] => self.bind_in(operand, set, call.name.ends_with("otIn"))?,
                _ => return Err(wrong_count(&call.name, "2", args.len())),
            },
            "arrayJoin" => self.bind_array_join(call)?,
            "isConstant" => match args {
                [value] => BoundExpr::uint8(u8::from(self.is_constant(value)?)),
                _ => return Err(wrong_count(&call.name, "1", args.len())),
            },
            _ => match lower.as_str() {
                "if" => self.bind_multi_if(call)?,
                "and" | "or" if args.len() >= 2 => {
                    let operands = self.bind_list(args)?;
                    self.logic(lower == "and", operands)?
                }
                "not" if args.len() == 1 => self.negate(self.bind(&args[0])?)?,
                _ => match (interval_unit(&call.name), args) {
                    (Some(unit), [value]) => self.bind_interval(value, unit)?,
                    _ => return Ok(None),
                },
            },
        }))
    }

    /// Whether an expression has the same value in each row: it uses only constants, including constants of
    /// subqueries.
    fn is_constant(&self, expr: &ast::Expr) -> Result<bool> {
        let varies = |part: &Expr| match part {
            Expr::Column(_) => !self.scope.is_constant(part),
            Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Volatile,
            other => is_argument(other) || is_aggregate(other) || is_window(other) || is_unnest(other),
        };
        let value = self.bind(expr)?;
        value.expr.exists(|part| Ok(varies(part))).map(|varies| !varies).map_err(Error::logical)
    }

    fn bind_multi_if(&self, call: &ast::FunctionCall) -> Result<BoundExpr> {
        let Some((otherwise, rest)) = call.args.split_last() else {
            return Err(wrong_count(&call.name, "at least 3", 0));
        };
        let is_pair = call.name.eq_ignore_ascii_case("if") && rest.len() != 2;
        if rest.is_empty() || rest.len() % 2 != 0 || is_pair {
            return Err(wrong_count(&call.name, "an odd number of (at least 3)", call.args.len()));
        }
        let branches: Vec<_> = rest.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect();
        self.bind_if(&branches, Some(otherwise))
    }

    /// `arrayJoin(array)`: marked here, unfolded by the enclosing SELECT.
    fn bind_array_join(&self, call: &ast::FunctionCall) -> Result<BoundExpr> {
        let [array] = call.args.as_slice() else {
            return Err(wrong_count(&call.name, "1", call.args.len()));
        };
        let array = self.bind(array)?.into_value();
        if contains(&array.expr, is_unnest) {
            return Err(Error::not_implemented("arrayJoin inside arrayJoin"));
        }
        let (array, element) = match array.ty.stripped() {
            SqlType::Array(element) => {
                let element = element.as_ref().clone();
                (array, element)
            }
            SqlType::Map(..) => return Err(Error::not_implemented("the function arrayJoin over a Map")),
            other => bail!(TypeMismatch, "arrayJoin takes an array, not a value of type `{other}`"),
        };
        let unnest = Unnest { expr: Box::new(array.expr), outer: false };
        Ok(BoundExpr::new(Expr::Unnest(unnest), element))
    }

    /// The first argument of `dictGet`: a string, or the bare name of a dictionary.
    fn bind_object_name(&self, name: &ast::Expr) -> Result<BoundExpr> {
        match name {
            ast::Expr::Identifier(parts) if self.aliases.get(&parts[0]).is_none() => {
                Ok(super::literal::string(parts.join(".").as_bytes()))
            }
            other => self.bind(other),
        }
    }

    pub(super) fn call_over(&self, name: &str, args: &[ast::Expr]) -> Result<BoundExpr> {
        let args = self.bind_list(args)?;
        self.call(name, args)
    }

    /// Calls the scalar function `name`; a call over constants is computed at once.
    pub(crate) fn call(&self, name: &str, args: Vec<BoundExpr>) -> Result<BoundExpr> {
        self.call_function(registry::expect_scalar(name)?, args)
    }

    /// Like [`Binder::call`], for a function that need not be in the registry.
    pub(super) fn call_function(&self, function: &dyn ScalarCall, args: Vec<BoundExpr>) -> Result<BoundExpr> {
        let args: Vec<BoundExpr> = args.into_iter().map(BoundExpr::into_value).collect();
        let arguments = args
            .iter()
            .map(|arg| {
                let constant =
                    arg.constant().map(ScalarValue::to_array).transpose().map_err(Error::logical)?;
                Ok(Argument { ty: arg.ty.clone(), constant })
            })
            .collect::<Result<Vec<_>>>()?;
        let function_name = function.name();
        let (function, ty) = BoundScalar::bind(function, &arguments, self.session.ctx.functions)?;
        let args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        let foldable =
            function_name != "materialize" && !args.iter().any(|arg| is_aggregate(arg) || is_window(arg));
        if foldable && let Some(value) = fold_call(&function, &args) {
            return Ok(BoundExpr::literal(value, ty));
        }
        Ok(BoundExpr::new(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)), ty))
    }

    pub(super) fn bind_cast(&self, operand: &ast::Expr, ty: &ast::TypeName) -> Result<BoundExpr> {
        let to = basalt_sql::resolve_type(ty)?;
        self.session.ctx.functions.settings.check_type(&to)?;
        // `'1.5'::Decimal(9, 2)` and `1.5::Decimal(9, 2)` keep all written digits.
        if let (ast::Expr::Literal(ast::Literal::Number(text)), SqlType::Decimal { .. }) =
            (operand, to.stripped())
        {
            return convert(super::literal::string(text.as_bytes()), &to, self.session.ctx);
        }
        let operand = self.bind(operand)?;
        let keeps = self.session.ctx.functions.settings.cast_keep_nullable() && operand.ty.accepts_null();
        self.cast_by_function(operand, &if keeps { to.into_nullable() } else { to })
    }

    /// Converts the value by the function `_CAST`, which knows the rules for NULL.
    pub(super) fn cast_by_function(&self, value: BoundExpr, to: &SqlType) -> Result<BoundExpr> {
        let value = value.into_value();
        if value.ty == *to {
            return Ok(value);
        }
        self.call("_CAST", vec![value, super::literal::string(to.to_string().as_bytes())])
    }
}

fn wrong_count(name: &str, expected: &str, given: usize) -> Error {
    Error::new(
        ErrorCode::NumberOfArgumentsDoesntMatch,
        format!("function `{name}` takes {expected} arguments, got {given}"),
    )
}

/// Whether the first argument is the name of a dictionary or a table.
fn names_an_object(function: &str) -> bool {
    function.starts_with("dictGet")
        || function.starts_with("dictHas")
        || matches!(function, "dictIsIn" | "joinGet" | "joinGetOrNull")
}

fn interval_unit(function: &str) -> Option<IntervalUnit> {
    Some(match function.strip_prefix("toInterval")? {
        "Second" => IntervalUnit::Second,
        "Minute" => IntervalUnit::Minute,
        "Hour" => IntervalUnit::Hour,
        "Day" => IntervalUnit::Day,
        "Week" => IntervalUnit::Week,
        "Month" => IntervalUnit::Month,
        "Quarter" => IntervalUnit::Quarter,
        "Year" => IntervalUnit::Year,
        _ => return None,
    })
}
