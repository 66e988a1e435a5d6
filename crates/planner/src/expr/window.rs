//! Window functions: `f(x) OVER (PARTITION BY ... ORDER BY ... frame)`.

use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_exec::windowed::{Frames, Windowed};
use basalt_sql::ast::{self, WindowFrameUnit};
use datafusion::common::ScalarValue;
use datafusion::functions_window::{cume_dist, lead_lag, nth_value, ntile, rank, row_number};
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};

use super::Binder;
use super::in_frame::{Toward, in_frame};
use crate::bound_expr::{BoundExpr, contains, default_value, is_window, or_default};
use crate::select::{partition_key, sort_key};

/// The maximum depth of window definitions that refer to each other.
const BASE_WINDOWS_MAX: usize = 16;

/// Functions that need OVER.
pub(super) fn is_window_only(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "row_number"
            | "rank"
            | "dense_rank"
            | "denserank"
            | "percent_rank"
            | "percentrank"
            | "cume_dist"
            | "ntile"
            | "lag"
            | "lead"
            | "laginframe"
            | "leadinframe"
            | "nth_value"
    )
}

impl Binder<'_> {
    pub(super) fn bind_window(&self, call: &ast::FunctionCall) -> Result<BoundExpr> {
        let Some(over) = &call.over else {
            bail!(BadArguments, "`{}` is a window function: it needs OVER (...)", call.name);
        };
        let spec = self.whole_window(over)?;
        if spec.frame.is_some() && ["lag", "lead"].iter().any(|name| call.name.eq_ignore_ascii_case(name)) {
            bail!(BadArguments, "`{}` takes no window frame: `{}InFrame` does", call.name, call.name);
        }
        let (mut definition, args, filter, ty) = self.window_function(call)?;
        let partition_by: Vec<Expr> = self
            .bind_list(&spec.partition_by)?
            .into_iter()
            .map(partition_key)
            .filter(|key| !matches!(key, Expr::Literal(..)))
            .collect();
        let mut order_by = Vec::new();
        let mut order_types = Vec::new();
        for order in &spec.order_by {
            let key = self.bind(&order.expr)?.into_value();
            order_types.push(key.ty.clone());
            order_by.extend(sort_key(key, order));
        }
        let nested = args.iter().chain(&partition_by).chain(order_by.iter().map(|sort| &sort.expr));
        if nested.into_iter().any(|expr| contains(expr, is_window)) {
            bail!(IllegalAggregation, "`{}` holds another window function", call.name);
        }
        let range_key = match order_types.as_slice() {
            [ty] if order_by.len() == 1 => Some(ty),
            _ => None,
        };
        let window_frame = self.window_frame(&spec, range_key)?;
        if let WindowFunctionDefinition::AggregateUDF(function) = definition {
            let starts_fixed = window_frame.start_bound.is_unbounded();
            let frames = if starts_fixed { Frames::Grow } else { Frames::Slide };
            let function = Windowed::over(function, frames);
            definition = WindowFunctionDefinition::AggregateUDF(function);
        }
        let params = WindowFunctionParams {
            args,
            partition_by,
            order_by,
            window_frame,
            filter: filter.map(Box::new),
            null_treatment: skips_nulls(&call.name).then_some(NullTreatment::IgnoreNulls),
            distinct: false,
        };
        let mut expr =
            Expr::WindowFunction(Box::new(WindowFunction { fun: definition, params: params.clone() }));
        if let (Some(toward), [_, Expr::Literal(ScalarValue::Int64(Some(offset)), _), beyond]) =
            (toward_in_frame(&call.name), params.args.as_slice())
        {
            expr = in_frame(expr, toward, *offset, beyond.clone(), &params);
        }
        // A frame may have fewer rows than `nth_value` looks for, or none.
        let expr = if is_picking(&call.name) { or_default(expr, &ty)? } else { expr };
        Ok(BoundExpr::new(expr, ty))
    }

    /// Checks the windows of the WINDOW clause, including unused ones.
    pub(crate) fn check_windows(&self) -> Result<()> {
        for (_, spec) in self.windows {
            self.bind_list(&spec.partition_by)?;
            for order in &spec.order_by {
                self.bind(&order.expr)?;
            }
        }
        Ok(())
    }

    /// The window with the parts it inherits from named windows.
    fn whole_window(&self, over: &ast::WindowSpec) -> Result<ast::WindowSpec> {
        let mut spec = over.clone();
        for _ in 0..BASE_WINDOWS_MAX {
            let Some(name) = spec.base.take() else {
                return Ok(spec);
            };
            let Some((_, base)) = self.windows.iter().find(|(known, _)| *known == name) else {
                bail!(BadArguments, "window `{name}` is not defined");
            };
            if spec.partition_by.is_empty() {
                spec.partition_by = base.partition_by.clone();
            }
            if spec.order_by.is_empty() {
                spec.order_by = base.order_by.clone();
            }
            spec.frame = spec.frame.or_else(|| base.frame.clone());
            spec.base = base.base.clone();
        }
        bail!(TooDeepRecursion, "windows build on each other more than {BASE_WINDOWS_MAX} deep")
    }

    fn window_function(
        &self,
        call: &ast::FunctionCall,
    ) -> Result<(WindowFunctionDefinition, Vec<Expr>, Option<Expr>, SqlType)> {
        let fixed = |udwf, ty| Ok((WindowFunctionDefinition::WindowUDF(udwf), Vec::new(), None, ty));
        match call.name.to_ascii_lowercase().as_str() {
            "row_number" => fixed(row_number::row_number_udwf(), SqlType::UInt64),
            "rank" => fixed(rank::rank_udwf(), SqlType::UInt64),
            "dense_rank" | "denserank" => fixed(rank::dense_rank_udwf(), SqlType::UInt64),
            "percent_rank" | "percentrank" => fixed(rank::percent_rank_udwf(), SqlType::Float64),
            "cume_dist" => fixed(cume_dist::cume_dist_udwf(), SqlType::Float64),
            "ntile" => {
                let count = self.whole_number(call.args.first(), 1)?;
                if count == 0 {
                    bail!(BadArguments, "`ntile` takes the number of its groups: at least 1");
                }
                let args = vec![Expr::Literal(ScalarValue::Int64(Some(count)), None)];
                Ok((WindowFunctionDefinition::WindowUDF(ntile::ntile_udwf()), args, None, SqlType::UInt64))
            }
            "lag" | "laginframe" => self.shifted(call, lead_lag::lag_udwf()),
            "lead" | "leadinframe" => self.shifted(call, lead_lag::lead_udwf()),
            "first_value" => self.picked(call, nth_value::first_value_udwf()),
            "last_value" => self.picked(call, nth_value::last_value_udwf()),
            "nth_value" => self.picked(call, nth_value::nth_value_udwf()),
            _ => {
                let Some(aggregate) = self.window_aggregate(call)? else {
                    return Err(basalt_functions::registry::unknown_function(&call.name));
                };
                let definition = WindowFunctionDefinition::AggregateUDF(aggregate.function);
                Ok((definition, aggregate.args, aggregate.filter, aggregate.ty))
            }
        }
    }

    /// `lag(x, offset, default)`. Beyond the partition the result is `default`, or the default of the type.
    fn shifted(
        &self,
        call: &ast::FunctionCall,
        function: std::sync::Arc<datafusion::logical_expr::WindowUDF>,
    ) -> Result<(WindowFunctionDefinition, Vec<Expr>, Option<Expr>, SqlType)> {
        let Some(value) = call.args.first() else {
            bail!(NumberOfArgumentsDoesntMatch, "function `{}` takes 1 to 3 arguments, got 0", call.name);
        };
        let value = self.bind(value)?.into_value();
        let offset = self.whole_number(call.args.get(1), 1)?;
        let beyond = match call.args.get(2) {
            Some(default) => super::convert(self.bind_constant(default)?, &value.ty, self.session.ctx)?.expr,
            None => default_value(&value.ty)?,
        };
        let args = vec![value.expr, Expr::Literal(ScalarValue::Int64(Some(offset)), None), beyond];
        Ok((WindowFunctionDefinition::WindowUDF(function), args, None, value.ty))
    }

    fn picked(
        &self,
        call: &ast::FunctionCall,
        function: std::sync::Arc<datafusion::logical_expr::WindowUDF>,
    ) -> Result<(WindowFunctionDefinition, Vec<Expr>, Option<Expr>, SqlType)> {
        let Some(value) = call.args.first() else {
            bail!(NumberOfArgumentsDoesntMatch, "function `{}` takes an argument, got none", call.name);
        };
        let value = self.bind(value)?.into_value();
        let mut args = vec![value.expr];
        if call.args.len() > 1 {
            let position = self.whole_number(call.args.get(1), 1)?;
            args.push(Expr::Literal(ScalarValue::Int64(Some(position)), None));
        }
        Ok((WindowFunctionDefinition::WindowUDF(function), args, None, value.ty))
    }

    /// The frame. `range_key` is the type of the single ORDER BY key, for offsets of RANGE.
    fn window_frame(&self, spec: &ast::WindowSpec, range_key: Option<&SqlType>) -> Result<WindowFrame> {
        let Some(frame) = &spec.frame else {
            return Ok(WindowFrame::new((!spec.order_by.is_empty()).then_some(false)));
        };
        let units = match frame.unit {
            WindowFrameUnit::Rows => WindowFrameUnits::Rows,
            WindowFrameUnit::Range => WindowFrameUnits::Range,
            WindowFrameUnit::Groups => WindowFrameUnits::Groups,
        };
        let bound = |bound: &ast::WindowBound| -> Result<WindowFrameBound> {
            let count = |value: &ast::Expr| -> Result<ScalarValue> {
                let count = self.whole_number(Some(value), 0)?;
                match units {
                    WindowFrameUnits::Range => range_offset(count, range_key),
                    _ => Ok(ScalarValue::UInt64(Some(count.unsigned_abs()))),
                }
            };
            Ok(match bound {
                ast::WindowBound::UnboundedPreceding => {
                    WindowFrameBound::Preceding(ScalarValue::UInt64(None))
                }
                ast::WindowBound::Preceding(value) => WindowFrameBound::Preceding(count(value)?),
                ast::WindowBound::CurrentRow => WindowFrameBound::CurrentRow,
                ast::WindowBound::Following(value) => WindowFrameBound::Following(count(value)?),
                ast::WindowBound::UnboundedFollowing => {
                    WindowFrameBound::Following(ScalarValue::UInt64(None))
                }
            })
        };
        if side_of(&frame.start) > side_of(&frame.end) {
            bail!(BadArguments, "a window frame ends before it begins: {} AND {}", frame.start, frame.end);
        }
        Ok(WindowFrame::new_bounds(units, bound(&frame.start)?, bound(&frame.end)?))
    }

    /// A constant whole number that is not negative; `otherwise` without an expression.
    fn whole_number(&self, expr: Option<&ast::Expr>, otherwise: i64) -> Result<i64> {
        let Some(expr) = expr else {
            return Ok(otherwise);
        };
        let value = self.bind_constant(expr)?;
        let number = super::evaluate(&value.expr)?.cast_to(&arrow::datatypes::DataType::Int64);
        match number {
            Ok(ScalarValue::Int64(Some(number))) if number >= 0 && value.ty.is_integer() => Ok(number),
            _ => Err(Error::new(
                ErrorCode::BadArguments,
                format!(
                    "a window takes a whole number that is not negative, not a value of type `{}`",
                    value.ty
                ),
            )),
        }
    }
}

