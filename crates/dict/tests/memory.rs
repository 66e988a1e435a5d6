//! The memory that a dictionary reports is what the process takes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::{
    ArrayRef, BinaryViewArray, Float64Builder, Int32Array, ListBuilder, UInt16Array, UInt64Array,
};
use basalt_base::clock::SystemClock;
use basalt_base::fs::{RealStorage, Storage};
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_dict::{
    Attribute, CacheSurroundings, Dictionary, DictionarySpec, DirectSource, ImagePlace, LayoutKind,
    LayoutSpec, LoadBounds, LoadedImage, RangeSpec, RowForm, build, build_cache, load_image,
};

const KEYS: u64 = 1_000_000;
const BLOCK_ROWS: u64 = 65_536;
/// Set in the process that measures.
const CHILD: &str = "BASALT_DICT_MEASURE";

/// Freed memory must return to the system at once, or it would be counted. glibc does so with a fixed threshold,
/// which it reads when a process starts.
#[test]
fn bytes_allocated_is_what_the_process_takes() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        measure_all();
        return;
    }
    run_alone("bytes_allocated_is_what_the_process_takes");
}

/// The most memory that a reload takes in addition to the version that answers from its file.
#[test]
fn a_load_into_a_file_takes_a_bounded_part_of_memory() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return;
    }
    if std::env::var_os(CHILD).is_none() {
        return run_alone("a_load_into_a_file_takes_a_bounded_part_of_memory");
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memory-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let wide = [SqlType::UInt64, SqlType::Int32.into_nullable(), SqlType::String];
    let kinds = [
        (LayoutKind::Hashed, spread as fn(u64) -> u64),
        (LayoutKind::CompactHashed, spread),
        (LayoutKind::ComplexKeyHashed, spread),
        (LayoutKind::Flat, |row| row),
        (LayoutKind::Auto, |row| row + 77),
    ];
    for (kind, key) in kinds {
        let old = load_into(&dir, kind, &wide, key);
        // The memory of all pages once they were touched. The decoding tables of compressed strings are in memory,
        // one for each shard, and the shards here are small.
        let bytes = old.stats().bytes_allocated;
        let file = std::fs::metadata(dir.join("dictionary")).expect("the file").len();
        let ratio = bytes as f64 / file as f64;
        assert!((0.98..=1.04).contains(&ratio), "{kind:?}: stated {bytes}, its file has {file}");
        let before = own_bytes();
        let peak = AtomicU64::new(0);
        let new = load_watched(&peak, || load_into(&dir, kind, &wide, key));
        let taken = peak.into_inner().saturating_sub(before);
        // The tables that compress strings take some megabytes, however few the rows are.
        assert!(taken < bytes * 2 / 5, "{kind:?}: a reload took {taken} bytes, the version is {bytes}");
        let after = own_bytes().saturating_sub(before);
        // 967 KB were seen once of 18.9 MB: most likely what the allocator keeps for threads that ended.
        assert!(after < bytes / 16, "{kind:?}: {after} bytes are left of a load, the version is {bytes}");
        drop((old, new));
    }
    std::fs::remove_dir_all(dir).expect("a disk");
}

