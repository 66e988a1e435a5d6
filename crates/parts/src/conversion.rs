//! How values that a part has in an older type of their column become those of today's.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Column, SqlType};

/// Makes values of one type of values of another, as a cast does.
pub trait ConvertValues: Send + Sync + fmt::Debug {
    /// As many values of the new type's carrier as there are in `values`.
    fn convert(&self, values: &ArrayRef) -> basalt_base::Result<ArrayRef>;
}

/// Finds conversions. The engine gives it: parts know no SQL.
pub trait FindConversion: Send + Sync + fmt::Debug {
    /// From the type that SQL writes as `from` to that of the column.
    fn find(&self, from: &str, to: &Column) -> basalt_base::Result<Conversion>;
}

/// From an older type of a column to today's.
#[derive(Clone, Debug)]
pub struct Conversion {
    pub from: SqlType,
    /// `None` where every value has the same bytes and the same place in the order.
    pub values: Option<Arc<dyn ConvertValues>>,
}

/// The conversions of a table; by default none is known, and a part with another type is refused.
#[derive(Clone, Debug, Default)]
pub struct Conversions(pub Option<Arc<dyn FindConversion>>);

/// They say nothing of the shape of parts.
impl PartialEq for Conversions {
    fn eq(&self, _: &Conversions) -> bool {
        true
    }
}

impl Eq for Conversions {}
