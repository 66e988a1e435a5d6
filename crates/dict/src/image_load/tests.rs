//! The files that a load into a file leaves after success, failure and crash.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, ListArray, StructArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use basalt_base::fs::{Crash, FaultyStorage, PendingDirectory, RealStorage, Storage};
use basalt_base::{Column, Error, ErrorCode, Result, SqlType};

use super::{ImagePlace, LoadBounds, LoadedImage, load_image};
use crate::block::key_column;
use crate::layout::conformance::{complex_block, complex_spec, simple_block, simple_spec};
use crate::{
    Attribute, Dictionary, DictionarySpec, LayoutKind, LayoutSpec, ReadValues, RowForm, build, open_image,
};

const DIR: &str = "/store";
const PATH: &str = "/store/dictionary";
const SPILL_DIR: &str = "/tmp";
const DEFINITION: &str = "definition";

/// All rows are spilled, and become several shards.
const SMALL: LoadBounds = LoadBounds { memory_bytes: 0, shard_bytes: 16 << 10 };

/// The dictionary of `blocks`, loaded into a file in shards of about `shard_bytes` of rows. AUTO may stay in memory.
pub(crate) fn load_in_shards(
    spec: &DictionarySpec,
    shard_bytes: usize,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let storage = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new(DIR))?;
    let bounds = LoadBounds { memory_bytes: 0, shard_bytes };
    load_within(bounds, &storage, spec, blocks, b"stamp")
}

fn load(
    storage: &Arc<FaultyStorage>,
    spec: &DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    stamp: &[u8],
) -> Result<Arc<dyn Dictionary>> {
    load_within(SMALL, storage, spec, blocks, stamp)
}

fn load_within(
    bounds: LoadBounds,
    storage: &Arc<FaultyStorage>,
    spec: &DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    stamp: &[u8],
) -> Result<Arc<dyn Dictionary>> {
    let shared: Arc<dyn Storage> = Arc::<FaultyStorage>::clone(storage);
    let place = ImagePlace {
        storage: &shared,
        path: Path::new(PATH),
        definition: DEFINITION,
        spill_dir: Path::new(SPILL_DIR),
    };
    match load_image(spec.clone(), blocks, RowForm::Plain, &place, bounds)? {
        LoadedImage::InMemory(dictionary) => Ok(dictionary),
        LoadedImage::InFile(pending) => pending.publish(stamp),
    }
}

fn old_and_new() -> (DictionarySpec, Vec<ArrayRef>, Vec<ArrayRef>) {
    (complex_spec(&LayoutSpec::new(LayoutKind::ComplexKeyHashed)), complex_block(300), complex_block(900))
}

/// A storage in which the rows of `block` are a loaded dictionary.
fn loaded(spec: &DictionarySpec, block: &[ArrayRef]) -> Arc<FaultyStorage> {
    let storage = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new(DIR)).expect("a disk");
    storage.sync_dir(Path::new("/")).expect("a disk");
    load(&storage, spec, &mut [Ok(block.to_vec())].into_iter(), b"old").expect("a valid source");
    storage
}

#[track_caller]
fn check(storage: &FaultyStorage, spec: &DictionarySpec, block: &[ArrayRef], stamp: &[u8]) {
    let (dictionary, found) = open_image(spec.clone(), storage, Path::new(PATH), DEFINITION).expect("a file");
    assert_eq!(found, stamp);
    let (keys, values) = block.split_at(spec.key_columns.len());
    let (columns, found) = dictionary.get(&[0, 1, 2], keys).expect("valid keys");
    assert_eq!(found.true_count(), keys[0].len());
    assert_eq!(columns, values);
    assert_eq!(dictionary.stats().element_count, keys[0].len() as u64);
}

#[test]
fn a_crash_at_every_moment_of_a_load_leaves_the_old_file_or_the_new_one() {
    // Few rows are in few partitions, and still in several shards.
    let (spec, old, new) = (old_and_new().0, complex_block(10), complex_block(24));
    let changes = {
        let storage = loaded(&spec, &old);
        let before = storage.change_count();
        load(&storage, &spec, &mut [Ok(new.clone())].into_iter(), b"new").expect("a valid source");
        storage.change_count() - before
    };
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        for change in 0..=changes {
            let storage = loaded(&spec, &old);
            storage.stop_at_change(storage.change_count() + change);
            let outcome = load(&storage, &spec, &mut [Ok(new.clone())].into_iter(), b"new");
            storage.crash(crash);
            let found = open_image(spec.clone(), storage.as_ref(), Path::new(PATH), DEFINITION);
            match found.expect("a whole file").1.as_slice() {
                b"new" => check(&storage, &spec, &new, b"new"),
                _ if outcome.is_ok() => panic!("{crash:?} at {change}: what was acknowledged is gone"),
                _ => check(&storage, &spec, &old, b"old"),
            }
        }
    }
}

