//! CACHE, SSD_CACHE and their COMPLEX_KEY_ forms: the rows of recent lookups are stored, others are requested from
//! the source.
//!
//! - [`spec`]: what `LAYOUT(CACHE(..))` states.
//! - [`cells`]: the stored rows, each as bytes, and their lifetimes.
//! - [`cell_list`]: a cell, and the list of them.
//! - [`slots`]: the memory of keys and rows.
//! - [`disk`]: the rows of SSD_CACHE, in files.
//! - [`request_limiter`]: how many lookups may ask the source at once, and how long the others wait.
//!
//! # Invariants
//!
//! - **One request**: all missing keys of a lookup are requested together, each of them once.
//! - **Misses are stored**: a key that the source does not have gets a cell, so that it is not requested again before
//!   its lifetime ends.
//!
//! # Concurrency
//!
//! The cells are protected by a lock that is never held during a request.

mod cell_list;
mod cells;
mod disk;
mod request_limiter;
mod slots;
mod spec;

pub use spec::{CacheSpec, LockDirectory, SsdSpec};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{concat, take};
use arrow::row::{RowConverter, SortField};
use basalt_base::clock::Clock;
use basalt_base::fs::Storage;
use basalt_base::{Error, Result};

use self::cells::{Cells, Freshness};
use self::disk::DiskRows;
use self::request_limiter::RequestLimiter;
use super::direct::DistinctKeys;
use crate::attribute::Attribute;
use crate::block::{check_keys, integer_keys, key_column, split_block};
use crate::block_cut::SCAN_BLOCK_BYTES;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, DirectSource, VisitRows};
use crate::key_bytes::KeyShape;
use crate::key_numbers::KeyNumbers;
use crate::scan_columns::ScanColumns;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::values::StringArena;

/// The things that a cache needs in addition to its definition.
pub struct CacheSurroundings {
    pub source: Arc<dyn DirectSource>,
    pub clock: Arc<dyn Clock>,
    /// The files of an SSD_CACHE are here.
    pub storage: Arc<dyn Storage>,
    /// Locks the directory of the files; `None` if no one else can use it.
    pub lock: Option<LockDirectory>,
    /// LIFETIME: a row is requested again after a random time between the two; 0 is never.
    pub lifetime_min_seconds: u64,
    pub lifetime_max_seconds: u64,
}

struct CacheDictionary {
    shared: Arc<Shared>,
    counters: Counters,
}

/// The state that the cache shares with the threads that refresh rows.
struct Shared {
    schema: DictionarySchema,
    shape: KeyShape,
    /// Converts rows of all attributes to bytes and back.
    rows: RowConverter,
    spec: CacheSpec,
    surroundings: CacheSurroundings,
    cells: Mutex<Cells>,
    limiter: Arc<RequestLimiter>,
}

/// The rows that the source returned.
struct Fetched {
    keys: KeyNumbers,
    /// By the number of the key.
    rows: Vec<Box<[u8]>>,
}

/// The rows of the distinct keys of a lookup, as bytes.
struct Gathered {
    rows: StringArena,
    /// For each distinct key: its place in `rows`, plus 1; 0 if it has no row.
    of_key: Vec<u32>,
    absent: Vec<u32>,
    stale: Vec<u32>,
}

