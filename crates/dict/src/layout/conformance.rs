//! The promises of every layout, checked against a `BTreeMap`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, UInt16Array, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::UInt16Type;
use basalt_base::clock::ManualClock;
use basalt_base::fs::FaultyStorage;
use basalt_base::{Column, Columns, ErrorCode, Result, SqlType};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::block::{integer_keys, key_column};
use crate::image_load::tests::load_in_shards;
use crate::spec::RangeSpec;
use crate::{
    Attribute, CacheSurroundings, Dictionary, DictionarySpec, DirectSource, LayoutKind, LayoutSpec, build,
    build_cache, build_direct, open_image, save_image,
};

/// A row's attributes: `UInt16`, `Nullable(String)`, `Array(UInt16)`.
type Row = (u16, Option<Vec<u8>>, Vec<u16>);
/// Keys and rows in order of arrival, a block each.
type Blocks<K> = Vec<Vec<(K, Row)>>;

/// Checks a layout of `UInt64` keys with any keys.
pub(super) fn check_simple(layout: &LayoutSpec) {
    check_keys(layout, prop_oneof![any::<u64>(), 0..50_u64, Just(u64::MAX)]);
}

/// Checks a layout of `UInt64` keys with small keys.
pub(super) fn check_dense(layout: &LayoutSpec) {
    check_keys(layout, 0..5000_u64);
}

/// Checks a layout of composite keys.
pub(super) fn check_complex(layout: &LayoutSpec) {
    let key = (prop::collection::vec(0..3_u8, 0..4), 0..3_u16);
    check(&complex_spec(layout), key, complex_keys);
}

fn complex_keys(keys: &[(Vec<u8>, u16)]) -> Vec<ArrayRef> {
    vec![
        Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| &key.0))),
        Arc::new(UInt16Array::from_iter_values(keys.iter().map(|key| key.1))),
    ]
}

fn check_keys(layout: &LayoutSpec, key: impl Strategy<Value = u64> + 'static) {
    let simple = simple_spec(layout);
    check(&simple, key, |keys: &[u64]| vec![key_column(keys.to_vec())]);
    refuses_null_keys(&simple);
    inlines_narrow_attributes(layout);
}

pub(crate) fn simple_spec(layout: &LayoutSpec) -> DictionarySpec {
    spec(layout, &[SqlType::UInt64])
}

pub(crate) fn complex_spec(layout: &LayoutSpec) -> DictionarySpec {
    spec(layout, &[SqlType::String, SqlType::UInt16])
}

/// A block of `rows` rows of [`simple_spec`].
pub(crate) fn simple_block(rows: u16) -> Vec<ArrayRef> {
    let keys = key_column((0..u64::from(rows)).map(|row| row * 5).collect());
    std::iter::once(keys).chain(sample_attributes(rows)).collect()
}

/// A block of `rows` rows of [`complex_spec`].
pub(crate) fn complex_block(rows: u16) -> Vec<ArrayRef> {
    let keys: Vec<(Vec<u8>, u16)> = (0..rows).map(|row| (vec![b'k'; row as usize % 5], row)).collect();
    let mut block = complex_keys(&keys);
    block.extend(sample_attributes(rows));
    block
}

fn sample_attributes(rows: u16) -> Vec<ArrayRef> {
    let text = |row: u16| (!row.is_multiple_of(3)).then(|| format!("text {}", row / 3).into_bytes());
    let rows: Vec<Row> = (0..rows).map(|row| (row * 7, text(row), vec![row; row as usize % 4])).collect();
    attribute_arrays(&rows.iter().collect::<Vec<_>>())
}

/// Loads `keys` with one empty row each.
pub(super) fn load_keys(layout: &LayoutSpec, keys: &[u64]) -> Result<Arc<dyn Dictionary>> {
    let rows = vec![(0, None, Vec::new()); keys.len()];
    let mut block = vec![key_column(keys.to_vec())];
    block.extend(attribute_arrays(&rows.iter().collect::<Vec<_>>()));
    build(simple_spec(layout), &mut [Ok(block)].into_iter())
}

fn spec(layout: &LayoutSpec, key_types: &[SqlType]) -> DictionarySpec {
    let key_columns = key_types.iter().map(|ty| Column::new("key", ty.clone())).collect::<Columns>();
    let types = [SqlType::UInt16, SqlType::String.into_nullable(), SqlType::array_of(SqlType::UInt16)];
    let defaults = attribute_arrays(&[&default_row()]);
    let attributes = types.into_iter().zip(defaults).map(|(ty, default)| Attribute {
        name: ty.to_string(),
        ty,
        default,
        hierarchical: false,
        injective: false,
    });
    let range = layout.kind.is_range().then(|| RangeSpec {
        low: "low".into(),
        high: "high".into(),
        ty: SqlType::UInt16,
    });
    DictionarySpec { key_columns, attributes: attributes.collect(), layout: layout.clone(), range }
}

