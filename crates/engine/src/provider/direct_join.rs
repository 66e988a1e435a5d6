//! Joins on the key of a dictionary or of a key/value table: a rule that replaces them by key lookups.
//!
//! `left JOIN right ON left.x = right.key` needs no scan of the right side, and no hash table. The columns of the key
//! must all be compared, with nothing else in ON but conditions on the right side. They are compared directly, or as
//! integers of different types. For the latter, ON casts both sides to a type that holds both; the direct join casts
//! the left side to the key's type instead. A value that does not fit matches no key.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use basalt_base::{Error, ErrorCode, Result};
use basalt_exec::direct_join::{DirectJoin, FoundRows, KeyedRows};
use basalt_exec::error::into_datafusion;
use basalt_exec::limit_by::LimitBy;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, NullEquality, TableReference};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, Extension, Join, JoinType, LogicalPlan, Projection, TryCast,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::table_scan::TableScanProvider;
use crate::tables::{Found, Table};

/// Decimal digits that hold every 64-bit integer.
const INTEGER_DIGITS: u8 = 20;

/// The rule.
#[derive(Debug)]
pub(crate) struct DirectJoins {
    /// Refuse any other join with such a right side: `join_algorithm = 'direct'`.
    pub(crate) only: bool,
    /// Threads of one look-up.
    pub(crate) threads: usize,
}

impl OptimizerRule for DirectJoins {
    fn name(&self) -> &str {
        "direct_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> datafusion::common::Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = &plan else { return Ok(Transformed::no(plan)) };
        if let Some(direct) = direct_join(join, self.threads)? {
            return Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(direct) })));
        }
        if self.only && RightSide::of(&join.right).is_some() {
            let message = format!(
                "none of the algorithms that join_algorithm enables (direct) can execute this {} JOIN; the right \
                 side of a direct join is a dictionary or a key/value table, joined on its whole key",
                join.join_type
            );
            return Err(into_datafusion(Error::new(ErrorCode::NotImplemented, message)));
        }
        Ok(Transformed::no(plan))
    }
}

/// The join as a direct one, if it can be.
fn direct_join(join: &Join, threads: usize) -> datafusion::common::Result<Option<DirectJoin>> {
    let Some((table, direct)) = understood(join, threads) else { return Ok(None) };
    // This thread may block, those of the operator may not.
    if let Some(keyed) = table.as_keyed() {
        keyed.prepare_lookup().map_err(into_datafusion)?;
    }
    Ok(Some(direct))
}

/// The right side's table, and the direct join.
fn understood(join: &Join, threads: usize) -> Option<(Arc<dyn Table>, DirectJoin)> {
    let is_kind = matches!(join.join_type, JoinType::Inner | JoinType::Left | JoinType::LeftAnti);
    if !is_kind || join.filter.is_some() || join.null_equality != NullEquality::NullEqualsNothing {
        return None;
    }
    let right = RightSide::of(&join.right)?;
    let keys = right.keys(&join.on, join.left.schema())?;
    // The columns of the result, then those that only the filter reads.
    let mut columns: Vec<Column> = match join.join_type {
        JoinType::LeftAnti => Vec::new(),
        _ => join.right.schema().columns(),
    };
    let filter = right.filters.iter().cloned().reduce(Expr::and);
    let wanted = filter.iter().flat_map(Expr::column_refs);
    let missing: Vec<Column> = wanted.filter(|column| !columns.contains(column)).cloned().collect();
    columns.extend(missing);
    let stored = right.table.definition().stored();
    let positions =
        columns.iter().map(|column| stored.position(&column.name)).collect::<Option<Vec<usize>>>()?;
    let fields: Vec<(Option<TableReference>, Arc<Field>)> = columns
        .iter()
        .zip(&positions)
        .map(|(column, &at)| (column.relation.clone(), Arc::clone(&stored.to_arrow().fields()[at])))
        .collect();
    let row_schema = DFSchema::new_with_metadata(fields, std::collections::HashMap::new()).ok()?;
    let table = Arc::clone(&right.table);
    let direct = DirectJoin {
        input: Arc::clone(&join.left),
        keys,
        rows: Arc::new(TableRows { name: right.name, table: right.table, columns: positions, threads }),
        filter,
        row_schema: Arc::new(row_schema),
        join_type: join.join_type,
        schema: Arc::clone(&join.schema),
    };
    Some((table, direct))
}

/// A table to look up keys in, and conditions on its rows.
struct RightSide {
    name: String,
    /// Finds its rows.
    table: Arc<dyn Table>,
    filters: Vec<Expr>,
}

impl RightSide {
    /// Positions of the columns that rows are found by.
    fn lookup_key(&self) -> &[usize] {
        match self.table.as_keyed() {
            Some(keyed) => keyed.lookup_key(),
            None => &[],
        }
    }