/// A dictionary that stores some rows of `surroundings.source`.
pub fn build_cache(spec: DictionarySpec, surroundings: CacheSurroundings) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let kind = spec.layout.kind;
    if !kind.is_cache() {
        return Err(Error::logical(format!("{} is no cache", kind.name())));
    }
    let schema = DictionarySchema::of_resolved(&spec);
    let fields = spec.attributes.iter().map(|attribute| SortField::new(attribute.ty.carrier())).collect();
    let rows = RowConverter::new(fields).map_err(|error| {
        Error::not_implemented(format!("an attribute in dictionary layout {}: {error}", kind.name()))
    })?;
    let cells = if kind.is_ssd() {
        let (storage, ssd) = (Arc::clone(&surroundings.storage), spec.layout.ssd);
        let max_stored_keys = ssd.max_stored_keys;
        Cells::on_disk(DiskRows::new(storage, ssd, surroundings.lock.as_ref())?, max_stored_keys)
    } else {
        Cells::in_memory(spec.layout.cache.size_in_cells)
    };
    let shared = Shared {
        shape: KeyShape::new(&schema.key_types)?,
        schema,
        rows,
        limiter: Arc::new(RequestLimiter::new(&spec.layout.cache)),
        spec: spec.layout.cache,
        surroundings,
        cells: Mutex::new(cells),
    };
    Ok(Arc::new(CacheDictionary { shared: Arc::new(shared), counters: Counters::default() }))
}

impl CacheDictionary {
    /// The arrays of all attributes, and the position of each key's row in them; 0 is the default.
    fn ask(&self, keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Vec<u32>)> {
        let shared = &self.shared;
        let simple = shared.schema.has_simple_key();
        check_keys(&shared.schema.key_types, keys, simple)?;
        let keys = shared.widened(keys)?;
        let distinct = DistinctKeys::new(&shared.shape.encode(&keys)?)?;
        let mut gathered = shared.gather(&distinct.numbers)?;
        self.counters.add_missed(gathered.missed_rows(&distinct.of_row));
        let looked_for = [&gathered.absent[..], &gathered.stale].concat();
        let mut wanted = std::mem::take(&mut gathered.absent);
        if shared.spec.allow_read_expired_keys {
            self.refresh_later(&keys, &distinct, &gathered.stale)?;
        } else {
            wanted.append(&mut gathered.stale);
        }
        if !wanted.is_empty() {
            let question = pick(&keys, &distinct, &wanted)?;
            let fetched = shared.limiter.acquire().and_then(|_permit| shared.refresh(&question))?;
            gathered.add(&wanted, &distinct.numbers, &fetched);
        }
        // As in ClickHouse, a key that the cache stores as missing counts as found. So do all rows but one of each
        // key that the source does not have.
        let missing_count = looked_for.iter().filter(|&&key| gathered.of_key[key as usize] == 0).count();
        let of_row: Vec<u32> = distinct.of_row.iter().map(|&key| gathered.of_key[key as usize]).collect();
        self.counters.add_rows(of_row.len(), of_row.len() - missing_count);
        Ok((shared.decode(&gathered.rows)?, of_row))
    }

    /// Requests expired rows that lookups may still return. If the source is busy, a later lookup does it.
    fn refresh_later(&self, keys: &[ArrayRef], distinct: &DistinctKeys, stale: &[u32]) -> Result<()> {
        if stale.is_empty() {
            return Ok(());
        }
        let Some(permit) = self.shared.limiter.try_acquire() else {
            return Ok(());
        };
        let question = pick(keys, distinct, stale)?;
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let _permit = permit;
            // Expired rows stay. Once they may not be returned any more, a lookup gets the error.
            let _ = shared.refresh(&question);
        };
        let started = std::thread::Builder::new().name("dict-cache".into()).spawn(work);
        started.map(|_| ()).map_err(|error| {
            Error::new(
                basalt_base::ErrorCode::CannotScheduleTask,
                format!("a thread that refreshes a dictionary's cache did not start: {error}"),
            )
        })
    }
}

impl Gathered {
    /// How many rows of the lookup have a key that is missing or expired.
    fn missed_rows(&self, of_row: &[u32]) -> usize {
        let mut is_missed = vec![false; self.of_key.len()];
        self.absent.iter().chain(&self.stale).for_each(|&key| is_missed[key as usize] = true);
        of_row.iter().filter(|&&key| is_missed[key as usize]).count()
    }

