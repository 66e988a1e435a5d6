//! The log of recently inserted blocks: an INSERT that is repeated adds nothing.
//!
//! # Layout of `deduplication.log`
//!
//! ```text
//! magic "BSLTDUP1"
//! blocks u32, then for each, oldest first: partition as bytes, hash 16 bytes
//! crc32c u32                     of everything before it
//! ```
//!
//! The file is replaced as a whole; it is small, because the window is. Dropping rows removes their blocks, so that
//! the same rows can be inserted again.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::VecDeque;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::row::{RowConverter, SortField};
use basalt_base::checksum::crc32c;
use basalt_base::fs::{PendingFile, Storage};
use basalt_base::siphash::sip_hash128;

use crate::error::{Damage, Result};
use crate::fields::{FieldReader, FieldWriter};

/// The name of the file.
pub(super) const DEDUPLICATION_FILE: &str = "deduplication.log";

/// A larger log is invalid.
const LOG_BYTES_MAX: u64 = 64 << 20;

const MAGIC: &[u8; 8] = b"BSLTDUP1";

/// The least bytes of an entry.
const ENTRY_BYTES_MIN: usize = 4 + 16;

/// The deduplication of an INSERT.
#[derive(Clone, Debug)]
pub struct Deduplication {
    /// The number of blocks that are remembered, at least 1.
    pub window: usize,
    /// Identifies the statement; if empty, its rows do.
    pub token: String,
}

/// The identity of a block in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockId {
    pub(super) partition: String,
    pub(super) hash: [u8; 16],
}

impl BlockId {
    /// The identity in the form that users see.
    pub(super) fn text(&self) -> String {
        let (low, high) = self.hash.split_at(8);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        format!("{}_{}_{}", self.partition, number(high), number(low))
    }
}

/// Recently inserted blocks, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct DeduplicationLog {
    entries: VecDeque<BlockId>,
}

impl Deduplication {
    /// The identity of the rows of one partition in block number `block` of the statement.
    pub(super) fn id_of(&self, partition: &str, block: u64, rows: &RecordBatch) -> Result<BlockId> {
        let mut bytes = block.to_le_bytes().to_vec();
        if self.token.is_empty() {
            let fields = rows.schema();
            let fields = fields.fields().iter().map(|field| SortField::new(field.data_type().clone()));
            let rows = RowConverter::new(fields.collect())?.convert_columns(rows.columns())?;
            for row in &rows {
                let length = u32::try_from(row.data().len()).map_err(basalt_base::Error::logical)?;
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(row.data());
            }
        } else {
            bytes.extend_from_slice(self.token.as_bytes());
        }
        Ok(BlockId { partition: partition.to_owned(), hash: sip_hash128(&bytes) })
    }
}

impl DeduplicationLog {
    /// Reads the log of the table in `dir`. A damaged or missing log is empty.
    pub(super) fn open(storage: &dyn Storage, dir: &Path) -> Result<DeduplicationLog> {
        let path = dir.join(DEDUPLICATION_FILE);
        if !storage.exists(&path)? {
            return Ok(DeduplicationLog::default());
        }
        let bytes = storage.read(&path, LOG_BYTES_MAX)?;
        // A block that is inserted twice is better than a table that does not open.
        Ok(DeduplicationLog::decode(&bytes).unwrap_or_default())
    }

    pub(super) fn contains(&self, id: &BlockId) -> bool {
        self.entries.contains(id)
    }

    /// Adds `id` as the latest of at most `window` entries.
    pub(super) fn add(&mut self, id: BlockId, window: usize) {
        if !self.contains(&id) {
            self.entries.push_back(id);
        }
        while self.entries.len() > window {
            self.entries.pop_front();
        }
    }

    /// Removes the blocks of `partition`; `false` if there were none.
    pub(super) fn forget(&mut self, partition: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|id| id.partition != partition);
        self.entries.len() < before
    }

    /// Writes the log to a pending file, which replaces the old one when it is published.
    pub(super) fn write(&self, storage: &dyn Storage, dir: &Path) -> Result<PendingFile> {
        Ok(PendingFile::write(storage, &dir.join(DEDUPLICATION_FILE), &self.encode())?)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = FieldWriter::default();
        out.raw(MAGIC);
        out.count(self.entries.len());
        for id in &self.entries {
            id.encode(&mut out);
        }
        out.u32(crc32c(&out.bytes));
        out.bytes
    }

    fn decode(bytes: &[u8]) -> Result<DeduplicationLog, Damage> {
        let body = checked_body(bytes)?;
        let mut fields = FieldReader::new(body);
        if fields.array()? != *MAGIC {
            return Err(Damage::new(0, "this is not a log of inserted blocks"));
        }
        let entries = BlockId::decode_list(&mut fields, body.len())?;
        fields.finish()?;
        Ok(DeduplicationLog { entries: entries.into() })
    }
}

impl BlockId {
    pub(super) fn encode(&self, out: &mut FieldWriter) {
        out.bytes(self.partition.as_bytes());
        out.raw(&self.hash);
    }

    /// A count and that many identities, in a file of `bytes` bytes.
    pub(super) fn decode_list(fields: &mut FieldReader<'_>, bytes: usize) -> Result<Vec<BlockId>, Damage> {
        let count = fields.count()?;
        if count > bytes / ENTRY_BYTES_MIN {
            return Err(Damage::new(fields.at(), format!("{count} blocks do not fit the file")));
        }
        (0..count).map(|_| Ok(BlockId { partition: fields.text()?, hash: fields.array()? })).collect()
    }
}

/// The bytes before the checksum at the end, if that is right.
pub(super) fn checked_body(bytes: &[u8]) -> Result<&[u8], Damage> {
    let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(Damage::new(bytes.len(), "the file ends early"));
    };
    let (stored, computed) = (u32::from_le_bytes(*crc), crc32c(body));
    if stored != computed {
        let what = format!("checksum is {stored:#010x}, computed {computed:#010x}");
        return Err(Damage::new(body.len(), what));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(block: u8) -> BlockId {
        BlockId { partition: "all".to_owned(), hash: [block; 16] }
    }

    #[test]
    fn log_keeps_the_latest_blocks_of_its_window() {
        let mut log = DeduplicationLog::default();
        for block in 0..5 {
            log.add(id(block), 3);
            log.add(id(block), 3);
        }
        let log = DeduplicationLog::decode(&log.encode()).unwrap();
        let known: Vec<bool> = (0..5).map(|block| log.contains(&id(block))).collect();
        assert_eq!(known, [false, false, true, true, true]);
    }

    #[test]
    fn log_refuses_every_bit_flip_and_truncation() {
        let mut log = DeduplicationLog::default();
        log.add(id(1), 3);
        let whole = log.encode();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(DeduplicationLog::decode(&bytes).is_err(), "bit {bit}");
        }
        for end in 0..whole.len() {
            assert!(DeduplicationLog::decode(&whole[..end]).is_err(), "{end} bytes");
        }
    }
}
