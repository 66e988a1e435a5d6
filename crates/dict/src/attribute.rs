//! What a dictionary has of a key.

use arrow::array::ArrayRef;
use basalt_base::SqlType;

/// One attribute: a named column that a key looks up.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: String,
    pub ty: SqlType,
    /// The value of a key that is not there: one row of `ty`'s carrier.
    pub default: ArrayRef,
    pub hierarchical: bool,
    pub injective: bool,
}
