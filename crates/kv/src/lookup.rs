//! Rows by key, a block of keys at a time, on several threads if there are many.
//!
//! # Cost
//!
//! Keys are looked up in sorted order, so that neighbours find their blocks and index entries in the processor's
//! caches: a key costs half as much in a batch of a million as in sixteen batches of 65,536.
//!
//! # Concurrency
//!
//! Each lookup has a thread limit, and shares it with the lookups that run at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use basalt_base::{Error, Result, parallel};

use crate::finder::Finder;
use crate::key_encoding::EncodedKeys;
use crate::row_assembler::RowAssembler;
use crate::run::head;
use crate::store::Store;

/// Keys looked up in one batch, which bounds the number of pinned blocks.
const BATCH_KEYS: usize = 1024;
/// Distinct keys that justify another thread: a few milliseconds of work.
const THREAD_KEYS_MIN: usize = 2048;

/// The result of [`Store::get`].
#[derive(Clone, Debug)]
pub struct Found {
    /// The rows found, each once, in key order.
    pub rows: RecordBatch,
    /// For each requested key, in order: its index in `rows`, or `None` if there is none.
    pub row_of_key: Vec<Option<u32>>,
}

impl Store {
    /// The columns at `projection` of the rows with `keys`: one array for each key column. A key may occur more
    /// than once. Uses at most `threads_max` threads.
    pub fn get(&self, keys: &[ArrayRef], projection: &[usize], threads_max: usize) -> Result<Found> {
        let spec = self.spec();
        let encoder = spec.key_encoder()?;
        crate::write::check_whole_key(&encoder, keys)?;
        let encoded = encoder.encode(keys)?;
        let order = sorted_distinct(&encoded);
        let lookup = RunningLookup::take(self.lookups());
        let parts = parts(&order, threads_max / lookup.running);
        let get = |part: &&[SortedKey]| self.get_part(RowAssembler::new(&spec, projection)?, &encoded, part);
        let found = match parts.as_slice() {
            [] => vec![get(&&order[..])],
            parts => parallel::map(parts.iter(), parts.len(), get),
        };
        merged(found.into_iter().collect::<Result<_>>()?, encoded.len())
    }

    /// All columns of the rows with `keys`: each row once, in key order, without the missing keys.
    pub fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let all: Vec<usize> = (0..self.spec().columns.len()).collect();
        Ok(self.get(keys, &all, 1)?.rows.columns().to_vec())
    }

    fn get_part(
        &self,
        mut assembler: RowAssembler,
        encoded: &EncodedKeys,
        part: &[SortedKey],
    ) -> Result<FoundPart> {
        let mut places = Vec::with_capacity(part.len());
        let mut finder = Finder::new(self, part.len())?;
        for batch in part.chunk_by(|left, right| left.group / BATCH_KEYS == right.group / BATCH_KEYS) {
            let groups: Vec<&[SortedKey]> = batch.chunk_by(|left, right| left.group == right.group).collect();
            let keys: Vec<&[u8]> = groups.iter().map(|group| encoded.get(group[0].asked as usize)).collect();
            finder.find(&keys, |at, row| {
                let number = assembler.len() as u32;
                assembler.push(keys[at], row).map_err(|corrupt| corrupt.at(self.path(), keys[at]))?;
                places.extend(groups[at].iter().map(|key| (key.asked, number)));
                Ok(())
            })?;
        }
        Ok(FoundPart { rows: assembler.finish()?, places })
    }
}

/// The rows found for a range of sorted keys.
struct FoundPart {
    rows: RecordBatch,
    /// Pairs of a requested key's index and its row.
    places: Vec<(u32, u32)>,
}

fn merged(parts: Vec<FoundPart>, keys: usize) -> Result<Found> {
    let mut row_of_key = vec![None; keys];
    let mut first = 0;
    for part in &parts {
        for &(asked, row) in &part.places {
            row_of_key[asked as usize] = Some(first + row);
        }
        first += part.rows.num_rows() as u32;
    }
    let mut batches: Vec<RecordBatch> = parts.into_iter().map(|part| part.rows).collect();
    let rows = match batches.as_slice() {
        [_] => batches.swap_remove(0),
        [one, ..] => concat_batches(&one.schema(), &batches).map_err(Error::of_arrow)?,
        [] => return Err(Error::logical("a lookup of no part")),
    };
    Ok(Found { rows, row_of_key })
}

/// One of the lookups that run on a store.
struct RunningLookup<'a> {
    lookups: &'a AtomicUsize,
    /// The number of running lookups, including this one.
    running: usize,
}

impl<'a> RunningLookup<'a> {
    fn take(lookups: &'a AtomicUsize) -> RunningLookup<'a> {
        RunningLookup { lookups, running: lookups.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for RunningLookup<'_> {
    fn drop(&mut self) {
        self.lookups.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Splits the keys into parts of at least [`THREAD_KEYS_MIN`] keys, at most one for each of `threads`.
fn parts(order: &[SortedKey], threads: usize) -> Vec<&[SortedKey]> {
    let distinct = order.last().map_or(0, |last| last.group + 1);
    let count = match distinct / THREAD_KEYS_MIN {
        0 | 1 => 1,
        many => many.min(threads.max(1)),
    };
    let part = |key: &SortedKey| key.group * count / distinct.max(1);
    order.chunk_by(|left, right| part(left) == part(right)).collect()
}

/// A requested key; these are sorted.
struct SortedKey {
    /// The index of the key among the requested ones.
    asked: u32,
    /// The ordinal of the distinct key.
    group: usize,
}

fn sorted_distinct(keys: &EncodedKeys) -> Vec<SortedKey> {
    // Most keys differ in their first bytes, which compare as one number.
    let mut order: Vec<(u64, u32)> =
        (0..keys.len() as u32).map(|at| (head(keys.get(at as usize)), at)).collect();
    order.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then_with(|| keys.get(left.1 as usize).cmp(keys.get(right.1 as usize)))
    });
    let mut sorted: Vec<SortedKey> = Vec::with_capacity(order.len());
    for (_, asked) in order {
        let group = sorted.last().map_or(0, |last| {
            let is_same = keys.get(last.asked as usize) == keys.get(asked as usize);
            last.group + usize::from(!is_same)
        });
        sorted.push(SortedKey { asked, group });
    }
    sorted
}