/// Starts a test of this file in a process of its own.
fn run_alone(test: &str) {
    let child = std::process::Command::new(std::env::current_exe().expect("a running test"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("MALLOC_MMAP_THRESHOLD_", "32768")
        .output()
        .expect("the test starts again");
    let text = String::from_utf8_lossy(&child.stderr).into_owned() + &String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{text}");
}

fn measure_all() {
    let narrow = [SqlType::UInt16];
    let wide = [SqlType::UInt64, SqlType::Int32.into_nullable(), SqlType::String];
    // The first load touches code, stacks and the allocator's tables.
    let _ = check(LayoutKind::Hashed, &wide, spread);
    let mut outcomes = Vec::new();
    for kind in [LayoutKind::Hashed, LayoutKind::SparseHashed, LayoutKind::CompactHashed] {
        outcomes.push(check(kind, &narrow, spread));
        outcomes.push(check(kind, &wide, spread));
    }
    outcomes.push(check(LayoutKind::HashedArray, &wide, spread));
    outcomes.push(check(LayoutKind::Auto, &wide, spread));
    outcomes.push(check(LayoutKind::Auto, &wide, |row| row + 77));
    outcomes.push(check(LayoutKind::Flat, &wide, |row| row));
    let complex =
        [LayoutKind::ComplexKeyHashed, LayoutKind::ComplexKeySparseHashed, LayoutKind::ComplexKeyHashedArray];
    outcomes.extend(complex.map(|kind| check(kind, &wide, spread)));
    let others =
        [LayoutKind::RangeHashed, LayoutKind::ComplexKeyRangeHashed, LayoutKind::IpTrie, LayoutKind::Polygon];
    outcomes.extend(others.map(|kind| check(kind, &wide, spread)));
    outcomes.push(check_cache());
    let wrong: Vec<String> = outcomes.into_iter().filter_map(std::result::Result::err).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check(kind: LayoutKind, types: &[SqlType], key: fn(u64) -> u64) -> std::result::Result<(), String> {
    check_taken(&format!("{kind:?} of {types:?}"), || load(kind, types, key))
}

/// A cache of all keys.
fn check_cache() -> std::result::Result<(), String> {
    check_taken("Cache", || {
        let types = [SqlType::UInt64, SqlType::String];
        let mut spec = spec(LayoutKind::Cache, &types);
        spec.layout.cache.size_in_cells = KEYS;
        let surroundings = CacheSurroundings {
            source: Arc::new(Echo),
            clock: Arc::new(SystemClock),
            storage: Arc::new(RealStorage),
            lock: None,
            lifetime_min_seconds: 0,
            lifetime_max_seconds: 0,
        };
        let cache = build_cache(spec, surroundings).expect("a valid definition");
        for first in (0..KEYS).step_by(4096) {
            let keys = UInt64Array::from_iter_values((first..KEYS.min(first + 4096)).map(spread));
            cache.has(&[Arc::new(keys)]).expect("a healthy source");
        }
        cache
    })
}

/// A source of all keys.
struct Echo;

impl DirectSource for Echo {
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows = 0..keys[0].len() as u64;
        let columns = [SqlType::UInt64, SqlType::String].map(|ty| values(&ty, rows.clone()));
        Ok(vec![std::iter::once(Arc::clone(&keys[0])).chain(columns).collect()])
    }
}

fn check_taken(what: &str, load: impl FnOnce() -> Arc<dyn Dictionary>) -> std::result::Result<(), String> {
    let before = resident_bytes();
    let dictionary = load();
    let taken = resident_bytes() - before;
    let stated = dictionary.stats().bytes_allocated;
    let ratio = stated as f64 / taken as f64;
    if (0.98..=1.02).contains(&ratio) {
        return Ok(());
    }
    Err(format!("{what}: stated {stated}, taken {taken}"))
}

/// Loads into a file, with bounds far below the bytes of the rows.
fn load_into(dir: &Path, kind: LayoutKind, types: &[SqlType], key: fn(u64) -> u64) -> Arc<dyn Dictionary> {
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let (path, spill_dir) = (dir.join("dictionary"), dir.join("spilled"));
    let place = ImagePlace { storage: &storage, path: &path, definition: "", spill_dir: &spill_dir };
    let bounds = LoadBounds { memory_bytes: 4 << 20, shard_bytes: 1 << 20 };
    let (spec, mut blocks) = (spec(kind, types), blocks(kind, types, key));
    match load_image(spec, &mut blocks, RowForm::Plain, &place, bounds).expect("a valid source") {
        LoadedImage::InFile(pending) => pending.publish(&[]).expect("a disk"),
        LoadedImage::InMemory(_) => panic!("{kind:?} was loaded in memory"),
    }
}

/// The result of `load`; `peak` becomes the most memory of the process meanwhile.
fn load_watched<T>(peak: &AtomicU64, load: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peak.fetch_max(own_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let loaded = load();
        is_over.store(true, Ordering::Relaxed);
        loaded
    })
}

/// `RssAnon`, as Linux counts it.
fn own_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has the line");
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}

fn load(kind: LayoutKind, types: &[SqlType], key: fn(u64) -> u64) -> Arc<dyn Dictionary> {
    build(spec(kind, types), &mut blocks(kind, types, key)).expect("a valid source")
}

