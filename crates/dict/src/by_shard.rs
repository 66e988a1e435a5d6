//! `SETTINGS(reload = 'by_shard')`: a dictionary of parts that are reloaded one after the other.
//!
//! A reload of the usual kind needs the memory of two versions: the old one answers until the new one is
//! whole. Here the rows of the source are first dealt to files, one pile a shard ([`crate::piles`]); then each
//! shard is built from its pile, takes the place of the old one, and that is freed. What is in memory is the
//! old version and one shard. Who asks meanwhile gets some keys of the new version and some of the old.
//!
//! # Invariants
//!
//! - **Dealt by hash**: all rows of a key are in one shard, the one that the low bits of its hash say. The
//!   tables inside go by the high ones.
//! - **A source that fails changes nothing**: no shard is swapped before the last row was dealt.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::interleave;
use basalt_base::fs::Storage;
use basalt_base::{Error, Result, SqlType};

use crate::block::check_keys;
use crate::counters::Counters;
use crate::dictionary::{Attribute, Dictionary, DictionaryStats};
use crate::layout_kind::LayoutKind;
use crate::loaded::build;
use crate::piles::{COLLECTED_BYTES, KeyHasher, Piles, rows_of, select};
use crate::spec::DictionarySpec;

/// A reload takes this part of the dictionary's memory beside the old version.
const SHARDS: usize = 16;

/// A dictionary whose shards are dictionaries.
pub struct ShardByShard {
    spec: DictionarySpec,
    key_types: Vec<SqlType>,
    hasher: KeyHasher,
    shards: Vec<RwLock<Arc<dyn Dictionary>>>,
    counters: Counters,
}

/// Loads the rows of `blocks` into `previous`, shard by shard, if that was loaded like this; into a new
/// dictionary otherwise. The rows wait in files below `dir`, which is removed in the end.
pub fn build_by_shard(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    previous: Option<&Arc<dyn Dictionary>>,
    storage: &Arc<dyn Storage>,
    dir: &Path,
) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let hasher = KeyHasher::of(&spec)?;
    let mut piles = Piles::create(&spec, SHARDS, COLLECTED_BYTES, storage, dir)?;
    for block in blocks {
        let block = block?;
        let key_count = spec.key_columns.len();
        check_keys(&spec.key_types(), &block[..key_count], !spec.layout.kind.is_complex())?;
        piles.push(&block, &shards_of(&hasher, &block[..key_count])?)?;
    }
    let piles = piles.finish()?;
    if let Some((current, dictionary)) = previous.and_then(|previous| Some((previous, previous.shards()?))) {
        for (shard, place) in dictionary.shards.iter().enumerate() {
            let new = build(spec.clone(), &mut piles.blocks(shard))?;
            let old = std::mem::replace(&mut *place.write().unwrap_or_else(PoisonError::into_inner), new);
            drop(old);
        }
        return Ok(Arc::clone(current));
    }
    let shard = |shard| Ok(RwLock::new(build(spec.clone(), &mut piles.blocks(shard))?));
    let shards = (0..SHARDS).map(shard).collect::<Result<_>>()?;
    let (key_types, counters) = (spec.key_types(), Counters::default());
    Ok(Arc::new(ShardByShard { spec, key_types, hasher, shards, counters }))
}

impl LayoutKind {
    /// Whether a dictionary can be reloaded shard by shard: an array from 0 to the greatest key cannot.
    pub fn has_shards(self) -> bool {
        self.is_storable() && !matches!(self, LayoutKind::Flat | LayoutKind::Auto)
    }
}

/// The shard of each key.
fn shards_of(hasher: &KeyHasher, keys: &[ArrayRef]) -> Result<Vec<usize>> {
    Ok(hasher.hashes(keys)?.into_iter().map(|hash| hash as usize % SHARDS).collect())
}