/// A dictionary over `source`, of a layout that asks its source.
pub(super) fn ask_source(spec: DictionarySpec, source: Arc<dyn DirectSource>) -> Result<Arc<dyn Dictionary>> {
    if spec.layout.kind.is_direct() {
        return build_direct(spec, source);
    }
    let surroundings = CacheSurroundings {
        source,
        clock: Arc::new(ManualClock::at(1)),
        storage: Arc::new(FaultyStorage::new()),
        lock: None,
        lifetime_min_seconds: 0,
        lifetime_max_seconds: 0,
    };
    build_cache(spec, surroundings)
}

/// The block with a range that contains the point of every lookup.
pub(crate) fn with_range(kind: LayoutKind, key_count: usize, mut block: Vec<ArrayRef>) -> Vec<ArrayRef> {
    if kind.is_range() {
        let rows = block[0].len();
        block.insert(key_count, Arc::new(UInt16Array::from(vec![1; rows])));
        block.insert(key_count + 1, Arc::new(UInt16Array::from(vec![9; rows])));
    }
    block
}

/// The keys of a lookup, followed by a point if rows have ranges.
fn with_point(dictionary: &dyn Dictionary, mut keys: Vec<ArrayRef>) -> Vec<ArrayRef> {
    if dictionary.range_type().is_some() {
        keys.push(Arc::new(UInt16Array::from(vec![5; keys[0].len()])));
    }
    keys
}

fn default_row() -> Row {
    (77, Some(b"a default that is no short string".to_vec()), vec![1, 2])
}

fn attribute_arrays(rows: &[&Row]) -> Vec<ArrayRef> {
    let mut lists = arrow::array::builder::ListBuilder::new(arrow::array::builder::UInt16Builder::new())
        .with_field(SqlType::UInt16.element_field());
    for row in rows {
        lists.append_value(row.2.iter().map(|&value| Some(value)));
    }
    vec![
        Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<BinaryViewArray>()),
        Arc::new(lists.finish()),
    ]
}

fn row_strategy() -> impl Strategy<Value = Row> {
    let text = prop::option::of(prop::collection::vec(any::<u8>(), 0..20));
    (any::<u16>(), text, prop::collection::vec(any::<u16>(), 0..3))
}

fn check<K: Ord + Clone + std::fmt::Debug + Send + Sync + 'static>(
    spec: &DictionarySpec,
    key: impl Strategy<Value = K> + 'static,
    key_arrays: impl Fn(&[K]) -> Vec<ArrayRef> + Copy + Send + Sync + 'static,
) {
    let key = key.boxed();
    let blocks = prop::collection::vec(prop::collection::vec((key.clone(), row_strategy()), 0..40), 0..4);
    let asked = prop::collection::vec(key, 0..40);
    let mut runner = TestRunner::new(Config { cases: 48, ..Config::default() });
    let outcome = runner.run(&(blocks, asked), |(blocks, mut asked)| {
        asked.extend(blocks.iter().flatten().map(|(key, _)| key.clone()));
        check_blocks(spec, &blocks, &asked, key_arrays);
        Ok(())
    });
    outcome.expect("the layout agrees with the model");
}

/// A source of whole blocks for the direct layouts.
struct ModelSource<K, F> {
    model: BTreeMap<K, Row>,
    key_arrays: F,
}

impl<K, F> DirectSource for ModelSource<K, F>
where
    K: Ord + Clone + Send + Sync,
    F: Fn(&[K]) -> Vec<ArrayRef> + Send + Sync,
{
    /// Returns all rows in reverse order, requested or not.
    fn lookup(&self, _: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows: Vec<(&K, &Row)> = self.model.iter().rev().collect();
        Ok(rows.chunks(7).map(|rows| block_arrays(rows, &self.key_arrays)).collect())
    }
}

fn block_arrays<K: Clone>(rows: &[(&K, &Row)], key_arrays: impl Fn(&[K]) -> Vec<ArrayRef>) -> Vec<ArrayRef> {
    let keys: Vec<K> = rows.iter().map(|&(key, _)| key.clone()).collect();
    let mut block = key_arrays(&keys);
    block.extend(attribute_arrays(&rows.iter().map(|&(_, row)| row).collect::<Vec<_>>()));
    block
}

