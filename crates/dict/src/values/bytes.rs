//! Bytes that grow while a dictionary loads, or those of its file.

use std::ops::{Deref, Range};

use basalt_base::Result;
use basalt_base::region::{GrowingBytes, Section};

#[derive(Debug)]
pub(crate) enum Bytes {
    Growing(GrowingBytes),
    /// Bytes that nothing is added to any more.
    Shared(Section),
}

impl Bytes {
    pub(crate) fn zeroes(bytes: usize) -> Bytes {
        Bytes::Growing(GrowingBytes::zeroes(bytes))
    }

    pub(crate) fn with_capacity(bytes: usize) -> Bytes {
        Bytes::Growing(GrowingBytes::with_capacity(bytes))
    }

    /// The bytes for changes. Those of a file are copied first.
    #[inline]
    pub(crate) fn to_mut(&mut self) -> &mut GrowingBytes {
        if let Bytes::Shared(section) = self {
            *self = Bytes::Growing(section.to_vec().into());
        }
        match self {
            Bytes::Growing(bytes) => bytes,
            Bytes::Shared(_) => unreachable!("shared bytes were copied"),
        }
    }

    /// Keeps the first `len` bytes, and frees the memory of the others.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.to_mut().truncate(len);
    }

    pub(crate) fn shrink(&mut self) {
        if let Bytes::Growing(bytes) = self {
            bytes.shrink();
        }
    }

    /// See [`Section::check`].
    #[inline]
    pub(crate) fn check(&self, range: Range<usize>) -> Result<()> {
        match self {
            Bytes::Growing(_) => Ok(()),
            Bytes::Shared(section) => section.check(range),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Bytes::Growing(bytes) => bytes.resident_bytes(),
            Bytes::Shared(section) => section.resident_bytes(),
        }
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::Growing(GrowingBytes::default())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Growing(bytes) => bytes,
            Bytes::Shared(section) => section,
        }
    }
}
