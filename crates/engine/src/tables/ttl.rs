//! The TTL of a MergeTree table: from clauses to rules that its merges apply.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use basalt_base::clock::{Clock, SystemClock};
use basalt_base::zone::Zone;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType, bail};
use basalt_functions::registry;
use basalt_functions::scalar::Volatility;
use basalt_parts::{Expiry, Fill, KeyExpression, TtlAction as Action, TtlRule};
use basalt_sql::ast::{Expr, FunctionCall, TtlAction, TtlElement};
use basalt_sql::parse_type;

use super::codecs::{chain_of, chain_of_column};
use super::definition::{ColumnDefinition, TableDefinition};
use super::fill::fill_of;
use super::key::PlannedKey;
use super::ttl_group::group_action;

/// The disk and the volume that every table is on.
const ONLY_DISK: &str = "default";

const SECONDS_A_DAY: i64 = 86_400;

/// The rules that the clauses of the table make, those of the table before those of columns.
pub(super) fn rules(definition: &TableDefinition) -> Result<Vec<TtlRule>> {
    let mut rules = Vec::new();
    check_deletes(&definition.create.ttl)?;
    for element in &definition.create.ttl {
        rules.extend(rule_of_table(definition, element)?);
    }
    for column in definition.stored_definitions() {
        if let Some(expr) = &column.ttl {
            rules.push(rule_of_column(definition, column, expr)?);
        }
    }
    Ok(rules)
}

/// Writes `INTERVAL 1 DAY` as `toIntervalDay(1)`, as ClickHouse shows it.
pub(super) fn name_intervals(expr: &mut Expr) {
    if let Expr::Interval { value, unit } = expr {
        *expr = Expr::Function(FunctionCall {
            name: format!("toInterval{unit}"),
            parameters: Vec::new(),
            distinct: false,
            args: vec![value.as_ref().clone()],
            filter: None,
            over: None,
        });
    }
    expr.children_mut().into_iter().for_each(name_intervals);
}

/// Only one rule may delete expired rows without a condition.
fn check_deletes(elements: &[TtlElement]) -> Result<()> {
    let deletes = |element: &&TtlElement| matches!(element.action, TtlAction::Delete { filter: None });
    if elements.iter().filter(deletes).count() > 1 {
        bail!(
            BadTtlExpression,
            "more than one DELETE TTL expression without WHERE expression is not allowed"
        );
    }
    Ok(())
}

/// `None` for a move to the disk where the rows already are.
fn rule_of_table(definition: &TableDefinition, element: &TtlElement) -> Result<Option<TtlRule>> {
    let stored = definition.stored();
    let (action, filter) = match &element.action {
        TtlAction::Delete { filter } => (Action::Delete { has_condition: filter.is_some() }, filter.as_ref()),
        TtlAction::ToDisk { name, if_exists } => return check_target("disk", name, *if_exists),
        TtlAction::ToVolume { name, if_exists } => return check_target("volume", name, *if_exists),
        TtlAction::Group { keys, assignments } => (group_action(definition, keys, assignments)?, None),
        TtlAction::Recompress { codec } => {
            // A codec that suits strings suits every type.
            let chain = chain_of(codec, &SqlType::String)?;
            let codecs = definition
                .stored_definitions()
                .map(|column| (column.name.clone(), chain_of_column(column, &chain)))
                .collect();
            (Action::Recompress { codecs }, None)
        }
    };
    let expiry = PlannedExpiry::plan(&stored, &element.expr, filter)?;
    Ok(Some(TtlRule { name: element.to_string(), expiry: Arc::new(expiry), action }))
}

fn check_target(kind: &str, name: &str, if_exists: bool) -> Result<Option<TtlRule>> {
    if name == ONLY_DISK || if_exists {
        return Ok(None);
    }
    bail!(BadTtlExpression, "no such {kind} `{name}` for given storage policy")
}

