//! The definition of a dictionary: its key, attributes and layout.

use arrow::array::Array;
use basalt_base::{Column, Columns, Result, SqlType, bail};

use crate::attribute::Attribute;
use crate::key_types::{check_polygon_key, is_range_type, regexp_tree_columns};
use crate::layout_kind::LayoutKind;
use crate::layout_spec::LayoutSpec;

/// The definition of a dictionary, without the source of its rows.
#[derive(Clone, Debug)]
pub struct DictionarySpec {
    pub key_columns: Columns,
    pub attributes: Vec<Attribute>,
    pub layout: LayoutSpec,
    /// Where a row's range comes from, for the range layouts.
    pub range: Option<RangeSpec>,
}

/// `RANGE(MIN low MAX high)`: the range of a row, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSpec {
    /// Names of columns of the source.
    pub low: String,
    pub high: String,
    /// The type of both, without `Nullable`; the columns may hold NULL.
    pub ty: SqlType,
}

impl DictionarySpec {
    /// The types of [`crate::Dictionary::key_types`]: one `UInt64` for the simple layouts, whatever integer the key
    /// column is declared as.
    pub fn key_types(&self) -> Vec<SqlType> {
        if self.layout.kind.is_complex() {
            self.key_columns.iter().map(|column| column.ty.clone()).collect()
        } else {
            vec![SqlType::UInt64]
        }
    }

    /// The attributes of a lookup. If the layout of an IP_TRIE says so, the prefix that matched is one of them.
    pub(crate) fn shown_attributes(&self) -> Vec<Attribute> {
        let mut attributes = self.attributes.clone();
        if self.layout.kind == LayoutKind::IpTrie && self.layout.key_is_attribute {
            attributes.push(Attribute {
                name: self.key_columns[0].name.clone(),
                ty: SqlType::String,
                default: SqlType::String.default_array(1),
                hierarchical: false,
                injective: false,
            });
        }
        attributes
    }

    /// The columns of the source and of a scan: the key columns, both ends of the range if there is one, and the
    /// attributes. For a REGEXP_TREE, the columns of its nodes.
    pub fn columns(&self) -> Columns {
        if self.layout.kind == LayoutKind::RegexpTree {
            return regexp_tree_columns().map(|(name, ty)| Column::new(name, ty)).into_iter().collect();
        }
        let keys = self.key_columns.iter().zip(self.key_types());
        let keys = keys.map(|(column, ty)| Column::new(&column.name, ty));
        let range = self.range.iter();
        let bounds =
            range.flat_map(|range| [&range.low, &range.high].map(|name| Column::new(name, range.ty.clone())));
        let attributes =
            self.attributes.iter().map(|attribute| Column::new(&attribute.name, attribute.ty.clone()));
        keys.chain(bounds).chain(attributes).collect()
    }

    /// The same definition with the layout that its key needs. A simple layout becomes its `COMPLEX_KEY_` form if the
    /// key is composite or no integer.
    pub fn resolved(mut self) -> Result<DictionarySpec> {
        if self.key_columns.is_empty() {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs at least one key column");
        }
        let is_simple_key = self.key_columns.len() == 1 && self.key_columns[0].ty.full().is_integer();
        if !self.layout.kind.is_complex() && !is_simple_key {
            let Some(complex) = self.layout.kind.complex_form() else {
                bail!(
                    UnsupportedMethod,
                    "dictionary layout {} takes one integer key column, not ({})",
                    self.layout.kind.name(),
                    self.key_columns
                        .iter()
                        .map(|column| column.ty.to_string())
                        .collect::<Vec<_>>()
                        .join(", ")
                );
            };
            self.layout.kind = complex;
        }
        if self.layout.kind == LayoutKind::RegexpTree && self.key_types() != [SqlType::String] {
            bail!(
                IncorrectDictionaryDefinition,
                "the key of a REGEXP_TREE dictionary is one String, the regular expression"
            );
        }
        if self.layout.kind.is_polygon() {
            check_polygon_key(&self.key_types())?;
        }
        self.check_range()?;
        self.check_attributes()?;
        Ok(self)
    }

    fn check_range(&self) -> Result<()> {
        let layout = self.layout.kind.name();
        match &self.range {
            None if self.layout.kind.is_range() => {
                bail!(BadArguments, "a dictionary of layout {layout} needs RANGE(MIN column MAX column)")
            }
            Some(_) if !self.layout.kind.is_range() => {
                bail!(BadArguments, "RANGE is for dictionaries of layout RANGE_HASHED, not {layout}")
            }
            Some(range) if !is_range_type(&range.ty) => bail!(
                BadArguments,
                "the type of a range is a number, a date or time, or an enum, not {}",
                range.ty
            ),
            _ => Ok(()),
        }
    }

    fn check_attributes(&self) -> Result<()> {
        for Attribute { name, ty, default, .. } in &self.attributes {
            if default.len() != 1 || *default.data_type() != ty.carrier() {
                bail!(
                    TypeMismatch,
                    "the default of attribute `{name}` has {} rows of {}, not one of {ty}",
                    default.len(),
                    default.data_type()
                );
            }
            if default.is_null(0) && !ty.accepts_null() {
                bail!(TypeMismatch, "the default of attribute `{name}` is NULL, which {ty} does not take");
            }
        }
        Ok(())
    }
}
