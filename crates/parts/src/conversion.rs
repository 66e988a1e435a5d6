//! Converts values of parts that have an older type of their column.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Column, SqlType};

/// Converts values from one type to another, as a cast does.
pub trait ConvertValues: Send + Sync + fmt::Debug {
    /// The converted values, in the carrier of the new type; as many as `values` has.
    fn convert(&self, values: &ArrayRef) -> basalt_base::Result<ArrayRef>;
}

/// Finds conversions. The engine implements it, because this crate knows no SQL.
pub trait FindConversion: Send + Sync + fmt::Debug {
    /// The conversion from the type that SQL writes as `from` to that of the column.
    fn find(&self, from: &str, to: &Column) -> basalt_base::Result<Conversion>;
}

/// The conversion from an older type of a column to the current one.
#[derive(Clone, Debug)]
pub struct Conversion {
    pub from: SqlType,
    /// `None` if every value keeps its bytes and its order.
    pub values: Option<Arc<dyn ConvertValues>>,
}

/// The conversions of a table. The default has none, so that a part with another type is refused.
#[derive(Clone, Debug, Default)]
pub struct Conversions(pub Option<Arc<dyn FindConversion>>);

/// Conversions do not affect the shape of parts.
impl PartialEq for Conversions {
    fn eq(&self, _: &Conversions) -> bool {
        true
    }
}

impl Eq for Conversions {}
