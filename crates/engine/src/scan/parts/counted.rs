//! Rows of granules that pass a condition, counted by their zone maps.
//!
//! A condition that the bounds of a zone decide costs nothing. Other conditions may be about zeros or NULLs, such as `x
//! != 0` or `isNull(x)`: zones count these.

use std::sync::Arc;

use basalt_base::Result;
use basalt_exec::error::from_datafusion;
use basalt_parts::Zones;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNotNullExpr, IsNullExpr, Literal};

/// The values for which a condition on one column holds, where zones count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Zeros,
    /// Neither zeros nor NULLs.
    NonZeros,
    Nulls,
    NonNulls,
}

impl Counted {
    /// The values that the condition `expr` holds for; `None` if zones do not count them.
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Counted>> {
        let is_column = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Column>();
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Ok(is_column(is_null.arg()).then_some(Counted::Nulls));
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return Ok(is_column(is_not_null.arg()).then_some(Counted::NonNulls));
        }
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Ok(None) };
        let Some(literal) = binary.right().downcast_ref::<Literal>() else { return Ok(None) };
        if !is_column(binary.left()) || !is_zero(literal.value())? {
            return Ok(None);
        }
        Ok(match binary.op() {
            Operator::Eq => Some(Counted::Zeros),
            Operator::NotEq => Some(Counted::NonZeros),
            _ => None,
        })
    }

    /// The number of such values in the granule at `mark`, which has `rows` rows.
    pub(super) fn count(self, zones: &Zones, mark: usize, rows: u64) -> Option<u64> {
        let nulls = u64::from(zones.null_counts().value(mark));
        let zeros = zones.zero_counts().map(|counts| u64::from(counts.value(mark)));
        match self {
            Counted::Zeros => zeros,
            Counted::NonZeros => rows.checked_sub(nulls)?.checked_sub(zeros?),
            Counted::Nulls => Some(nulls),
            Counted::NonNulls => rows.checked_sub(nulls),
        }
    }
}

fn is_zero(value: &ScalarValue) -> Result<bool> {
    let bytes = match value {
        ScalarValue::Binary(bytes) | ScalarValue::BinaryView(bytes) => bytes.as_ref(),
        value if value.is_null() || !value.data_type().is_integer() => return Ok(false),
        value => {
            let zero = ScalarValue::new_zero(&value.data_type()).map_err(from_datafusion)?;
            return Ok(*value == zero);
        }
    };
    Ok(bytes.is_some_and(Vec::is_empty))
}
