//! A column file of a part, and what is known of it before a block is read.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arrow::array::{Array, BinaryViewArray};
use arrow::datatypes::{DataType, FieldRef};
use basalt_base::FileAction;
use basalt_base::checksum::crc32c;
use basalt_base::fs::{RandomAccess, Storage};

use super::cache::BlockCache;
use super::footer::{FOOTER_BYTES, Footer};
use super::reader::OpenColumn;
use super::strings::distinct::DICTIONARY_BYTES_MAX;
use super::writer::{BLOCK_GRANULES_MAX, BlockEntry, ColumnFileSize, MAGIC};
use crate::error::{Damage, Result};
use crate::part::span::Span;

/// The id of the next column file. Ids are never reused, so the cache never confuses two files.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A column file that can be opened; its tail stays in memory after the first read.
#[derive(Debug)]
pub(crate) struct ColumnFile {
    storage: Arc<dyn Storage>,
    pub(super) path: Span,
    pub(super) field: FieldRef,
    size: ColumnFileSize,
    row_count: u64,
    granule_rows: u32,
    pub(super) id: u64,
    /// The cache that may have blocks of this file.
    pub(super) cache: OnceLock<Weak<BlockCache>>,
    tail: OnceLock<Arc<Tail>>,
    /// The dictionary of coded blocks, shared by the arrays that use it. The cache keeps it alive, if there is one.
    pub(super) dictionary: Mutex<Weak<dyn Array>>,
}

/// The footer and the block table.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(super) footer: Footer,
    pub(super) blocks: Vec<BlockEntry>,
    /// The place of the dictionary, if a block is coded.
    pub(super) dictionary: Option<BlockEntry>,
}

impl ColumnFile {
    /// `size`, `row_count` and `granule_rows` come from the part's metadata; opening checks them.
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

    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.size.decoded_bytes
    }

    /// Whether the file has this column only.
    pub(crate) fn has_own_file(&self) -> bool {
        self.path.is_whole()
    }

    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Unique in this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Rows of every piece but the last; see [`pieces`](super::pieces).
    pub(crate) fn piece_rows(&self) -> u64 {
        u64::from(self.granule_rows) * BLOCK_GRANULES_MAX as u64
    }

    /// The tail, if the file was opened.
    pub(crate) fn tail(&self) -> Option<&Arc<Tail>> {
        self.tail.get()
    }

    /// The most bytes of the dictionary's strings, if all blocks are coded.
    pub(crate) fn dictionary_bytes_max(self: &Arc<ColumnFile>) -> Result<Option<u64>> {
        let tail = match self.tail() {
            Some(tail) => Arc::clone(tail),
            None => Arc::clone(self.open()?.tail()),
        };
        let is_whole = tail.dictionary.is_some() && tail.footer.coded_blocks == tail.footer.block_count;
        Ok(is_whole.then(|| self.decoded_bytes().min(DICTIONARY_BYTES_MAX as u64)))
    }

    /// Registers the cache that has blocks of this file, so that they are dropped with the file. A process has one
    /// cache: only the first one is registered.
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
        Ok(OpenColumn::new(Arc::clone(self), file, tail))
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
        let table_bytes = Damage::size(0, footer_at - footer.table_offset);
        let mut table = vec![0; table_bytes.map_err(|damage| damage.in_file(&self.path))?];
        self.read_at(file, footer.table_offset, &mut table)?;
        let mut blocks = decode_table(&table, &footer)
            .map_err(|damage| damage.shifted(footer.table_offset).in_file(&self.path))?;
        let dictionary = if footer.coded_blocks > 0 { blocks.pop() } else { None };
        Ok(Tail { footer, blocks, dictionary })
    }

    /// Checks the writer's invariants, as far as the footer has them.
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

    pub(super) fn read_at(&self, file: &dyn RandomAccess, at: u64, bytes: &mut [u8]) -> Result<()> {
        let bytes_wanted = bytes.len() as u64;
        file.read_at(at, bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                let what = format!("the file ends before {bytes_wanted} bytes were read");
                Damage { at, what }.in_file(&self.path)
            }
            _ => basalt_base::Error::io(FileAction::Read, self.path.path(), &error).into(),
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

    /// The blocks that contain `rows`.
    pub(crate) fn blocks_of(&self, rows: &Range<u64>) -> Range<u32> {
        let block_rows = self.footer.block_rows();
        let block = |number: u64| u32::try_from(number).expect("a file has fewer than 2^32 blocks");
        block(rows.start / block_rows)..block(rows.end.div_ceil(block_rows))
    }
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
