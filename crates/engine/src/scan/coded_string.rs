//! Strings that a source returns as numbers.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::physical_expr::PhysicalExpr;

use super::numbering::Numbering;
use super::source::BlockSource;

/// A string that a source is to return as a number.
#[derive(Clone, Debug)]
pub(crate) struct CodedString {
    pub(crate) place: StringPlace,
    /// The column of the blocks that it is, or is computed from.
    pub(crate) column: usize,
    /// A function of the column, which is at the same place in its input; `None` for the string itself.
    pub(crate) value: Option<Arc<dyn PhysicalExpr>>,
    /// Whether the column is needed too: then the number comes after all other columns.
    pub(crate) keeps_column: bool,
}

/// Where an aggregation has a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringPlace {
    Group(usize),
    /// The only argument of a function.
    Function(usize),
}

/// A source that returns numbers.
pub(crate) struct CodedSource {
    pub(crate) source: Arc<dyn BlockSource>,
    /// For each string: its column in the blocks, and what its numbers stand for.
    pub(crate) strings: Vec<(usize, Arc<Numbering>)>,
}

impl CodedSource {
    /// The schema of the blocks, made of `plain`, which is that of the blocks with strings.
    pub(crate) fn schema(&self, plain: &Schema) -> SchemaRef {
        let mut fields = plain.fields().to_vec();
        for (column, numbering) in &self.strings {
            let field = Arc::new(numbering.field());
            if *column < fields.len() {
                fields[*column] = field;
            } else {
                fields.push(field);
            }
        }
        Arc::new(Schema::new(fields))
    }
}