    fn of(plan: &LogicalPlan) -> Option<RightSide> {
        match plan {
            LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
                let provider = source_as_provider(&scan.source).ok()?;
                let provider = provider.downcast_ref::<TableScanProvider>()?;
                let name = provider.table().definition().full_name();
                let table = provider.finder()?;
                let stored = table.definition().stored();
                let key = table.as_keyed()?.lookup_key();
                let may_be_null = key.iter().any(|&at| stored[at].ty.accepts_null());
                (!may_be_null).then(|| RightSide { name, table, filters: scan.filters.clone() })
            }
            LogicalPlan::Filter(filter) => {
                let mut right = RightSide::of(&filter.input)?;
                // Filters that were pushed down to the scan are also in the Filter node above it.
                right.filters = vec![filter.predicate.clone()];
                Some(right)
            }
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let is_plain = expr.iter().all(|expr| matches!(expr, Expr::Column(_)));
                if is_plain { RightSide::of(input) } else { None }
            }
            LogicalPlan::Extension(Extension { node }) => {
                let limit = node.as_any().downcast_ref::<LimitBy>()?;
                let right = RightSide::of(&limit.input)?;
                let keys =
                    limit.keys.iter().map(|key| right.key_column(key)).collect::<Option<Vec<usize>>>()?;
                // The table has one row per key.
                let is_key = right.lookup_key().iter().all(|at| keys.contains(at));
                (is_key && limit.offset == 0 && limit.limit > 0).then_some(right)
            }
            _ => None,
        }
    }

    /// The key column that an expression is, or casts to a type that has all of its values.
    fn key_column(&self, expr: &Expr) -> Option<usize> {
        let Expr::Column(column) = widened(expr).unwrap_or(expr) else { return None };
        let stored = self.table.definition().stored();
        let at = stored.position(&column.name)?;
        let is_key = self.lookup_key().contains(&at);
        (is_key && keeps_all(expr, &stored[at].ty.carrier())).then_some(at)
    }

    /// The expressions of the left side, whose columns are `columns`, for each key column; `None` if ON has other conditions.
    fn keys(&self, on: &[(Expr, Expr)], columns: &DFSchema) -> Option<Vec<Expr>> {
        let key = self.lookup_key();
        let stored = self.table.definition().stored();
        let mut given: Vec<Option<Expr>> = vec![None; key.len()];
        for (left, right) in on {
            let column = self.key_column(right)?;
            let place = key.iter().position(|&at| at == column)?;
            let left = match right {
                Expr::Column(_) => left.clone(),
                _ => narrowed(left, &stored[column].ty.carrier(), columns),
            };
            if given[place].replace(left).is_some() {
                return None;
            }
        }
        given.into_iter().collect()
    }
}

/// The operand of a cast.
fn widened(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Cast(Cast { expr, .. }) => Some(expr),
        _ => None,
    }
}

/// Whether `expr` is no cast, or one of integers of type `from` to a type that has all of these.
fn keeps_all(expr: &Expr, from: &DataType) -> bool {
    let Expr::Cast(Cast { field, .. }) = expr else { return true };
    let bytes = |ty: &DataType| ty.primitive_width().unwrap_or_default();
    match field.data_type() {
        // A comparison of integers that have no common type.
        DataType::Decimal128(INTEGER_DIGITS.., 0) => from.is_integer(),
        to if !to.is_integer() || !from.is_integer() => false,
        to if to.is_signed_integer() == from.is_signed_integer() => bytes(from) <= bytes(to),
        to => to.is_signed_integer() && bytes(from) < bytes(to),
    }
}

/// The integers of `expr` as those of type `to`; NULL, which no key is, where they do not fit.
fn narrowed(expr: &Expr, to: &DataType, columns: &DFSchema) -> Expr {
    let inside = widened(expr).filter(|inside| inside.get_type(columns).is_ok_and(|ty| keeps_all(expr, &ty)));
    Expr::TryCast(TryCast::new(Box::new(inside.unwrap_or(expr).clone()), to.clone()))
}

/// Some columns of a table's rows.
struct TableRows {
    name: String,
    table: Arc<dyn Table>,
    columns: Vec<usize>,
    threads: usize,
}

impl KeyedRows for TableRows {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn lookup(&self, keys: &[ArrayRef]) -> Result<FoundRows> {
        let keyed = self.table.as_keyed().ok_or_else(|| self.table.refuses("a lookup by key"))?;
        let Found { rows, row_of_key } = keyed.lookup(keys, &self.columns, self.threads)?;
        Ok(FoundRows { rows, row_of_key })
    }

    fn prefers_large_blocks(&self) -> bool {
        self.table.as_keyed().is_some_and(|keyed| keyed.prefers_large_blocks())
    }
}
