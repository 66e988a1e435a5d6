//! Every bit flip and every truncation of every file of a small part is refused, with path and offset.

use std::path::Path;

use super::{DIR, TestTable, files, numbers, open, read_numbers};
use crate::error::Error;
use crate::index::kind::IndexKind;
use crate::index::skip_index::{Indexed, SkipIndex};
use crate::key::element::KeyElement;
use crate::part::inspection::InspectedPart;
use crate::part::meta::META_FILE;
use crate::sample;
use crate::spec::PartSpec;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, SqlType};

const DIR_SET_ASIDE: &str = "/store/table/detached/all_1_1_0";

/// A table with every kind of section, small enough to flip each of its bits.
fn small_table(wide_bytes_min: u64) -> (FaultyStorage, PartSpec) {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let types = [
        SqlType::UInt64,
        SqlType::String.into_nullable(),
        SqlType::array_of(SqlType::UInt16),
        SqlType::tuple_of([SqlType::Bool, SqlType::Uuid]),
        SqlType::LowCardinality(std::sync::Arc::new(SqlType::String.into_nullable())),
    ];
    let index = |name: &str, column: &str, kind: IndexKind| SkipIndex {
        name: name.to_owned(),
        elements: vec![Indexed::Column(column.to_owned())],
        kind,
        granularity: 1,
    };
    let indexes = vec![
        index("by set", "c0", IndexKind::Set { values_max: 0 }),
        index("by_bits", "c1", IndexKind::BloomFilter { false_positive: 0.1 }),
    ];
    let columns =
        types.into_iter().enumerate().map(|(index, ty)| Column::new(format!("c{index}"), ty)).collect();
    let spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min,
        indexes,
        ..PartSpec::new(columns)
    };
    let parts = open(&storage, spec.clone()).unwrap();
    parts.insert(sample::batch(&spec.columns, 6, 1)).unwrap();
    (storage, spec)
}

#[test]
fn every_damage_is_refused() {
    check_damages(0);
    check_damages(u64::MAX);
}

