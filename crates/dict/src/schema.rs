//! What a definition says of the dictionary that will be loaded: all that a query must know before it runs.

use basalt_base::{Result, SqlType};

use crate::attribute::Attribute;
use crate::layout_kind::LayoutKind;
use crate::spec::DictionarySpec;

/// What [`crate::Dictionary`] says of itself without its rows.
#[derive(Clone, Debug)]
pub struct DictionarySchema {
    pub kind: LayoutKind,
    pub key_types: Vec<SqlType>,
    pub range_type: Option<SqlType>,
    pub attributes: Vec<Attribute>,
}

impl DictionarySchema {
    pub fn of(spec: DictionarySpec) -> Result<DictionarySchema> {
        let spec = spec.resolved()?;
        Ok(DictionarySchema {
            kind: spec.layout.kind,
            key_types: spec.key_types(),
            attributes: spec.shown_attributes(),
            range_type: spec.range.map(|range| range.ty),
        })
    }
}
