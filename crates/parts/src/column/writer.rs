//! Writes a column file: every value of one column in one part.
//!
//! A part is a directory with one file a column. The file is written once, front to back, and never changes.
//! Everything that a reader needs to find a granule is at the end.
//!
//! # Layout (format version 2; version 1 has no dictionary)
//!
//! Integers are little-endian; `len` is the length of the file.
//!
//! ```text
//! at             size  what
//! 0                 8  magic "BSLTCOL1"
//! 8                 -  blocks, back to back; each holds the sections of `block_granules` granules
//! -                 -  dictionary, if a block is coded; see `strings/codes.rs`
//! table_offset   16*n  block table: offset u64, bytes u32, crc32c u32 of each block, then the dictionary's
//! len - 64         64  footer (see `footer.rs`)
//! ```
//!
//! A *granule* is the unit of reading, a *block* that of compression. A granule of a narrow column is too short to
//! compress well, so a block has as many granules (1, 2, 4 or 8) as make about [`BlockBytes`].
//!
//! # Invariants
//!
//! - **Tiling**: blocks and the dictionary are in order and cover `8..table_offset` without gaps.
//! - **Rows**: all granules but the last hold `granule_rows` rows, all blocks but the last `block_granules`
//!   granules; together they hold `row_count` rows.
//! - **Coded**: the first `coded_blocks` blocks of a string column have codes, which are below the number of
//!   strings in the dictionary; see [`strings`](super::strings).
//! - **Coverage**: a flipped bit anywhere in the file fails the magic or exactly one checksum.
//!
//! The writer *asserts* these (a breach is our bug); the reader *checks* them (a breach is damage of the disk).
//!
//! To change the format: a new version in `footer.rs`, keep the old decoder, and add a file of the old
//! version to the compatibility tests.

use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, BinaryViewArray};
use arrow::datatypes::FieldRef;
use basalt_base::FileAction;
use basalt_base::checksum::crc32c;
use basalt_base::fs::WritableFile;
use basalt_codec::{CodecChain, Scratch};

use super::encoder::BlockEncoder;
use super::footer::{FOOTER_BYTES, Footer};
use super::plain::plain;
use super::section::SectionWriter;
use super::strings::coder::{Coding, SAMPLE_ROWS, StringCoder};
use super::strings::codes::encode_dictionary;
use crate::error::Result;
use crate::limits::BlockBytes;

pub(crate) const MAGIC: &[u8; 8] = b"BSLTCOL1";

/// The most granules of a block. Scans read this many at a time, so that blocks are decoded once.
pub(crate) const BLOCK_GRANULES_MAX: usize = 8;

/// Writes one column file.
pub(crate) struct ColumnFileWriter {
    path: PathBuf,
    file: Box<dyn WritableFile>,
    /// `AUTO` until the first block is written.
    chain: CodecChain,
    granule_rows: usize,
    block_bytes: BlockBytes,
    block: BlockEncoder,
    /// Complete granules in `block`.
    block_granule_count: usize,
    /// Decided when the first granule is complete.
    block_granules: Option<usize>,
    /// Codes the rows while that pays off; `None` after that.
    coder: Option<StringCoder>,
    coded_blocks: u32,
    /// The strings of the coded blocks, once coding has ended.
    dictionary: Option<BinaryViewArray>,
    table: Vec<u8>,
    offset: u64,
    row_count: u64,
    decoded_bytes: u64,
    encoded: Vec<u8>,
    scratch: Scratch,
}

/// The sizes of a finished column file, and the checksum of its footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFileSize {
    pub(crate) file_bytes: u64,
    pub(crate) compressed_bytes: u64,
    pub(crate) decoded_bytes: u64,
    pub(crate) marks_bytes: u64,
    pub(crate) footer_crc: u32,
}

