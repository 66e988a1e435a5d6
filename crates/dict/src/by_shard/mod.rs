//! `SETTINGS(reload = 'by_shard')`: a dictionary of parts that are reloaded one after the other.
//!
//! A reload of the usual kind needs the memory of two versions: the old one answers until the new one is
//! whole. Here the rows of the source are first dealt to files, one pile a shard ([`crate::piles`]); then each
//! shard is built from its pile, takes the place of the old one, and that is freed. What is in memory is the
//! old version and one shard. Who asks meanwhile gets some keys of the new version and some of the old.
//!
//! # Invariants
//!
//! - **Dealt by key**: all rows of a key are in one shard ([`dealing`]): of layouts that hash, the one that the low bits
//!   of its hash say. The tables inside go by the high ones.
//! - **A source that fails changes nothing**: no shard is swapped before the last row was dealt.

mod dealing;

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::interleave;
use basalt_base::fs::Storage;
use basalt_base::{Error, Result, SqlType};

use self::dealing::Dealing;
use crate::attribute::Attribute;
use crate::block::{check_keys, integer_keys};
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::layout::{AutoChoice, AutoKeys, check_flat_key};
use crate::layout_kind::LayoutKind;
use crate::loaded::build;
use crate::overlay::update;
use crate::piles::{COLLECTED_BYTES, Piles, rows_of, select};
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;

/// A reload takes this part of the dictionary's memory beside the old version.
const SHARDS: usize = 16;

/// A dictionary whose shards are dictionaries.
pub struct ShardByShard {
    spec: DictionarySpec,
    key_types: Vec<SqlType>,
    dealing: Dealing,
    form: RwLock<ShardForm>,
    shards: Vec<RwLock<Arc<dyn Dictionary>>>,
    counters: Counters,
}

/// What the keys of a version decide.
#[derive(Clone)]
struct ShardForm {
    /// Of one shard.
    spec: DictionarySpec,
    /// What AUTO became.
    chosen: Option<AutoChoice>,
}

/// What is known once all rows were dealt, and before a shard changes; an error leaves all as they are.
pub type AtEnd<'a> = dyn FnMut(u64) -> Result<Vec<Vec<ArrayRef>>> + 'a;

/// Loads the rows of `blocks` into `previous`, shard by shard, if that was loaded like this; into a new
/// dictionary otherwise. The rows wait in files below `dir`, which is removed in the end. `at_end` is told how
/// many there are, and says which keys go: blocks of changes as [`crate::update`] takes them.
pub fn build_by_shard(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    at_end: &mut AtEnd<'_>,
    previous: Option<&Arc<dyn Dictionary>>,
    storage: &Arc<dyn Storage>,
    dir: &Path,
) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let dealing = Dealing::of(&spec)?;
    let mut piles = Piles::create(&spec, SHARDS, COLLECTED_BYTES, storage, dir)?;
    let (mut rows, mut auto_keys) = (0, AutoKeys::default());
    let (key_count, is_simple) = (spec.key_columns.len(), !spec.layout.kind.is_complex());
    for block in blocks {
        let block = block?;
        let (keys, columns) = block.split_at(key_count);
        rows += check_keys(&spec.key_types(), keys, is_simple)? as u64;
        check_range(&spec, keys)?;
        if spec.layout.kind == LayoutKind::Auto {
            auto_keys.push(keys)?;
        }
        let (shards, keys) = dealing.deal(keys)?;
        piles.push(&[&keys, columns].concat(), &shards)?;
    }
    let piles = piles.finish()?;
    let gone = deal_blocks(&dealing, key_count, &mut at_end(rows)?.into_iter().map(Ok))?;
    let form = ShardForm::of(&spec, &auto_keys);
    let build = |shard: usize| {
        let built = build(form.spec.clone(), &mut piles.blocks(shard))?;
        match gone[shard].is_empty() {
            true => Ok(built),
            false => {
                update(&form.spec, &built, &mut gone[shard].iter().cloned().map(Ok))?.in_memory(&form.spec)
            }
        }
    };
    if let Some(current) = previous
        && let Some(dictionary) = (current.as_ref() as &dyn Any).downcast_ref::<ShardByShard>()
    {
        *dictionary.form.write().unwrap_or_else(PoisonError::into_inner) = form.clone();
        for shard in 0..SHARDS {
            dictionary.replace(shard, build(shard)?);
        }
        return Ok(Arc::clone(current));
    }
    let shards = (0..SHARDS).map(|shard| Ok(RwLock::new(build(shard)?))).collect::<Result<_>>()?;
    let (key_types, counters, form) = (spec.key_types(), Counters::default(), RwLock::new(form.clone()));
    Ok(Arc::new(ShardByShard { spec, key_types, dealing, form, shards, counters }))
}

