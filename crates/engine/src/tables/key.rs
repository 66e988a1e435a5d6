//! The keys of a MergeTree table: from clauses to columns and planned expressions.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::zone::Zone;
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_exec::error::from_datafusion;
use basalt_functions::registry;
use basalt_functions::scalar::Volatility;
use basalt_parts::{KeyElement, KeyExpression, KeyValue, Monotonic};
use basalt_planner::{plan_expr, plan_filter};
use basalt_sql::ast::{Expr, FunctionCall};
use datafusion::common::DFSchema;
use datafusion::logical_expr::Expr as LogicalExpr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::TableDefinition;
use super::definition::names_column;
use super::planning::{plan_alone, plan_at};
use crate::scan::{TableExpression, monotonic};
use crate::settings::MergeTreeSettings;

/// Elements of the sorting key and the length of the primary key among them.
pub(super) fn sort_key(
    definition: &TableDefinition,
    settings: &MergeTreeSettings,
) -> Result<(Vec<KeyElement>, usize)> {
    let (clauses, primary_key_len) = definition.sort_key()?;
    for (position, clause) in clauses.iter().enumerate() {
        if clauses[..position].iter().any(|other| other.expr == clause.expr) {
            bail!(BadArguments, "the sorting key has `{}` twice", clause.text());
        }
    }
    let mut key = Vec::with_capacity(clauses.len());
    for clause in &clauses {
        let mut element = element(definition, &clause.expr, "sorting key", settings)?;
        element.descending = clause.descending;
        key.push(element);
    }
    Ok((key, primary_key_len))
}

/// The elements of PRIMARY KEY and SAMPLE BY that are columns must be columns of the table.
pub(super) fn check_columns_known(definition: &TableDefinition) -> Result<()> {
    let create = &definition.create;
    let primary = create.primary_key.iter().flatten().map(|expr| ("PRIMARY KEY", expr));
    let clauses = primary.chain(create.sample_by.iter().map(|expr| ("SAMPLE BY", expr)));
    for (clause, expr) in clauses.filter(|(_, expr)| matches!(expr, Expr::Identifier(_))) {
        definition.key_column(expr, clause)?;
    }
    Ok(())
}

/// Checks the sampling key: an unsigned number that is an element of the primary key.
pub(super) fn check_sampling_key(
    definition: &TableDefinition,
    key: &[KeyElement],
    primary_key_len: usize,
) -> Result<()> {
    let Some(expr) = &definition.create.sample_by else { return Ok(()) };
    let columns = definition.stored();
    let (clauses, _) = definition.sort_key()?;
    let position = clauses[..primary_key_len].iter().position(|clause| clause.expr == *expr);
    let Some(element) = position.and_then(|position| key.get(position)) else {
        bail!(BadArguments, "the sampling expression `{expr}` must be present in the primary key");
    };
    let ty = type_of(element, &columns);
    if !ty.is_unsigned() {
        bail!(
            IllegalTypeOfColumnForFilter,
            "the sampling key `{expr}` has type {ty}; it must be an unsigned whole number"
        );
    }
    Ok(())
}

fn type_of<'a>(element: &'a KeyElement, columns: &'a Columns) -> &'a SqlType {
    match &element.value {
        KeyValue::Column(position) => &columns[*position].ty,
        KeyValue::Expression(expression) => expression.ty(),
    }
}

/// Elements of the partition key.
pub(super) fn partition_key(
    definition: &TableDefinition,
    settings: &MergeTreeSettings,
) -> Result<Vec<KeyElement>> {
    let columns = definition.stored();
    let mut key = Vec::new();
    for expr in definition.partition_key() {
        let element = element(definition, &expr, "partition key", settings)?;
        if type_of(&element, &columns).stripped().is_float() && !settings.allow_floating_point_partition_key {
            bail!(
                BadArguments,
                "a floating point partition key is not supported: `{expr}`; allow_floating_point_partition_key \
                 of the table permits it"
            );
        }
        key.push(element);
    }
    Ok(key)
}

fn element(
    definition: &TableDefinition,
    expr: &Expr,
    what: &str,
    settings: &MergeTreeSettings,
) -> Result<KeyElement> {
    let columns = definition.stored();
    let (element, ty) = match expr {
        Expr::Identifier(_) => {
            let name = definition.key_column(expr, what)?;
            let position = columns.position(&name).ok_or_else(|| Error::logical("a stored column"))?;
            (KeyElement::column(position), columns[position].ty.clone())
        }
        _ => {
            let expression = PlannedKey::plan(&columns, expr, what)?;
            let ty = expression.ty.clone();
            (KeyElement::expression(Arc::new(expression)), ty)
        }
    };
    if has_nullable(&ty) && !settings.allow_nullable_key {
        bail!(
            IllegalColumn,
            "the {what} has `{expr}`, which is Nullable, but the setting allow_nullable_key of the table is off"
        );
    }
    Ok(element)
}

/// Whether values of the type, or some in them, may be NULL.
fn has_nullable(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(inner) => has_nullable(inner),
        SqlType::Tuple(elements) => elements.iter().any(|element| has_nullable(&element.ty)),
        SqlType::Map(key, value) => has_nullable(key) || has_nullable(value),
        other => other.accepts_null(),
    }
}