impl ColumnFileWriter {
    /// Creates the file; `path` is for error messages.
    pub(crate) fn create(
        file: Box<dyn WritableFile>,
        path: PathBuf,
        field: &FieldRef,
        chain: CodecChain,
        coding: Coding,
        granule_rows: usize,
    ) -> Result<ColumnFileWriter> {
        let mut writer = ColumnFileWriter {
            path,
            file,
            chain,
            granule_rows,
            block_bytes: BlockBytes::default(),
            block: BlockEncoder::new(field),
            block_granule_count: 0,
            block_granules: None,
            coder: (coding != Coding::Never).then(|| StringCoder::new(coding, field.is_nullable())),
            coded_blocks: 0,
            dictionary: None,
            table: Vec::new(),
            offset: 0,
            row_count: 0,
            decoded_bytes: 0,
            encoded: Vec::new(),
            scratch: Scratch::default(),
        };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    /// Sets other block sizes.
    pub(crate) fn with_blocks(self, block_bytes: BlockBytes) -> ColumnFileWriter {
        ColumnFileWriter { block_bytes, ..self }
    }

    /// Appends rows to the current granule: values, or for strings a dictionary array.
    pub(crate) fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.row_count += rows.len() as u64;
        let Some(coder) = &mut self.coder else {
            self.block.append(&plain(rows));
            return Ok(());
        };
        let taken = coder.append(rows);
        if taken < rows.len() {
            self.end_coding()?;
            self.block.append(&plain(&rows.slice(taken, rows.len() - taken)));
        }
        Ok(())
    }

    /// Ends the current granule.
    pub(crate) fn end_granule(&mut self) -> Result<()> {
        let Some(coder) = &self.coder else { return self.end_plain_granule() };
        if self.coded_blocks == 0 && coder.pending() < SAMPLE_ROWS {
            return Ok(());
        }
        self.write_coded(false)
    }

    fn end_plain_granule(&mut self) -> Result<()> {
        self.block_granule_count += 1;
        let raw_bytes = self.block.raw_bytes();
        let block_bytes = self.block_bytes;
        let block_granules =
            *self.block_granules.get_or_insert_with(|| granules_for(raw_bytes as u64, block_bytes));
        if self.block_granule_count == block_granules { self.write_block() } else { Ok(()) }
    }

    /// Writes the rest, the block table and the footer; returns the sizes and the chain that was used. The caller
    /// syncs.
    pub(crate) fn finish(mut self) -> Result<(ColumnFileSize, CodecChain)> {
        self.write_coded(true)?;
        if self.block_granule_count > 0 {
            self.write_block()?;
        }
        let block_count = (self.table.len() / BlockEntry::BYTES) as u32;
        self.write_dictionary()?;
        if self.chain.is_auto() {
            // There are no rows.
            self.chain = CodecChain::default();
        }
        let table_offset = self.offset;
        let table = std::mem::take(&mut self.table);
        let footer = Footer {
            row_count: self.row_count,
            table_offset,
            decoded_bytes: self.decoded_bytes,
            block_count,
            granule_rows: self.granule_rows as u32,
            table_crc: crc32c(&table),
            chain: self.chain.clone(),
            block_granules: self.block_granules.unwrap_or(1) as u8,
            coded_blocks: self.coded_blocks,
        };
        assert_eq!(
            u64::from(footer.block_count),
            footer.row_count.div_ceil(footer.block_rows()),
            "rows fill the blocks of {}",
            self.path.display()
        );
        let footer = footer.encode();
        self.put(&table)?;
        self.put(&footer)?;
        let size = ColumnFileSize {
            file_bytes: self.offset,
            compressed_bytes: table_offset - MAGIC.len() as u64,
            decoded_bytes: self.decoded_bytes,
            marks_bytes: (table.len() + FOOTER_BYTES) as u64,
            footer_crc: Footer::crc(&footer),
        };
        Ok((size, self.chain))
    }

    /// Writes the coded rows that fill blocks, or all of them, while that pays off.
    fn write_coded(&mut self, all: bool) -> Result<()> {
        let Some(coder) = &self.coder else { return Ok(()) };
        if !coder.pays() {
            let is_granule_open = self.end_coding()?;
            return if is_granule_open { self.end_plain_granule() } else { Ok(()) };
        }
        let (pending, raw_bytes) = (coder.pending(), coder.code_bytes() * self.granule_rows);
        let block_bytes = self.block_bytes;
        let block_granules =
            *self.block_granules.get_or_insert_with(|| granules_for(raw_bytes as u64, block_bytes));
        let block_rows = block_granules * self.granule_rows;
        let mut rest = pending;
        while rest >= block_rows || (all && rest > 0) {
            let rows = rest.min(block_rows);
            self.write_sections(|this, sections| match &mut this.coder {
                Some(coder) => coder.write(rows, sections),
                None => Ok(()),
            })?;
            self.coded_blocks += 1;
            rest -= rows;
        }
        Ok(())
    }

