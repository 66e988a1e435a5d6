//! Expressions of one column that never fall, or never rise, when the column grows; and from which value of
//! the column on they are above a limit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow::compute::cast;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, SqlType};
use basalt_parts::Monotonic;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

/// Functions of one date or time whose value never falls when the argument grows.
const OF_TIME: &[&str] = &[
    "toDate",
    "toMonday",
    "toRelativeDayNum",
    "toRelativeHourNum",
    "toRelativeMinuteNum",
    "toRelativeMonthNum",
    "toRelativeWeekNum",
    "toRelativeYearNum",
    "toStartOfDay",
    "toStartOfFifteenMinutes",
    "toStartOfFiveMinutes",
    "toStartOfHour",
    "toStartOfMinute",
    "toStartOfMonth",
    "toStartOfQuarter",
    "toStartOfTenMinutes",
    "toStartOfYear",
    "toYYYYMM",
    "toYYYYMMDD",
    "toYear",
];
/// The deepest nesting of calls.
const DEPTH_MAX: usize = 8;

/// The position of the one column of `expr`, and how the value of `expr` moves when the column grows.
pub(crate) fn monotonic(expr: &Expr, columns: &Columns) -> Option<(usize, Monotonic)> {
    visit(expr, columns, DEPTH_MAX)
}

fn visit(expr: &Expr, columns: &Columns, depth: usize) -> Option<(usize, Monotonic)> {
    let column = |expr: &Expr| match expr {
        Expr::Column(column) => columns.position(&column.name),
        _ => None,
    };
    if let Some(position) = column(expr) {
        return Some((position, Monotonic::Increasing));
    }
    let Expr::ScalarFunction(call) = expr else { return None };
    match (call.func.name(), call.args.as_slice()) {
        ("negate", [operand]) => {
            let at = column(operand).filter(|&at| is_safe_to_negate(&columns[at].ty))?;
            Some((at, Monotonic::Decreasing))
        }
        ("intDiv", [operand, Expr::Literal(divisor, _)]) if is_positive(divisor) => {
            let at = column(operand).filter(|&at| columns[at].ty.is_integer())?;
            Some((at, Monotonic::Increasing))
        }
        // For a Date it overflows.
        ("toUnixTimestamp", [operand]) => {
            let at = column(operand).filter(|&at| matches!(columns[at].ty, SqlType::DateTime(_)))?;
            Some((at, Monotonic::Increasing))
        }
        (name, [operand] | [operand, Expr::Literal(..)]) if depth > 0 && OF_TIME.contains(&name) => {
            let (at, direction) = visit(operand, columns, depth - 1)?;
            let is_time = matches!(columns[at].ty, SqlType::Date | SqlType::DateTime(_));
            is_time.then_some((at, direction))
        }
        _ => None,
    }
}

/// Whether no value overflows.
fn is_safe_to_negate(ty: &SqlType) -> bool {
    use SqlType::{Float32, Float64, Int8, Int16, Int32, UInt8, UInt16, UInt32};
    matches!(ty, UInt8 | UInt16 | UInt32 | Int8 | Int16 | Int32 | Float32 | Float64)
}

fn is_positive(divisor: &ScalarValue) -> bool {
    let number = divisor.cast_to(&DataType::Decimal128(38, 0));
    matches!(number, Ok(ScalarValue::Decimal128(Some(1..), ..))) && divisor.data_type().is_integer()
}

/// An increasing expression of one whole-numbered column.
pub(super) struct Increasing {
    expr: Arc<dyn PhysicalExpr>,
    schema: Arc<Schema>,
    carrier: DataType,
    /// The smallest and the largest value of the column.
    domain: (i128, i128),
}

impl Increasing {
    /// `None` if `expr` is not known to grow with one whole-numbered column; else also its position.
    pub(super) fn of(expr: &Expr, columns: &Columns) -> Option<(usize, Increasing)> {
        let (at, direction) = monotonic(expr, columns)?;
        let column = &columns[at];
        let carrier = column.ty.carrier();
        let domain = domain(&carrier)?;
        (direction == Monotonic::Increasing && !matches!(expr, Expr::Column(_))).then_some(())?;
        let field = Field::new(&column.name, carrier.clone(), column.ty.accepts_null());
        let schema = Arc::new(Schema::new(vec![field]));
        let df_schema = DFSchema::try_from(schema.as_ref().clone()).ok()?;
        let context = PhysicalPlanningContext::default();
        let expr = create_physical_expr(expr, &df_schema, &ExecutionProps::new(), &context).ok()?;
        Some((at, Increasing { expr, schema, carrier, domain }))
    }