#[test]
fn a_load_that_fails_leaves_the_old_file_and_nothing_else() {
    let (spec, old, new) = old_and_new();
    let hangs = || Err(Error::new(ErrorCode::TimeoutExceeded, "the source hangs"));
    for bytes in [None, Some(100), Some(8000), Some(60_000)] {
        let storage = loaded(&spec, &old);
        storage.set_space_left(bytes);
        let mut blocks = vec![Ok(new.clone())];
        blocks.extend(bytes.is_none().then(hangs));
        let error = load(&storage, &spec, &mut blocks.into_iter(), b"new").err();
        let expected = bytes.map_or(ErrorCode::TimeoutExceeded, |_| ErrorCode::NotEnoughSpace);
        assert_eq!(error.map(|error| error.code()), Some(expected), "{bytes:?}");
        check(&storage, &spec, &old, b"old");
        assert_eq!(storage.list(Path::new(DIR)).expect("a directory").len(), 1, "{bytes:?}");
        assert!(!storage.exists(Path::new(SPILL_DIR)).expect("a disk"), "{bytes:?}");
    }
}

#[test]
fn a_file_that_is_not_published_is_removed() {
    let (spec, old, new) = old_and_new();
    let storage = loaded(&spec, &old);
    let shared: Arc<dyn Storage> = Arc::<FaultyStorage>::clone(&storage);
    let (path, spill_dir) = (Path::new(PATH), Path::new(SPILL_DIR));
    let place = ImagePlace { storage: &shared, path, definition: DEFINITION, spill_dir };
    let pending = load_image(spec.clone(), &mut [Ok(new)].into_iter(), RowForm::Plain, &place, SMALL)
        .expect("a source");
    assert_eq!(pending.element_count(), 900);
    assert!(matches!(pending, LoadedImage::InFile(_)));
    drop(pending);
    check(&storage, &spec, &old, b"old");
    assert_eq!(storage.list(Path::new(DIR)).expect("a directory").len(), 1);
}

#[test]
fn few_rows_are_loaded_in_memory() {
    let spec = simple_spec(&LayoutSpec::new(LayoutKind::Hashed));
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    let (path, spill_dir) = (Path::new(PATH), Path::new(SPILL_DIR));
    let place = ImagePlace { storage: &storage, path, definition: DEFINITION, spill_dir };
    let mut blocks = [Ok(simple_block(100))].into_iter();
    let loaded =
        load_image(spec, &mut blocks, RowForm::Plain, &place, LoadBounds::default()).expect("a valid source");
    assert!(matches!(loaded, LoadedImage::InMemory(_)));
}

/// Keys that become positions are cut into ranges, whatever their order in the source.
#[test]
fn arrays_are_loaded_in_ranges() {
    for (kind, least) in [(LayoutKind::Flat, 0_u64), (LayoutKind::Auto, 1 << 40)] {
        let mut spec = simple_spec(&LayoutSpec::new(kind));
        let keys =
            |rows: std::ops::Range<u64>| key_column(rows.map(|row| least + row * 7919 % 5000).collect());
        for attributes in [3, 1] {
            spec.attributes.truncate(attributes);
            let block = |rows: std::ops::Range<u64>| {
                let values = simple_block(rows.end as u16).split_off(1).into_iter().take(attributes);
                let values = values.map(|column| column.slice(rows.start as usize, rows.clone().count()));
                std::iter::once(keys(rows.clone())).chain(values).collect::<Vec<_>>()
            };
            let mut blocks = [block(3000..4000), block(0..3000)].into_iter().map(Ok);
            let dictionary = load_in_shards(&spec, 4 << 10, &mut blocks).expect("a source");
            let (columns, found) =
                dictionary.get(&(0..attributes).collect::<Vec<_>>(), &[keys(0..5000)]).expect("valid keys");
            assert_eq!(found.true_count(), 4000, "{kind:?}");
            let found: Vec<bool> = found.iter().flatten().collect();
            assert!(found[..4000].iter().all(|&found| found), "{kind:?}");
            for (column, values) in columns.iter().zip(block(0..4000).split_off(1)) {
                assert_eq!(column.slice(0, 4000).to_data(), values.to_data(), "{kind:?}");
            }
            let expected = if kind == LayoutKind::Auto { "AUTO_FLAT" } else { "FLAT" };
            assert_eq!((dictionary.layout(), dictionary.stats().element_count), (expected, 4000));
        }
    }
}

