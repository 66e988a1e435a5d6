//! The metadata of a skip index: its elements and its file.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::error::Damage;
use crate::fields::{FieldReader, FieldWriter};
use crate::index::skip_index::SkipIndex;

/// Means that the skip index has a file of its own.
const OWN_FILE: u64 = u64::MAX;

/// The metadata of a skip index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkipIndexMeta {
    pub(crate) name: String,
    /// See [`SkipIndex::text`].
    pub(crate) of: String,
    /// See [`SkipIndex::signature`].
    pub(crate) signature: String,
    pub(crate) file_bytes: u64,
    /// Its offset in the data file of a compact part.
    pub(crate) offset: Option<u64>,
}

impl SkipIndexMeta {
    pub(crate) fn new(index: &SkipIndex, file_bytes: usize, offset: Option<u64>) -> SkipIndexMeta {
        let file_bytes = file_bytes as u64;
        let (name, of) = (index.name.clone(), index.text());
        SkipIndexMeta { name, of, signature: index.signature(), file_bytes, offset }
    }

    /// Whether it describes the table's `index`.
    pub(crate) fn is_of(&self, index: &SkipIndex) -> bool {
        self.name == index.name && self.of == index.text() && self.signature == index.signature()
    }

    pub(super) fn encode(&self, out: &mut FieldWriter) {
        out.bytes(self.name.as_bytes());
        out.bytes(self.of.as_bytes());
        out.bytes(self.signature.as_bytes());
        out.u64(self.file_bytes);
        out.u64(self.offset.unwrap_or(OWN_FILE));
    }

    pub(super) fn decode(fields: &mut FieldReader<'_>) -> Result<SkipIndexMeta, Damage> {
        let (name, of, signature) = (fields.text()?, fields.text()?, fields.text()?);
        let file_bytes = fields.u64()?;
        let offset = Some(fields.u64()?).filter(|&offset| offset != OWN_FILE);
        Ok(SkipIndexMeta { name, of, signature, file_bytes, offset })
    }
}
