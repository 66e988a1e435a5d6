//! Several tables, each built by its own thread, that answer as one.
//!
//! Each shard has an equal range of hashes. With `SHARDS n`, the reading thread routes the rows to the threads of
//! shards, each of which scatters its rows into partitions. Without `SHARDS`, one thread scatters all rows while the
//! next block is read; few rows are scattered by the reading thread. At the end, one thread for each shard sorts its
//! partitions and writes its table. A large load without `SHARDS` makes one shard for each core.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use basalt_base::{Error, ErrorCode, Result};

use super::bucket_shape::BucketShape;
use super::fill::{cuckoo_table, quotient_table};
use super::probe::Accept;
use super::quotient::{CellPayload, CellShape};
use super::{CuckooTable, Hits, PartitionRows, QuotientTable, Rows, cuckoo_find, quotient_probe};
use crate::hash::ShardBits;
use crate::image::{ImageReader, ImageWriter};
use crate::payloads::Payloads;

/// Partitions of a load in one thread, and of each shard's thread.
const PARTITIONS: usize = 512;
const PARTITIONS_A_SHARD: usize = 64;
/// Fewer rows are scattered and built in the calling thread.
const PARALLEL_ROWS_MIN: usize = 1 << 18;
const OWN_SHARDS_MAX: usize = 16;
/// Blocks that may wait for the thread that scatters the rows of a load without `SHARDS`.
const BLOCKS_AHEAD: usize = 2;
/// More than the greatest number of shards.
const SHARDS_END: u64 = 1 << (ShardBits::MAX + 1);

/// How a table collects its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    /// The parameter `SHARDS`; 1 leaves the number to the table.
    pub(crate) shards: usize,
    /// Blocks that may wait for a shard's thread.
    pub(crate) queue_backlog: usize,
    pub(crate) payload_bytes: usize,
}

/// How the tables are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TableForm {
    Cuckoo {
        /// `None` chooses one for fast lookups. It is limited to what buckets of the shape can hold.
        load_factor: Option<f64>,
        /// How many rows all shards have together at most; `None` if all of them are in this table.
        rows: Option<usize>,
    },
    Quotient {
        payload_bits: u32,
    },
    /// As [`TableForm::Quotient`], with the number of its cell as the payload of a key.
    Positions {
        /// The number of the first cell.
        first: u64,
    },
}

#[derive(Debug)]
pub(crate) enum ShardedTable {
    Cuckoo(Vec<CuckooTable>),
    Quotient(Vec<QuotientTable>),
}

/// Takes rows block by block, then becomes a [`ShardedTable`].
pub(crate) struct TableBuilder {
    collectors: Collectors,
}

enum Collectors {
    /// Few rows of all shards.
    Inline(Rows),
    /// Many rows of all shards, on a thread.
    Thread(ShardThread),
    /// Rows of one shard, which is not divided further.
    Shard(Rows),
    Threads(Vec<ShardThread>),
}

struct ShardThread {
    queue: SyncSender<RoutedRows>,
    thread: JoinHandle<Result<Rows>>,
}

/// Rows for a shard: hashes and payloads.
type RoutedRows = (Vec<u64>, Payloads);

