//! Checksums of a file, each compared when its block is first used.
//!
//! So a file of gigabytes can be used at once: a lookup compares the checksums of what it is about to read, and the
//! others are compared in the background. Each block is read once, or a few times if threads meet.
//!
//! A block of a mapped file is read from the file, not through memory, so that a failing disk is an error and does not
//! end the process. The mapping shows the same pages.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::checksum::crc32c;
use crate::{Error, ErrorCode, Result};

/// Bytes that share a checksum.
pub const CHECK_BLOCK_BYTES: usize = 64 << 10;

const WORD_BITS: usize = u64::BITS as usize;

/// The checksums of blocks, and which of them were compared.
#[derive(Debug)]
pub struct BlockChecks {
    /// The name of the file in errors.
    name: String,
    /// The bytes of all blocks.
    bytes: usize,
    sums: Vec<u32>,
    /// A bit for each block.
    good: Vec<AtomicU64>,
    all_good: AtomicBool,
    any_bad: AtomicBool,
}

impl BlockChecks {
    /// The checksums of the blocks of the first `bytes`; the bytes after them are not checked.
    pub fn new(name: String, bytes: usize, sums: Vec<u32>) -> BlockChecks {
        let good = (0..sums.len().div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect();
        let (all_good, any_bad) = (AtomicBool::new(false), AtomicBool::new(false));
        BlockChecks { name, bytes, sums, good, all_good, any_bad }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether all blocks were compared.
    pub(super) fn is_done(&self) -> bool {
        self.all_good.load(Ordering::Acquire)
    }

    /// Whether a block was found damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.any_bad.load(Ordering::Acquire)
    }

    /// Compares the blocks of `source` that `range` touches, unless they were compared before.
    pub fn check(&self, source: &BlockSource<'_>, range: Range<usize>) -> Result<()> {
        if range.is_empty() || self.is_done() {
            return Ok(());
        }
        let last = (range.end - 1) / CHECK_BLOCK_BYTES;
        (range.start / CHECK_BLOCK_BYTES..=last).try_for_each(|block| self.check_block(source, block))
    }

    /// Compares every block.
    pub fn check_all(&self, source: &BlockSource<'_>) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        (0..self.sums.len()).try_for_each(|block| self.check_block(source, block))?;
        self.all_good.store(true, Ordering::Release);
        Ok(())
    }

    fn check_block(&self, source: &BlockSource<'_>, block: usize) -> Result<()> {
        let bit = 1 << (block % WORD_BITS);
        let Some(word) = self.good.get(block / WORD_BITS) else { return Ok(()) };
        if word.load(Ordering::Acquire) & bit != 0 {
            return Ok(());
        }
        let (at, end) = (block * CHECK_BLOCK_BYTES, self.bytes.min((block + 1) * CHECK_BLOCK_BYTES));
        let bad = |code, what: String| {
            self.any_bad.store(true, Ordering::Release);
            Err(Error::new(code, format!("{} {what} between byte {at} and {end}", self.name)))
        };
        let there = match source.read(at..end) {
            Ok(there) => there,
            Err(error) => {
                return bad(ErrorCode::CannotReadFromFile, format!("cannot be read ({error})"));
            }
        };
        match self.sums.get(block) {
            Some(&sum) if crc32c(&there) != sum => {
                bad(ErrorCode::ChecksumDoesntMatch, "is damaged".to_owned())
            }
            _ => {
                word.fetch_or(bit, Ordering::Release);
                Ok(())
            }
        }
    }
}

/// Where blocks are read from.
pub enum BlockSource<'a> {
    Memory(&'a [u8]),
    File(&'a File),
    /// Fills bytes from an offset on.
    Reader(&'a dyn Fn(u64, &mut [u8]) -> io::Result<()>),
}

impl BlockSource<'_> {
    /// These bytes; of memory, those that exist.
    fn read(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            BlockSource::Memory(bytes) => Ok(bytes.get(range).unwrap_or_default().into()),
            BlockSource::File(file) => {
                let mut bytes = vec![0; range.len()];
                file.read_exact_at(&mut bytes, range.start as u64)?;
                Ok(bytes.into())
            }
            BlockSource::Reader(read) => {
                let mut bytes = vec![0; range.len()];
                read(range.start as u64, &mut bytes)?;
                Ok(bytes.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_block_is_found_when_it_is_touched_and_others_are_not_read() {
        let mut bytes: Vec<u8> = (0..5 * CHECK_BLOCK_BYTES + 100).map(|at| (at / 7) as u8).collect();
        let sums = bytes.chunks(CHECK_BLOCK_BYTES).map(crc32c).collect();
        let checks = BlockChecks::new("file".into(), bytes.len(), sums);
        bytes[2 * CHECK_BLOCK_BYTES + 5] ^= 4;
        let block = |block: usize| block * CHECK_BLOCK_BYTES..(block + 1) * CHECK_BLOCK_BYTES;
        assert!(checks.check(&BlockSource::Memory(&bytes), 0..block(1).end).is_ok());
        assert!(!checks.is_damaged());
        let error = checks
            .check(&BlockSource::Memory(&bytes), block(1).start..block(2).start + 1)
            .expect_err("a flipped bit");
        assert_eq!(error.code(), ErrorCode::ChecksumDoesntMatch);
        assert!(
            checks.is_damaged()
                && checks.check_all(&BlockSource::Memory(&bytes)).is_err()
                && !checks.is_done()
        );
        assert!(checks.check(&BlockSource::Memory(&bytes), block(3).start..bytes.len()).is_ok());
        bytes[2 * CHECK_BLOCK_BYTES + 5] ^= 4;
        assert!(checks.check_all(&BlockSource::Memory(&bytes)).is_ok() && checks.is_done());
    }
}
