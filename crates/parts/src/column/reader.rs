//! Reads a column file; its layout is drawn in [`writer`](super::writer).

use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, BinaryViewArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef};
use basalt_base::checksum::crc32c;
use basalt_base::fs::{RandomAccess, Storage};
use basalt_codec::Scratch;

use super::cache::{BlockCache, BlockKey};
use super::decoder::ArrayDecoder;
use super::footer::{FOOTER_BYTES, Footer};
use super::plain::plain;
use super::section::SectionReader;
use super::strings::codes::{CodesDecoder, decode_dictionary};
use super::writer::{BLOCK_GRANULES_MAX, BlockEntry, ColumnFileSize, MAGIC};
use crate::error::{Damage, Result};
use crate::metrics::ReadMetrics;
use crate::part::span::Span;

/// Blocks that lie together are read together, up to this many bytes.
const READ_BYTES_MAX: usize = 4 << 20;

/// The id of the next column file; they are never used twice, so the cache never mixes up two files.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A column file that can be opened: its tail stays in memory once it was read.
#[derive(Debug)]
pub(crate) struct ColumnFile {
    storage: Arc<dyn Storage>,
    path: Span,
    field: FieldRef,
    size: ColumnFileSize,
    row_count: u64,
    granule_rows: u32,
    id: u64,
    /// The cache that may hold blocks of this file.
    cache: OnceLock<Weak<BlockCache>>,
    tail: OnceLock<Arc<Tail>>,
    /// The strings of coded blocks: those who have them share them. The cache keeps them, if there is one.
    dictionary: Mutex<Weak<dyn Array>>,
}

/// The footer and the block table.
#[derive(Debug)]
pub(crate) struct Tail {
    footer: Footer,
    blocks: Vec<BlockEntry>,
    /// Where the dictionary is, if a block is coded.
    dictionary: Option<BlockEntry>,
}

/// A column file with its descriptor: what a scan holds.
#[derive(Debug)]
pub(crate) struct OpenColumn {
    column: Arc<ColumnFile>,
    file: Arc<dyn RandomAccess>,
    tail: Arc<Tail>,
    /// The file's dictionary, once it was needed.
    dictionary: OnceCell<ArrayRef>,
}

/// Takes rows of a block: its sections, how many rows it holds, which of them are wanted.
type AppendRows<'a> = dyn FnMut(&mut SectionReader<'_>, usize, Range<usize>) -> Result<(), Damage> + 'a;

/// Memory that one reader uses for one block after the other.
#[derive(Debug, Default)]
pub(crate) struct ReadScratch {
    bytes: Vec<u8>,
    codec: Scratch,
}

