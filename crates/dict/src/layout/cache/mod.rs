//! CACHE, SSD_CACHE and their COMPLEX_KEY_ forms: the rows that were asked for last; others are asked for.
//!
//! - [`spec`]: what `LAYOUT(CACHE(..))` states.
//! - [`cells`]: the rows that are kept, each as bytes, and for how long.
//! - [`cell_list`]: a cell, and the list of them.
//! - [`slots`]: the memory of keys and rows.
//! - [`disk`]: the rows of SSD_CACHE, in files.
//! - [`gate`]: how many lookups may ask the source at once, and how long the others wait.
//!
//! # Invariants
//!
//! - **One question**: all keys of a lookup that are not there go to the source together, each once.
//! - **Misses are kept**: a key that the source does not have has a cell too, so it is not asked for again
//!   before its lifetime ends.
//!
//! # Concurrency
//!
//! The cells are behind a lock that is never held while the source is asked.

mod cell_list;
mod cells;
mod disk;
mod gate;
mod slots;
mod spec;

pub use spec::{CacheSpec, SsdSpec};

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{concat, take};
use arrow::row::{RowConverter, SortField};
use basalt_base::clock::Clock;
use basalt_base::fs::{DirectoryLock, Storage};
use basalt_base::{Error, Result, SqlType};

use self::cells::{Cells, Freshness};
use self::disk::DiskRows;
use self::gate::Gate;
use super::SCAN_BLOCK_ROWS;
use super::direct::DistinctKeys;
use crate::attribute::Attribute;
use crate::block::{check_keys, integer_keys, key_column, split_block};
use crate::block_cut::SCAN_BLOCK_BYTES;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, DirectSource, VisitRows};
use crate::key_bytes::KeyShape;
use crate::key_numbers::KeyNumbers;
use crate::layout_kind::LayoutKind;
use crate::scan_columns::ScanColumns;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::values::StringArena;

/// Takes a directory, which one dictionary has at a time.
pub type LockDirectory = Arc<dyn Fn(&Path) -> Result<Arc<DirectoryLock>> + Send + Sync>;

/// What a cache needs beside its definition.
pub struct CacheSurroundings {
    pub source: Arc<dyn DirectSource>,
    pub clock: Arc<dyn Clock>,
    /// Where SSD_CACHE has its files.
    pub storage: Arc<dyn Storage>,
    /// Keeps others out of its directory; `None` where there are no others.
    pub lock: Option<LockDirectory>,
    /// LIFETIME: a row is asked for again after a time between the two; 0 is never.
    pub lifetime_min_seconds: u64,
    pub lifetime_max_seconds: u64,
}

struct CacheDictionary {
    shared: Arc<Shared>,
    counters: Counters,
}

/// What refreshing in the background needs too.
struct Shared {
    kind: LayoutKind,
    key_types: Vec<SqlType>,
    attributes: Vec<Attribute>,
    shape: KeyShape,
    /// Rows of all attributes as bytes, and back.
    rows: RowConverter,
    spec: CacheSpec,
    surroundings: CacheSurroundings,
    cells: Mutex<Cells>,
    gate: Arc<Gate>,
}

/// What the source answered.
struct Fetched {
    keys: KeyNumbers,
    /// By number of the key.
    rows: Vec<Box<[u8]>>,
}

/// Row bytes of the distinct keys of a lookup.
struct Gathered {
    rows: StringArena,
    /// For each distinct key: its place in `rows`, plus 1; 0 if it has no row.
    of_key: Vec<u32>,
    absent: Vec<u32>,
    stale: Vec<u32>,
}

/// A dictionary that keeps some rows of `surroundings.source`.
pub fn build_cache(spec: DictionarySpec, surroundings: CacheSurroundings) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let kind = spec.layout.kind;
    if !kind.is_cache() {
        return Err(Error::logical(format!("{} is no cache", kind.name())));
    }
    let key_types = spec.key_types();
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
        kind,
        shape: KeyShape::new(&key_types)?,
        key_types,
        attributes: spec.attributes,
        rows,
        gate: Arc::new(Gate::new(&spec.layout.cache)),
        spec: spec.layout.cache,
        surroundings,
        cells: Mutex::new(cells),
    };
    Ok(Arc::new(CacheDictionary { shared: Arc::new(shared), counters: Counters::default() }))
}

