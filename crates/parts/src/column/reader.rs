//! Reads the blocks of a column file; its layout is in [`writer`](super::writer).

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use basalt_base::checksum::crc32c;
use basalt_base::fs::RandomAccess;
use basalt_codec::Scratch;

use super::cache::BlockKey;
use super::decoder::ArrayDecoder;
use super::file::{ColumnFile, Tail};
use super::plain::plain;
use super::section::SectionReader;
use super::strings::codes::{CodesDecoder, decode_dictionary};
use super::writer::BlockEntry;
use crate::error::{Damage, Result};
use crate::metrics::ReadMetrics;

/// Adjacent blocks are read together, up to this many bytes.
const READ_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct OpenColumn {
    column: Arc<ColumnFile>,
    file: Arc<dyn RandomAccess>,
    tail: Arc<Tail>,
    /// The file's dictionary, after its first use.
    dictionary: OnceCell<ArrayRef>,
}

/// Appends rows of a block: its sections, its number of rows, and the wanted range.
type AppendRows<'a> = dyn FnMut(&mut SectionReader<'_>, usize, Range<usize>) -> Result<(), Damage> + 'a;

/// Buffers that a reader reuses for one block after the other.
#[derive(Debug, Default)]
pub(crate) struct ReadScratch {
    bytes: Vec<u8>,
    codec: Scratch,
}

impl OpenColumn {
    pub(super) fn new(column: Arc<ColumnFile>, file: Arc<dyn RandomAccess>, tail: Arc<Tail>) -> OpenColumn {
        OpenColumn { column, file, tail, dictionary: OnceCell::new() }
    }