    /// Switches to plain strings, also for rows that are coded and not written yet. Returns whether they end inside
    /// a granule.
    fn end_coding(&mut self) -> Result<bool> {
        let Some(mut coder) = self.coder.take() else { return Ok(false) };
        self.dictionary = (self.coded_blocks > 0).then(|| coder.dictionary());
        let strings = coder.take_pending()?;
        for start in (0..strings.len()).step_by(self.granule_rows) {
            let rows = self.granule_rows.min(strings.len() - start);
            self.block.append(&strings.slice(start, rows));
            if rows == self.granule_rows {
                self.end_plain_granule()?;
            }
        }
        Ok(!strings.len().is_multiple_of(self.granule_rows))
    }

    fn write_dictionary(&mut self) -> Result<()> {
        if self.coded_blocks == 0 {
            return Ok(());
        }
        let dictionary = match (&self.coder, self.dictionary.take()) {
            (_, Some(dictionary)) => dictionary,
            (Some(coder), None) => coder.dictionary(),
            (None, None) => unreachable!("a coded block has a dictionary"),
        };
        let mut encoded = Vec::new();
        self.decoded_bytes += encode_dictionary(&dictionary, &self.chain, &mut encoded)?;
        self.put_block(&encoded)
    }

    fn write_block(&mut self) -> Result<()> {
        self.block_granule_count = 0;
        self.write_sections(|this, sections| this.block.write(sections))
    }

    /// Writes a block with the sections that `write` appends.
    fn write_sections(
        &mut self,
        write: impl FnOnce(&mut ColumnFileWriter, &mut SectionWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.chain.is_auto() {
            let coded = self.coder.as_ref().filter(|coder| coder.pending() > 0);
            self.chain = coded.map_or_else(|| self.block.choose_chain(), StringCoder::choose_chain);
        }
        let mut encoded = std::mem::take(&mut self.encoded);
        let mut scratch = std::mem::take(&mut self.scratch);
        let chain = self.chain.clone();
        encoded.clear();
        let mut sections = SectionWriter {
            chain: &chain,
            out: &mut encoded,
            scratch: &mut scratch,
            decoded_bytes: self.decoded_bytes,
        };
        write(self, &mut sections)?;
        self.decoded_bytes = sections.decoded_bytes;
        self.put_block(&encoded)?;
        (self.encoded, self.scratch) = (encoded, scratch);
        Ok(())
    }

    fn put_block(&mut self, encoded: &[u8]) -> Result<()> {
        let Ok(bytes) = u32::try_from(encoded.len()) else {
            return Err(basalt_base::Error::not_implemented("a block of more than 4 GiB").into());
        };
        let entry = BlockEntry { offset: self.offset, bytes, crc: crc32c(encoded) };
        self.table.extend_from_slice(&entry.encode());
        self.put(encoded)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all(bytes)
            .map_err(|error| basalt_base::Error::io(FileAction::Write, &self.path, &error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// Granules of a block, given the raw bytes of one granule.
fn granules_for(raw_bytes: u64, blocks: BlockBytes) -> usize {
    let wanted = blocks.least.div_ceil(raw_bytes.max(1)).min(BLOCK_GRANULES_MAX as u64) as usize;
    let mut granules = wanted.next_power_of_two();
    while granules > 1 && raw_bytes.saturating_mul(granules as u64) > blocks.most {
        granules /= 2;
    }
    granules
}

/// An entry of the block table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) crc: u32,
}

impl BlockEntry {
    pub(crate) const BYTES: usize = 16;

    fn encode(self) -> [u8; BlockEntry::BYTES] {
        let mut out = [0; BlockEntry::BYTES];
        out[..8].copy_from_slice(&self.offset.to_le_bytes());
        out[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        out[12..].copy_from_slice(&self.crc.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; BlockEntry::BYTES]) -> BlockEntry {
        let word =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word has four bytes"));
        BlockEntry { offset: u64::from(word(0)) | (u64::from(word(4)) << 32), bytes: word(8), crc: word(12) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_least_bytes_and_no_more_than_the_most() {
        let check = |raw_bytes, least, most, expected| {
            assert_eq!(
                granules_for(raw_bytes, BlockBytes { least, most }),
                expected,
                "{raw_bytes} {least} {most}"
            );
        };
        let usual = BlockBytes::default();
        check(1 << 20, usual.least, usual.most, 1);
        check(40_000, usual.least, usual.most, 2);
        check(0, usual.least, usual.most, 8);
        check(100, 0, u64::MAX, 1);
        check(100, 300, u64::MAX, 4);
        check(100, 300, 399, 2);
        check(100, 300, 1, 1);
        check(u64::MAX, u64::MAX, u64::MAX, 1);
    }
}
