//! The bytes of a block: read no further than needed, and no more than a limit.
//!
//! Memory is taken as bytes arrive: a number in a header allocates nothing.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::BufRead;

use arrow::array::BinaryViewArray;
use arrow::buffer::{Buffer, MutableBuffer, NullBuffer};
use basalt_base::query::{check_allocation, checkpoint};
use basalt_base::string_views::StringViews;
use basalt_base::{Error, ErrorCode, Result};

use crate::binary::read_varint;

/// Bytes taken between two cancellation checks, and the most that are allocated in advance.
const STEP_BYTES: usize = 1 << 20;

/// A block's bytes.
pub(super) struct Source<'a> {
    input: &'a mut dyn BufRead,
    /// Bytes that the block may still take: in the input, or in memory beyond that.
    left: u64,
    limit: u64,
}

impl<'a> Source<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, limit: u64) -> Source<'a> {
        Source { input, left: limit, limit }
    }

    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.input.fill_buf().map_err(Error::of_reading)?.is_empty())
    }

    /// Counts bytes of the block; fails if they are too many.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let what = format!("a block takes more than {} bytes", self.limit);
                Err(Error::new(ErrorCode::IncorrectData, what))
            }
        }
    }

    /// Like [`Source::charge`] for `count` times `each`.
    pub(super) fn charge_all(&mut self, count: usize, each: usize) -> Result<()> {
        self.charge((count as u64).saturating_mul(each as u64))
    }

    /// Bytes that are here already; at least one.
    fn available(&mut self) -> Result<&[u8]> {
        let bytes = self.input.fill_buf().map_err(Error::of_reading)?;
        if bytes.is_empty() {
            return Err(Error::new(ErrorCode::CannotReadAllData, "the input ends within a block"));
        }
        Ok(bytes)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.charge(1)?;
        let byte = self.available()?[0];
        self.input.consume(1);
        Ok(byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Ok(bytes)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn varint(&mut self) -> Result<u64> {
        read_varint(|| self.byte())
    }

    /// The next bytes, `count` times `each` of them, aligned as Arrow aligns buffers.
    pub(super) fn bytes(&mut self, count: usize, each: usize) -> Result<Buffer> {
        self.charge_all(count, each)?;
        // Within the limit, so it is no overflow.
        let wanted = count * each;
        let mut buffer = MutableBuffer::new(wanted.min(STEP_BYTES));
        while buffer.len() < wanted {
            let missing = (wanted - buffer.len()).min(STEP_BYTES);
            let available = self.available()?;
            let taken = missing.min(available.len());
            if buffer.capacity() < buffer.len() + taken {
                let more = (buffer.len() + STEP_BYTES).min(wanted - buffer.len());
                check_allocation(more as u64)?;
                buffer.reserve(more);
            }
            buffer.extend_from_slice(&available[..taken]);
            self.input.consume(taken);
            checkpoint()?;
        }
        Ok(buffer.into())
    }

    /// Text of at most `bytes_max` bytes, after its length.
    pub(super) fn text(&mut self, bytes_max: u64) -> Result<Vec<u8>> {
        let length = self.varint()?;
        if length > bytes_max {
            let what = format!("a name of {length} bytes is longer than {bytes_max} bytes");
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX), 1).map(|bytes| bytes.to_vec())
    }

    /// `rows` strings, each after its length.
    pub(super) fn strings(&mut self, rows: usize, nulls: Option<NullBuffer>) -> Result<BinaryViewArray> {
        let mut views = StringViews::default();
        let mut missing = rows;
        while missing > 0 {
            checkpoint()?;
            let available = self.available()?;
            let window = &available[..available.len().min(STEP_BYTES)];
            let (count, bytes) = views.append_prefixed(window, missing);
            self.charge(bytes as u64)?;
            self.input.consume(bytes);
            missing -= count;
            if missing > 0 && count == 0 {
                self.string(&mut views)?;
                missing -= 1;
            }
        }
        Ok(views.finish(nulls))
    }

    /// A string that is not whole in the bytes that are here.
    fn string(&mut self, views: &mut StringViews) -> Result<()> {
        let length = self.varint()?;
        let Ok(short) = u32::try_from(length) else {
            let what = format!("a string of {length} bytes is longer than {} bytes", u32::MAX);
            return Err(Error::new(ErrorCode::TooLargeStringSize, what));
        };
        let bytes = self.bytes(short as usize, 1)?;
        views.append_copy(&bytes, &[short]);
        Ok(())
    }
}