/// An expression over a table's columns, planned once.
#[derive(Debug)]
pub(super) struct PlannedKey {
    text: String,
    ty: SqlType,
    columns: Vec<String>,
    monotonic: Option<Monotonic>,
    expr: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

impl PlannedKey {
    /// Plans `expr` as an element of a key; `what` names the key in errors.
    pub(super) fn plan(stored: &Columns, expr: &Expr, what: &str) -> Result<PlannedKey> {
        refuse_unsuitable(expr, what)?;
        let planned =
            PlannedKey::plan_value(stored, expr, 0).map_err(|error| error.within(format!("the {what}")))?;
        if planned.columns.is_empty() {
            bail!(IllegalColumn, "the {what} has the constant `{expr}`; a key is made of columns");
        }
        Ok(planned)
    }

    /// Plans any expression over stored columns, as of `now_us`.
    pub(super) fn plan_value(stored: &Columns, expr: &Expr, now_us: u64) -> Result<PlannedKey> {
        // Over all columns, so that unknown names are found.
        let (planned, ty) = plan_at(Zone::system(), now_us, |ctx| plan_expr(expr, stored, ctx))?;
        // LowCardinality is a property of columns, not of keys.
        PlannedKey::of_clause(stored, expr, &planned, ty.full().clone())
    }

    /// Plans a condition: its value is 1, 0 or NULL.
    pub(super) fn plan_condition(stored: &Columns, expr: &Expr) -> Result<PlannedKey> {
        let planned = plan_alone(Zone::system(), |ctx| plan_filter(expr, stored, ctx))?;
        PlannedKey::of_clause(stored, expr, &planned, SqlType::UInt8)
    }

    /// The planned clause, over the columns that its text names.
    fn of_clause(stored: &Columns, expr: &Expr, planned: &LogicalExpr, ty: SqlType) -> Result<PlannedKey> {
        let used = stored.iter().filter(|column| names_column(expr, &column.name)).cloned().collect();
        let key = PlannedKey::over(&used, expr.to_string(), ty, planned)?;
        Ok(PlannedKey { monotonic: monotonic(planned, &used).map(|(_, direction)| direction), ..key })
    }

    /// The clause planned over `stored`, over the columns that it reads.
    pub(super) fn of(
        stored: &Columns,
        text: String,
        ty: SqlType,
        planned: &LogicalExpr,
    ) -> Result<PlannedKey> {
        let refs = planned.column_refs();
        let is_used = |column: &&Column| refs.iter().any(|used| used.name == column.name);
        PlannedKey::over(&stored.iter().filter(is_used).cloned().collect(), text, ty, planned)
    }

    fn over(columns: &Columns, text: String, ty: SqlType, planned: &LogicalExpr) -> Result<PlannedKey> {
        let schema = columns.to_arrow();
        let df_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(from_datafusion)?;
        let expr = create_physical_expr(
            planned,
            &df_schema,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )
        .map_err(from_datafusion)?;
        let columns = columns.iter().map(|column| column.name.clone()).collect();
        Ok(PlannedKey { text, ty, monotonic: None, columns, expr, schema })
    }
}

/// The expressions that the table has a key or an index on, as a query would have them.
pub(super) fn expressions(definition: &TableDefinition) -> Result<Arc<[TableExpression]>> {
    let (sort_key, _) = definition.sort_key()?;
    let mut exprs: Vec<Expr> = sort_key.into_iter().map(|clause| clause.expr).collect();
    exprs.extend(definition.partition_key());
    exprs.extend(definition.index_clauses().flat_map(|clause| definition.indexed(clause)));
    exprs.retain(|expr| !matches!(expr, Expr::Identifier(_)));
    let columns = definition.stored();
    let planned = |expr: Expr| {
        let (planned, ty) = plan_alone(Zone::system(), |ctx| plan_expr(&expr, &columns, ctx))?;
        Ok(TableExpression { text: expr.to_string(), ty: ty.full().clone(), expr: planned })
    };
    exprs.into_iter().map(planned).collect()
}

impl KeyExpression for PlannedKey {
    fn text(&self) -> &str {
        &self.text
    }

    fn ty(&self) -> &SqlType {
        &self.ty
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn monotonic(&self) -> Option<Monotonic> {
        self.monotonic
    }

    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.to_vec(), &options)
            .map_err(Error::of_arrow)?;
        let array = self.expr.evaluate(&batch).and_then(|value| value.into_array(rows));
        let array = array.map_err(from_datafusion)?;
        // A comparison returns Arrow Booleans, and the key is a UInt8.
        let carrier = self.ty.carrier();
        if *array.data_type() == carrier {
            return Ok(array);
        }
        arrow::compute::cast(&array, &carrier).map_err(Error::logical)
    }
}

/// Refuses what ClickHouse refuses in a key.
fn refuse_unsuitable(expr: &Expr, what: &str) -> Result<()> {
    let mut refused = Ok(());
    expr.any(&mut |part| {
        refused = match part {
            Expr::Subquery(_) | Expr::Exists(_) => {
                Err(Error::new(basalt_base::ErrorCode::BadArguments, format!("the {what} has a subquery")))
            }
            Expr::Function(call) => refuse_call(call, what),
            _ => Ok(()),
        };
        refused.is_err()
    });
    refused
}

fn refuse_call(call: &FunctionCall, what: &str) -> Result<()> {
    if call.name == "arrayJoin" {
        bail!(IllegalColumn, "the {what} cannot have arrayJoin");
    }
    let volatile = registry::scalar(&call.name).is_some_and(|f| f.volatility() != Volatility::Immutable);
    if volatile {
        bail!(
            BadArguments,
            "the {what} must be deterministic, but `{}` may answer differently for the same row",
            Expr::Function(call.clone())
        );
    }
    Ok(())
}