/// The last row of a key decides, in memory as in files.
#[test]
fn rows_that_delete_keys_leave_none_of_them() {
    let kinds = [LayoutKind::Hashed, LayoutKind::Flat, LayoutKind::Auto, LayoutKind::CompactHashed];
    for (kind, bounds) in kinds.into_iter().flat_map(|kind| [(kind, SMALL), (kind, LoadBounds::default())]) {
        let spec = simple_spec(&LayoutSpec::new(kind));
        let marked = |rows: u16, deleted: fn(u16) -> bool| {
            let mut block = simple_block(rows);
            let marks = (0..rows).map(|row| u8::from(deleted(row)));
            block.push(Arc::new(UInt8Array::from_iter_values(marks)));
            Ok(block)
        };
        // 0..600 are added, those below 300 are deleted, and every third of these is added again.
        let mut blocks = vec![marked(600, |_| false), marked(300, |_| true)];
        blocks.push(marked(300, |row| row % 3 > 0));
        let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
        let (path, spill_dir) = (Path::new("/dictionary"), Path::new(SPILL_DIR));
        let place = ImagePlace { storage: &storage, path, definition: DEFINITION, spill_dir };
        let loaded = load_image(spec, &mut blocks.into_iter(), RowForm::Marked, &place, bounds);
        let dictionary = match loaded.expect("a valid source") {
            LoadedImage::InMemory(dictionary) => dictionary,
            LoadedImage::InFile(pending) => pending.publish(&[]).expect("a disk"),
        };
        let keys = &simple_block(600)[..1];
        let found = dictionary.has(keys).expect("valid keys");
        assert!((0..600).all(|row| found.value(row) == (row >= 300 || row % 3 == 0)), "{kind:?}");
        assert_eq!(dictionary.stats().element_count, 400, "{kind:?}");
        assert!(dictionary.changes().is_none(), "{kind:?}");
    }
}

/// A REGEXP_TREE with the attributes `name` and `number`.
pub(crate) fn tree_spec() -> DictionarySpec {
    let read = |ty: &SqlType, texts: &[Vec<u8>]| -> Result<ArrayRef> {
        let number = |text: &Vec<u8>| std::str::from_utf8(text).ok()?.parse::<u16>().ok();
        Ok(match ty {
            SqlType::String => Arc::new(BinaryViewArray::from_iter_values(texts)),
            _ => {
                let numbers = texts.iter().map(number).collect::<Option<Vec<_>>>();
                let wrong = || Error::new(ErrorCode::CannotParseText, "no number");
                Arc::new(UInt16Array::from(numbers.ok_or_else(wrong)?))
            }
        })
    };
    let layout = LayoutSpec { read_values: ReadValues::new(read), ..LayoutSpec::new(LayoutKind::RegexpTree) };
    let mut spec = simple_spec(&layout);
    spec.key_columns = std::iter::once(Column::new("regexp", SqlType::String)).collect();
    let types = [("name", SqlType::String), ("number", SqlType::UInt16)];
    spec.attributes = types.map(|(name, ty)| attribute(name, ty)).into();
    spec
}

/// Nodes of [`tree_spec`]: of three consecutive ones, the first is the parent of the others.
pub(crate) fn tree_block(nodes: std::ops::Range<u64>) -> Vec<ArrayRef> {
    let texts = |lists: Vec<Vec<String>>| -> ArrayRef {
        let lengths: Vec<usize> = lists.iter().map(Vec::len).collect();
        let texts = Arc::new(BinaryViewArray::from_iter_values(lists.into_iter().flatten()));
        let offsets = OffsetBuffer::from_lengths(lengths);
        Arc::new(ListArray::new(SqlType::String.element_field(), offsets, texts, None))
    };
    let first = |node: u64| node / 3 * 3 + 1;
    let name = |node: u64| match node % 3 {
        0 => format!("a node above {}", node / 3),
        1 => format!("below \\1 of {}, and a name that is no short one", node / 3),
        _ => String::new(),
    };
    let ids = nodes.clone().map(|node| node + 1);
    let parents = nodes.clone().map(|node| if node.is_multiple_of(3) { 0 } else { first(node) });
    let regexp = |node: u64| match node % 3 {
        0 => format!("[ab].*{}", if node < 3 { String::new() } else { format!("<{}>", node / 3) }),
        1 => r"([a-z]+) \d".to_owned(),
        _ => r"\d\d".to_owned(),
    };
    let keys = nodes.clone().map(|_| vec!["number".to_owned(), "other".to_owned(), "name".to_owned()]);
    let values = nodes.clone().map(|node| vec![node.to_string(), "x".to_owned(), name(node)]);
    vec![
        Arc::new(UInt64Array::from_iter_values(ids)),
        Arc::new(UInt64Array::from_iter_values(parents)),
        Arc::new(BinaryViewArray::from_iter_values(nodes.clone().map(regexp))),
        texts(keys.collect()),
        texts(values.collect()),
    ]
}