fn check_blocks<K: Ord + Clone + std::fmt::Debug + Send + Sync + 'static>(
    spec: &DictionarySpec,
    blocks: &Blocks<K>,
    asked: &[K],
    key_arrays: impl Fn(&[K]) -> Vec<ArrayRef> + Copy + Send + Sync + 'static,
) {
    let model: BTreeMap<K, Row> = blocks.iter().flatten().cloned().collect();
    let (kind, key_count) = (spec.layout.kind, spec.key_columns.len());
    // A range layout keeps every row: it gets one for each key.
    let unique: Blocks<K> = vec![model.clone().into_iter().collect()];
    let rows = if kind.is_range() { &unique } else { blocks };
    let arrays = || {
        rows.iter().map(|block| {
            let rows: Vec<_> = block.iter().map(|(key, row)| (key, row)).collect();
            Ok(with_range(kind, key_count, block_arrays(&rows, key_arrays)))
        })
    };
    let dictionary = match kind.asks_source() {
        true => ask_source(spec.clone(), Arc::new(ModelSource { model: model.clone(), key_arrays })),
        false => build(spec.clone(), &mut arrays()),
    };
    let dictionary = dictionary.expect("a valid source");
    let check = |dictionary: &dyn Dictionary| {
        assert_eq!(dictionary.lists_keys(), kind.takes_changes());
        check_answers(dictionary, &model, asked, key_arrays);
    };
    check(dictionary.as_ref());
    if kind.is_storable() {
        let reopened = save_and_open(spec, dictionary.as_ref());
        check(reopened.as_ref());
        assert_eq!(reopened.layout(), dictionary.layout());
        if blocks.len() == 2 {
            let in_shards = load_in_shards(spec, 1 << 10, &mut arrays()).expect("a valid source");
            check(in_shards.as_ref());
            check(save_and_open(spec, in_shards.as_ref()).as_ref());
        }
        // Written again from the file, it is the same.
        check(save_and_open(spec, reopened.as_ref()).as_ref());
    }
}

/// The dictionary that opens the file of `dictionary`.
fn save_and_open(spec: &DictionarySpec, dictionary: &dyn Dictionary) -> Arc<dyn Dictionary> {
    let (storage, path) = (FaultyStorage::new(), Path::new("/dictionary"));
    save_image(dictionary, "definition", b"stamp", &storage, path).expect("space enough");
    let (opened, stamp) = open_image(spec.clone(), &storage, path, "definition").expect("its own file");
    assert_eq!(stamp, b"stamp");
    opened
}

fn check_answers<K: Ord + Clone>(
    dictionary: &dyn Dictionary,
    model: &BTreeMap<K, Row>,
    asked: &[K],
    key_arrays: impl Fn(&[K]) -> Vec<ArrayRef> + Copy,
) {
    let default = default_row();
    let expected: Vec<&Row> = asked.iter().map(|key| model.get(key).unwrap_or(&default)).collect();
    let asked_keys = with_point(dictionary, key_arrays(asked));
    let (columns, found) = dictionary.get(&[2, 0, 1], &asked_keys).expect("valid keys");
    let arrays = attribute_arrays(&expected);
    assert_eq!(columns, [arrays[2].clone(), arrays[0].clone(), arrays[1].clone()]);
    assert!(asked.iter().zip(&found).all(|(key, found)| found == Some(model.contains_key(key))));
    assert_eq!(dictionary.has(&asked_keys).expect("valid keys"), found);
    let layout = LayoutKind::ALL.into_iter().find(|kind| kind.name() == dictionary.layout());
    if !layout.is_some_and(LayoutKind::asks_source) {
        assert_eq!(dictionary.stats().element_count, model.len() as u64);
        check_scan(dictionary, model, key_arrays);
    }
}

/// A scan visits every key once, with its last row.
fn check_scan<K: Ord + Clone>(
    dictionary: &dyn Dictionary,
    model: &BTreeMap<K, Row>,
    key_arrays: impl Fn(&[K]) -> Vec<ArrayRef>,
) {
    let blocks = dictionary.scan().expect("a loaded dictionary");
    let ranges = dictionary.range_type().into_iter().flat_map(|ty| [ty, ty]);
    let types = dictionary.key_types().iter().chain(ranges);
    let types: Vec<_> = types.chain(dictionary.attributes().iter().map(|at| &at.ty)).collect();
    let columns = types.len();
    let scanned: Vec<ArrayRef> = (0..columns)
        .zip(types)
        .map(|(at, ty)| {
            let empty = new_empty_array(&ty.carrier());
            let mut parts: Vec<&dyn Array> = vec![empty.as_ref()];
            parts.extend(blocks.iter().map(|block| block[at].as_ref()));
            concat(&parts).expect("blocks of one form")
        })
        .collect();
    assert_eq!(scanned[0].len(), model.len());
    check_projections(dictionary, &scanned);
    let (keys, _) = scanned.split_at(dictionary.key_types().len());
    let values = &scanned[columns - dictionary.attributes().len()..];
    let keys = with_point(dictionary, keys.to_vec());
    let (looked_up, found) = dictionary.get(&[0, 1, 2], &keys).expect("own keys");
    assert_eq!(found.true_count(), model.len());
    assert_eq!(looked_up, values);
    let all = with_point(dictionary, key_arrays(&model.keys().cloned().collect::<Vec<_>>()));
    assert_eq!(dictionary.has(&all).expect("valid keys").true_count(), model.len());
}