    fn add(&mut self, wanted: &[u32], numbers: &KeyNumbers, fetched: &Fetched) {
        for &key in wanted {
            let row = fetched.keys.find(numbers.get(key as usize)).map(|at| &fetched.rows[at as usize]);
            self.of_key[key as usize] = row.map_or(0, |row| {
                self.rows.push(row);
                self.rows.len() as u32
            });
        }
    }
}

impl Shared {
    fn cells(&self) -> MutexGuard<'_, Cells> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys of a simple layout as `UInt64`, which the source takes.
    fn widened(&self, keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if !self.schema.has_simple_key() {
            return Ok(keys.to_vec());
        }
        Ok(vec![key_column(integer_keys(&keys[0])?)])
    }

    /// The stored rows of `keys`.
    fn gather(&self, keys: &KeyNumbers) -> Result<Gathered> {
        let mut gathered = Gathered {
            rows: StringArena::default(),
            of_key: vec![0; keys.len()],
            absent: Vec::new(),
            stale: Vec::new(),
        };
        let now_us = self.surroundings.clock.now_us();
        let mut cells = self.cells();
        for key in 0..keys.len() {
            let before = gathered.rows.len();
            let freshness = cells.get(keys.get(key), now_us, &mut gathered.rows)?;
            if gathered.rows.len() > before {
                gathered.of_key[key] = gathered.rows.len() as u32;
            }
            match freshness {
                Freshness::Fresh => {}
                Freshness::Stale => gathered.stale.push(key as u32),
                Freshness::Absent => gathered.absent.push(key as u32),
            }
        }
        Ok(gathered)
    }

    /// The rows of a block of `keys` from `next` on, and which of these keys have one.
    fn read_some(&self, keys: &StringArena, next: &mut usize) -> Result<(Vec<usize>, StringArena)> {
        let (now_us, cells) = (self.surroundings.clock.now_us(), self.cells());
        let (mut found, mut rows) = (Vec::new(), StringArena::default());
        while *next < keys.len() && found.len() < SCAN_BLOCK_ROWS && rows.heap_bytes() < SCAN_BLOCK_BYTES {
            if cells.read(keys.get(*next), now_us, &mut rows)? {
                found.push(*next);
            }
            *next += 1;
        }
        Ok((found, rows))
    }

    /// Requests the rows of `question`, and stores them.
    fn refresh(&self, question: &[ArrayRef]) -> Result<Fetched> {
        let simple = self.schema.has_simple_key();
        let asked = self.shape.encode(question)?;
        let mut fetched = Fetched { keys: KeyNumbers::default(), rows: Vec::new() };
        let mut expected = KeyNumbers::default();
        for row in 0..asked.len() {
            expected.number(asked.get(row))?;
        }
        for block in self.surroundings.source.lookup(question)? {
            let (rows, keys, columns) =
                split_block(&self.schema.key_types, &self.schema.attributes, &block, simple)?;
            let encoded = self.shape.encode(&self.widened(&keys)?)?;
            // The converter needs at least one column.
            let bytes = match columns.is_empty() {
                true => None,
                false => Some(self.rows.convert_columns(&columns).map_err(broken)?),
            };
            for row in (0..rows).filter(|&row| expected.find(encoded.get(row)).is_some()) {
                let number = fetched.keys.number(encoded.get(row))? as usize;
                let bytes =
                    bytes.as_ref().map_or_else(Box::default, |bytes| Box::from(bytes.row(row).as_ref()));
                match fetched.rows.get_mut(number) {
                    Some(earlier) => *earlier = bytes,
                    None => fetched.rows.push(bytes),
                }
            }
        }
        let now_us = self.surroundings.clock.now_us();
        let mut cells = self.cells();
        for row in 0..asked.len() {
            let key = asked.get(row);
            let bytes = fetched.keys.find(key).map(|at| fetched.rows[at as usize].as_ref());
            let (expires_us, dies_us) = self.lifetime(key, now_us);
            cells.put(key, bytes, expires_us, dies_us)?;
        }
        Ok(fetched)
    }

