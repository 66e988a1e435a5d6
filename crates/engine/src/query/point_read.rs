//! Point reads: `SELECT columns FROM t WHERE key = value` of a table that finds rows by key, without a plan.
//!
//! Planning takes a hundred times as long as the look-up. A statement of this form needs no plan: its columns are those
//! of the table, and its rows are those with the keys. TiDB calls this a point get. Every other form is planned, and so
//! is a statement that is wrong: the planner has the words for it.
//!
//! The form: one table without alias, FINAL or SAMPLE; names of stored columns or `*` in the list; in WHERE, `=` of each
//! key column with a constant, joined by AND, or IN of the only key column with a list of constants. Key columns are
//! integers and strings.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use basalt_access::{Path, PrivilegeSet};
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_functions::parameter_text;
use basalt_sql::ast::{
    self, BinaryOp, Expr, Literal, ObjectName, Select, SetExpr, TableExpr, TableFactor, UnaryOp,
};

use crate::catalog::CatalogObject;
use crate::context::ProfileEvents;
use crate::execution::Execution;
use crate::names::{TEMPORARY, is_built_in};
use crate::system;
use crate::tables::{Table, TableDefinition};

/// A read that needs no plan.
pub(super) struct PointRead {
    table: Arc<dyn Table>,
    /// The result's columns.
    pub(super) columns: Columns,
    /// Where they are among the table's stored columns.
    positions: Vec<usize>,
    /// An array for each key column.
    key: Vec<ArrayRef>,
    limit: Option<usize>,
}

/// The most keys of a point read. Planning costs little beside a look-up of more.
const KEYS_MAX: usize = 1000;

impl PointRead {
    /// The read that a query is, if it has the form and the user may read the columns.
    pub(super) fn of(
        query: &Execution,
        ast: &ast::Query,
        parameters: &HashMap<String, String>,
    ) -> Option<PointRead> {
        let settings = &query.settings;
        if settings.extremes || settings.limit > 0 || settings.offset > 0 {
            return None;
        }
        if ast.into_outfile.is_some() {
            return None;
        }
        let SetExpr::Select(select) = &ast.body else { return None };
        let name = table_of(select)?;
        let conditions = conditions_of(select.filter.as_ref()?)?;
        let table = table_named(query, name)?;
        let definition = table.definition();
        let key_columns = table.as_changeable()?.lookup_key();
        let stored = definition.stored();
        let is_one_key = conditions.iter().all(|(_, values)| values.len() == 1);
        if conditions.len() != key_columns.len() || !(is_one_key || key_columns.len() == 1) {
            return None;
        }
        let key = key_columns.iter().map(|&at| {
            let column = &stored[at];
            let (_, values) = conditions.iter().find(|(name, _)| *name == column.name)?;
            let values =
                values.iter().map(|value| constant(value, parameters)).collect::<Option<Vec<_>>>()?;
            key_array(&column.ty, &values)
        });
        let key = key.collect::<Option<Vec<_>>>()?;
        let (columns, positions) = output_of(select, &definition, &stored, &conditions)?;
        let limit = match &select.limit {
            Some(Expr::Literal(Literal::UInt(rows))) => Some(usize::try_from(*rows).ok()?),
            _ => None,
        };
        let names: Vec<&str> =
            positions.iter().chain(key_columns).map(|&at| stored[at].name.as_str()).collect();
        let path = Path::of(&[&definition.database, &definition.name]);
        let is_temporary = definition.database == TEMPORARY;
        if !is_temporary {
            query.access.check_columns(PrivilegeSet::of("SELECT"), &path, &names).ok()?;
        }
        Some(PointRead { table: Arc::clone(&table), columns, positions, key, limit })
    }

    /// The rows with the keys, in key order.
    pub(super) async fn rows(self, query: &Arc<Execution>) -> Result<RecordBatch> {
        match self.table.as_keyed().is_some_and(|keyed| keyed.finds_at_once()) {
            true => self.find(query),
            false => query.on_blocking_thread("a look-up", move |query| self.find(query)).await,
        }
    }