/// A scan of some columns visits the same rows as a scan of all columns.
pub(crate) fn check_projections(dictionary: &dyn Dictionary, scanned: &[ArrayRef]) {
    let (rows, last) = (scanned[0].len(), scanned.len() - 1);
    assert_eq!(dictionary.column_count(), scanned.len());
    for columns in [vec![], vec![0], vec![last], vec![last, 0, last / 2]] {
        let (mut seen, mut blocks) = (0, Vec::new());
        let outcome = dictionary.visit_columns(&columns, &mut |rows, block| {
            assert!(block.len() == columns.len() && block.iter().all(|column| column.len() == rows));
            seen += rows;
            blocks.push(block);
            Ok(())
        });
        outcome.expect("a loaded dictionary");
        assert_eq!(seen, rows, "{columns:?}");
        for (at, &column) in columns.iter().enumerate().filter(|_| rows > 0) {
            let parts: Vec<&dyn Array> = blocks.iter().map(|block| block[at].as_ref()).collect();
            assert_eq!(&concat(&parts).expect("blocks of one form"), &scanned[column], "{columns:?}");
        }
    }
}

fn refuses_null_keys(spec: &DictionarySpec) {
    let keys: ArrayRef = Arc::new(arrow::array::UInt64Array::from(vec![Some(1), None]));
    let error = if spec.layout.kind.asks_source() {
        let model = BTreeMap::<u64, Row>::new();
        let key_arrays = |keys: &[u64]| vec![key_column(keys.to_vec())];
        let source = Arc::new(ModelSource { model, key_arrays });
        ask_source(spec.clone(), source).expect("a valid definition").has(&[keys]).map(|_| ())
    } else {
        let mut block = vec![keys];
        block.extend(attribute_arrays(&[&default_row(), &default_row()]));
        let block = with_range(spec.layout.kind, 1, block);
        build(spec.clone(), &mut [Ok(block)].into_iter()).map(|_| ())
    };
    assert_eq!(
        error.map_err(|error| error.code()),
        Err(ErrorCode::CannotInsertNullInOrdinaryColumn),
        "{:?}",
        spec.layout.kind
    );
}

/// Attributes narrow enough for the payload, and enough keys for all shards and partitions.
fn inlines_narrow_attributes(layout: &LayoutSpec) {
    if layout.kind.asks_source() {
        return;
    }
    let mut spec = simple_spec(layout);
    spec.attributes.truncate(1);
    let value: fn(u64) -> u16 = |key| (key * 31) as u16;
    let block = |block: u64| {
        let keys: Vec<u64> = (block * 5_000..(block + 1) * 5_000).map(|key| key * 3).collect();
        let values = UInt16Array::from_iter_values(keys.iter().map(|&key| value(key)));
        Ok(with_range(layout.kind, 1, vec![key_column(keys), Arc::new(values) as ArrayRef]))
    };
    let dictionary = build(spec.clone(), &mut (0..20).map(block)).expect("a valid source");
    check_narrow(dictionary.as_ref(), value);
    if layout.kind.is_storable() {
        check_narrow(save_and_open(&spec, dictionary.as_ref()).as_ref(), value);
        let in_shards = load_in_shards(&spec, 64 << 10, &mut (0..20).map(block)).expect("a valid source");
        check_narrow(in_shards.as_ref(), value);
    }
}

fn check_narrow(dictionary: &dyn Dictionary, value: fn(u64) -> u16) {
    assert_eq!(dictionary.stats().element_count, 100_000);
    let keys = key_column((0..310_000).collect());
    let (columns, _) = dictionary.get(&[0], &with_point(dictionary, vec![keys.clone()])).expect("valid keys");
    let expected = integer_keys(&keys).expect("integers").into_iter();
    let expected =
        expected.map(|key| if key % 3 == 0 && key < 300_000 { value(key) } else { default_row().0 });
    assert!(columns[0].as_primitive::<UInt16Type>().values().iter().copied().eq(expected));
}