    /// When a row that was stored now expires, and when it may not be returned any more.
    fn lifetime(&self, key: &[u8], now_us: u64) -> (u64, u64) {
        const SECOND_US: u64 = 1_000_000;
        let CacheSurroundings { lifetime_min_seconds: min, lifetime_max_seconds: max, .. } =
            self.surroundings;
        if max == 0 {
            return (u64::MAX, u64::MAX);
        }
        // Spread the lifetimes, so that rows of one request do not expire together.
        let spread_us = max.saturating_sub(min).saturating_mul(SECOND_US);
        let part = crate::hash::split(crate::hash::hash_bytes(key).wrapping_add(now_us), spread_us.max(1)).0;
        let strict = self.spec.strict_max_lifetime_seconds.unwrap_or(max);
        let after = |us: u64| now_us.saturating_add(us);
        let dies_us = after(strict.saturating_mul(SECOND_US));
        (after(min.min(max).saturating_mul(SECOND_US).saturating_add(part)).min(dies_us), dies_us)
    }

    /// The arrays of all attributes. Row 0 is the default.
    fn decode(&self, rows: &StringArena) -> Result<Vec<ArrayRef>> {
        if self.schema.attributes.is_empty() {
            return Ok(Vec::new());
        }
        let parser = self.rows.parser();
        let parsed = (0..rows.len()).map(|row| parser.parse(rows.get(row)));
        let columns = self.rows.convert_rows(parsed).map_err(broken)?;
        let with_default = |(column, attribute): (&ArrayRef, &Attribute)| {
            concat(&[attribute.default.as_ref(), column.as_ref()]).map_err(broken)
        };
        columns.iter().zip(&self.schema.attributes).map(with_default).collect()
    }
}

/// The arrays of the distinct keys `wanted`.
fn pick(keys: &[ArrayRef], distinct: &DistinctKeys, wanted: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = wanted.iter().map(|&key| distinct.first_rows[key as usize]);
    let rows = UInt32Array::from_iter_values(rows);
    keys.iter().map(|key| take(key, &rows, None).map_err(broken)).collect()
}

impl Dictionary for CacheDictionary {
    fn schema(&self) -> &DictionarySchema {
        &self.shared.schema
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let (columns, rows) = self.ask(keys)?;
        let found = rows.iter().map(|&row| Some(row > 0)).collect();
        let rows = UInt32Array::from(rows);
        let columns = attributes
            .iter()
            .map(|&at| take(&columns[at], &rows, None).map_err(broken))
            .collect::<Result<_>>()?;
        Ok((columns, found))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(self.ask(keys)?.1.iter().map(|&row| Some(row > 0)).collect())
    }

    /// Visits the rows that are stored when their block is read: no lookup waits for a scan.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        let shared = &self.shared;
        let asked = ScanColumns::of(columns, shared.schema.key_types.len());
        let all = shared.cells().keys(shared.surroundings.clock.now_us());
        let mut next = 0;
        while next < all.len() {
            let (keys, rows) = shared.read_some(&all, &mut next)?;
            let key_columns = shared.shape.decode(keys.iter().map(|key| all.get(*key)))?;
            let values = if asked.attributes().is_empty() { Vec::new() } else { shared.decode(&rows)? };
            let value = |at: usize| values[at].slice(1, keys.len());
            let values = asked.attributes().into_iter().map(value).collect();
            visit(keys.len(), asked.join(|at| Ok(Arc::clone(&key_columns[at])), values)?)?;
        }
        Ok(())
    }

    fn stats(&self) -> DictionaryStats {
        let cells = self.shared.cells();
        self.counters.fill(DictionaryStats {
            element_count: cells.len() as u64,
            bytes_allocated: (size_of::<Shared>() + cells.heap_bytes()) as u64,
            load_factor: cells.load_factor(),
            ..DictionaryStats::default()
        })
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("a cache's arrays do not fit together: {error}"))
}

#[cfg(test)]
mod tests;
