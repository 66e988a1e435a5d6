//! Makes Arrow arrays of strings that are decoded one after the other.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::string_views::StringViews;
use basalt_base::{Error, Result};

/// Bytes of a buffer of an array, but for a longer string.
const BUFFER_BYTES: usize = 1 << 20;
/// Room after them, so that most strings that go beyond do not make the buffer grow.
const MARGIN_BYTES: usize = 64 << 10;
/// Strings whose lengths are kept until their views are made.
const STRINGS_MAX: usize = 1 << 16;

/// An array that grows by one string at a time.
#[derive(Default)]
pub(super) struct StringArray {
    views: StringViews,
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl StringArray {
    pub(super) fn with_capacity(strings: usize) -> StringArray {
        StringArray { views: StringViews::with_capacity(strings), ..StringArray::default() }
    }

    /// Appends the bytes that `append` appends to its argument as one string.
    #[inline]
    pub(super) fn push(&mut self, append: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        append(&mut self.bytes)?;
        let length = u32::try_from(self.bytes.len() - start).map_err(Error::logical)?;
        self.lengths.push(length);
        if self.bytes.len() > BUFFER_BYTES || self.lengths.len() >= STRINGS_MAX {
            self.seal();
        }
        Ok(())
    }

    /// Makes the views of the strings that have none.
    fn seal(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.len() > BUFFER_BYTES {
            // The next buffer has about the same size. A copy costs more than what is left of this one.
            self.bytes.reserve(BUFFER_BYTES + MARGIN_BYTES);
        } else {
            bytes.shrink_to_fit();
        }
        self.views.append(bytes, 0, &self.lengths);
        self.lengths.clear();
    }

    pub(super) fn finish(mut self) -> ArrayRef {
        self.seal();
        Arc::new(self.views.finish(None))
    }
}