    pub(crate) fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// The values of `rows`; a dictionary array if all blocks of the file are coded.
    pub(crate) fn read(
        &self,
        rows: Range<u64>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<ArrayRef> {
        let Tail { footer, .. } = &*self.tail;
        if footer.coded_blocks == 0 {
            return self.read_plain(rows, scratch, metrics);
        }
        if footer.coded_blocks == footer.block_count {
            return self.read_coded(rows, scratch, metrics);
        }
        let coded_end = u64::from(footer.coded_blocks) * footer.block_rows();
        if rows.start >= coded_end {
            return self.read_plain(rows, scratch, metrics);
        }
        let coded = plain(&self.read_coded(rows.start..rows.end.min(coded_end), scratch, metrics)?);
        if rows.end <= coded_end {
            return Ok(coded);
        }
        let rest = self.read_plain(coded_end..rows.end, scratch, metrics)?;
        Ok(concat(&[&*coded, &*rest])?)
    }

    fn read_plain(
        &self,
        rows: Range<u64>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<ArrayRef> {
        let mut array = ArrayDecoder::new(&self.column.field, in_memory(rows.end - rows.start));
        self.read_rows(
            rows,
            &mut |sections, rows, take| array.append(sections, rows, take),
            scratch,
            metrics,
        )?;
        array.finish().map_err(|error| Damage::new(0, error.to_string()).in_file(&self.column.path))
    }

    fn read_coded(
        &self,
        rows: Range<u64>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<ArrayRef> {
        let dictionary = Arc::clone(self.dictionary(metrics)?);
        let row_count = in_memory(rows.end - rows.start);
        let mut array = CodesDecoder::new(dictionary, self.column.field.is_nullable(), row_count);
        self.read_rows(
            rows,
            &mut |sections, rows, take| array.append(sections, rows, take),
            scratch,
            metrics,
        )?;
        array.finish().map_err(|error| Damage::new(0, error.to_string()).in_file(&self.column.path))
    }

    /// No rows, in the array type of this file.
    pub(crate) fn empty(&self) -> Result<ArrayRef> {
        self.read(0..0, &mut ReadScratch::default(), &ReadMetrics::default())
    }

    /// The file's dictionary, shared by all coded arrays.
    fn dictionary(&self, metrics: &ReadMetrics) -> Result<&ArrayRef> {
        if let Some(dictionary) = self.dictionary.get() {
            return Ok(dictionary);
        }
        // Locked during the read: two arrays of the same strings would not be recognized as the same.
        let mut shared = self.column.dictionary.lock().unwrap_or_else(PoisonError::into_inner);
        let dictionary = match shared.upgrade() {
            Some(dictionary) => dictionary,
            None => {
                let dictionary = self.read_dictionary(metrics)?;
                *shared = Arc::downgrade(&dictionary);
                dictionary
            }
        };
        if let Some(cache) = self.column.cache.get().and_then(Weak::upgrade) {
            cache.insert(BlockKey::dictionary(self.column.id), &dictionary);
        }
        Ok(self.dictionary.get_or_init(|| dictionary))
    }

    fn read_dictionary(&self, metrics: &ReadMetrics) -> Result<ArrayRef> {
        let entry = self.tail.dictionary.expect("a file with a coded block has a dictionary");
        let started = Instant::now();
        let mut bytes = vec![0; entry.bytes as usize];
        self.column.read_at(&*self.file, entry.offset, &mut bytes)?;
        metrics.count_disk_read(started, bytes.len());
        let in_file = |damage: Damage| damage.shifted(entry.offset).in_file(&self.column.path);
        check_crc(&entry, &bytes, "the dictionary").map_err(in_file)?;
        let started = Instant::now();
        let dictionary = decode_dictionary(&bytes, &self.tail.footer.chain).map_err(in_file)?;
        metrics.count_decode(started, dictionary.get_array_memory_size());
        Ok(dictionary)
    }

    /// Passes the sections of the blocks with `rows` to `append`, with the block's row count and the wanted range
    /// of its rows.
    fn read_rows(
        &self,
        rows: Range<u64>,
        append: &mut AppendRows<'_>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<()> {
        let block_rows = self.tail.footer.block_rows();
        let mut block = in_memory(rows.start / block_rows);
        let end = in_memory(rows.end.div_ceil(block_rows));
        while block < end && !rows.is_empty() {
            let together = self.together(block..end);
            self.read_blocks(together.clone(), &rows, append, scratch, metrics)?;
            block = together.end;
        }
        Ok(())
    }

    /// The first of `blocks` that are read at once.
    fn together(&self, blocks: Range<usize>) -> Range<usize> {
        let mut bytes = 0;
        let fitting = self.tail.blocks[blocks.clone()].iter().take_while(|block| {
            bytes += block.bytes as usize;
            bytes <= READ_BYTES_MAX
        });
        let count = fitting.count().max(1);
        blocks.start..blocks.start + count
    }

    fn read_blocks(
        &self,
        blocks: Range<usize>,
        rows: &Range<u64>,
        append: &mut AppendRows<'_>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<()> {
        let entries = &self.tail.blocks[blocks.clone()];
        let bytes: usize = entries.iter().map(|entry| entry.bytes as usize).sum();
        if scratch.bytes.len() < bytes {
            scratch.bytes.resize(bytes, 0);
        }
        let started = Instant::now();
        self.column.read_at(&*self.file, entries[0].offset, &mut scratch.bytes[..bytes])?;
        metrics.count_disk_read(started, bytes);
        let started = Instant::now();
        let mut decoded_bytes = 0;
        let mut rest = &scratch.bytes[..bytes];
        for (block, entry) in blocks.zip(entries) {
            let (bytes, after) = rest.split_at(entry.bytes as usize);
            rest = after;
            decoded_bytes += self
                .decode_block(block, *entry, bytes, rows, append, &mut scratch.codec)
                .map_err(|damage| damage.shifted(entry.offset).in_file(&self.column.path))?;
        }
        metrics.count_decode(started, decoded_bytes);
        Ok(())
    }

    /// Appends the wanted rows of the block; returns the number of decoded bytes.
    fn decode_block(
        &self,
        block: usize,
        entry: BlockEntry,
        bytes: &[u8],
        rows: &Range<u64>,
        append: &mut AppendRows<'_>,
        codec: &mut Scratch,
    ) -> Result<usize, Damage> {
        check_crc(&entry, bytes, format_args!("block {block}"))?;
        let footer = &self.tail.footer;
        let first = block as u64 * footer.block_rows();
        let end = (first + footer.block_rows()).min(footer.row_count);
        let take = rows.start.max(first) - first..rows.end.min(end) - first;
        let mut sections = SectionReader::new(&footer.chain, bytes, codec);
        append(&mut sections, in_memory(end - first), in_memory(take.start)..in_memory(take.end))?;
        let decoded_bytes = sections.decoded_bytes;
        sections.finish()?;
        Ok(decoded_bytes)
    }
}

/// A number of rows or blocks of one read.
fn in_memory(count: u64) -> usize {
    usize::try_from(count).expect("the rows of a read fit in memory")
}

fn check_crc(entry: &BlockEntry, bytes: &[u8], what: impl fmt::Display) -> Result<(), Damage> {
    let computed = crc32c(bytes);
    if computed == entry.crc {
        return Ok(());
    }
    Err(Damage::new(0, format!("checksum of {what} is {:#010x}, computed {computed:#010x}", entry.crc)))
}
