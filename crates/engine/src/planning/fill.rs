//! From the columns that an INSERT gives to all the columns that a table stores.
//!
//! A column that was not given gets its DEFAULT or MATERIALIZED expression, or its type's default.
//! Expressions may use each other's columns in any order; a cycle is an error. The arrays of one
//! `Nested`, whose names begin alike, have one length: one that was not given gets it from another.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType, bail};
use basalt_exec::error::from_datafusion;
use basalt_formats::{Block, Defaulted};
use basalt_planner::{PlannerContext, cast, plan_expr};
use basalt_sql::ast;
use datafusion::common::DFSchema;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::execution_props::ExecutionProps;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::tables::{ColumnDefinition, TableDefinition};

/// DEFAULT expressions over columns that have one themselves are followed this far.
const SUBSTITUTIONS_MAX: usize = 8;

/// Computes the stored columns from the given ones.
pub(crate) struct RowFiller {
    /// Expressions for given columns, for rows in which the input left them out.
    overrides: Vec<(usize, Step)>,
    /// Columns that are known after each step; the first ones are the given columns.
    steps: Vec<Step>,
    stored: Columns,
    /// For each stored column its position among given columns and steps.
    picks: Vec<usize>,
    /// Stored arrays of one `Nested`, in pairs.
    nested: Vec<(usize, usize)>,
}

enum Step {
    /// The type's default.
    TypeDefault(SqlType),
    /// Arrays of default elements, as long as those of another column.
    AsLongAs(SqlType, usize),
    /// An expression over the given columns and all steps before.
    Expr(Arc<dyn PhysicalExpr>, Arc<DFSchema>),
}

impl RowFiller {
    /// Prepares to fill a table's rows from `given` columns, each one of the table's by name and type.
    pub(crate) fn new(
        table: &TableDefinition,
        given: &Columns,
        ctx: &PlannerContext<'_>,
    ) -> Result<RowFiller> {
        let mut known: Vec<Column> = given.to_vec();
        let mut steps = Vec::new();
        let missing: Vec<&ColumnDefinition> =
            table.columns.iter().filter(|column| given.position(&column.name).is_none()).collect();
        let (plain, mut computed): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|column| expr_of(column).is_none());
        for column in plain {
            let sibling = given.iter().position(|other| are_nested(other, &column.name, &column.ty));
            known.push(Column::new(&column.name, column.ty.clone()));
            steps.push(match (sibling, &column.ty) {
                (Some(sibling), SqlType::Array(element)) => Step::AsLongAs(element.as_ref().clone(), sibling),
                _ => Step::TypeDefault(column.ty.clone()),
            });
        }
        while !computed.is_empty() {
            let (column, step) = next_step(&mut computed, &known, ctx)?;
            steps.push(step);
            known.push(Column::new(&column.name, column.ty.clone()));
        }
        let overrides = overrides(table, given, ctx)?;
        let stored = table.stored();
        let known = Columns::new(known);
        let picks = stored.iter().map(|column| known.position(&column.name)).collect::<Option<Vec<_>>>();
        let picks = picks.ok_or_else(|| Error::logical("a stored column was not filled"))?;
        let nested = nested_pairs(&stored);
        Ok(RowFiller { overrides, steps, stored, picks, nested })
    }

    /// The stored columns for a block of the given ones.
    pub(crate) fn fill(&self, given: &Block) -> Result<RecordBatch> {
        let rows = given.batch.num_rows();
        let mut arrays: Vec<ArrayRef> = given.batch.columns().to_vec();
        for (at, step) in &self.overrides {
            arrays[*at] = match &given.defaulted[*at] {
                Defaulted::Never => continue,
                Defaulted::Always => step.array(&arrays, rows)?,
                Defaulted::Rows(left_out) => {
                    let left_out = BooleanArray::new(left_out.clone(), None);
                    zip(&left_out, &step.array(&arrays, rows)?, &arrays[*at]).map_err(Error::of_arrow)?
                }
            };
        }
        for step in &self.steps {
            let array = step.array(&arrays, rows)?;
            arrays.push(array);
        }
        let picked: Vec<ArrayRef> = self.picks.iter().map(|&at| Arc::clone(&arrays[at])).collect();
        self.check_nested(&picked)?;
        RecordBatch::try_new(self.stored.to_arrow(), picked).map_err(Error::of_arrow)
    }
}

impl RowFiller {
    fn check_nested(&self, stored: &[ArrayRef]) -> Result<()> {
        for &(first, second) in &self.nested {
            let [one, other] = [first, second].map(|at| stored[at].as_list::<i32>().offsets());
            if !one.lengths().eq(other.lengths()) {
                bail!(
                    SizesOfArraysDontMatch,
                    "the arrays `{}` and `{}` of one Nested have different lengths in a row",
                    self.stored[first].name,
                    self.stored[second].name
                );
            }
        }
        Ok(())
    }
}

/// Whether `column` and another one are arrays of the same `Nested`.
fn are_nested(column: &Column, name: &str, ty: &SqlType) -> bool {
    let parent = |name: &str| name.split_once('.').map(|(parent, _)| parent.to_owned());
    let are_arrays = matches!((&column.ty, ty), (SqlType::Array(_), SqlType::Array(_)));
    are_arrays && parent(name).is_some() && parent(name) == parent(&column.name)
}