impl ShardedTable {
    pub(crate) fn len(&self) -> usize {
        match self {
            ShardedTable::Cuckoo(tables) => tables.iter().map(CuckooTable::len).sum(),
            ShardedTable::Quotient(tables) => tables.iter().map(QuotientTable::len).sum(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            ShardedTable::Cuckoo(tables) => {
                size_of_val(tables.as_slice()) + tables.iter().map(CuckooTable::heap_bytes).sum::<usize>()
            }
            ShardedTable::Quotient(tables) => {
                size_of_val(tables.as_slice()) + tables.iter().map(QuotientTable::heap_bytes).sum::<usize>()
            }
        }
    }

    pub(crate) fn load_factor(&self) -> f64 {
        match self {
            ShardedTable::Cuckoo(tables) => {
                self.len() as f64 / tables.iter().map(CuckooTable::slots).sum::<u64>().max(1) as f64
            }
            ShardedTable::Quotient(_) => 1.0,
        }
    }

    /// All entries as (hash, payload).
    pub(crate) fn entries(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        match self {
            ShardedTable::Cuckoo(tables) => {
                Box::new(tables.iter().enumerate().flat_map(|(shard, table)| table.entries(shard)))
            }
            ShardedTable::Quotient(tables) => {
                Box::new(tables.iter().enumerate().flat_map(|(shard, table)| table.entries(shard)))
            }
        }
    }

    /// Compares the checksums of all that a lookup of `hashes` reads.
    pub(crate) fn check(&self, hashes: &[u64]) -> Result<()> {
        match self {
            ShardedTable::Cuckoo(tables) => CuckooTable::check(tables, hashes),
            ShardedTable::Quotient(tables) => QuotientTable::check(tables, hashes),
        }
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let shards = match self {
            ShardedTable::Cuckoo(tables) => tables.len(),
            ShardedTable::Quotient(tables) => tables.len(),
        };
        self.save_kind(shards, image);
        self.save_shards(image)
    }

    /// Writes what comes before the shards.
    pub(crate) fn save_kind(&self, shards: usize, image: &mut ImageWriter<'_>) {
        image.flag(matches!(self, ShardedTable::Cuckoo(_)));
        image.number(shards as u64);
    }

    pub(crate) fn save_shards(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        match self {
            ShardedTable::Cuckoo(tables) => tables.iter().try_for_each(|table| table.save(image)),
            ShardedTable::Quotient(tables) => tables.iter().try_for_each(|table| table.save(image)),
        }
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<ShardedTable> {
        let is_cuckoo = image.flag()?;
        let shards = image.number_below(SHARDS_END)? as usize;
        if !shards.is_power_of_two() {
            return Err(ImageReader::unfit());
        }
        let bits = ShardBits::of(shards);
        Ok(match is_cuckoo {
            true => {
                let tables =
                    (0..shards).map(|_| CuckooTable::open(bits, image)).collect::<Result<Vec<_>>>()?;
                if tables.iter().any(|table| table.shape() != tables[0].shape()) {
                    return Err(ImageReader::unfit());
                }
                ShardedTable::Cuckoo(tables)
            }
            false => {
                let tables = (0..shards).map(|_| QuotientTable::open(bits, image));
                ShardedTable::Quotient(tables.collect::<Result<_>>()?)
            }
        })
    }

    /// Looks up `hashes`; see [`Accept`].
    pub(crate) fn find(&self, hashes: &[u64], accept: Accept<'_>) -> Hits {
        match self {
            ShardedTable::Cuckoo(tables) => cuckoo_find::find(tables, hashes, accept),
            ShardedTable::Quotient(tables) => quotient_probe::find(tables, hashes, accept),
        }
    }
}

impl TableBuilder {
    pub(crate) fn new(shape: TableShape) -> Result<TableBuilder> {
        let collectors = if shape.shards == 1 {
            Collectors::Inline(Rows::new(shape.payload_bytes, ShardBits::default(), PARTITIONS))
        } else {
            let shards = shape.shards.next_power_of_two();
            let rows = || Rows::new(shape.payload_bytes, ShardBits::of(shards), PARTITIONS_A_SHARD);
            let threads = (0..shards).map(|shard| ShardThread::start(shard, shape.queue_backlog, rows()));
            Collectors::Threads(threads.collect::<Result<_>>()?)
        };
        Ok(TableBuilder { collectors })
    }

    /// A builder for one of several shards.
    pub(crate) fn of_shard(payload_bytes: usize, shard_bits: ShardBits) -> TableBuilder {
        TableBuilder {
            collectors: Collectors::Shard(Rows::new(payload_bytes, shard_bits, PARTITIONS_A_SHARD)),
        }
    }

    /// Adds a block of rows.
    pub(crate) fn push(&mut self, hashes: Vec<u64>, payloads: Payloads) -> Result<()> {
        assert_eq!(hashes.len(), payloads.len(), "every row has a payload");
        match &mut self.collectors {
            Collectors::Inline(rows) => {
                rows.push(&hashes, &payloads)?;
                if rows.len() >= PARALLEL_ROWS_MIN {
                    let rows = std::mem::take(rows);
                    self.collectors = Collectors::Thread(ShardThread::start(0, BLOCKS_AHEAD, rows)?);
                }
                Ok(())
            }
            Collectors::Thread(thread) => thread.send((hashes, payloads)),
            Collectors::Shard(rows) => rows.push(&hashes, &payloads),
            Collectors::Threads(threads) => match payloads {
                Payloads::Each(payloads) => route(threads, &hashes, payloads.into_iter()),
                Payloads::Numbers(numbers) => route(threads, &hashes, numbers),
            },
        }
    }

    /// Waits for the threads, sorts, and keeps the last row of each key (see [`Rows::sort_and_deduplicate`]).
    pub(crate) fn sort(self, same_key: impl Fn(u64, u64) -> bool + Sync) -> Result<SortedShards> {
        let mut shards = match self.collectors {
            Collectors::Inline(rows) => vec![rows],
            Collectors::Thread(thread) => {
                let rows = thread.join()?;
                rows.split(own_shards())
            }
            Collectors::Shard(rows) => vec![rows],
            Collectors::Threads(threads) => {
                threads.into_iter().map(ShardThread::join).collect::<Result<Vec<_>>>()?
            }
        };
        let sorted = in_parallel(shards.iter_mut(), |shard| shard.sort_and_deduplicate(&same_key));
        sorted.into_iter().collect::<Result<()>>()?;
        Ok(SortedShards { shards })
    }
}

/// The last row of each key, in order of hash.
pub(crate) struct SortedShards {
    shards: Vec<Rows>,
}

impl SortedShards {
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(Rows::len).sum()
    }

    /// Visits all rows as (hash, payload), in order of hash.
    pub(crate) fn drain(self, mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        self.shards.into_iter().try_for_each(|rows| rows.drain(&mut visit))
    }

    /// The results of `work` for each shard.
    pub(crate) fn each<R: Send>(&self, work: impl Fn(&Rows) -> R + Sync) -> Vec<R> {
        in_parallel(self.shards.iter(), work)
    }

    /// All rows in order of hash, a partition at a time.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = PartitionRows<'_>> {
        self.shards.iter().flat_map(Rows::partitions)
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + '_ {
        self.shards.iter().flat_map(Rows::payloads)
    }

