//! The labels of an enum: numbers to labels and back.

use std::sync::Arc;

use basalt_base::SqlType;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result};

use super::number::parse_integer;

/// Labels sorted by number and, as positions, by label.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    by_number: Arc<[(i16, String)]>,
    by_label: Arc<[usize]>,
    /// The number of the label declared first, which is the default.
    first: i16,
}

impl Labels {
    /// The labels of `ty`; `None` if it is not an enum.
    pub(super) fn of(ty: &SqlType) -> Option<Labels> {
        let declared: Vec<(i16, String)> = match ty {
            SqlType::Enum8(values) => {
                values.iter().map(|(label, number)| (i16::from(*number), label.clone())).collect()
            }
            SqlType::Enum16(values) => {
                values.iter().map(|(label, number)| (*number, label.clone())).collect()
            }
            _ => return None,
        };
        let first = declared.first().map_or(0, |&(number, _)| number);
        let mut by_number = declared;
        by_number.sort_unstable();
        let mut by_label: Vec<usize> = (0..by_number.len()).collect();
        by_label.sort_unstable_by_key(|&at| by_number[at].1.as_bytes());
        Some(Labels { by_number: by_number.into(), by_label: by_label.into(), first })
    }

    pub(super) fn label(&self, number: i16) -> Option<&str> {
        let at = self.by_number.binary_search_by_key(&number, |&(number, _)| number).ok()?;
        Some(&self.by_number[at].1)
    }

    pub(super) fn first(&self) -> i16 {
        self.first
    }

    /// The number of a label, or of the decimal digits of a number with a label.
    pub(super) fn parse(&self, text: &[u8]) -> Result<i16> {
        let by_label = |&at: &usize| self.by_number[at].1.as_bytes();
        if let Ok(found) = self.by_label.binary_search_by_key(&text, by_label) {
            return Ok(self.by_number[self.by_label[found]].0);
        }
        match parse_integer(text) {
            Ok(number) if self.label(number).is_some() => Ok(number),
            _ => Err(self.unknown(text)),
        }
    }

    #[cold]
    fn unknown(&self, text: &[u8]) -> Error {
        let shown = String::from_utf8_lossy(text);
        let hint = did_you_mean(&shown, self.by_number.iter().map(|(_, label)| &**label));
        Error::new(ErrorCode::UnknownElementOfEnum, format!("`{shown}` is not a label of the enum{hint}"))
    }
}
