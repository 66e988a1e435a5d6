//! What a segment is made of: the columns outside the key, and what is made for searching them.

use arrow::datatypes::DataType;

use crate::value::StringEncoding;

/// The columns of a segment. The key is not among them: its index has it.
#[derive(Clone, Debug, Default)]
pub struct SegmentSpec {
    pub columns: Vec<ColumnSpec>,
    /// Secondary indexes: the bytes of each row come with the rows, in this order.
    pub indexes: Vec<String>,
}

/// A column of a segment.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// The name in the file. It stays when the table renames the column.
    pub name: String,
    pub data_type: DataType,
    pub strings: StringEncoding,
    /// Whether trigrams of the strings are listed, for patterns.
    pub has_trigrams: bool,
}

impl ColumnSpec {
    pub fn new(name: impl Into<String>, data_type: DataType) -> ColumnSpec {
        ColumnSpec { name: name.into(), data_type, strings: StringEncoding::default(), has_trigrams: false }
    }

    pub(crate) fn component(&self) -> String {
        format!("column/{}", escaped(&self.name))
    }

    pub(crate) fn zones(&self) -> String {
        format!("zones/{}", escaped(&self.name))
    }

    pub(crate) fn trigrams(&self) -> String {
        format!("trigram/{}", escaped(&self.name))
    }
}

/// The component of the primary key.
pub(crate) const KEY: &str = "key";
/// The component of the filter over the keys.
pub(crate) const FILTER: &str = "filter";
/// The component of the ranks that are tombstones.
pub(crate) const TOMBSTONES: &str = "tombstones";

/// The component of a secondary index.
pub(crate) fn index_component(name: &str) -> String {
    format!("index/{}", escaped(name))
}

/// `name` without slashes, which separate the names of nested components from those of their owners.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}
