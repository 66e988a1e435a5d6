//! The schema of a dictionary: all that a query must know of it before it runs. It follows from the definition, before
//! any rows are loaded.

use basalt_base::{Result, SqlType};

use crate::attribute::Attribute;
use crate::layout_kind::LayoutKind;
use crate::spec::DictionarySpec;

/// The keys and attributes of a dictionary.
#[derive(Clone, Debug)]
pub struct DictionarySchema {
    pub kind: LayoutKind,
    /// The types of the key columns; one `UInt64` for the simple layouts.
    pub key_types: Vec<SqlType>,
    /// The type of the point that a lookup has after the key columns, if rows have a range.
    pub range_type: Option<SqlType>,
    pub attributes: Vec<Attribute>,
}

impl DictionarySchema {
    pub fn of(spec: DictionarySpec) -> Result<DictionarySchema> {
        spec.resolved().map(|spec| DictionarySchema::of_resolved(&spec))
    }

    pub(crate) fn of_resolved(spec: &DictionarySpec) -> DictionarySchema {
        DictionarySchema {
            kind: spec.layout.kind,
            key_types: spec.key_types(),
            range_type: spec.range.as_ref().map(|range| range.ty.clone()),
            attributes: spec.shown_attributes(),
        }
    }

    /// Whether the key is one `UInt64`, whatever integer the key column is declared as.
    pub(crate) fn has_simple_key(&self) -> bool {
        !self.kind.is_complex()
    }
}
