//! A word of a few bytes that is copied like a number.

use basalt_base::{Error, ErrorCode, Result};

/// Bytes of the longest word.
const BYTES_MAX: usize = 31;

/// Text of at most 31 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortText {
    bytes: [u8; BYTES_MAX],
    len: u8,
}

impl ShortText {
    /// Fails if `text` is longer than 31 bytes.
    pub fn new(text: &str) -> Result<ShortText> {
        let len = text.len();
        if len > BYTES_MAX {
            let what = format!("`{text}` has {len} bytes, expected at most {BYTES_MAX}");
            return Err(Error::new(ErrorCode::BadArguments, what));
        }
        let mut bytes = [0; BYTES_MAX];
        bytes[..len].copy_from_slice(text.as_bytes());
        Ok(ShortText { bytes, len: len as u8 })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_bytes() {
        assert_eq!(ShortText::new("true").unwrap().as_bytes(), b"true");
        assert_eq!(ShortText::new("").unwrap().as_bytes(), b"");
        assert!(ShortText::new(&"x".repeat(32)).is_err());
    }
}
