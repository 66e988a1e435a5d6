//! A bound expression: DataFusion's expression and its SQL type.

use arrow::datatypes::DataType;
use basalt_base::{Error, Result, SqlType};
use basalt_functions::scalar::low_cardinality_of;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Case;

/// An expression with its SQL type.
#[derive(Clone, Debug)]
pub(crate) struct BoundExpr {
    pub(crate) expr: Expr,
    pub(crate) ty: SqlType,
    /// The type is `UInt8` but the expression is Boolean: comparisons and logic stay native until their value is
    /// used.
    pub(crate) is_truth: bool,
}

impl BoundExpr {
    pub(crate) fn new(expr: Expr, ty: SqlType) -> BoundExpr {
        BoundExpr { expr, ty, is_truth: false }
    }

    pub(crate) fn literal(value: ScalarValue, ty: SqlType) -> BoundExpr {
        BoundExpr::new(Expr::Literal(value, None), ty)
    }

    pub(crate) fn null() -> BoundExpr {
        BoundExpr::literal(ScalarValue::Null, SqlType::Nothing.into_nullable())
    }

    pub(crate) fn uint8(value: u8) -> BoundExpr {
        BoundExpr::literal(ScalarValue::UInt8(Some(value)), SqlType::UInt8)
    }

    /// The outcome of a native comparison.
    pub(crate) fn truth(expr: Expr, nullable: bool) -> BoundExpr {
        let ty = if nullable { SqlType::UInt8.into_nullable() } else { SqlType::UInt8 };
        BoundExpr { expr, ty, is_truth: true }
    }

    /// The value, if it is a constant.
    pub(crate) fn constant(&self) -> Option<&ScalarValue> {
        match &self.expr {
            Expr::Literal(value, _) => Some(value),
            _ => None,
        }
    }

    /// The type, and whether it is a constant, as [`BoundExpr::low_cardinality_as`] takes them.
    pub(crate) fn kind(&self) -> (SqlType, bool) {
        (self.ty.clone(), self.constant().is_some())
    }

    /// The value with the type that a call has whose arguments are of these kinds: one of them may be
    /// `LowCardinality`.
    pub(crate) fn low_cardinality_as(self, args: &[(SqlType, bool)]) -> BoundExpr {
        let args = args.iter().map(|(ty, is_constant)| (ty, *is_constant));
        BoundExpr { ty: low_cardinality_of(self.ty, args), ..self }
    }

    pub(crate) fn is_null_literal(&self) -> bool {
        self.ty.stripped() == &SqlType::Nothing
    }

    pub(crate) fn accepts_null(&self) -> bool {
        self.ty.accepts_null()
    }

    /// The expression with the carrier of its type: a truth becomes a number.
    pub(crate) fn into_value(self) -> BoundExpr {
        if !self.is_truth {
            return self;
        }
        let expr = match self.expr {
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                Expr::Literal(ScalarValue::UInt8(value.map(u8::from)), None)
            }
            truth => native_cast(truth, DataType::UInt8),
        };
        BoundExpr::new(expr, self.ty)
    }

    /// The condition of a clause that filters rows.
    pub(crate) fn into_filter(self) -> Result<Expr> {
        if self.ty == SqlType::Nothing {
            return Err(Error::new(
                basalt_base::ErrorCode::IllegalTypeOfColumnForFilter,
                "a condition is a number, and an element of an empty array is nothing",
            ));
        }
        self.into_condition()
    }

    /// The expression as a Boolean: a number is compared with zero.
    pub(crate) fn into_condition(self) -> Result<Expr> {
        if self.is_truth || self.ty.stripped() == &SqlType::Bool {
            return Ok(self.expr);
        }
        if self.is_null_literal() {
            return Ok(Expr::Literal(ScalarValue::Boolean(None), None));
        }
        let carrier = self.ty.carrier();
        if !self.ty.stripped().is_number() {
            return Err(Error::new(
                basalt_base::ErrorCode::IllegalTypeOfArgument,
                format!("a condition is a number, not a value of type `{}`", self.ty),
            ));
        }
        let zero = ScalarValue::new_zero(&carrier).map_err(Error::logical)?;
        if let Expr::Literal(value, _) = &self.expr {
            // Literals compare by their bits, and a zero may be negative.
            let is_zero = value == &zero || zero.arithmetic_negate().is_ok_and(|signed| value == &signed);
            return Ok(Expr::Literal(ScalarValue::Boolean((!value.is_null()).then_some(!is_zero)), None));
        }
        Ok(self.expr.not_eq(Expr::Literal(zero, None)))
    }
}

