//! Sorts entries with bounded memory: runs that were sorted in memory are merged.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use basalt_base::Result;
use basalt_base::query::checkpoint;

use super::run::{RunReader, write_entry};
use crate::Rank;
use crate::file::{Spool, SpoolPlace};

/// Runs that are merged at once: each has a piece in memory.
const RUNS_MAX: usize = 32;
const ENTRIES_OF_A_CHECKPOINT: u64 = 8192;

/// Takes entries in any order.
#[derive(Debug)]
pub(super) struct EntrySorter {
    place: SpoolPlace,
    memory_max: usize,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Runs by how often their entries were merged.
    tiers: Vec<Vec<Spool>>,
}

/// An entry in memory: where its value is, and its rank.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    rank: Rank,
}

impl EntrySorter {
    /// `memory_max` is far below 4 GiB.
    pub(super) fn new(place: &SpoolPlace, memory_max: usize) -> EntrySorter {
        let (bytes, entries, tiers) = (Vec::new(), Vec::new(), Vec::new());
        EntrySorter { place: place.clone(), memory_max, bytes, entries, tiers }
    }

    pub(super) fn push(&mut self, value: &[u8], rank: Rank) -> Result<()> {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.entries.push(Entry { start, end: self.bytes.len() as u32, rank });
        match self.bytes.len() + size_of_val(self.entries.as_slice()) > self.memory_max {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what is in memory as a run.
    fn flush(&mut self) -> Result<()> {
        checkpoint()?;
        let mut run = self.place.spool();
        let value = |entry: &Entry| &self.bytes[entry.start as usize..entry.end as usize];
        self.entries.sort_unstable_by(|one, other| (value(one), one.rank).cmp(&(value(other), other.rank)));
        self.entries.iter().try_for_each(|entry| write_entry(&mut run, value(entry), entry.rank))?;
        self.bytes.clear();
        self.entries.clear();
        self.add(run, 0)
    }

    fn add(&mut self, mut run: Spool, mut tier: usize) -> Result<()> {
        loop {
            if self.tiers.len() == tier {
                self.tiers.push(Vec::new());
            }
            self.tiers[tier].push(run);
            if self.tiers[tier].len() < RUNS_MAX {
                return Ok(());
            }
            run = merged(std::mem::take(&mut self.tiers[tier]), &self.place)?;
            tier += 1;
        }
    }

    /// Hands out all distinct entries in order.
    pub(super) fn finish(mut self, take: impl FnMut(&[u8], Rank) -> Result<()>) -> Result<()> {
        self.flush()?;
        // What remains is few runs of each tier; the smallest ones are merged first.
        let mut runs: Vec<Spool> = self.tiers.into_iter().flatten().collect();
        while runs.len() > RUNS_MAX {
            let rest = runs.split_off(RUNS_MAX);
            let run = merged(runs, &self.place)?;
            runs = rest;
            runs.push(run);
        }
        merge(runs, take)
    }
}

fn merged(runs: Vec<Spool>, place: &SpoolPlace) -> Result<Spool> {
    let mut run = place.spool();
    merge(runs, |value, rank| write_entry(&mut run, value, rank))?;
    Ok(run)
}

fn merge(runs: Vec<Spool>, mut take: impl FnMut(&[u8], Rank) -> Result<()>) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(runs.len());
    for run in runs {
        let mut reader = RunReader::new(run)?;
        if reader.advance()? {
            heap.push(reader);
        }
    }
    let (mut last, mut taken): ((Vec<u8>, Rank), u64) = Default::default();
    while let Some(mut reader) = heap.peek_mut() {
        if taken.is_multiple_of(ENTRIES_OF_A_CHECKPOINT) {
            checkpoint()?;
        }
        if taken == 0 || (last.0.as_slice(), last.1) != (reader.value(), reader.rank()) {
            taken += 1;
            take(reader.value(), reader.rank())?;
            last.0.clear();
            last.0.extend_from_slice(reader.value());
            last.1 = reader.rank();
        }
        if !reader.advance()? {
            PeekMut::pop(reader);
        }
    }
    Ok(())
}