fn spec(kind: LayoutKind, types: &[SqlType]) -> DictionarySpec {
    let attributes = types.iter().map(|ty| Attribute {
        name: ty.to_string(),
        ty: ty.clone(),
        default: ty.default_array(1),
        hierarchical: false,
        injective: false,
    });
    let mut key_columns = match kind {
        LayoutKind::IpTrie => vec![Column::new("prefix", SqlType::String)],
        LayoutKind::Polygon => {
            let ring = SqlType::array_of(SqlType::array_of(SqlType::Float64));
            vec![Column::new("ring", ring)]
        }
        _ => vec![Column::new("key", SqlType::UInt64)],
    };
    if has_text(kind) {
        key_columns.push(Column::new("text", SqlType::String));
    }
    let range = RangeSpec { low: "low".into(), high: "high".into(), ty: SqlType::Int32 };
    DictionarySpec {
        key_columns: Columns::new(key_columns),
        attributes: attributes.collect(),
        layout: LayoutSpec { max_array_size: KEYS, ..LayoutSpec::new(kind) },
        range: kind.is_range().then_some(range),
    }
}

fn blocks(
    kind: LayoutKind,
    types: &[SqlType],
    key: fn(u64) -> u64,
) -> impl Iterator<Item = Result<Vec<ArrayRef>>> + '_ {
    (0..KEYS).step_by(BLOCK_ROWS as usize).map(move |first| {
        let rows = first..KEYS.min(first + BLOCK_ROWS);
        let keys: ArrayRef = match kind {
            LayoutKind::IpTrie => prefixes(rows.clone()),
            LayoutKind::Polygon => squares(rows.clone()),
            _ => Arc::new(UInt64Array::from_iter_values(rows.clone().map(key))),
        };
        let text = has_text(kind).then(|| values(&SqlType::String, rows.clone()));
        let bound = |width: i32| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(rows.clone().map(|row| row as i32 + width)))
        };
        let bounds = kind.is_range().then(|| [bound(0), bound(100)]).into_iter().flatten();
        let values = types.iter().map(|ty| values(ty, rows.clone()));
        Ok(std::iter::once(keys).chain(text).chain(bounds).chain(values).collect())
    })
}

fn values(ty: &SqlType, rows: std::ops::Range<u64>) -> ArrayRef {
    match ty {
        SqlType::UInt16 => Arc::new(UInt16Array::from_iter_values(rows.map(|row| row as u16))),
        SqlType::UInt64 => Arc::new(UInt64Array::from_iter_values(rows.map(spread))),
        SqlType::String => Arc::new(BinaryViewArray::from_iter_values(
            rows.map(|row| format!("a string that is told apart by its {}", row % 1000)),
        )),
        _ => Arc::new(rows.map(|row| (row % 3 > 0).then_some(row as i32)).collect::<Int32Array>()),
    }
}

/// Whether keys have a second column.
fn has_text(kind: LayoutKind) -> bool {
    kind.is_complex() && !matches!(kind, LayoutKind::IpTrie | LayoutKind::Polygon)
}

/// A network of 256 addresses for each row.
fn prefixes(rows: std::ops::Range<u64>) -> ArrayRef {
    let prefix = |row: u64| format!("{}.{}.{}.0/24", row >> 16, row >> 8 & 255, row & 255);
    Arc::new(BinaryViewArray::from_iter_values(rows.map(prefix)))
}

/// Squares that do not touch.
fn squares(rows: std::ops::Range<u64>) -> ArrayRef {
    let points = ListBuilder::new(Float64Builder::new()).with_field(SqlType::Float64.element_field());
    let field = SqlType::array_of(SqlType::Float64).element_field();
    let mut rings = ListBuilder::new(points).with_field(field);
    for row in rows {
        let [x, y] = [row % 1000, row / 1000].map(|at| at as f64);
        for [right, up] in [[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]] {
            rings.values().append_value([x + right, y + up].map(Some));
        }
        rings.append(true);
    }
    Arc::new(rings.finish())
}

fn spread(row: u64) -> u64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("Rss:")).expect("it has the line");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}
