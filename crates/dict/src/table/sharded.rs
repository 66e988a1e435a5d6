//! Several tables, each loaded by its own thread, that answer as one.
//!
//! A shard holds an equal range of hashes. While rows arrive, the reading thread deals them out and
//! each shard's thread scatters its own into partitions; at the end every thread sorts its partitions
//! and writes its table. With one shard everything happens in the calling thread.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use basalt_base::{Error, ErrorCode, Result};

use super::{Hits, PackedTable, Partitions};
use crate::hash::split;

/// Keys whose lines are asked for together: enough to overlap all waits, few enough to stay in L1.
const BATCH_KEYS: usize = 128;

/// How a table is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    pub(crate) shards: usize,
    /// Blocks that may wait for a shard's thread.
    pub(crate) queue_backlog: usize,
    pub(crate) max_load_factor: f64,
    pub(crate) payload_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct ShardedTable {
    shards: Vec<PackedTable>,
}

/// Takes rows block by block, then becomes a [`ShardedTable`].
pub(crate) struct TableBuilder {
    shape: TableShape,
    collectors: Collectors,
}

enum Collectors {
    Here(Partitions),
    Threads(Vec<ShardThread>),
}

struct ShardThread {
    queue: SyncSender<Rows>,
    thread: JoinHandle<Partitions>,
}

/// Rows on their way to a shard: hash and payload.
type Rows = Vec<(u64, u64)>;

impl ShardedTable {
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(PackedTable::len).sum()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.shards.iter().map(|shard| size_of::<PackedTable>() + shard.heap_bytes()).sum()
    }

    pub(crate) fn load_factor(&self) -> f64 {
        let slots: u64 = self.shards.iter().map(PackedTable::slots).sum();
        self.len() as f64 / slots as f64
    }

    /// All entries as (hash, payload).
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.shards.iter().flat_map(PackedTable::entries)
    }

    /// Looks up `hashes`; `accept(index, payload)` says whether an entry with the hash of key `index`
    /// really has its key.
    pub(crate) fn find(&self, hashes: &[u64], mut accept: impl FnMut(usize, u64) -> bool) -> Hits {
        let mut hits = Hits::with_capacity(hashes.len());
        let mut index = 0;
        for batch in hashes.chunks(BATCH_KEYS) {
            let mut places = [(0_u32, 0_usize); BATCH_KEYS];
            for (place, &hash) in places.iter_mut().zip(batch) {
                *place = self.place(hash);
            }
            for (&hash, &(shard, home)) in batch.iter().zip(&places) {
                hits.push(self.shards[shard as usize].seek(hash, home, |payload| accept(index, payload)));
                index += 1;
            }
        }
        hits
    }

    /// The shard of `hash` and where the walk in it begins, which is also asked for.
    #[inline(always)]
    fn place(&self, hash: u64) -> (u32, usize) {
        let (shard, rest) = split(hash, self.shards.len() as u64);
        let table = &self.shards[shard as usize];
        let home = table.home(rest);
        table.prefetch(home);
        (shard as u32, home)
    }
}

impl TableBuilder {
    pub(crate) fn new(shape: TableShape) -> Result<TableBuilder> {
        let collectors = if shape.shards == 1 {
            Collectors::Here(Partitions::new(shape.payload_bytes, 1))
        } else {
            let threads = (0..shape.shards).map(|shard| ShardThread::start(shard, shape));
            Collectors::Threads(threads.collect::<Result<_>>()?)
        };
        Ok(TableBuilder { shape, collectors })
    }

    /// Adds a block of rows.
    pub(crate) fn push(&mut self, hashes: &[u64], payloads: &[u64]) -> Result<()> {
        match &mut self.collectors {
            Collectors::Here(partitions) => {
                for (&hash, &payload) in hashes.iter().zip(payloads) {
                    partitions.push(hash, payload);
                }
                Ok(())
            }
            Collectors::Threads(threads) => deal(threads, hashes, payloads),
        }
    }

    /// Ends the rows: waits for the threads, and keeps the last row of each key (see
    /// [`Partitions::sort_and_deduplicate`]).
    pub(crate) fn sort(self, same_key: impl Fn(u64, u64) -> bool + Sync) -> Result<SortedShards> {
        let mut shards = match self.collectors {
            Collectors::Here(partitions) => vec![partitions],
            Collectors::Threads(threads) => {
                threads.into_iter().map(ShardThread::join).collect::<Result<Vec<_>>>()?
            }
        };
        in_parallel(shards.iter_mut(), |shard| shard.sort_and_deduplicate(&same_key));
        Ok(SortedShards { shards, max_load_factor: self.shape.max_load_factor })
    }
}

/// All rows in order of hash, one a key.
pub(crate) struct SortedShards {
    shards: Vec<Partitions>,
    max_load_factor: f64,
}

impl SortedShards {
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(Partitions::len).sum()
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + '_ {
        self.shards.iter().flat_map(Partitions::payloads)
    }

    /// The table, each payload turned into `renamed(payload)`.
    pub(crate) fn into_table(self, renamed: impl Fn(u64) -> u64 + Sync) -> ShardedTable {
        let max_load_factor = self.max_load_factor;
        let shards =
            in_parallel(self.shards.into_iter(), |shard| shard.into_table(max_load_factor, &renamed));
        ShardedTable { shards }
    }
}

impl ShardThread {
    fn start(shard: usize, shape: TableShape) -> Result<ShardThread> {
        let (queue, rows) = sync_channel(shape.queue_backlog);
        let thread = std::thread::Builder::new()
            .name(format!("dict-shard-{shard}"))
            .spawn(move || collect(&rows, shape))
            .map_err(|source| {
                Error::new(
                    ErrorCode::CannotScheduleTask,
                    format!("thread of shard {shard} did not start: {source}"),
                )
            })?;
        Ok(ShardThread { queue, thread })
    }

    fn join(self) -> Result<Partitions> {
        drop(self.queue);
        self.thread.join().map_err(|_| Error::logical("a thread that loads a dictionary's shard panicked"))
    }
}

fn collect(queue: &Receiver<Rows>, shape: TableShape) -> Partitions {
    let mut partitions = Partitions::new(shape.payload_bytes, shape.shards as u64);
    for (hash, payload) in queue.iter().flatten() {
        partitions.push(hash, payload);
    }
    partitions
}

fn deal(threads: &[ShardThread], hashes: &[u64], payloads: &[u64]) -> Result<()> {
    let expected = hashes.len() / threads.len();
    let mut hands: Vec<Rows> =
        threads.iter().map(|_| Vec::with_capacity(expected + expected / 8 + 8)).collect();
    for (&hash, &payload) in hashes.iter().zip(payloads) {
        hands[split(hash, threads.len() as u64).0 as usize].push((hash, payload));
    }
    for (shard, rows) in threads.iter().zip(hands) {
        shard
            .queue
            .send(rows)
            .map_err(|_| Error::logical("a thread that loads a dictionary's shard ended early"))?;
    }
    Ok(())
}

/// Applies `work` to every item, a thread each if there are several.
fn in_parallel<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if items.len() <= 1 {
        return items.map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(|thread| thread.join().expect("shards are built without panics")).collect()
    })
}
