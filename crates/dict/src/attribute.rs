//! A named column of a dictionary.

use arrow::array::ArrayRef;
use basalt_base::SqlType;

/// A named column that is looked up by key.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: String,
    pub ty: SqlType,
    /// The value of a missing key: one row of `ty`'s carrier.
    pub default: ArrayRef,
    pub hierarchical: bool,
    pub injective: bool,
}