    /// The table, whose payloads are mapped by `renamed`.
    pub(crate) fn into_table(
        self,
        form: TableForm,
        renamed: impl Fn(u64) -> u64 + Sync,
    ) -> Result<ShardedTable> {
        let lens: Vec<usize> = self.shards.iter().map(Rows::len).collect();
        let first = |shard: usize| lens[..shard].iter().sum::<usize>() as u64;
        let shards = self.shards.into_iter().enumerate();
        // All shards have the same bucket bits, so that a lookup need not read those of each shard.
        let longest = lens.iter().copied().max().unwrap_or(0);
        let quotient = |rows: Rows, payload| {
            let shape = CellShape::new(longest, payload, rows.shard_bits());
            quotient_table(rows, shape, &renamed)
        };
        Ok(match form {
            TableForm::Cuckoo { load_factor, rows } => {
                let rows_max = rows.unwrap_or(lens.iter().sum());
                let tables = in_parallel(shards, |(_, rows)| {
                    let shape = BucketShape::of(rows_max, load_factor, rows.payload_bytes());
                    cuckoo_table(rows, shape.load_factor(load_factor), shape, &renamed)
                });
                ShardedTable::Cuckoo(tables.into_iter().collect::<Result<_>>()?)
            }
            TableForm::Quotient { payload_bits } => {
                let payload = CellPayload::Bits(payload_bits);
                let tables = in_parallel(shards, |(_, rows)| quotient(rows, payload));
                ShardedTable::Quotient(tables.into_iter().collect::<Result<_>>()?)
            }
            TableForm::Positions { first: start } => {
                let payload = |shard| CellPayload::Position { first: start + first(shard) };
                let tables = in_parallel(shards, |(shard, rows)| quotient(rows, payload(shard)));
                ShardedTable::Quotient(tables.into_iter().collect::<Result<_>>()?)
            }
        })
    }
}

/// The number of shards of a large load without `SHARDS`: one for each core.
fn own_shards() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.next_power_of_two().min(OWN_SHARDS_MAX)
}