    /// The smallest value of the column for which the expression is `value` or more (`strictly`: more), or
    /// one more than the largest value there is.
    fn first_above(&self, value: &ArrayRef, strictly: bool) -> Option<i128> {
        let (mut low, mut high) = (self.domain.0, self.domain.1 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_above(middle, value, strictly)? { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }

    fn is_above(&self, argument: i128, value: &ArrayRef, strictly: bool) -> Option<bool> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![self.array(argument)?]).ok()?;
        let found = self.expr.evaluate(&batch).ok()?.into_array(1).ok()?;
        (found.data_type() == value.data_type()).then_some(())?;
        let above = if strictly { cmp::gt(&found, value) } else { cmp::gt_eq(&found, value) }.ok()?;
        above.is_valid(0).then(|| above.value(0))
    }

    /// The values of the column for which the expression is `value` or more (`strictly`: more). `None` if
    /// that cannot be computed.
    pub(super) fn from(&self, value: &ArrayRef, strictly: bool) -> Option<Reach> {
        let first = self.first_above(value, strictly)?;
        Some(match first {
            first if first == self.domain.0 => Reach::All,
            first if first > self.domain.1 => Reach::None,
            first => Reach::From(self.array(first)?),
        })
    }

    fn array(&self, number: i128) -> Option<ArrayRef> {
        let wide: ArrayRef = match i64::try_from(number) {
            Ok(number) => Arc::new(Int64Array::from(vec![number])),
            Err(_) => Arc::new(UInt64Array::from(vec![u64::try_from(number).ok()?])),
        };
        cast(&wide, &self.carrier).ok()
    }
}

/// The values of a column from some value on.
pub(super) enum Reach {
    All,
    None,
    /// This value and all above.
    From(ArrayRef),
}

fn domain(carrier: &DataType) -> Option<(i128, i128)> {
    Some(match carrier {
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt16Array;
    use arrow::compute::concat;
    use basalt_base::Column;
    use basalt_base::zone::Zone;
    use basalt_planner::plan_expr;
    use basalt_sql::ast::{self, FunctionCall};

    use super::*;
    use crate::tables::plan_alone;

    /// `None` if the function takes no such argument.
    fn call(name: &str, columns: &Columns) -> Option<Expr> {
        let argument = ast::Expr::Identifier(vec!["x".to_owned()]);
        let call = ast::Expr::Function(FunctionCall {
            name: name.to_owned(),
            parameters: Vec::new(),
            distinct: false,
            args: vec![argument],
            filter: None,
            over: None,
        });
        plan_alone(Zone::system(), |ctx| plan_expr(&call, columns, ctx)).ok().map(|(planned, _)| planned)
    }

    /// The values of the functions for growing `arguments`.
    fn check(ty: SqlType, arguments: &[i128]) {
        let columns: Columns = [Column::new("x", ty)].into_iter().collect();
        for name in OF_TIME {
            let Some(call) = call(name, &columns) else { continue };
            let (_, increasing) = Increasing::of(&call, &columns).unwrap();
            let arrays: Vec<ArrayRef> = arguments.iter().map(|&at| increasing.array(at).unwrap()).collect();
            let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
            let batch = RecordBatch::try_new(Arc::clone(&increasing.schema), vec![concat(&arrays).unwrap()]);
            let found =
                increasing.expr.evaluate(&batch.unwrap()).unwrap().into_array(arguments.len()).unwrap();
            let falls = cmp::gt(&found.slice(0, found.len() - 1), &found.slice(1, found.len() - 1)).unwrap();
            let place = (0..falls.len()).find(|&at| falls.value(at));
            assert_eq!(place.map(|at| arguments[at]), None, "{name} falls behind this");
        }
    }

    #[test]
    fn functions_of_time_never_fall() {
        check(SqlType::Date, &(0..=65_535).collect::<Vec<_>>());
        let step = 7_177;
        check(SqlType::DateTime(None), &(0..4_294_967_295 / step).map(|at| at * step).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_argument_above_a_value_is_found() {
        let columns: Columns = [Column::new("x", SqlType::Date)].into_iter().collect();
        let (_, year) = Increasing::of(&call("toYear", &columns).unwrap(), &columns).unwrap();
        let value: ArrayRef = Arc::new(UInt16Array::from(vec![1971]));
        assert_eq!(year.first_above(&value, false), Some(365));
        assert_eq!(year.first_above(&value, true), Some(730));
        let value: ArrayRef = Arc::new(UInt16Array::from(vec![9999]));
        assert!(matches!(year.from(&value, false), Some(Reach::None)));
    }
}
