//! The sizes of tokens.

/// The longest token.
pub const TOKEN_BYTES_MAX: usize = 16;

/// The number of byte values; each is a token by itself.
pub(super) const BYTES: usize = 1 << u8::BITS;
