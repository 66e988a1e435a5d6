//! Bytes of rows; the last row may be incomplete.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::{Error, ErrorCode, Result};

use crate::binary::read_varint;

/// The reason why a value was not read.
pub(super) enum Stop {
    /// The bytes end within it.
    Incomplete,
    Failed(Box<Error>),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(Box::new(error))
    }
}

pub(super) struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Bytes<'a> {
        Bytes { rest }
    }

    /// How many bytes are left.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Stop::Incomplete)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Stop> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Stop::Incomplete)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        self.array::<1>().map(|[byte]| *byte)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Stop> {
        read_varint(|| self.byte())
    }

    /// Text of at most `bytes_max` bytes, after its length.
    pub(super) fn text(&mut self, bytes_max: u64) -> Result<&'a [u8], Stop> {
        let length = self.varint()?;
        if length > bytes_max {
            let what = format!("a name of {length} bytes is longer than {bytes_max} bytes");
            return Err(Error::new(ErrorCode::IncorrectData, what).into());
        }
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }
}
