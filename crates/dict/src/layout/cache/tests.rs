//! The rows that a cache stores, for how long, and the keys that it requests.

use std::sync::Mutex;

use arrow::array::{AsArray, BinaryViewArray, ListArray, UInt16Array, UInt64Array};
use arrow::datatypes::{UInt16Type, UInt64Type};
use basalt_base::clock::ManualClock;
use basalt_base::fs::FaultyStorage;
use basalt_base::{ErrorCode, SqlType, bail};

use super::*;
use crate::layout::conformance;
use crate::{LayoutKind, LayoutSpec};

/// The value of an even key is the key. It records the requests.
#[derive(Default)]
struct Evens {
    asked: Mutex<Vec<Vec<u64>>>,
    offset: Mutex<u16>,
    broken: Mutex<bool>,
}

impl Evens {
    fn asked(&self) -> Vec<Vec<u64>> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl DirectSource for Evens {
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let keys = keys[0].as_primitive::<UInt64Type>().values().to_vec();
        self.asked.lock().unwrap().push(keys.clone());
        if *self.broken.lock().unwrap() {
            bail!(TimeoutExceeded, "the source is away");
        }
        let offset = *self.offset.lock().unwrap();
        let even: Vec<u64> = keys.into_iter().filter(|key| key % 2 == 0).collect();
        let values = UInt16Array::from_iter_values(even.iter().map(|&key| key as u16 + offset));
        let texts = BinaryViewArray::from_iter_values(even.iter().map(u64::to_string));
        let lists = ListArray::from_iter_primitive::<UInt16Type, _, _>(
            even.iter().map(|_| Some(Vec::<Option<u16>>::new())),
        );
        let field = SqlType::UInt16.element_field();
        let (_, offsets, items, nulls) = lists.into_parts();
        let lists = ListArray::new(field, offsets, items, nulls);
        Ok(vec![vec![Arc::new(UInt64Array::from(even)), Arc::new(values), Arc::new(texts), Arc::new(lists)]])
    }
}

struct Setting {
    dictionary: Arc<dyn Dictionary>,
    source: Arc<Evens>,
    clock: Arc<ManualClock>,
}

fn setting(kind: LayoutKind, spec: CacheSpec) -> Setting {
    let mut layout = LayoutSpec { cache: spec, ..LayoutSpec::new(kind) };
    layout.ssd.path = "/cache".into();
    let (source, clock) = (Arc::new(Evens::default()), Arc::new(ManualClock::at(1)));
    let surroundings = CacheSurroundings {
        source: Arc::clone(&source) as Arc<dyn DirectSource>,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        storage: Arc::new(FaultyStorage::new()),
        lock: None,
        lifetime_min_seconds: 10,
        lifetime_max_seconds: 20,
    };
    let dictionary = build_cache(conformance::simple_spec(&layout), surroundings).expect("a valid cache");
    Setting { dictionary, source, clock }
}

fn cells(size_in_cells: u64) -> CacheSpec {
    CacheSpec { size_in_cells, ..CacheSpec::default() }
}

impl Setting {
    fn get(&self, keys: &[u64]) -> Result<Vec<u16>> {
        let (columns, _) = self.dictionary.get(&[0], &[key_column(keys.to_vec())])?;
        Ok(columns[0].as_primitive::<UInt16Type>().values().to_vec())
    }
}

#[test]
fn conforms() {
    for kind in [LayoutKind::Cache, LayoutKind::SsdCache] {
        let mut layout = LayoutSpec { cache: cells(30), ..LayoutSpec::new(kind) };
        layout.ssd = SsdSpec {
            path: "/cache".into(),
            block_size: 16,
            file_size: 256,
            write_buffer_size: 64,
            ..SsdSpec::default()
        };
        conformance::check_simple(&layout);
        let kind = kind.complex_form().expect("it has one");
        conformance::check_complex(&LayoutSpec { kind, ..layout });
    }
}

#[test]
fn all_misses_are_asked_for_at_once_and_kept() {
    for kind in [LayoutKind::Cache, LayoutKind::SsdCache] {
        let setting = setting(kind, cells(100));
        assert_eq!(setting.get(&[2, 3, 2, 4]).expect("a source"), [2, 77, 2, 4]);
        assert_eq!(setting.source.asked(), [[2, 3, 4]]);
        assert_eq!(setting.get(&[4, 3, 6]).expect("a source"), [4, 77, 6]);
        assert_eq!(setting.source.asked(), [[6]]);
        assert_eq!(setting.dictionary.stats().element_count, 4);
    }
}