impl ShardThread {
    /// Starts a thread that adds routed rows to `rows`. `backlog` blocks may wait for it.
    fn start(shard: usize, backlog: usize, rows: Rows) -> Result<ShardThread> {
        let (queue, routed) = sync_channel(backlog);
        let thread = std::thread::Builder::new()
            .name(format!("dict-shard-{shard}"))
            .spawn(move || collect(&routed, rows))
            .map_err(|source| {
                Error::new(
                    ErrorCode::CannotScheduleTask,
                    format!("thread of shard {shard} did not start: {source}"),
                )
            })?;
        Ok(ShardThread { queue, thread })
    }

    fn send(&self, rows: RoutedRows) -> Result<()> {
        self.queue
            .send(rows)
            .map_err(|_| Error::logical("a thread that loads a dictionary's shard ended early"))
    }

    fn join(self) -> Result<Rows> {
        drop(self.queue);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(Error::logical("a thread that loads a dictionary's shard panicked")))
    }
}

fn collect(queue: &Receiver<RoutedRows>, mut rows: Rows) -> Result<Rows> {
    let mut outcome = Ok(());
    // After a failure, the other rows are taken and dropped, so that the sender never blocks.
    for (hashes, payloads) in queue {
        outcome = outcome.and_then(|()| rows.push(&hashes, &payloads));
    }
    outcome.map(|()| rows)
}

fn route(threads: &[ShardThread], hashes: &[u64], payloads: impl Iterator<Item = u64>) -> Result<()> {
    let shard_bits = ShardBits::of(threads.len());
    let expected = hashes.len() / threads.len();
    let expected = expected + expected / 8 + 8;
    let buffers = |_| (Vec::with_capacity(expected), Vec::with_capacity(expected));
    let mut routed: Vec<(Vec<u64>, Vec<u64>)> = threads.iter().map(buffers).collect();
    for (&hash, payload) in hashes.iter().zip(payloads) {
        let (hashes, payloads) = &mut routed[shard_bits.split(hash).0];
        hashes.push(hash);
        payloads.push(payload);
    }
    let mut routed = threads.iter().zip(routed);
    routed.try_for_each(|(shard, (hashes, payloads))| shard.send((hashes, Payloads::Each(payloads))))
}

/// The results of two functions that run at the same time.
pub(crate) fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        (one(), other.join().expect("the work does not panic"))
    })
}

/// Applies `work` to every item, on a thread for each if there are several.
pub(crate) fn in_parallel<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if items.len() <= 1 {
        return items.map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the work does not panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of rows that arrive in blocks. One key comes twice, and every second block has its payloads as a
    /// range.
    fn built(rows: u64, block_rows: u64, shards: usize) -> Vec<(u64, u64)> {
        let shape = TableShape { shards, queue_backlog: 1, payload_bytes: 4 };
        let mut builder = TableBuilder::new(shape).expect("threads");
        for first in (0..rows).step_by(block_rows as usize) {
            let block = first..rows.min(first + block_rows);
            let hashes =
                block.clone().map(|row| (row.max(1) - 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let payloads = match first / block_rows % 2 {
                0 => Payloads::Numbers(block),
                _ => Payloads::Each(block.collect()),
            };
            builder.push(hashes, payloads).expect("memory");
        }
        let mut entries = Vec::new();
        let sorted = builder.sort(|_, _| true).expect("memory");
        let drained = sorted.drain(|hash, payload| {
            entries.push((hash, payload));
            Ok(())
        });
        drained.expect("nothing fails");
        entries
    }

    #[test]
    fn rows_are_the_same_whoever_collects_them() {
        for rows in [0, 1, 5000, PARALLEL_ROWS_MIN as u64 + 70_000] {
            let mut expected: Vec<(u64, u64)> =
                (1..rows).map(|row| ((row - 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), row)).collect();
            if rows == 1 {
                expected.push((0, 0));
            }
            expected.sort_unstable();
            for (shards, block_rows) in [(1, 65_536), (1, 150_000), (4, 65_536), (4, 150_000)] {
                let built = built(rows, block_rows, shards);
                assert!(built == expected, "{rows} rows, {shards} shards, blocks of {block_rows}");
            }
        }
    }
}
