//! Sorted entries in a spool.
//!
//! # Layout
//!
//! For each entry: bytes of the value u32 | rank u32 | the value. It is read back by the process that wrote it.

use std::cmp::Ordering;

use basalt_base::{Error, Result};

use crate::Rank;
use crate::file::{Spool, SpoolReader};

const HEAD_BYTES: usize = 8;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

pub(super) fn write_entry(run: &mut Spool, value: &[u8], rank: Rank) -> Result<()> {
    let bytes = u32::try_from(value.len()).map_err(Error::logical)?;
    let head = u64::from(bytes) | u64::from(rank) << 32;
    run.write(&head.to_le_bytes())?;
    run.write(value)
}

/// Reads entries one after the other.
#[derive(Debug)]
pub(super) struct RunReader {
    reader: SpoolReader,
    piece: Vec<u8>,
    at: usize,
    /// The entry that was read last.
    value: Vec<u8>,
    rank: Rank,
}

impl RunReader {
    pub(super) fn new(run: Spool) -> Result<RunReader> {
        let reader = run.into_reader()?;
        Ok(RunReader { reader, piece: Vec::new(), at: 0, value: Vec::new(), rank: 0 })
    }

    /// Goes to the next entry; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let mut head = [0; HEAD_BYTES];
        if !self.fill(&mut head)? {
            return Ok(false);
        }
        let head = u64::from_le_bytes(head);
        self.rank = (head >> 32) as u32;
        let mut value = std::mem::take(&mut self.value);
        value.resize((head & u64::from(u32::MAX)) as usize, 0);
        let is_whole = self.fill(&mut value)?;
        self.value = value;
        match is_whole {
            true => Ok(true),
            false => Err(Error::logical("a run of entries ends inside of one")),
        }
    }

    /// Fills `out` with the next bytes; `false` if there are not so many.
    fn fill(&mut self, mut out: &mut [u8]) -> Result<bool> {
        while !out.is_empty() {
            if self.at == self.piece.len() {
                self.piece.resize(PIECE_BYTES, 0);
                let bytes = self.reader.read(&mut self.piece)?;
                self.piece.truncate(bytes);
                self.at = 0;
                if bytes == 0 {
                    return Ok(false);
                }
            }
            let bytes = out.len().min(self.piece.len() - self.at);
            let (front, rest) = out.split_at_mut(bytes);
            front.copy_from_slice(&self.piece[self.at..self.at + bytes]);
            self.at += bytes;
            out = rest;
        }
        Ok(true)
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.value
    }

    pub(super) fn rank(&self) -> Rank {
        self.rank
    }
}

impl PartialEq for RunReader {
    fn eq(&self, other: &RunReader) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RunReader {}

impl PartialOrd for RunReader {
    fn partial_cmp(&self, other: &RunReader) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RunReader {
    /// The reader with the least entry is the greatest, which a heap has on top.
    fn cmp(&self, other: &RunReader) -> Ordering {
        (&other.value, other.rank).cmp(&(&self.value, self.rank))
    }
}