impl ColumnFile {
    /// `size`, `row_count` and `granule_rows` are what the part's metadata says; opening checks them.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        path: Span,
        field: FieldRef,
        size: ColumnFileSize,
        row_count: u64,
        granule_rows: u32,
    ) -> ColumnFile {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let dictionary = Mutex::new(Weak::<BinaryViewArray>::new() as Weak<dyn Array>);
        let (cache, tail) = (OnceLock::new(), OnceLock::new());
        ColumnFile { storage, path, field, size, row_count, granule_rows, id, cache, tail, dictionary }
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.path()
    }

    /// Whether its file holds this column and nothing else.
    pub(crate) fn has_own_file(&self) -> bool {
        self.path.is_whole()
    }

    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Unlike that of any other column file of this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Rows of every piece but the last; see [`pieces`](super::pieces).
    pub(crate) fn piece_rows(&self) -> u64 {
        u64::from(self.granule_rows) * BLOCK_GRANULES_MAX as u64
    }

    /// The tail, once the file was opened.
    pub(crate) fn tail(&self) -> Option<&Arc<Tail>> {
        self.tail.get()
    }

    /// `cache` holds blocks of this file from now on, which it forgets with the file. A process has one
    /// cache: only the first one is remembered.
    pub(crate) fn remember_cache(&self, cache: &Arc<BlockCache>) {
        self.cache.get_or_init(|| Arc::downgrade(cache));
    }

    pub(crate) fn open(self: &Arc<ColumnFile>) -> Result<OpenColumn> {
        let file = self.path.open(&*self.storage)?;
        let tail = match self.tail.get() {
            Some(tail) => Arc::clone(tail),
            None => {
                let tail = Arc::new(self.read_tail(&*file)?);
                Arc::clone(self.tail.get_or_init(|| tail))
            }
        };
        Ok(OpenColumn { column: Arc::clone(self), file, tail, dictionary: OnceCell::new() })
    }

    fn read_tail(&self, file: &dyn RandomAccess) -> Result<Tail> {
        let expected = self.size.file_bytes;
        let minimum = (MAGIC.len() + FOOTER_BYTES) as u64;
        if file.size() != expected || expected < minimum {
            let what = format!("the file has {} bytes, the part's metadata says {expected}", file.size());
            return Err(Damage { at: file.size().min(expected), what }.in_file(&self.path));
        }
        let mut magic = [0; MAGIC.len()];
        self.read_at(file, 0, &mut magic)?;
        if magic != *MAGIC {
            return Err(Damage::new(0, "this is not a column file").in_file(&self.path));
        }
        let footer_at = expected - FOOTER_BYTES as u64;
        let mut bytes = [0; FOOTER_BYTES];
        self.read_at(file, footer_at, &mut bytes)?;
        let footer = Footer::decode(&bytes)
            .and_then(|footer| self.check_footer(&footer, &bytes, footer_at).map(|()| footer))
            .map_err(|damage| damage.shifted(footer_at).in_file(&self.path))?;
        let mut table = vec![0; (footer_at - footer.table_offset) as usize];
        self.read_at(file, footer.table_offset, &mut table)?;
        let mut blocks = decode_table(&table, &footer)
            .map_err(|damage| damage.shifted(footer.table_offset).in_file(&self.path))?;
        let dictionary = if footer.coded_blocks > 0 { blocks.pop() } else { None };
        Ok(Tail { footer, blocks, dictionary })
    }

    /// The invariants of the writer, as far as the footer goes.
    fn check_footer(
        &self,
        footer: &Footer,
        bytes: &[u8; FOOTER_BYTES],
        footer_at: u64,
    ) -> Result<(), Damage> {
        let broken = |what: &str| Err(Damage::new(0, what));
        if Footer::crc(bytes) != self.size.footer_crc {
            return broken("the footer is not the one that the part's metadata knows");
        }
        if footer.row_count != self.row_count {
            return broken("the row count is not that of the part");
        }
        let block_granules = usize::from(footer.block_granules);
        if footer.granule_rows != self.granule_rows || !(1..=BLOCK_GRANULES_MAX).contains(&block_granules) {
            return broken("the size of a granule or block is not that of the part, or out of range");
        }
        if u64::from(footer.block_count) != footer.row_count.div_ceil(footer.block_rows()) {
            return broken("the count of blocks does not fit the count of rows");
        }
        let is_string = *self.field.data_type() == DataType::BinaryView;
        if footer.coded_blocks > if is_string { footer.block_count } else { 0 } {
            return broken("the count of coded blocks is out of range");
        }
        let table_bytes = footer.table_entries() * BlockEntry::BYTES as u64;
        if footer.table_offset.checked_add(table_bytes) != Some(footer_at) {
            return broken("the block table does not end at the footer");
        }
        Ok(())
    }

    fn read_at(&self, file: &dyn RandomAccess, at: u64, bytes: &mut [u8]) -> Result<()> {
        let bytes_wanted = bytes.len() as u64;
        file.read_at(at, bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                let what = format!("the file ends before {bytes_wanted} bytes were read");
                Damage { at, what }.in_file(&self.path)
            }
            _ => basalt_base::Error::io(self.path.path(), &error).into(),
        })
    }
}

impl Drop for ColumnFile {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.get().and_then(Weak::upgrade) {
            cache.forget_file(self.id);
        }
    }
}

impl Tail {
    /// The rows of one block.
    pub(crate) fn rows_of_block(&self, block: u32) -> Range<u64> {
        self.rows_of(&(block..block + 1))
    }

    pub(crate) fn rows_of(&self, blocks: &Range<u32>) -> Range<u64> {
        let row = |block: u32| (u64::from(block) * self.footer.block_rows()).min(self.footer.row_count);
        row(blocks.start)..row(blocks.end)
    }

