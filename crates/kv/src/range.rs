//! A range of keys, for scans.

use std::fmt;

use arrow::array::{ArrayRef, AsArray};
use arrow::util::display::array_value_to_string;
use basalt_base::types::quote_string;
use basalt_base::{Error, Result};

use crate::key_encoding::KeyEncoder;

/// Bounds on the first columns of the key. A bound has one array of one row for each column that it covers.
#[derive(Clone, Debug, Default)]
pub struct KeyRange {
    lower: Option<Bound>,
    upper: Option<Bound>,
}

#[derive(Clone, Debug)]
struct Bound {
    columns: Vec<ArrayRef>,
    inclusive: bool,
}

/// A half-open range of encoded keys: from `lower` to before `upper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    pub lower: Vec<u8>,
    /// `None` is the end of the table.
    pub upper: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every row.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// The rows whose key begins with `columns`, which have one row each.
    pub fn prefix(columns: Vec<ArrayRef>) -> KeyRange {
        KeyRange::all().from(columns.clone()).to(columns)
    }

    /// Rows not before `columns`.
    #[must_use]
    pub fn from(self, columns: Vec<ArrayRef>) -> KeyRange {
        KeyRange { lower: Some(Bound { columns, inclusive: true }), ..self }
    }

    /// Rows after all that begin with `columns`.
    #[must_use]
    pub fn after(self, columns: Vec<ArrayRef>) -> KeyRange {
        KeyRange { lower: Some(Bound { columns, inclusive: false }), ..self }
    }

    /// Rows not after those that begin with `columns`.
    #[must_use]
    pub fn to(self, columns: Vec<ArrayRef>) -> KeyRange {
        KeyRange { upper: Some(Bound { columns, inclusive: true }), ..self }
    }

    /// Rows before `columns`.
    #[must_use]
    pub fn before(self, columns: Vec<ArrayRef>) -> KeyRange {
        KeyRange { upper: Some(Bound { columns, inclusive: false }), ..self }
    }

    /// Whether every row is in it.
    pub fn is_all(&self) -> bool {
        self.lower.is_none() && self.upper.is_none()
    }

    /// The encoded range; `None` if no key can be in it.
    pub fn encode(&self, encoder: &KeyEncoder) -> Result<Option<ByteRange>> {
        let lower = match &self.lower {
            None => Vec::new(),
            Some(bound) => {
                let key = bound.encode(encoder)?;
                match if bound.inclusive { Some(key) } else { bound.after(key, encoder) } {
                    Some(lower) => lower,
                    None => return Ok(None),
                }
            }
        };
        let upper = match &self.upper {
            None => None,
            Some(bound) => {
                let key = bound.encode(encoder)?;
                if bound.inclusive { bound.after(key, encoder) } else { Some(key) }
            }
        };
        let is_empty = upper.as_ref().is_some_and(|upper| *upper <= lower);
        Ok((!is_empty).then_some(ByteRange { lower, upper }))
    }
}

impl fmt::Display for KeyRange {
    /// `>= (1, 'a') and < (2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |bound: &Bound, sign: &str| format!("{sign}{} ", if bound.inclusive { "=" } else { "" });
        match (&self.lower, &self.upper) {
            (None, None) => f.write_str("from the first to the last"),
            (Some(lower), None) => write!(f, "{}{lower}", sign(lower, ">")),
            (None, Some(upper)) => write!(f, "{}{upper}", sign(upper, "<")),
            (Some(lower), Some(upper)) => {
                write!(f, "{}{lower} and {}{upper}", sign(lower, ">"), sign(upper, "<"))
            }
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, column) in self.columns.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            match column.as_binary_view_opt() {
                Some(text) => {
                    write!(f, "{comma}{}", quote_string(&String::from_utf8_lossy(text.value(0))))?;
                }
                None => write!(f, "{comma}{}", array_value_to_string(column, 0).map_err(|_| fmt::Error)?)?,
            }
        }
        f.write_str(")")
    }
}

impl Bound {
    fn encode(&self, encoder: &KeyEncoder) -> Result<Vec<u8>> {
        let keys = encoder.encode(&self.columns)?;
        if keys.len() != 1 {
            return Err(Error::logical("a bound of a key range has one row"));
        }
        Ok(keys.get(0).to_vec())
    }

    /// The first key after all that begin with this bound's columns; `None` if there is none.
    fn after(&self, mut key: Vec<u8>, encoder: &KeyEncoder) -> Option<Vec<u8>> {
        if self.columns.len() == encoder.len() {
            // A whole key: its direct successor. (A string in the last column may continue.)
            key.push(0);
            return Some(key);
        }
        while let Some(last) = key.pop() {
            if last < u8::MAX {
                key.push(last + 1);
                return Some(key);
            }
        }
        None
    }
}