/// Where a bound is: before the current row, at it, or after it.
fn side_of(bound: &ast::WindowBound) -> i8 {
    match bound {
        ast::WindowBound::UnboundedPreceding | ast::WindowBound::Preceding(_) => -1,
        ast::WindowBound::CurrentRow => 0,
        ast::WindowBound::Following(_) | ast::WindowBound::UnboundedFollowing => 1,
    }
}

/// Whether the function skips NULL; `nth_value` does not.
fn skips_nulls(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "first_value" | "last_value")
}

/// The direction in which a function that stays in its frame looks.
fn toward_in_frame(name: &str) -> Option<Toward> {
    match name.to_ascii_lowercase().as_str() {
        "laginframe" => Some(Toward::Start),
        "leadinframe" => Some(Toward::End),
        _ => None,
    }
}

fn is_picking(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "first_value" | "last_value" | "nth_value")
}

/// An offset of a RANGE frame in the type of the key that it is added to.
fn range_offset(count: i64, key: Option<&SqlType>) -> Result<ScalarValue> {
    let Some(ty) = key else {
        return Err(Error::new(
            ErrorCode::BadArguments,
            "a RANGE frame with an offset needs exactly one key in ORDER BY, which is not a float in descending order",
        ));
    };
    let plain = ty.stripped();
    if !(plain.is_integer() || plain.is_float() || matches!(plain, SqlType::Date | SqlType::DateTime(_))) {
        return Err(Error::not_implemented(format!(
            "a RANGE frame with an offset over a key of type `{ty}`"
        )));
    }
    let offset = ScalarValue::Int64(Some(count)).cast_to(&plain.carrier());
    offset.ok().filter(|offset| !offset.is_null()).ok_or_else(|| {
        Error::new(
            ErrorCode::BadArguments,
            format!("the offset {count} of a RANGE frame is beyond the type `{ty}`"),
        )
    })
}