    /// The blocks that hold `rows`.
    pub(crate) fn blocks_of(&self, rows: &Range<u64>) -> Range<u32> {
        let block_rows = self.footer.block_rows();
        (rows.start / block_rows) as u32..rows.end.div_ceil(block_rows) as u32
    }
}

fn check_crc(entry: &BlockEntry, bytes: &[u8], what: impl fmt::Display) -> Result<(), Damage> {
    let computed = crc32c(bytes);
    if computed == entry.crc {
        return Ok(());
    }
    Err(Damage::new(0, format!("checksum of {what} is {:#010x}, computed {computed:#010x}", entry.crc)))
}

/// Checks the table's checksum and that the blocks tile the file.
fn decode_table(table: &[u8], footer: &Footer) -> Result<Vec<BlockEntry>, Damage> {
    let computed = crc32c(table);
    if computed != footer.table_crc {
        let what = format!("block table checksum is {:#010x}, computed {computed:#010x}", footer.table_crc);
        return Err(Damage::new(0, what));
    }
    let entries = table.as_chunks::<{ BlockEntry::BYTES }>().0;
    let blocks: Vec<BlockEntry> = entries.iter().map(BlockEntry::decode).collect();
    let mut end = MAGIC.len() as u64;
    for (index, block) in blocks.iter().enumerate() {
        if block.offset != end {
            return Err(Damage::new(index * BlockEntry::BYTES, format!("block {index} leaves a gap")));
        }
        end += u64::from(block.bytes);
    }
    if end == footer.table_offset {
        Ok(blocks)
    } else {
        Err(Damage::new(0, "the blocks do not end at the table"))
    }
}

impl OpenColumn {
    pub(crate) fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// The values of `rows`: a dictionary array, if all blocks of the file are coded.
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
        let mut array = ArrayDecoder::new(&self.column.field, (rows.end - rows.start) as usize);
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
        let row_count = (rows.end - rows.start) as usize;
        let mut array = CodesDecoder::new(dictionary, self.column.field.is_nullable(), row_count);
        self.read_rows(
            rows,
            &mut |sections, rows, take| array.append(sections, rows, take),
            scratch,
            metrics,
        )?;
        array.finish().map_err(|error| Damage::new(0, error.to_string()).in_file(&self.column.path))
    }

    /// No rows, in the form in which this file's rows are read.
    pub(crate) fn empty(&self) -> Result<ArrayRef> {
        self.read(0..0, &mut ReadScratch::default(), &ReadMetrics::default())
    }

    /// The strings of the file's dictionary; all arrays of codes share them.
    fn dictionary(&self, metrics: &ReadMetrics) -> Result<&ArrayRef> {
        if let Some(dictionary) = self.dictionary.get() {
            return Ok(dictionary);
        }
        // Held while it is read: two arrays of the same strings would not be known as the same.
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

    /// Hands the sections of the blocks that hold `rows` to `append`, with the block's row count and which
    /// of its rows are wanted.
    fn read_rows(
        &self,
        rows: Range<u64>,
        append: &mut AppendRows<'_>,
        scratch: &mut ReadScratch,
        metrics: &ReadMetrics,
    ) -> Result<()> {
        let block_rows = self.tail.footer.block_rows();
        let mut block = (rows.start / block_rows) as usize;
        let end = rows.end.div_ceil(block_rows) as usize;
        while block < end && !rows.is_empty() {
            let together = self.together(block..end);
            self.read_blocks(together.clone(), &rows, append, scratch, metrics)?;
            block = together.end;
        }
        Ok(())
    }

    /// As many of `blocks`, from the first on, as are read at once.
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
            let (bytes, behind) = rest.split_at(entry.bytes as usize);
            rest = behind;
            decoded_bytes += self
                .decode_block(block, *entry, bytes, rows, append, &mut scratch.codec)
                .map_err(|damage| damage.shifted(entry.offset).in_file(&self.column.path))?;
        }
        metrics.count_decode(started, decoded_bytes);
        Ok(())
    }

    /// Appends the wanted rows of the block; returns the bytes that were decoded.
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
        append(&mut sections, (end - first) as usize, take.start as usize..take.end as usize)?;
        let decoded_bytes = sections.decoded_bytes;
        sections.finish()?;
        Ok(decoded_bytes)
    }
}
