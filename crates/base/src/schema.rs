//! A named, typed column and a list of them: the schema of a table, a block or a result.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use crate::SqlType;

/// A column's name and SQL type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    pub name: String,
    pub ty: SqlType,
}

impl Column {
    pub fn new(name: impl Into<String>, ty: SqlType) -> Column {
        Column { name: name.into(), ty }
    }

    /// The Arrow field that carries this column; nullable exactly if the SQL type is.
    pub fn to_field(&self) -> Field {
        Field::new(&self.name, self.ty.carrier(), self.ty.accepts_null())
    }
}

/// Columns in order; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Columns(Arc<[Column]>);

impl Columns {
    pub fn new(columns: Vec<Column>) -> Columns {
        Columns(columns.into())
    }

    /// The position of the column called `name`; names are case-sensitive.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column.name == name)
    }

    /// The Arrow schema that carries these columns.
    pub fn to_arrow(&self) -> SchemaRef {
        Arc::new(Schema::new(self.0.iter().map(Column::to_field).collect::<Vec<_>>()))
    }

    /// The columns at `positions`, in that order.
    ///
    /// # Panics
    ///
    /// If a position is out of range.
    pub fn project(&self, positions: &[usize]) -> Columns {
        Columns::new(positions.iter().map(|&at| self.0[at].clone()).collect())
    }
}

impl std::ops::Deref for Columns {
    type Target = [Column];

    fn deref(&self) -> &[Column] {
        &self.0
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Columns {
        Columns(columns.into_iter().collect())
    }
}
