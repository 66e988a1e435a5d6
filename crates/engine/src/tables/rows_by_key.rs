//! What the engines share that find rows by key: the columns of their keys and rows.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Columns, Result, bail};
use basalt_kv::{ComputedDefault, KvSpec};
use basalt_parts::{Fill, KeyExpression};

use super::TableDefinition;
use super::fill::fill_of;

/// Positions of the key's columns.
pub(super) fn key_of(definition: &TableDefinition, engine: &str) -> Result<Vec<usize>> {
    let columns = definition.stored();
    let (key, _) = definition.sort_key()?;
    if key.is_empty() {
        bail!(BadArguments, "engine {engine} needs a PRIMARY KEY");
    }
    let names = key.iter().map(|element| definition.key_column(&element.expr, "PRIMARY KEY"));
    let names = names.collect::<Result<Vec<String>>>()?;
    Ok(names.iter().filter_map(|name| columns.position(name)).collect())
}

/// The columns, with their values in rows that are older than a column.
pub(super) fn rows_spec(definition: &TableDefinition, key: Vec<usize>) -> Result<KvSpec> {
    let mut spec = KvSpec::new(definition.stored(), key)?;
    for (at, column) in definition.stored_definitions().enumerate() {
        match fill_of(definition, column)? {
            Some(Fill::Value(value)) => spec.defaults[at] = value,
            Some(Fill::Computed(expression)) => {
                spec.computed[at] = Some(Arc::new(ComputedFill::of(expression, &spec.columns)));
            }
            None => {}
        }
    }
    Ok(spec)
}

/// What such a table refuses of an ALTER: an added column whose DEFAULT cannot be computed for older rows.
pub(super) fn refused_default(old: &TableDefinition, new: &TableDefinition) -> Result<Option<String>> {
    for column in new.stored_definitions() {
        let has_expression = column.default.as_ref().is_some_and(|default| default.expr.is_some());
        if has_expression && old.column(&column.name).is_none() && fill_of(new, column)?.is_none() {
            let name = &column.name;
            return Ok(Some(format!(
                "a DEFAULT of column `{name}` that needs more than the table's columns"
            )));
        }
    }
    Ok(None)
}

/// A DEFAULT that reads other columns.
#[derive(Debug)]
struct ComputedFill {
    expression: Arc<dyn KeyExpression>,
    inputs: Vec<usize>,
}

impl ComputedFill {
    fn of(expression: Arc<dyn KeyExpression>, columns: &Columns) -> ComputedFill {
        let inputs = expression.columns().iter().filter_map(|name| columns.position(name)).collect();
        ComputedFill { expression, inputs }
    }
}

impl ComputedDefault for ComputedFill {
    fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    fn compute(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.expression.evaluate(inputs, rows)
    }
}