fn nested_pairs(stored: &Columns) -> Vec<(usize, usize)> {
    let first_of = |second: usize| {
        let column = &stored[second];
        (0..second).find(|&first| are_nested(&stored[first], &column.name, &column.ty))
    };
    (0..stored.len()).filter_map(|second| Some((first_of(second)?, second))).collect()
}

impl Step {
    fn array(&self, known: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match self {
            Step::TypeDefault(ty) => Ok(ty.default_array(rows)),
            Step::AsLongAs(element, sibling) => {
                let offsets =
                    OffsetBuffer::from_lengths(known[*sibling].as_list::<i32>().offsets().lengths());
                let elements = element.default_array(*offsets.last().unwrap_or(&0) as usize);
                let lists = ListArray::try_new(element.element_field(), offsets, elements, None);
                Ok(Arc::new(lists.map_err(Error::logical)?))
            }
            Step::Expr(expr, schema) => evaluate(expr.as_ref(), schema, known, rows),
        }
    }
}

/// Takes a column out of `missing` whose expression needs known columns only.
fn next_step<'a>(
    missing: &mut Vec<&'a ColumnDefinition>,
    known: &[Column],
    ctx: &PlannerContext<'_>,
) -> Result<(&'a ColumnDefinition, Step)> {
    let mut waits = None;
    for at in 0..missing.len() {
        match expr_step(missing[at], known, ctx) {
            Ok(step) => return Ok((missing.remove(at), step)),
            // It may use a column whose turn comes later.
            Err(error) if error.code() == ErrorCode::UnknownIdentifier => waits = Some(error),
            Err(error) => return Err(error),
        }
    }
    // Nothing is left that could come first: a name is wrong, or expressions use each other.
    Err(waits.unwrap_or_else(|| Error::logical("no column is missing")))
}

/// The DEFAULT expressions of given columns, over the given columns.
fn overrides(
    table: &TableDefinition,
    given: &Columns,
    ctx: &PlannerContext<'_>,
) -> Result<Vec<(usize, Step)>> {
    let mut overrides = Vec::new();
    for (at, column) in given.iter().enumerate() {
        let Some(column) = table.column(&column.name) else { continue };
        if expr_of(column).is_none() {
            continue;
        }
        let column = over_given(column, table, given);
        match expr_step(&column, given, ctx) {
            Ok(step) => overrides.push((at, step)),
            // An expression over a column that was not given has no value to take.
            Err(error) if error.code() == ErrorCode::UnknownIdentifier => {}
            Err(error) => return Err(error),
        }
    }
    Ok(overrides)
}

/// The column with a DEFAULT expression in which expressions of columns that are not given, such as EPHEMERAL ones,
/// stand in the place of their names. Each turn looks one column further.
fn over_given(column: &ColumnDefinition, table: &TableDefinition, given: &Columns) -> ColumnDefinition {
    let mut column = column.clone();
    let value = |name: &str| {
        let other = table.column(name).filter(|_| given.position(name).is_none())?;
        let ty = basalt_sql::parse_type(other.ty.to_string().as_bytes()).ok()?;
        expr_of(other).map(|expr| ast::Expr::Cast { operand: Box::new(expr.clone()), ty })
    };
    let Some(expr) = column.default.as_mut().and_then(|default| default.expr.as_mut()) else { return column };
    for _ in 0..SUBSTITUTIONS_MAX {
        let before = expr.clone();
        expr.replace_columns(&value);
        if *expr == before {
            break;
        }
    }
    column
}

fn expr_of(column: &ColumnDefinition) -> Option<&ast::Expr> {
    column.default.as_ref()?.expr.as_ref()
}

fn expr_step(column: &ColumnDefinition, known: &[Column], ctx: &PlannerContext<'_>) -> Result<Step> {
    let Some(expr) = expr_of(column) else {
        return Ok(Step::TypeDefault(column.ty.clone()));
    };
    let columns = Columns::new(known.to_vec());
    let (planned, ty) = plan_expr(expr, &columns, ctx)
        .map_err(|error| error.within(format!("DEFAULT expression of column `{}`", column.name)))?;
    let planned = cast(planned, &ty, &column.ty, ctx)?;
    let (expr, schema) = physical(&planned, &columns)?;
    Ok(Step::Expr(expr, schema))
}

/// An expression over unqualified `columns`, ready to evaluate.
pub(crate) fn physical(expr: &Expr, columns: &Columns) -> Result<(Arc<dyn PhysicalExpr>, Arc<DFSchema>)> {
    let schema = DFSchema::try_from(columns.to_arrow().as_ref().clone()).map_err(from_datafusion)?;
    let physical =
        create_physical_expr(expr, &schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())
            .map_err(from_datafusion)?;
    Ok((physical, Arc::new(schema)))
}

fn evaluate(
    expr: &dyn PhysicalExpr,
    schema: &DFSchema,
    arrays: &[ArrayRef],
    rows: usize,
) -> Result<ArrayRef> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = arrays[..schema.fields().len()].to_vec();
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema.inner()), arrays, &options)
        .map_err(Error::of_arrow)?;
    expr.evaluate(&batch).and_then(|value| value.into_array(rows)).map_err(from_datafusion)
}