fn rule_of_column(definition: &TableDefinition, column: &ColumnDefinition, expr: &Expr) -> Result<TtlRule> {
    let name = &column.name;
    if definition.key_columns()?.contains(name) {
        bail!(IllegalColumn, "trying to set TTL for key column {name}");
    }
    let stored = definition.stored();
    let expiry = PlannedExpiry::plan(&stored, expr, None)
        .map_err(|error| error.within(format!("the TTL of column `{name}`")))?;
    let default = match column.default.as_ref().and_then(|default| default.expr.as_ref()) {
        Some(default) if !matches!(fill_of(definition, column)?, Some(Fill::Value(_))) => {
            Some(Arc::new(DefaultValue::new(stored, default, &column.ty)?) as Arc<dyn KeyExpression>)
        }
        _ => None,
    };
    let action = Action::Clear { column: name.clone(), default };
    Ok(TtlRule { name: format!("{name} TTL {expr}"), expiry: Arc::new(expiry), action })
}

/// A date or time over a table's columns, for the rows that meet a condition.
#[derive(Debug)]
struct PlannedExpiry {
    text: String,
    time: PlannedKey,
    filter: Option<PlannedKey>,
    /// The columns that the time and the condition read.
    columns: Vec<String>,
    zone: Zone,
}

impl PlannedExpiry {
    fn plan(stored: &Columns, expr: &Expr, filter: Option<&Expr>) -> Result<PlannedExpiry> {
        refuse_unsuitable(expr)?;
        refuse_volatile(expr)?;
        let time = PlannedKey::plan_value(stored, expr, 0)?;
        if time.columns().is_empty() {
            bail!(BadArguments, "TTL expression {expr} does not depend on any of the columns of the table");
        }
        let ty = time.ty();
        let is_time =
            matches!(ty, SqlType::Date | SqlType::Date32 | SqlType::DateTime(_) | SqlType::DateTime64 { .. });
        if !is_time {
            bail!(
                BadTtlExpression,
                "TTL expression result column should have Date, Date32, DateTime or DateTime64 type, but has \
                 {ty}"
            );
        }
        let filter = filter.map(|filter| plan_filter(stored, filter)).transpose()?;
        let mut columns = time.columns().to_vec();
        for name in filter.iter().flat_map(KeyExpression::columns) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        Ok(PlannedExpiry { text: expr.to_string(), time, filter, columns, zone: Zone::system() })
    }

    /// The values of one of the two expressions, from the columns of both.
    fn value(&self, expression: &PlannedKey, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let own = expression.columns().iter().filter_map(|name| {
            let at = self.columns.iter().position(|other| other == name)?;
            columns.get(at).cloned()
        });
        expression.evaluate(&own.collect::<Vec<_>>(), rows)
    }
}