fn check_damages(wide_bytes_min: u64) {
    let (storage, spec) = small_table(wide_bytes_min);
    for path in files(&storage, Path::new(DIR)) {
        let whole = storage.read(&path, 1 << 20).unwrap();
        for bit in 0..whole.len() * 8 {
            check(&storage, &spec, &path, &whole, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        }
        for end in 0..whole.len() {
            check(&storage, &spec, &path, &whole, |bytes| bytes.truncate(end));
        }
        check(&storage, &spec, &path, &whole, |bytes| bytes.push(0));
    }
}

fn check(
    storage: &FaultyStorage,
    spec: &PartSpec,
    path: &Path,
    whole: &[u8],
    damage: impl FnOnce(&mut Vec<u8>),
) {
    storage.damage(path, damage);
    let error = read_damaged(storage, spec, path).expect_err("damage was not noticed");
    assert!(matches!(error, Error::Corrupt { .. }), "{}: {error}", path.display());
    if !path.ends_with(META_FILE) {
        assert!(error.to_string().starts_with(&path.display().to_string()), "{}: {error}", path.display());
    }
    let inspected = inspect(storage, spec, path.parent().unwrap()).expect_err("damage was not noticed");
    assert!(matches!(inspected, Error::Corrupt { .. }), "{}: {inspected}", path.display());
    // Opening finds damage of the metadata.
    if storage.exists(&Path::new(DIR).join("detached/all_1_1_0")).unwrap() {
        bring_back(storage);
    }
    storage.damage(path, |bytes| *bytes = whole.to_vec());
}

/// Reads only the small tables of the file, so that a thousand damages are checked in a second.
fn read_damaged(storage: &FaultyStorage, spec: &PartSpec, path: &Path) -> Result<(), Error> {
    let parts = open(storage, spec.clone())?;
    if let Some(detached) = parts.detached().first() {
        let what = detached.reason.clone();
        return Err(Error::Corrupt { path: path.to_owned(), at: 0, what });
    }
    let part = std::sync::Arc::clone(&parts.snapshot()[0]);
    let file = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    match spec.columns.position(file) {
        Some(column) => part.read(&[column], 0..part.mark_count(), &Default::default()).map(|_| ()),
        None => part.check(),
    }
}

/// Reads everything of the part in `dir` without its table.
fn inspect(storage: &FaultyStorage, spec: &PartSpec, dir: &Path) -> Result<(), Error> {
    let dir = if storage.exists(dir).unwrap() { dir } else { Path::new(DIR_SET_ASIDE) };
    let part = InspectedPart::open(std::sync::Arc::new(storage.clone()), dir)?;
    let about = part.description();
    assert_eq!((about.columns.len(), about.indexes.len()), (spec.columns.len(), spec.indexes.len()));
    spec.columns.iter().try_for_each(|column| part.check_column(column.clone()))?;
    (0..about.indexes.len()).try_for_each(|index| part.check_index(index))?;
    part.check_keys()
}

#[test]
fn a_whole_part_is_inspected_without_its_table() {
    for wide_bytes_min in [0, u64::MAX] {
        let (storage, spec) = small_table(wide_bytes_min);
        inspect(&storage, &spec, &Path::new(DIR).join("all_1_1_0")).unwrap();
    }
}

fn bring_back(storage: &FaultyStorage) {
    let dir = Path::new(DIR);
    let detached = dir.join("detached/all_1_1_0");
    storage.remove_file(&detached.join("reason.txt")).unwrap();
    storage.rename(&detached, &dir.join("all_1_1_0")).unwrap();
}

#[test]
fn part_without_readable_metadata_is_set_aside_with_a_reason() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    let dir = Path::new(DIR);
    table.storage.damage(&dir.join("all_1_1_0").join(META_FILE), |bytes| bytes[20] ^= 1);
    let table = table.reopen();
    assert_eq!(read_numbers(&table.parts).unwrap(), (10..20).collect::<Vec<_>>());
    assert_eq!(table.parts.detached()[0].name, "all_1_1_0");
    let reason = table.storage.read(&dir.join("detached/all_1_1_0/reason.txt"), 1000).unwrap();
    assert!(String::from_utf8(reason).unwrap().contains("part.meta is corrupt at byte"));
}

#[test]
fn damaged_column_fails_only_the_queries_that_need_it() {
    let (storage, spec) = small_table(0);
    storage.damage(&Path::new(DIR).join("all_1_1_0/c1.col"), |bytes| bytes[9] ^= 4);
    let parts = open(&storage, spec).unwrap();
    let part = &parts.snapshot()[0];
    part.read(&[0, 2], 0..2, &Default::default()).unwrap();
    let error = part.read(&[1], 0..2, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("c1.col is corrupt at byte 8: checksum of block 0"), "{error}");
}

/// Opening reads no column, so the first read finds its damage; after that the rest is still readable.
#[test]
fn part_that_a_read_found_damaged_is_set_aside() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    table.storage.damage(&Path::new(DIR).join("all_1_1_0/n.col"), |bytes| bytes[9] ^= 4);
    assert_eq!(table.parts.detach_damaged().unwrap(), 0, "nobody has read it");
    read_numbers(&table.parts).unwrap_err();
    assert_eq!(table.parts.detach_damaged().unwrap(), 1);
    assert_eq!(read_numbers(&table.parts).unwrap(), (10..20).collect::<Vec<_>>());
    let reason = Path::new(DIR).join("detached/all_1_1_0/reason.txt");
    let reason = String::from_utf8(table.storage.read(&reason, 1000).unwrap()).unwrap();
    assert!(reason.contains("n.col is corrupt at byte 8"), "{reason}");
    assert_eq!(read_numbers(&table.reopen().parts).unwrap(), (10..20).collect::<Vec<_>>());
}

#[test]
fn part_without_a_file_is_set_aside_at_open() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    table.storage.remove_file(&Path::new(DIR).join("all_2_2_0/n.col")).unwrap();
    let table = table.reopen();
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..10).collect::<Vec<_>>());
    assert!(table.parts.detached()[0].reason.contains("n.col"), "{:?}", table.parts.detached());
}
