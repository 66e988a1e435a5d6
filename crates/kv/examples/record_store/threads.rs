//! Threads that read and write records by chance until it is over, and how long each operation took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::file::Asked;
use crate::histogram::Histogram;
use crate::store::{RecordRead, RecordStore, Result};

/// How much is done.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) threads: usize,
    /// Operations in a hundred that read; the others write.
    pub(crate) reads_percent: u64,
    pub(crate) until: Until,
    pub(crate) seed: u64,
}

/// When it is over.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Seconds(f64),
    /// All threads together have done this many operations.
    Operations(u64),
}

/// What was done.
pub(crate) struct Done {
    pub(crate) seconds: f64,
    pub(crate) reads: Histogram,
    pub(crate) writes: Histogram,
    /// Bytes of values that were read.
    pub(crate) bytes: u64,
    /// Keys that were not there.
    pub(crate) missing: u64,
}

pub(crate) fn run(store: &dyn RecordStore, asked: &Asked, work: Work) -> Result<Done> {
    let started = Instant::now();
    let operations = AtomicU64::new(0);
    let parts: Vec<Result<Done>> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let mut thread = Thread::new(store, asked, work.seed * 1000 + number as u64);
            let operations = &operations;
            scope.spawn(move || {
                thread.run(work, started, operations)?;
                Ok(thread.done)
            })
        };
        let threads: Vec<_> = (0..work.threads).map(one).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread has ended early")?).collect()
    });
    let mut done = Done::nothing();
    for part in parts {
        done.add(&part?);
    }
    done.seconds = started.elapsed().as_secs_f64();
    Ok(done)
}

impl Done {
    fn nothing() -> Done {
        Done { seconds: 0.0, reads: Histogram::new(), writes: Histogram::new(), bytes: 0, missing: 0 }
    }

    fn add(&mut self, part: &Done) {
        self.reads.merge(&part.reads);
        self.writes.merge(&part.writes);
        self.bytes += part.bytes;
        self.missing += part.missing;
    }
}

/// One thread's view.
struct Thread<'a> {
    store: &'a dyn RecordStore,
    reader: Box<dyn RecordRead + 'a>,
    asked: &'a Asked,
    chance: Chance,
    done: Done,
    /// The key that is written.
    key: Vec<u8>,
}

impl<'a> Thread<'a> {
    fn new(store: &'a dyn RecordStore, asked: &'a Asked, seed: u64) -> Thread<'a> {
        Thread {
            store,
            reader: store.reader(),
            asked,
            chance: Chance::new(seed),
            done: Done::nothing(),
            key: Vec::new(),
        }
    }

    fn run(&mut self, work: Work, started: Instant, operations: &AtomicU64) -> Result<()> {
        loop {
            match work.until {
                Until::Seconds(seconds) if started.elapsed() >= Duration::from_secs_f64(seconds) => {
                    return Ok(());
                }
                Until::Operations(most) if operations.fetch_add(1, Ordering::Relaxed) >= most => {
                    return Ok(());
                }
                _ => {}
            }
            if self.chance.next() % 100 < work.reads_percent {
                self.read()?;
            } else {
                self.write()?;
            }
        }
    }

    fn read(&mut self) -> Result<()> {
        let key = self.asked.keys.get(self.chance.below(self.asked.keys.len()));
        let started = Instant::now();
        let found = self.reader.read(key)?;
        self.done.reads.add(started.elapsed());
        match found {
            Some(bytes) => self.done.bytes += bytes as u64,
            None => self.done.missing += 1,
        }
        Ok(())
    }

    /// Half of the writes replace a record, the others insert one whose first key column nobody has.
    fn write(&mut self) -> Result<()> {
        let key = self.asked.keys.get(self.chance.below(self.asked.keys.len()));
        let value = self.asked.values.get(self.chance.below(self.asked.values.len()));
        self.key.clear();
        let number = self.chance.next();
        if number.is_multiple_of(2) {
            self.key.extend_from_slice(key);
        } else {
            let end = key.iter().position(|byte| *byte == b'\t').unwrap_or(key.len());
            self.key.extend_from_slice(&key[..end]);
            self.key.extend_from_slice(format!("{number:x}").as_bytes());
            self.key.extend_from_slice(&key[end..]);
        }
        let started = Instant::now();
        self.store.write(&self.key, value)?;
        self.done.writes.add(started.elapsed());
        Ok(())
    }
}