/// DataFusion's own cast: only between carriers where it follows SQL.
pub(crate) fn native_cast(expr: Expr, carrier: DataType) -> Expr {
    datafusion::logical_expr::cast(expr, carrier)
}

/// `CASE WHEN condition THEN value ... ELSE otherwise END`; the branches have one carrier.
pub(crate) fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let branches = branches.into_iter().map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Expr::Case(Case::new(None, branches, Some(Box::new(otherwise))))
}

/// All of `conditions`; a balanced tree, so that a long chain does not nest deeply.
pub(crate) fn all_of(conditions: Vec<Expr>) -> Option<Expr> {
    combine(conditions, Expr::and)
}

pub(crate) fn any_of(conditions: Vec<Expr>) -> Option<Expr> {
    combine(conditions, Expr::or)
}

fn combine(mut level: Vec<Expr>, join: fn(Expr, Expr) -> Expr) -> Option<Expr> {
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(2));
        let mut rest = level.into_iter();
        while let Some(left) = rest.next() {
            above.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        level = above;
    }
    level.pop()
}

/// `ty`'s default value.
pub(crate) fn default_value(ty: &SqlType) -> Result<Expr> {
    let value = ScalarValue::try_from_array(&ty.default_array(1), 0).map_err(Error::logical)?;
    Ok(Expr::Literal(value, None))
}

/// `expr`, or the default of `ty` where an outer join or a grouping set made it NULL.
pub(crate) fn or_default(expr: Expr, ty: &SqlType) -> Result<Expr> {
    if ty.accepts_null() {
        return Ok(expr);
    }
    Ok(case(vec![(expr.clone().is_not_null(), expr)], default_value(ty)?))
}

/// Replaces every part of `expr` that equals the first expression of a pair by the second.
pub(crate) fn replace(expr: Expr, replacements: &[(Expr, Expr)]) -> Result<Expr> {
    if replacements.is_empty() {
        return Ok(expr);
    }
    let replaced = expr.transform_down(|part| {
        Ok(match replacements.iter().find(|(from, _)| *from == part) {
            Some((_, to)) => Transformed::new(to.clone(), true, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    });
    replaced.map(|replaced| replaced.data).map_err(Error::logical)
}

/// Every part of `expr` that `wanted` selects, outermost first, each once. Does not look inside a selected part.
pub(crate) fn collect(expr: &Expr, wanted: fn(&Expr) -> bool, found: &mut Vec<Expr>) {
    // The closure never fails.
    let _ = expr.apply(|part| {
        if !wanted(part) {
            return Ok(TreeNodeRecursion::Continue);
        }
        if !found.contains(part) {
            found.push(part.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    });
}

pub(crate) fn contains(expr: &Expr, wanted: fn(&Expr) -> bool) -> bool {
    expr.exists(|part| Ok(wanted(part))).unwrap_or(false)
}

/// How many nodes the tree has.
pub(crate) fn count_nodes(expr: &Expr) -> usize {
    let mut count = 0;
    // The closure never fails.
    let _ = expr.apply(|_| {
        count += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    count
}

pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(_))
}

pub(crate) fn is_window(expr: &Expr) -> bool {
    matches!(expr, Expr::WindowFunction(_))
}

pub(crate) fn is_unnest(expr: &Expr) -> bool {
    matches!(expr, Expr::Unnest(_))
}

pub(crate) fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// Whether it is a value from the outer query of a correlated subquery.
pub(crate) fn is_argument(expr: &Expr) -> bool {
    matches!(expr, Expr::OuterReferenceColumn(..))
}