/// The rows of `blocks` that each shard gets.
fn deal_blocks(
    dealing: &Dealing,
    key_count: usize,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Vec<Vec<Vec<ArrayRef>>>> {
    let mut dealt = vec![Vec::new(); SHARDS];
    for block in blocks {
        let block = block?;
        let (keys, columns) = block.split_at(key_count);
        let (shards, keys) = dealing.deal(keys)?;
        let block = [&keys, columns].concat();
        for (shard, rows) in rows_of(SHARDS, &shards).into_iter().enumerate() {
            if !rows.is_empty() {
                dealt[shard].push(select(&block, rows)?);
            }
        }
    }
    Ok(dealt)
}

/// As an array of all keys would refuse them.
fn check_range(spec: &DictionarySpec, keys: &[ArrayRef]) -> Result<()> {
    if spec.layout.kind != LayoutKind::Flat {
        return Ok(());
    }
    integer_keys(&keys[0])?.into_iter().try_for_each(|key| check_flat_key(key, spec.layout.max_array_size))
}

impl ShardForm {
    fn of(spec: &DictionarySpec, keys: &AutoKeys) -> ShardForm {
        let mut spec = spec.clone();
        let layout = &mut spec.layout;
        let chosen = (layout.kind == LayoutKind::Auto).then(|| keys.choice());
        layout.kind = match layout.kind {
            LayoutKind::Auto if keys.are_dense() => LayoutKind::Auto,
            LayoutKind::Auto if keys.are_many() => LayoutKind::CompactHashed,
            LayoutKind::Auto => LayoutKind::Hashed,
            kind => kind,
        };
        layout.max_array_size = layout.max_array_size.div_ceil(SHARDS as u64);
        layout.initial_array_size = layout.initial_array_size.div_ceil(SHARDS as u64);
        ShardForm { spec, chosen }
    }
}

impl ShardByShard {
    fn shard(&self, at: usize) -> Arc<dyn Dictionary> {
        Arc::clone(&self.shards[at].read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, shard: usize, new: Arc<dyn Dictionary>) {
        let old =
            std::mem::replace(&mut *self.shards[shard].write().unwrap_or_else(PoisonError::into_inner), new);
        drop(old);
    }

    fn form(&self) -> ShardForm {
        self.form.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks each shard for its keys, and puts the answers in the order of the keys.
    fn ask(
        &self,
        keys: &[ArrayRef],
        ask: impl Fn(&dyn Dictionary, &[ArrayRef]) -> Result<Vec<ArrayRef>>,
    ) -> Result<Vec<ArrayRef>> {
        check_keys(&self.key_types, keys, !self.spec.layout.kind.is_complex())?;
        let (shards, keys) = self.dealing.deal(keys)?;
        let mut answers = Vec::with_capacity(SHARDS);
        for (shard, rows) in rows_of(SHARDS, &shards).into_iter().enumerate() {
            answers.push(ask(self.shard(shard).as_ref(), &select(&keys, rows)?)?);
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
        self.form().chosen.map_or(self.spec.layout.kind.name(), AutoChoice::name)
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

    /// Of the shards that are there when it begins, whatever takes their places meanwhile.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        let shards: Vec<Arc<dyn Dictionary>> = (0..SHARDS).map(|shard| self.shard(shard)).collect();
        for (number, shard) in shards.into_iter().enumerate() {
            shard.visit_columns(columns, &mut |rows, mut block| {
                for (column, _) in block.iter_mut().zip(columns).filter(|(_, at)| **at == 0) {
                    *column = self.dealing.undo(number, column)?;
                }
                visit(rows, block)
            })?;
        }
        Ok(())
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

    fn lists_keys(&self) -> bool {
        true
    }

    /// Applies them to each shard that has some. An error of `changes` leaves all as they are.
    fn update_in_place(&self, changes: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>) -> Result<bool> {
        let (dealt, spec) = (deal_blocks(&self.dealing, self.key_types.len(), changes)?, self.form().spec);
        for (shard, blocks) in dealt.into_iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            let updated = update(&spec, &self.shard(shard), &mut blocks.into_iter().map(Ok))?;
            self.replace(shard, updated.in_memory(&spec)?);
        }
        Ok(true)
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
        let mut at_end = |_| Ok(Vec::new());
        let loaded =
            build_by_shard(spec.clone(), &mut blocks.into_iter(), &mut at_end, previous, &storage, dir);
        assert!(!storage.exists(dir).expect("a disk"), "the rows' files are removed");
        loaded
    }

    #[test]
    fn a_reload_changes_the_dictionary_in_place() {
        let kinds = [
            (LayoutKind::Hashed, false),
            (LayoutKind::Flat, false),
            (LayoutKind::Auto, false),
            (LayoutKind::ComplexKeyHashed, true),
        ];
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

    #[test]
    fn changes_go_to_the_shards_of_their_keys() {
        for kind in [LayoutKind::Hashed, LayoutKind::Flat, LayoutKind::Auto] {
            let spec = simple_spec(&LayoutSpec::new(kind));
            let first = load(&spec, vec![Ok(simple_block(100))], None).expect("a valid source");
            let mut change = simple_block(300);
            change.push(Arc::new(arrow::array::UInt8Array::from_iter_values(
                (0..300).map(|at| u8::from(at < 50)),
            )));
            let second = update(&spec, &first, &mut [Ok(change)].into_iter());
            let second = second.and_then(|updated| updated.in_memory(&spec)).expect("valid changes");
            assert!(Arc::ptr_eq(&first, &second));
            assert_eq!(first.stats().element_count, 250, "{kind:?}");
            assert_eq!(first.has(&simple_block(400)[..1]).expect("valid keys").true_count(), 250);
            let failure = Err(Error::new(ErrorCode::TimeoutExceeded, "the source hangs"));
            let mut gone = simple_block(300);
            gone.push(Arc::new(arrow::array::UInt8Array::from_value(1, 300)));
            assert!(update(&spec, &first, &mut [Ok(gone), failure].into_iter()).is_err());
            assert_eq!(first.stats().element_count, 250, "{kind:?}");
        }
    }

    #[test]
    fn what_the_end_says_is_known_before_a_shard_changes() {
        let spec = simple_spec(&LayoutSpec::new(LayoutKind::Flat));
        let first = load(&spec, vec![Ok(simple_block(100))], None).expect("a valid source");
        let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
        let reload = |block: Vec<ArrayRef>, at_end: &mut AtEnd<'_>| {
            let mut blocks = [Ok(block)].into_iter();
            build_by_shard(spec.clone(), &mut blocks, at_end, Some(&first), &storage, Path::new("/piles"))
        };
        let refuse = |rows| Err(Error::new(ErrorCode::DictionaryIsEmpty, format!("{rows} rows")));
        assert!(reload(simple_block(0), &mut { refuse }).is_err());
        assert_eq!(first.stats().element_count, 100);
        let mut gone = simple_block(10);
        gone.push(Arc::new(arrow::array::UInt8Array::from_value(1, 10)));
        reload(simple_block(200), &mut |_| Ok(vec![gone.clone()])).expect("a valid source");
        assert_eq!(first.stats().element_count, 190);
    }
}