#[test]
fn keys_that_are_remembered_as_missing_count_as_found() {
    let setting = setting(LayoutKind::Cache, cells(100));
    let check = |keys: &[u64], query_count, missed_count, found_count| {
        setting.get(keys).expect("a source");
        let stats = setting.dictionary.stats();
        let counted = (stats.query_count, stats.missed_count, stats.found_count);
        assert_eq!(counted, (query_count, missed_count, found_count), "{keys:?}");
    };
    check(&[2, 3, 3, 4], 4, 4, 3);
    check(&[2, 3, 3, 4], 8, 4, 7);
    check(&[3, 5, 5, 7, 6], 13, 8, 10);
    setting.clock.advance(21_000_000);
    check(&[3, 4], 15, 10, 11);
}

#[test]
fn a_scan_shows_the_rows_that_are_kept() {
    for kind in [LayoutKind::Cache, LayoutKind::SsdCache] {
        let setting = setting(kind, cells(100));
        setting.get(&[2, 3, 4]).expect("a source");
        let blocks = setting.dictionary.scan().expect("rows");
        assert_eq!((blocks.len(), integer_keys(&blocks[0][0]).expect("integers")), (1, vec![2, 4]));
        conformance::check_projections(setting.dictionary.as_ref(), &blocks[0]);
        setting.clock.advance(21_000_000);
        assert_eq!(setting.dictionary.scan().expect("no rows").len(), 0);
    }
}

#[test]
fn a_small_cache_throws_out_what_was_not_used() {
    let setting = setting(LayoutKind::Cache, cells(4));
    for key in 0..50 {
        let wanted: Vec<u64> = if key % 2 == 0 { vec![1000, key] } else { vec![1000] };
        setting.get(&wanted).expect("a source");
    }
    let asked = setting.source.asked();
    assert_eq!(asked.iter().flatten().filter(|&&key| key == 1000).count(), 1);
    assert_eq!(setting.dictionary.stats().element_count, 4);
}

#[test]
fn an_old_row_is_asked_for_again() {
    let setting = setting(LayoutKind::Cache, cells(10));
    setting.get(&[2]).expect("a source");
    *setting.source.offset.lock().unwrap() = 100;
    setting.clock.advance(9_999_999);
    assert_eq!(setting.get(&[2]).expect("a source"), [2]);
    setting.clock.advance(11_000_000);
    assert_eq!(setting.get(&[2]).expect("a source"), [102]);
    setting.clock.advance(21_000_000);
    *setting.source.broken.lock().unwrap() = true;
    let error = setting.get(&[2]).err().map(|error| error.code());
    assert_eq!(error, Some(ErrorCode::TimeoutExceeded));
}

#[test]
fn an_expired_row_is_shown_while_it_may_be() {
    let spec =
        CacheSpec { allow_read_expired_keys: true, strict_max_lifetime_seconds: Some(100), ..cells(10) };
    let setting = setting(LayoutKind::Cache, spec);
    setting.get(&[2]).expect("a source");
    *setting.source.broken.lock().unwrap() = true;
    setting.clock.advance(30_000_000);
    assert_eq!(setting.get(&[2]).expect("an old row"), [2]);
    setting.clock.advance(90_000_000);
    assert!(setting.get(&[2]).is_err());
}

#[test]
fn a_cache_without_attributes_knows_its_keys() {
    /// Has the even keys.
    struct Keys;
    impl DirectSource for Keys {
        fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
            let keys = keys[0].as_primitive::<UInt64Type>().values().iter().copied();
            Ok(vec![vec![key_column(keys.filter(|key| key % 2 == 0).collect())]])
        }
    }
    for kind in [LayoutKind::Cache, LayoutKind::SsdCache] {
        let mut layout = LayoutSpec { cache: cells(10), ..LayoutSpec::new(kind) };
        layout.ssd.path = "/cache".into();
        let surroundings = CacheSurroundings {
            source: Arc::new(Keys),
            clock: Arc::new(ManualClock::at(1)),
            storage: Arc::new(FaultyStorage::new()),
            lock: None,
            lifetime_min_seconds: 0,
            lifetime_max_seconds: 0,
        };
        let spec = DictionarySpec { attributes: Vec::new(), ..conformance::simple_spec(&layout) };
        let dictionary = build_cache(spec, surroundings).expect("a valid cache");
        for _ in 0..2 {
            let found = dictionary.has(&[key_column(vec![1, 2, 3, 4])]).expect("valid keys");
            assert_eq!(found, BooleanArray::from(vec![false, true, false, true]));
        }
        let mut rows = 0;
        let count = dictionary.visit_columns(&[0], &mut |count, _| {
            rows += count;
            Ok(())
        });
        count.expect("rows in the cache");
        assert_eq!(rows, 2);
    }
}