impl ShardByShard {
    fn shard(&self, at: usize) -> Arc<dyn Dictionary> {
        Arc::clone(&self.shards[at].read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks each shard for its keys, and puts the answers in the order of the keys.
    fn ask(
        &self,
        keys: &[ArrayRef],
        ask: impl Fn(&dyn Dictionary, &[ArrayRef]) -> Result<Vec<ArrayRef>>,
    ) -> Result<Vec<ArrayRef>> {
        check_keys(&self.key_types, keys, !self.spec.layout.kind.is_complex())?;
        let shards = shards_of(&self.hasher, keys)?;
        let mut answers = Vec::with_capacity(SHARDS);
        for (shard, rows) in rows_of(SHARDS, &shards).into_iter().enumerate() {
            answers.push(ask(self.shard(shard).as_ref(), &select(keys, rows)?)?);
        }
        let mut next = [0; SHARDS];
        let place = |&shard: &usize| {
            next[shard] += 1;
            (shard, next[shard] - 1)
        };
        let places: Vec<(usize, usize)> = shards.iter().map(place).collect();
        let joined = (0..answers[0].len()).map(|column| {
            let parts: Vec<&dyn Array> = answers.iter().map(|answer| answer[column].as_ref()).collect();
            interleave(&parts, &places).map_err(Error::logical)
        });
        joined.collect()
    }
}

impl Dictionary for ShardByShard {
    fn key_types(&self) -> &[SqlType] {
        &self.key_types
    }

    fn attributes(&self) -> &[Attribute] {
        &self.spec.attributes
    }

    fn layout(&self) -> &'static str {
        self.spec.layout.kind.name()
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let mut columns = self.ask(keys, |shard, keys| {
            let (mut columns, found) = shard.get(attributes, keys)?;
            columns.push(Arc::new(found));
            Ok(columns)
        })?;
        let found = columns.pop().map(|found| BooleanArray::from(found.to_data()));
        let found = found.ok_or_else(|| Error::logical("a shard answered nothing"))?;
        self.counters.add(&found.values().iter().collect::<Vec<bool>>());
        Ok((columns, found))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        self.get(&[], keys).map(|(_, found)| found)
    }

    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        let blocks = (0..SHARDS).map(|shard| self.shard(shard).scan()).collect::<Result<Vec<_>>>()?;
        Ok(blocks.into_iter().flatten().collect())
    }

    fn stats(&self) -> DictionaryStats {
        let each = (0..SHARDS).map(|shard| self.shard(shard).stats());
        let all = each.fold(DictionaryStats::default(), |all, shard| DictionaryStats {
            element_count: all.element_count + shard.element_count,
            bytes_allocated: all.bytes_allocated + shard.bytes_allocated,
            load_factor: all.load_factor + shard.load_factor / SHARDS as f64,
            ..all
        });
        self.counters.fill(all)
    }

    fn shards(&self) -> Option<&ShardByShard> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;
    use basalt_base::fs::FaultyStorage;

    use super::*;
    use crate::LayoutSpec;
    use crate::layout::conformance::{complex_block, complex_spec, simple_block, simple_spec};

    fn load(
        spec: &DictionarySpec,
        blocks: Vec<Result<Vec<ArrayRef>>>,
        previous: Option<&Arc<dyn Dictionary>>,
    ) -> Result<Arc<dyn Dictionary>> {
        let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
        let dir = Path::new("/piles");
        let loaded = build_by_shard(spec.clone(), &mut blocks.into_iter(), previous, &storage, dir);
        assert!(!storage.exists(dir).expect("a disk"), "the rows' files are removed");
        loaded
    }

    #[test]
    fn a_reload_changes_the_dictionary_in_place() {
        let kinds = [(LayoutKind::Hashed, false), (LayoutKind::ComplexKeyHashed, true)];
        for (kind, is_complex) in kinds {
            let layout = LayoutSpec::new(kind);
            let (spec, block): (_, fn(u16) -> Vec<ArrayRef>) = match is_complex {
                true => (complex_spec(&layout), complex_block),
                false => (simple_spec(&layout), simple_block),
            };
            let first = load(&spec, vec![Ok(block(100))], None).expect("a valid source");
            assert_eq!(first.stats().element_count, 100);
            let second = load(&spec, vec![Ok(block(300))], Some(&first)).expect("a valid source");
            assert!(Arc::ptr_eq(&first, &second));
            assert_eq!(first.stats().element_count, 300);
            let keys = block(400)[..spec.key_columns.len()].to_vec();
            assert_eq!(first.has(&keys).expect("valid keys").true_count(), 300);
        }
    }

    #[test]
    fn a_source_that_fails_midway_leaves_all_shards() {
        let spec = simple_spec(&LayoutSpec::new(LayoutKind::Hashed));
        let first = load(&spec, vec![Ok(simple_block(100))], None).expect("a valid source");
        let failure = Err(Error::new(ErrorCode::TimeoutExceeded, "the source hangs"));
        let error = load(&spec, vec![Ok(simple_block(300)), failure], Some(&first)).err();
        assert_eq!(error.map(|error| error.code()), Some(ErrorCode::TimeoutExceeded));
        assert_eq!(first.stats().element_count, 100);
    }
}