impl CacheDictionary {
    /// The row of each of `keys`, as the attributes' arrays and positions in them; 0 is the default.
    fn ask(&self, keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Vec<u32>)> {
        let shared = &self.shared;
        let simple = !shared.kind.is_complex();
        check_keys(&shared.key_types, keys, simple)?;
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
            let fetched = shared.gate.enter().and_then(|_pass| shared.refresh(&question))?;
            gathered.add(&wanted, &distinct.numbers, &fetched);
        }
        // As in ClickHouse, what the cache remembers as missing is found, and of the other rows all but one for
        // each key that the source does not have.
        let missing_count = looked_for.iter().filter(|&&key| gathered.of_key[key as usize] == 0).count();
        let of_row: Vec<u32> = distinct.of_row.iter().map(|&key| gathered.of_key[key as usize]).collect();
        self.counters.add_rows(of_row.len(), of_row.len() - missing_count);
        Ok((shared.decode(&gathered.rows)?, of_row))
    }

    /// Asks for rows that are old but may still be shown; if the source is busy, a later lookup does it.
    fn refresh_later(&self, keys: &[ArrayRef], distinct: &DistinctKeys, stale: &[u32]) -> Result<()> {
        if stale.is_empty() {
            return Ok(());
        }
        let Some(pass) = self.shared.gate.try_enter() else {
            return Ok(());
        };
        let question = pick(keys, distinct, stale)?;
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let _pass = pass;
            // Old rows are shown on; when they may no longer be, a lookup gets the error.
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
    /// How many rows have a key that is not there, or is old.
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

    /// Keys of a simple layout as the `UInt64` that the source is asked with.
    fn widened(&self, keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if self.kind.is_complex() {
            return Ok(keys.to_vec());
        }
        Ok(vec![key_column(integer_keys(&keys[0])?)])
    }

    /// What the cells have of `keys`.
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

    /// The rows of a block of the `keys` from `next` on, and which of them have one.
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

    /// Asks the source for `question` and keeps what it says.
    fn refresh(&self, question: &[ArrayRef]) -> Result<Fetched> {
        let simple = !self.kind.is_complex();
        let asked = self.shape.encode(question)?;
        let mut fetched = Fetched { keys: KeyNumbers::default(), rows: Vec::new() };
        let mut expected = KeyNumbers::default();
        for row in 0..asked.len() {
            expected.number(asked.get(row))?;
        }
        for block in self.surroundings.source.lookup(question)? {
            let (rows, keys, columns) = split_block(&self.key_types, &self.attributes, &block, simple)?;
            let encoded = self.shape.encode(&self.widened(&keys)?)?;
            // Rows cannot be made of no columns.
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

    /// When a row that came now is old, and when it may no longer be shown.
    fn lifetime(&self, key: &[u8], now_us: u64) -> (u64, u64) {
        const SECOND_US: u64 = 1_000_000;
        let CacheSurroundings { lifetime_min_seconds: min, lifetime_max_seconds: max, .. } =
            self.surroundings;
        if max == 0 {
            return (u64::MAX, u64::MAX);
        }
        // Keys that came together do not all grow old together.
        let spread_us = max.saturating_sub(min).saturating_mul(SECOND_US);
        let part = crate::hash::split(crate::hash::hash_bytes(key).wrapping_add(now_us), spread_us.max(1)).0;
        let strict = self.spec.strict_max_lifetime_seconds.unwrap_or(max);
        let after = |us: u64| now_us.saturating_add(us);
        let dies_us = after(strict.saturating_mul(SECOND_US));
        (after(min.min(max).saturating_mul(SECOND_US).saturating_add(part)).min(dies_us), dies_us)
    }

    /// The attributes' arrays, the default in row 0.
    fn decode(&self, rows: &StringArena) -> Result<Vec<ArrayRef>> {
        if self.attributes.is_empty() {
            return Ok(Vec::new());
        }
        let parser = self.rows.parser();
        let parsed = (0..rows.len()).map(|row| parser.parse(rows.get(row)));
        let columns = self.rows.convert_rows(parsed).map_err(broken)?;
        let with_default = |(column, attribute): (&ArrayRef, &Attribute)| {
            concat(&[attribute.default.as_ref(), column.as_ref()]).map_err(broken)
        };
        columns.iter().zip(&self.attributes).map(with_default).collect()
    }
}

/// The arrays of the distinct keys `wanted`.
fn pick(keys: &[ArrayRef], distinct: &DistinctKeys, wanted: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = wanted.iter().map(|&key| distinct.first_rows[key as usize]);
    let rows = UInt32Array::from_iter_values(rows);
    keys.iter().map(|key| take(key, &rows, None).map_err(broken)).collect()
}

impl Dictionary for CacheDictionary {
    fn key_types(&self) -> &[SqlType] {
        &self.shared.key_types
    }

    fn attributes(&self) -> &[Attribute] {
        &self.shared.attributes
    }

    fn layout(&self) -> &'static str {
        self.shared.kind.name()
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

    /// The rows that are kept now, and still when it is their block's turn: nobody waits for a scan.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        let shared = &self.shared;
        let asked = ScanColumns::of(columns, shared.key_types.len());
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
