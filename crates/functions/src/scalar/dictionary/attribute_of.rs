//! The attribute that a call of `dictGet` looks up, for optimizer rules that rewrite the call.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow::compute::{concat, filter};
use basalt_base::{Error, Result};
use basalt_dict::{Attribute, Dictionary};

/// One attribute of a dictionary.
pub struct AttributeOf<'a> {
    dictionary: &'a Arc<dyn Dictionary>,
    position: usize,
    /// Whether a missing key gives the attribute's default.
    has_default: bool,
}

impl<'a> AttributeOf<'a> {
    pub(super) fn new(
        dictionary: &'a Arc<dyn Dictionary>,
        position: usize,
        has_default: bool,
    ) -> AttributeOf<'a> {
        AttributeOf { dictionary, position, has_default }
    }

    pub fn dictionary(&self) -> &'a dyn Dictionary {
        self.dictionary.as_ref()
    }

    pub fn attribute(&self) -> &'a Attribute {
        &self.dictionary.attributes()[self.position]
    }

    /// Whether a missing key gives the attribute's default and nothing else.
    pub fn has_default(&self) -> bool {
        self.has_default
    }

    /// Whether all keys can be read, each key has one row, and there are at most `rows_max`.
    pub fn can_list_keys(&self, rows_max: u64) -> bool {
        self.dictionary.lists_keys() && self.dictionary.stats().element_count <= rows_max
    }

    /// The key columns of the rows whose value satisfies `holds`; NULL does not.
    pub fn keys_where(&self, holds: impl Fn(&ArrayRef) -> Result<BooleanArray>) -> Result<Vec<ArrayRef>> {
        let types = self.dictionary.key_types();
        let mut found: Vec<Vec<ArrayRef>> =
            types.iter().map(|ty| vec![new_empty_array(&ty.carrier())]).collect();
        let columns: Vec<usize> = (0..types.len()).chain([types.len() + self.position]).collect();
        self.dictionary.visit_columns(&columns, &mut |_, block| {
            let (keys, values) = block.split_at(types.len());
            let keep = holds(&values[0])?;
            for (found, key) in found.iter_mut().zip(keys) {
                found.push(filter(key, &keep).map_err(Error::of_arrow)?);
            }
            Ok(())
        })?;
        let joined = |arrays: &Vec<ArrayRef>| {
            let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
            concat(&arrays).map_err(Error::of_arrow)
        };
        found.iter().map(joined).collect()
    }
}
