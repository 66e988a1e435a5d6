//! An element of a table's key: a column, or an expression over the columns of a row.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{Field, FieldRef};
use arrow::row::SortField;
use basalt_base::{Columns, SqlType};

use super::expression::KeyExpression;
use super::ranges::{KeyCondition, KeyRanges};
use crate::error::{Error, Result};

/// The value of a key element.
#[derive(Clone, Debug)]
pub enum KeyValue {
    /// The position of a column of the table.
    Column(usize),
    Expression(Arc<dyn KeyExpression>),
}

/// An element of a key.
#[derive(Clone, Debug)]
pub struct KeyElement {
    pub value: KeyValue,
    /// Descending order, with NULL first.
    pub descending: bool,
}

impl KeyElement {
    /// The column at `position`, ascending.
    pub fn column(position: usize) -> KeyElement {
        KeyElement { value: KeyValue::Column(position), descending: false }
    }

    /// The value of `expression`, ascending.
    pub fn expression(expression: Arc<dyn KeyExpression>) -> KeyElement {
        KeyElement { value: KeyValue::Expression(expression), descending: false }
    }

    /// The position of the column that the element is; `None` for a computed value.
    pub fn as_column(&self) -> Option<usize> {
        match self.value {
            KeyValue::Column(position) => Some(position),
            KeyValue::Expression(_) => None,
        }
    }

    /// The text of an expression; `None` for a column.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            KeyValue::Column(_) => None,
            KeyValue::Expression(expression) => Some(expression.text()),
        }
    }

    /// Whether the element reads the column at `position`.
    pub(crate) fn reads(&self, position: usize, columns: &Columns) -> bool {
        match &self.value {
            KeyValue::Column(own) => *own == position,
            KeyValue::Expression(expression) => {
                expression.columns().iter().any(|name| *name == columns[position].name)
            }
        }
    }

    /// The element with the columns at other positions.
    pub(crate) fn moved(&self, place: impl Fn(usize) -> usize) -> KeyElement {
        let value = match &self.value {
            KeyValue::Column(position) => KeyValue::Column(place(*position)),
            KeyValue::Expression(expression) => KeyValue::Expression(Arc::clone(expression)),
        };
        KeyElement { value, descending: self.descending }
    }

    /// The element's name in a part's metadata.
    pub(crate) fn name(&self, columns: &Columns) -> String {
        let name = match &self.value {
            KeyValue::Column(position) => columns[*position].name.as_str(),
            KeyValue::Expression(expression) => expression.text(),
        };
        if self.descending { format!("{name} DESC") } else { name.to_owned() }
    }

    pub(crate) fn ty<'a>(&'a self, columns: &'a Columns) -> &'a SqlType {
        match &self.value {
            KeyValue::Column(position) => &columns[*position].ty,
            KeyValue::Expression(expression) => expression.ty(),
        }
    }

    pub(crate) fn field(&self, columns: &Columns) -> FieldRef {
        match &self.value {
            KeyValue::Column(position) => Arc::new(columns[*position].to_field()),
            KeyValue::Expression(expression) => {
                let ty = expression.ty();
                Arc::new(Field::new(expression.text(), ty.carrier(), ty.accepts_null()))
            }
        }
    }

    /// The element's order in Arrow's row format, in which byte order is key order.
    pub(crate) fn sort_field(&self, columns: &Columns) -> SortField {
        let data_type = self.field(columns).data_type().clone();
        // Descending is the exact reverse of ascending, which has NaN and then NULL last.
        let options = SortOptions { descending: self.descending, nulls_first: self.descending };
        SortField::new_with_options(data_type, options)
    }

    /// The element's values in the rows of `batch`, which has the table's columns.
    pub(crate) fn array(&self, batch: &RecordBatch, columns: &Columns) -> Result<ArrayRef> {
        match &self.value {
            KeyValue::Column(position) => Ok(Arc::clone(batch.column(*position))),
            KeyValue::Expression(expression) => evaluate(expression.as_ref(), batch, columns),
        }
    }

    /// The values of the element where `condition` holds; `None` if they may be any.
    pub(crate) fn ranges(&self, condition: &KeyCondition, columns: &Columns) -> Option<KeyRanges> {
        match &self.value {
            KeyValue::Column(position) => (*position == condition.column).then(|| condition.ranges.clone()),
            KeyValue::Expression(expression) => {
                let [name] = expression.columns() else { return None };
                (*name == columns[condition.column].name).then_some(())?;
                let carrier = columns[condition.column].ty.carrier();
                // A value that cannot be computed restricts nothing.
                condition.ranges.map(&carrier, expression.as_ref()).ok().flatten()
            }
        }
    }
}

/// Elements are equal if they order rows in the same way.
impl PartialEq for KeyElement {
    fn eq(&self, other: &KeyElement) -> bool {
        let same = match (&self.value, &other.value) {
            (KeyValue::Column(left), KeyValue::Column(right)) => left == right,
            (KeyValue::Expression(left), KeyValue::Expression(right)) => left.text() == right.text(),
            _ => false,
        };
        same && self.descending == other.descending
    }
}

impl Eq for KeyElement {}

/// The values of `expression` in the rows of `batch`, which has the table's columns.
pub(crate) fn evaluate(
    expression: &dyn KeyExpression,
    batch: &RecordBatch,
    columns: &Columns,
) -> Result<ArrayRef> {
    let arguments = arguments(expression.columns(), expression.text(), batch, columns)?;
    Ok(expression.evaluate(&arguments, batch.num_rows())?)
}

/// The columns called `names`, for the expression `text`.
pub(crate) fn arguments(
    names: &[String],
    text: &str,
    batch: &RecordBatch,
    columns: &Columns,
) -> Result<Vec<ArrayRef>> {
    let argument = |name: &String| {
        let position = columns.position(name).ok_or_else(|| Error::BlockMismatch {
            what: format!("column `{name}` of the expression `{text}` is not in it"),
        })?;
        Ok(Arc::clone(batch.column(position)))
    };
    names.iter().map(argument).collect()
}
