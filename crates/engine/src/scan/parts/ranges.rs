//! A condition as ranges of one column, which zone maps of granules are compared with.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_exec::error::from_datafusion;
use basalt_parts::KeyRanges;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};

/// The most alternatives of one condition that are examined; with more, it has no ranges.
const DEPTH_MAX: usize = 16;

/// How exactly ranges of a column describe a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exactness {
    /// If the condition holds, the value is in the ranges.
    Implied,
    /// The condition holds if and only if the value is in the ranges.
    Exact,
}

/// A stored column, and the ranges of its values that `expr` allows.
pub(super) fn ranges_of(
    expr: &Arc<dyn PhysicalExpr>,
    exactness: Exactness,
) -> Result<Option<(usize, KeyRanges)>> {
    visit(expr, exactness, DEPTH_MAX)
}

fn visit(
    expr: &Arc<dyn PhysicalExpr>,
    exactness: Exactness,
    depth: usize,
) -> Result<Option<(usize, KeyRanges)>> {
    let Some(binary) = expr.downcast_ref::<BinaryExpr>().filter(|_| depth > 0) else { return Ok(None) };
    match binary.op() {
        Operator::Or => {
            let left = visit(binary.left(), exactness, depth - 1)?;
            let right = visit(binary.right(), exactness, depth - 1)?;
            Ok(match (left, right) {
                (Some((column, left)), Some((other, right))) if column == other => {
                    Some((column, left.union(&right)))
                }
                _ => None,
            })
        }
        Operator::And if exactness == Exactness::Implied => match visit(binary.left(), exactness, depth - 1)?
        {
            Some(found) => Ok(Some(found)),
            None => visit(binary.right(), exactness, depth - 1),
        },
        op => comparison(binary, *op),
    }
}

fn comparison(binary: &BinaryExpr, op: Operator) -> Result<Option<(usize, KeyRanges)>> {
    let Some(column) = binary.left().downcast_ref::<Column>() else { return Ok(None) };
    let Some(literal) = binary.right().downcast_ref::<Literal>() else { return Ok(None) };
    if literal.value().is_null() {
        return Ok(None);
    }
    let value: ArrayRef = literal.value().to_array().map_err(from_datafusion)?;
    let ranges = match op {
        Operator::Eq => KeyRanges::points(&value)?,
        Operator::Lt => KeyRanges::between(Bound::Unbounded, Bound::Excluded(&value))?,
        Operator::LtEq => KeyRanges::between(Bound::Unbounded, Bound::Included(&value))?,
        Operator::Gt => KeyRanges::between(Bound::Excluded(&value), Bound::Unbounded)?,
        Operator::GtEq => KeyRanges::between(Bound::Included(&value), Bound::Unbounded)?,
        _ => return Ok(None),
    };
    Ok(Some((column.index(), ranges)))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::{binary, col, lit};

    use super::*;

    fn compare(column: &str, op: Operator, value: i32) -> Arc<dyn PhysicalExpr> {
        let number = |name: &str| Field::new(name, DataType::Int32, false);
        let schema = Schema::new(vec![number("a"), number("b")]);
        binary(col(column, &schema).unwrap(), op, lit(value), &schema).unwrap()
    }

    fn join(
        left: &Arc<dyn PhysicalExpr>,
        op: Operator,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::clone(left), op, Arc::clone(right)))
    }

    fn column(expr: &Arc<dyn PhysicalExpr>, exactness: Exactness) -> Option<usize> {
        ranges_of(expr, exactness).unwrap().map(|(column, _)| column)
    }

    #[test]
    fn the_filter_of_a_sort_by_two_keys_bounds_the_first() {
        let less = compare("a", Operator::Lt, 5);
        let tie = join(&compare("a", Operator::Eq, 5), Operator::And, &compare("b", Operator::Lt, 3));
        let filter = join(&less, Operator::Or, &tie);
        assert_eq!(column(&filter, Exactness::Implied), Some(0));
        assert_eq!(column(&filter, Exactness::Exact), None);
    }

    #[test]
    fn alternatives_of_two_columns_say_nothing() {
        let filter = join(&compare("a", Operator::Lt, 5), Operator::Or, &compare("b", Operator::Lt, 5));
        assert_eq!(column(&filter, Exactness::Implied), None);
        let filter = join(&compare("a", Operator::Lt, 5), Operator::Or, &compare("a", Operator::Gt, 7));
        assert_eq!(column(&filter, Exactness::Exact), Some(0));
    }
}