/// Its nodes come in one block or in many, by way of a file or not.
#[test]
fn a_tree_of_expressions_passes_files() {
    let spec = tree_spec();
    let blocks = || (0..20_u64).map(|block| Ok(tree_block(block * 6..block * 6 + 6)));
    let in_memory = build(spec.clone(), &mut blocks()).expect("a tree");
    let filed = load_in_shards(&spec, 1 << 10, &mut blocks()).expect("a tree");
    let texts = (0..120).map(|at| format!("{} {at} <{}>", ["a", "ab", "c"][at % 3], at / 3));
    let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(texts));
    let keys = std::slice::from_ref(&keys);
    let (values, found) = in_memory.get(&[0, 1], keys).expect("valid keys");
    assert_eq!(found.true_count(), 80);
    let names = values[0].as_binary_view();
    assert_eq!(names.value(1), b"below ab of 0, and a name that is no short one");
    assert_eq!(filed.get(&[0, 1], keys).expect("valid keys"), (values, found));
    let all = |tree: &Arc<dyn Dictionary>| tree.get_all(&[0], keys, None).expect("valid keys");
    assert_eq!(all(&filed), all(&in_memory));
    assert_eq!(filed.scan().expect("nodes"), in_memory.scan().expect("nodes"));
    assert_eq!(filed.scan().expect("nodes"), [tree_block(0..120)]);
    assert_eq!(filed.stats().element_count, 120);
}

/// Whatever error is found when the tree is made.
#[test]
fn a_tree_that_is_refused_leaves_the_old_file() {
    let spec = tree_spec();
    let storage = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new(DIR)).expect("a disk");
    load(&storage, &spec, &mut [Ok(tree_block(0..3))].into_iter(), b"old").expect("a tree");
    let broken: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["(", "a", "b"]));
    let orphans: ArrayRef = Arc::new(UInt64Array::from(vec![0, 77, 1]));
    for (column, wrong) in [(2, broken), (1, orphans)] {
        let mut block = tree_block(0..3);
        block[column] = wrong;
        let error = load(&storage, &spec, &mut [Ok(block)].into_iter(), b"new").err().expect("no tree");
        assert_eq!(error.code(), ErrorCode::IncorrectDictionaryDefinition);
        assert_eq!(storage.list(Path::new(DIR)).expect("a directory").len(), 1);
        let opened = open_image(spec.clone(), storage.as_ref(), Path::new(PATH), DEFINITION);
        assert_eq!(opened.expect("the old file").1, b"old");
    }
}

#[test]
fn a_prefix_that_comes_again_leaves_nothing_in_the_file() {
    let mut spec = simple_spec(&LayoutSpec::new(LayoutKind::IpTrie));
    spec.key_columns = std::iter::once(Column::new("prefix", SqlType::String)).collect();
    let block = |rows: std::ops::Range<u16>, shift: u16| {
        let text = |row: u16| format!("10.{}.{}.0/24", row / 256, row % 256);
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(rows.clone().map(text)));
        let values = simple_block(shift + rows.end).split_off(1);
        let values = values.iter().map(|column| column.slice((shift + rows.start).into(), rows.len()));
        std::iter::once(keys).chain(values).collect::<Vec<_>>()
    };
    let load = |blocks: Vec<Vec<ArrayRef>>| {
        load_in_shards(&spec, 4 << 10, &mut blocks.into_iter().map(Ok)).expect("a valid source")
    };
    let once = load(vec![block(0..900, 7)]);
    let twice = load(vec![block(0..900, 300), block(0..900, 7)]);
    assert_eq!(twice.stats(), once.stats());
    let asked = UInt32Array::from_iter_values((0..900_u32).map(|row| (10 << 24) + (row << 8) + 5));
    let asked: ArrayRef = Arc::new(asked);
    let some = load(vec![block(0..900, 300), block(100..700, 7), block(100..101, 8)]);
    let (values, _) = some.get(&[0, 1, 2], std::slice::from_ref(&asked)).expect("addresses");
    for (at, rows, of) in [(0, 0..100, 300), (100, 100..101, 8), (101, 101..700, 7), (700, 700..900, 300)] {
        let expected = block(rows.clone(), of).split_off(1);
        let values: Vec<ArrayRef> = values.iter().map(|column| column.slice(at, rows.len())).collect();
        assert_eq!(values, expected, "{rows:?}");
    }
    assert_eq!(some.stats().element_count, 900);
}

