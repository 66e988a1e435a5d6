//! A named, typed column and a list of them: the schema of a table, a block or a result.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

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
#[derive(Clone)]
pub struct Columns(Arc<Shared>);

struct Shared {
    columns: Box<[Column]>,
    /// Built on first use: wide tables are planned often.
    schema: OnceLock<SchemaRef>,
}

impl Columns {
    pub fn new(columns: Vec<Column>) -> Columns {
        Columns(Arc::new(Shared { columns: columns.into(), schema: OnceLock::new() }))
    }

    /// The position of the column called `name`; names are case-sensitive.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.iter().position(|column| column.name == name)
    }

    /// The Arrow schema that carries these columns.
    pub fn to_arrow(&self) -> SchemaRef {
        let make = || Arc::new(Schema::new(self.iter().map(Column::to_field).collect::<Vec<_>>()));
        Arc::clone(self.0.schema.get_or_init(make))
    }

    /// The columns at `positions`, in that order.
    ///
    /// # Panics
    ///
    /// If a position is out of range.
    pub fn project(&self, positions: &[usize]) -> Columns {
        Columns::new(positions.iter().map(|&at| self[at].clone()).collect())
    }
}

impl std::ops::Deref for Columns {
    type Target = [Column];

    fn deref(&self) -> &[Column] {
        &self.0.columns
    }
}

impl PartialEq for Columns {
    fn eq(&self, other: &Columns) -> bool {
        **self == **other
    }
}

impl Eq for Columns {}

impl Hash for Columns {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Columns").field(&&**self).finish()
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Columns {
        Columns::new(columns.into_iter().collect())
    }
}