    fn find(&self, query: &Execution) -> Result<RecordBatch> {
        let keyed = self.table.as_keyed().ok_or_else(|| self.table.refuses("a lookup by key"))?;
        keyed.prepare_lookup()?;
        ProfileEvents::add(&query.events.key_lookups, self.key[0].len() as u64);
        let rows = keyed.lookup(&self.key, &self.positions, 1)?.rows;
        query.count_read(rows.num_rows() as u64, rows.get_array_memory_size() as u64)?;
        let Some(limit) = self.limit else { return Ok(rows) };
        query.progress.set_rows_before_limit(rows.num_rows() as u64);
        Ok(rows.slice(0, limit.min(rows.num_rows())))
    }
}

/// The table of a SELECT that has no other clauses than a list, FROM, WHERE and LIMIT.
fn table_of(select: &Select) -> Option<&ObjectName> {
    // Named one by one: a clause that is new must be looked at here.
    let Select {
        with,
        with_recursive: false,
        distinct: false,
        distinct_on,
        items: _,
        from: Some(TableExpr::Factor(TableFactor::Table { name, alias: None, is_final: false, sample: None })),
        prewhere: None,
        filter: _,
        group_by: None,
        with_totals: false,
        having: None,
        windows,
        qualify: None,
        order_by,
        order_by_all: false,
        interpolate,
        limit_by: None,
        limit: None | Some(Expr::Literal(Literal::UInt(_))),
        offset: None,
        with_ties: false,
        settings: _,
    } = select
    else {
        return None;
    };
    let is_plain = with.is_empty()
        && distinct_on.is_empty()
        && windows.is_empty()
        && order_by.is_empty()
        && interpolate.is_empty();
    is_plain.then_some(name)
}

