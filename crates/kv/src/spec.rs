//! The columns of a store, which of them are the key, and their defaults.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Columns, Error, Result, SqlType, bail};

use crate::key_encoding::KeyEncoder;

/// The columns of a store. Columns outside the key may be added at the end later: rows written before read the
/// default.
#[derive(Clone, Debug)]
pub struct KvSpec {
    pub columns: Columns,
    /// Positions of the key's columns, in the order of the key.
    pub key: Vec<usize>,
    /// The default of each column, as an array of one row: its value in rows written before the column was added.
    pub defaults: Vec<ArrayRef>,
    /// For each column, a default that is computed from the row's other columns instead.
    pub computed: Vec<Option<Arc<dyn ComputedDefault>>>,
}

/// A default that is computed from other columns of the same row.
pub trait ComputedDefault: fmt::Debug + Send + Sync {
    /// Positions of the input columns.
    fn inputs(&self) -> &[usize];

    /// The values of `rows` rows with these inputs, in the carrier of the column.
    fn compute(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef>;
}

impl KvSpec {
    /// Columns with their types' defaults.
    pub fn new(columns: Columns, key: Vec<usize>) -> Result<KvSpec> {
        let defaults = columns.iter().map(|column| column.ty.default_array(1)).collect();
        let computed = vec![None; columns.len()];
        let spec = KvSpec { columns, key, defaults, computed };
        spec.check()?;
        Ok(spec)
    }

    /// Whether these are the columns and the key of `other`, followed by new columns.
    pub fn adds_columns_to(&self, other: &KvSpec) -> bool {
        let mut kept = other.columns.iter().zip(self.columns.iter());
        self.columns.len() >= other.columns.len()
            && kept.all(|(old, new)| old.ty == new.ty)
            && self.key == other.key
    }

    /// Positions of the columns outside the key, in order: the columns of a row's value.
    pub fn value_positions(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|position| !self.key.contains(position)).collect()
    }

    /// The encoding of the key.
    pub fn key_encoder(&self) -> Result<KeyEncoder> {
        KeyEncoder::new(self.key.iter().map(|&position| &self.columns[position].ty))
    }

    /// An error if the columns cannot be stored.
    pub fn check(&self) -> Result<()> {
        if self.key.is_empty() {
            bail!(BadArguments, "a key/value table needs a primary key");
        }
        for (at, &position) in self.key.iter().enumerate() {
            if position >= self.columns.len() || self.key[..at].contains(&position) {
                bail!(BadArguments, "key column {position} does not exist or is named twice");
            }
        }
        if self.defaults.len() != self.columns.len() || self.computed.len() != self.columns.len() {
            return Err(Error::logical("each column needs one default"));
        }
        for (column, default) in self.columns.iter().zip(&self.defaults) {
            if default.len() != 1 || *default.data_type() != column.ty.carrier() {
                return Err(Error::logical(format!(
                    "the default of `{}` is not one {}",
                    column.name, column.ty
                )));
            }
            if takes_no_bytes(&column.ty) {
                return Err(Error::not_implemented(format!(
                    "storing column `{}` of type {} in a key/value table",
                    column.name, column.ty
                )));
            }
        }
        self.key_encoder().map(|_| ())
    }
}

/// Whether a value of `ty`, or an element inside it, has no bytes. A corrupt length could then ask for any number
/// of them.
fn takes_no_bytes(ty: &SqlType) -> bool {
    match ty {
        SqlType::Nothing | SqlType::FixedString(0) | SqlType::Interval(_) => true,
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => {
            takes_no_bytes(inner)
        }
        SqlType::Tuple(elements) => {
            elements.is_empty() || elements.iter().any(|element| takes_no_bytes(&element.ty))
        }
        SqlType::Map(key, value) => takes_no_bytes(key) || takes_no_bytes(value),
        _ => false,
    }
}