fn attribute(name: &str, ty: SqlType) -> Attribute {
    Attribute { name: name.into(), default: ty.default_array(1), ty, hierarchical: false, injective: false }
}

/// Rows of `Array(String)` and of `Map(String, UInt16)`, with a kilobyte of text each.
fn nested_columns(rows: u16) -> (Vec<SqlType>, Vec<ArrayRef>) {
    let map = SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::UInt16));
    let types = vec![SqlType::array_of(SqlType::String), map];
    let long = |row: u16| format!("{row} {}", "x".repeat(500));
    let texts = || Arc::new(BinaryViewArray::from_iter_values((0..2 * rows).map(long)));
    let pairs = OffsetBuffer::from_lengths(vec![2; rows.into()]);
    let lists = ListArray::new(SqlType::String.element_field(), pairs.clone(), texts(), None);
    let numbers: ArrayRef = Arc::new(UInt16Array::from_iter_values(0..2 * rows));
    let entries = StructArray::new(types[1].struct_fields(), vec![texts(), numbers], None);
    let arrow::datatypes::DataType::List(field) = types[1].carrier() else { panic!("a list of pairs") };
    (types, vec![Arc::new(lists), Arc::new(ListArray::new(field, pairs, Arc::new(entries), None))])
}

/// A row keeps its own strings, and not those of its block.
#[test]
fn nested_values_pass_files_alone() {
    for kind in [LayoutKind::Hashed, LayoutKind::CompactHashed, LayoutKind::Flat] {
        let mut spec = simple_spec(&LayoutSpec::new(kind));
        let (types, values) = nested_columns(1000);
        spec.attributes = types.into_iter().map(|ty| attribute("nested", ty)).collect();
        let block: Vec<ArrayRef> = simple_block(1000).into_iter().take(1).chain(values.clone()).collect();
        let dictionary = load_in_shards(&spec, 256 << 10, &mut [Ok(block.clone())].into_iter());
        let dictionary = dictionary.expect("a valid source");
        let bytes = dictionary.stats().bytes_allocated;
        assert!((2_000_000..2_700_000).contains(&bytes), "{kind:?}: {bytes}");
        assert_eq!(dictionary.get(&[0, 1], &block[..1]).expect("valid keys").0, values);
        // A lookup does not copy the rows, and its answer keeps nothing else.
        assert_eq!(dictionary.stats().bytes_allocated, bytes, "{kind:?}");
        let (answer, _) = dictionary.get(&[0, 1], &[block[0].slice(77, 3)]).expect("valid keys");
        assert_eq!(answer, [values[0].slice(77, 3), values[1].slice(77, 3)]);
        let answer: usize = answer.iter().map(|column| column.get_array_memory_size()).sum();
        assert!(answer < 10_000, "{kind:?}: {answer}");
    }
}

#[test]
fn an_unnamed_version_leaves_no_file_and_is_read_into_memory() {
    let (spec, _, new) = old_and_new();
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let dir = std::env::temp_dir().join(format!("basalt-dict-{}", std::process::id()));
    let dir = PendingDirectory::create(Arc::clone(&storage), dir).expect("a directory");
    let (path, spill_dir) = (dir.path().join("new"), dir.path().join("spilled"));
    let place = ImagePlace { storage: &storage, path: &path, definition: DEFINITION, spill_dir: &spill_dir };
    let loaded = load_image(spec.clone(), &mut [Ok(new.clone())].into_iter(), RowForm::Plain, &place, SMALL);
    let Ok(LoadedImage::InFile(pending)) = loaded else { panic!("a small bound") };
    let version = pending.open_unnamed().expect("a whole file");
    assert!(storage.list(dir.path()).expect("a directory").is_empty());
    let (keys, values) = new.split_at(spec.key_columns.len());
    let in_file = Arc::clone(version.dictionary());
    assert_eq!(in_file.get(&[0, 1, 2], keys).expect("valid keys").0, values);
    let in_memory = version.read_into_memory().expect("memory");
    assert!(in_file.memory_bytes() < in_memory.memory_bytes());
    let bytes = in_file.stats().bytes_allocated;
    drop(in_file);
    assert_eq!(in_memory.get(&[0, 1, 2], keys).expect("valid keys").0, values);
    assert_eq!(in_memory.stats().bytes_allocated, bytes);
}