/// The columns of `a = 1 AND b = 2`, or of `a IN (1, 2)`, with their constants.
fn conditions_of(filter: &Expr) -> Option<Vec<(&str, &[Expr])>> {
    let mut found: Vec<(&str, &[Expr])> = Vec::new();
    let mut open = vec![filter];
    while let Some(expr) = open.pop() {
        let (name, values) = match expr {
            Expr::Binary { op: BinaryOp::And, left, right } => {
                open.extend([left.as_ref(), right.as_ref()]);
                continue;
            }
            Expr::Binary { op: BinaryOp::Equals, left, right } => match (left.as_ref(), right.as_ref()) {
                (Expr::Identifier(name), value) | (value, Expr::Identifier(name)) => {
                    (name, std::slice::from_ref(value))
                }
                _ => return None,
            },
            Expr::In { operand, right, negated: false, global: false } => {
                match (operand.as_ref(), right.as_ref()) {
                    (Expr::Identifier(name), Expr::Tuple(values)) if values.len() <= KEYS_MAX => {
                        (name, values.as_slice())
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let [name] = name.as_slice() else { return None };
        found.push((name.as_str(), values));
    }
    Some(found)
}

/// The table of this name, unless it is one of the system, or the rows that the user sees are fewer.
fn table_named(query: &Execution, name: &ObjectName) -> Option<Arc<dyn Table>> {
    let is_of_postgres = query.postgres.is_some() && system::postgres::has_table(&name.name);
    let key = query.key_of(name);
    if is_of_postgres || is_built_in(&key.database) || query.row_filter(&key.database, &key.name).is_some() {
        return None;
    }
    match query.instance.catalog().get(&key.database, &key.name).ok()? {
        CatalogObject::Table(table) => Some(table),
        _ => None,
    }
}

/// The result's columns, and where they are among the stored ones.
fn output_of(
    select: &Select,
    definition: &TableDefinition,
    stored: &Columns,
    conditions: &[(&str, &[Expr])],
) -> Option<(Columns, Vec<usize>)> {
    let (mut columns, mut positions) = (Vec::new(), Vec::new());
    let mut take = |column: &str, shown: &str| {
        let at = stored.iter().position(|stored| stored.name == column)?;
        columns.push(Column::new(shown, stored[at].ty.clone()));
        positions.push(at);
        Some(())
    };
    for item in &select.items {
        match (&item.expr, &item.alias) {
            (Expr::Asterisk { qualifier, except, replace }, None)
                if qualifier.is_empty() && except.is_empty() && replace.is_empty() =>
            {
                for column in definition.columns.iter().filter(|column| column.is_ordinary()) {
                    take(&column.name, &column.name)?;
                }
            }
            (Expr::Identifier(name), alias) => {
                let [name] = name.as_slice() else { return None };
                let shown = alias.as_ref().unwrap_or(name);
                // The condition may mean the alias.
                if shown != name && conditions.iter().any(|(column, _)| column == shown) {
                    return None;
                }
                take(name, shown)?;
            }
            _ => return None,
        }
    }
    Some((Columns::new(columns), positions))
}

/// A constant of a condition.
enum Constant {
    Number(i128),
    Text(Vec<u8>),
}

fn constant(expr: &Expr, parameters: &HashMap<String, String>) -> Option<Constant> {
    Some(match expr {
        Expr::Literal(Literal::UInt(number)) => Constant::Number(i128::from(*number)),
        Expr::Literal(Literal::Int(number)) => Constant::Number(i128::from(*number)),
        Expr::Literal(Literal::String(text)) => Constant::Text(text.clone()),
        Expr::Unary { op: UnaryOp::Minus, operand } => match constant(operand, parameters)? {
            Constant::Number(number) => Constant::Number(-number),
            Constant::Text(_) => return None,
        },
        Expr::Parameter { name, ty } => {
            let ty = basalt_sql::resolve_type(ty).ok()?;
            typed(&ty, parameter_text(name, parameters.get(name)?, &ty).ok()?)?
        }
        Expr::Cast { operand, ty } => match operand.as_ref() {
            Expr::Literal(Literal::String(text)) => typed(&basalt_sql::resolve_type(ty).ok()?, text.clone())?,
            _ => return None,
        },
        _ => return None,
    })
}

/// The value of a text that is cast.
fn typed(ty: &SqlType, text: Vec<u8>) -> Option<Constant> {
    match ty.stripped() {
        SqlType::String => Some(Constant::Text(text)),
        // A value that does not fit the type is the planner's.
        integer => {
            let number = whole_number(&text)?;
            integer_array(integer, &[number]).map(|_| Constant::Number(number))
        }
    }
}

fn whole_number(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_plain.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// The constants as an array of the key column; `None` if one is not exactly a value of the type.
fn key_array(ty: &SqlType, constants: &[Constant]) -> Option<ArrayRef> {
    if *ty == SqlType::String {
        let texts = constants.iter().map(|constant| match constant {
            Constant::Text(text) => Some(text.as_slice()),
            Constant::Number(_) => None,
        });
        let texts = texts.collect::<Option<Vec<_>>>()?;
        return Some(Arc::new(BinaryViewArray::from_iter_values(texts)));
    }
    let numbers = constants.iter().map(|constant| match constant {
        Constant::Number(number) => Some(*number),
        Constant::Text(text) => whole_number(text),
    });
    integer_array(ty, &numbers.collect::<Option<Vec<_>>>()?)
}

fn integer_array(ty: &SqlType, numbers: &[i128]) -> Option<ArrayRef> {
    match ty {
        SqlType::UInt8 => numbers_of::<UInt8Type>(numbers),
        SqlType::UInt16 => numbers_of::<UInt16Type>(numbers),
        SqlType::UInt32 => numbers_of::<UInt32Type>(numbers),
        SqlType::UInt64 => numbers_of::<UInt64Type>(numbers),
        SqlType::Int8 => numbers_of::<Int8Type>(numbers),
        SqlType::Int16 => numbers_of::<Int16Type>(numbers),
        SqlType::Int32 => numbers_of::<Int32Type>(numbers),
        SqlType::Int64 => numbers_of::<Int64Type>(numbers),
        _ => None,
    }
}

fn numbers_of<T: ArrowPrimitiveType>(numbers: &[i128]) -> Option<ArrayRef>
where
    T::Native: TryFrom<i128>,
{
    let values = numbers.iter().map(|number| T::Native::try_from(*number).ok());
    let values = values.collect::<Option<Vec<_>>>()?;
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
}