impl Expiry for PlannedExpiry {
    fn text(&self) -> &str {
        &self.text
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<i64>> {
        let mut seconds = seconds_of(self.time.ty(), &self.value(&self.time, columns, rows)?, &self.zone)?;
        if let Some(filter) = &self.filter {
            let meets = self.value(filter, columns, rows)?;
            let meets = meets.as_primitive_opt::<UInt8Type>();
            let meets = meets.ok_or_else(|| Error::logical("a condition of TTL is not a number"))?;
            for (row, seconds) in seconds.iter_mut().enumerate() {
                if meets.is_null(row) || meets.value(row) == 0 {
                    *seconds = 0;
                }
            }
        }
        Ok(seconds)
    }
}

/// Seconds since 1970; a date is its first second in `zone`, a part of a second does not count.
fn seconds_of(ty: &SqlType, values: &ArrayRef, zone: &Zone) -> Result<Vec<i64>> {
    // The zero of a type stands for no time at all.
    let midnight = |day: i64| if day == 0 { 0 } else { zone.from_local(day * SECONDS_A_DAY) };
    let mismatch = || Error::logical("a time of TTL has another carrier");
    Ok(match ty {
        SqlType::Date => {
            let days = values.as_primitive_opt::<UInt16Type>().ok_or_else(mismatch)?;
            days.values().iter().map(|&day| midnight(i64::from(day))).collect()
        }
        SqlType::Date32 => {
            let days = values.as_primitive_opt::<Int32Type>().ok_or_else(mismatch)?;
            days.values().iter().map(|&day| midnight(i64::from(day))).collect()
        }
        SqlType::DateTime(_) => {
            let seconds = values.as_primitive_opt::<UInt32Type>().ok_or_else(mismatch)?;
            seconds.values().iter().map(|&seconds| i64::from(seconds)).collect()
        }
        SqlType::DateTime64 { precision, .. } => {
            let ticks = values.as_primitive_opt::<Int64Type>().ok_or_else(mismatch)?;
            let second = 10_i64.checked_pow(u32::from(*precision)).ok_or_else(mismatch)?;
            ticks.values().iter().map(|&ticks| ticks / second).collect()
        }
        _ => return Err(mismatch()),
    })
}

fn plan_filter(stored: &Columns, filter: &Expr) -> Result<PlannedKey> {
    refuse_unsuitable(filter)?;
    refuse_volatile(filter)?;
    PlannedKey::plan_condition(stored, filter)
}

/// Refuses what ClickHouse refuses in the time of a TTL.
fn refuse_unsuitable(expr: &Expr) -> Result<()> {
    let mut refused = Ok(());
    expr.any(&mut |part| {
        refused = match part {
            Expr::Subquery(_) | Expr::Exists(_) => {
                Err(Error::new(ErrorCode::BadArguments, "TTL expressions cannot contain subqueries"))
            }
            Expr::Function(call) if call.name == "arrayJoin" => Err(Error::new(
                ErrorCode::BadTtlExpression,
                "TTL expression cannot contain arrayJoin, because it changes the number of rows",
            )),
            _ => Ok(()),
        };
        refused.is_err()
    });
    refused
}

fn refuse_volatile(expr: &Expr) -> Result<()> {
    let is_volatile = |name: &str| {
        registry::scalar(name).is_some_and(|function| function.volatility() != Volatility::Immutable)
    };
    let mut volatile = None;
    expr.any(&mut |part| {
        if let Expr::Function(call) = part
            && is_volatile(&call.name)
        {
            volatile = Some(call.name.clone());
        }
        volatile.is_some()
    });
    match volatile {
        None => Ok(()),
        Some(name) => bail!(
            BadArguments,
            "TTL expression cannot contain non-deterministic functions, but contains function {name}"
        ),
    }
}

/// The DEFAULT of a column as a value of its type, planned for each block, because it may depend on the time.
#[derive(Debug)]
struct DefaultValue {
    stored: Columns,
    cast: Expr,
    text: String,
    ty: SqlType,
    columns: Vec<String>,
}

impl DefaultValue {
    fn new(stored: Columns, default: &Expr, ty: &SqlType) -> Result<DefaultValue> {
        let type_name = parse_type(ty.to_string().as_bytes()).map_err(Error::logical)?;
        let cast = Expr::Cast { operand: Box::new(default.clone()), ty: type_name };
        let planned = PlannedKey::plan_value(&stored, &cast, 0)?;
        let columns = planned.columns().to_vec();
        Ok(DefaultValue { stored, cast, text: default.to_string(), ty: ty.clone(), columns })
    }
}

impl KeyExpression for DefaultValue {
    fn text(&self) -> &str {
        &self.text
    }

    fn ty(&self) -> &SqlType {
        &self.ty
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn monotonic(&self) -> Option<basalt_parts::Monotonic> {
        None
    }

    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let planned = PlannedKey::plan_value(&self.stored, &self.cast, SystemClock.now_us())?;
        planned.evaluate(columns, rows)
    }
}
