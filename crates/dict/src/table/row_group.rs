//! Neighbouring partitions of rows, and the memory that they share.
//!
//! A partition's rows are in chunks, which are cut from blocks. Chunks and blocks begin small, so that few rows take
//! little memory, and grow, so that many rows are on huge pages: it takes as long to get a page of 4 KB from the
//! system as to fill it.

use basalt_base::Result;
use basalt_base::region::Region;

pub(super) const HASH_BYTES: usize = size_of::<u64>();
/// A row is written with this many bytes, though the next one begins before their end.
pub(super) const RESERVED_BYTES: usize = 2 * HASH_BYTES;
/// The first chunk of a partition, and the largest one: a chunk has as many bytes as all chunks before it.
const CHUNK_BYTES_MIN: usize = 8 << 10;
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// The first block that chunks are cut from, and the largest one, a huge page.
const BLOCK_BYTES_MIN: usize = CHUNK_BYTES_MAX;
const BLOCK_BYTES_MAX: usize = 2 << 20;

/// Neighbouring partitions, in memory of their own. The memory returns to the system as soon as the rows were read,
/// while an allocator might keep it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) partitions: Vec<Partition>,
    pub(super) memory: Blocks,
}

#[derive(Debug, Default)]
pub(super) struct Partition {
    /// All but the last are full.
    chunks: Vec<Chunk>,
    pub(super) rows: usize,
}

/// A place for rows: hash and payload, without padding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    block: usize,
    start: usize,
    bytes: usize,
    rows: usize,
    /// The number of rows that fit.
    rows_max: usize,
}

/// Memory that is cut into chunks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Region>,
    /// Bytes of the last block that are used.
    used: usize,
}

impl Group {
    pub(super) fn new(partitions: usize) -> Group {
        Group {
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            memory: Blocks::default(),
        }
    }

    /// Adds `rows`, `row_bytes` each, to the partition `at`.
    pub(super) fn extend(&mut self, at: usize, mut rows: &[u8], row_bytes: usize) -> Result<()> {
        let Group { partitions, memory } = self;
        let partition = &mut partitions[at];
        partition.rows += rows.len() / row_bytes;
        while !rows.is_empty() {
            let Some(chunk) = partition.chunks.last_mut().filter(|chunk| chunk.rows < chunk.rows_max) else {
                partition.start_chunk(memory, row_bytes)?;
                continue;
            };
            let (now, later) = rows.split_at(rows.len().min((chunk.rows_max - chunk.rows) * row_bytes));
            memory.get_mut(*chunk)[chunk.rows * row_bytes..][..now.len()].copy_from_slice(now);
            chunk.rows += now.len() / row_bytes;
            rows = later;
        }
        Ok(())
    }
}

impl Partition {
    #[cold]
    fn start_chunk(&mut self, memory: &mut Blocks, row_bytes: usize) -> Result<()> {
        let before: usize = self.chunks.iter().map(|chunk| chunk.bytes).sum();
        self.chunks.push(memory.cut(before.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX), row_bytes)?);
        Ok(())
    }

    /// Overwrites the rows with `rows`, which are not more.
    pub(super) fn write_again(&mut self, memory: &mut Blocks, rows: &[(u64, u64)], row_bytes: usize) {
        let mut left = rows;
        for chunk in &mut self.chunks {
            let (now, later) = left.split_at(chunk.rows.min(left.len()));
            let bytes = memory.get_mut(*chunk);
            for (row, &(hash, payload)) in now.iter().enumerate() {
                write_row(bytes, row * row_bytes, hash, payload);
            }
            chunk.rows = now.len();
            left = later;
        }
        self.rows = rows.len();
    }

    /// All rows in their order.
    #[inline(always)]
    pub(super) fn rows<'a>(
        &'a self,
        memory: &'a Blocks,
        row_bytes: usize,
    ) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.chunks(memory, row_bytes).flatten()
    }

    /// All rows in their order, a chunk at a time.
    #[inline(always)]
    pub(super) fn chunks<'a>(
        &'a self,
        memory: &'a Blocks,
        row_bytes: usize,
    ) -> impl Iterator<Item = impl Iterator<Item = (u64, u64)> + 'a> + 'a {
        let mask = u64::MAX.checked_shr((8 * (RESERVED_BYTES - row_bytes)) as u32).unwrap_or(0);
        self.chunks.iter().map(move |chunk| {
            let bytes = memory.get(*chunk);
            (0..chunk.rows).map(move |row| row_at(bytes, row * row_bytes, mask))
        })
    }
}

impl Blocks {
    /// An empty chunk.
    fn cut(&mut self, bytes: usize, row_bytes: usize) -> Result<Chunk> {
        if self.blocks.last().is_none_or(|block| block.len() - self.used < bytes) {
            let before: usize = self.blocks.iter().map(|block| block.len()).sum();
            self.blocks.push(Region::zeroed(before.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX))?);
            self.used = 0;
        }
        let start = self.used;
        self.used += bytes;
        let rows_max = (bytes - RESERVED_BYTES) / row_bytes + 1;
        Ok(Chunk { block: self.blocks.len() - 1, start, bytes, rows: 0, rows_max })
    }

    #[inline(always)]
    fn get(&self, chunk: Chunk) -> &[u8] {
        &self.blocks[chunk.block][chunk.start..chunk.start + chunk.bytes]
    }

    #[inline(always)]
    fn get_mut(&mut self, chunk: Chunk) -> &mut [u8] {
        &mut self.blocks[chunk.block][chunk.start..chunk.start + chunk.bytes]
    }
}

/// Writes a row at byte `at`, and overwrites all bytes that it reserves.
#[inline(always)]
pub(super) fn write_row(bytes: &mut [u8], at: usize, hash: u64, payload: u64) {
    let to = bytes[at..].first_chunk_mut::<RESERVED_BYTES>();
    let to = to.expect("a row has all the bytes that it reserves");
    *to = (u128::from(payload) << 64 | u128::from(hash)).to_le_bytes();
}

/// The row at byte `at`; its payload has the bits of `mask`.
#[inline(always)]
fn row_at(bytes: &[u8], at: usize, mask: u64) -> (u64, u64) {
    let bytes: &[u8; RESERVED_BYTES] =
        bytes[at..].first_chunk().expect("a row has all the bytes that it reserves");
    let (hash, payload) = bytes.split_at(HASH_BYTES);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("half of sixteen bytes"));
    (word(hash), word(payload) & mask)
}
