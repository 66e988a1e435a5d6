//! The file of a dictionary survives damage of any bit, a crash at any time, and another definition.

use std::path::Path;
use std::sync::Arc;

use arrow::array::builder::{Float64Builder, ListBuilder};
use arrow::array::{ArrayRef, BinaryViewArray, Float64Array, UInt16Array, UInt32Array, UInt64Array};
use basalt_base::checksum::crc32c;
use basalt_base::fs::{Crash, FaultyStorage, Storage};
use basalt_base::{Column, ErrorCode, Result, SqlType};

use super::format::{MAGIC, TRAILER_BYTES, VERSION};
use super::{DescribedImage, open, save};
use crate::image_load::tests::{load_in_shards, tree_block, tree_spec};
use crate::layout::conformance::{complex_block, complex_spec, simple_block, simple_spec, with_range};
use crate::{Attribute, Dictionary, DictionarySpec, LayoutKind, LayoutSpec, build};

const PATH: &str = "/dictionary";
const DEFINITION: &str = "CREATE DICTIONARY";

/// A small dictionary and its answers.
struct Sample {
    spec: DictionarySpec,
    dictionary: Arc<dyn Dictionary>,
    keys: Vec<ArrayRef>,
    answer: Vec<ArrayRef>,
}

/// The bytes of a shard's rows: eight rows become several shards.
const SHARD_BYTES: usize = 8000;

/// Makes a dictionary of blocks.
type Load =
    fn(&DictionarySpec, &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>) -> Result<Arc<dyn Dictionary>>;

impl Sample {
    fn new(kind: LayoutKind) -> Sample {
        Sample::of_kind(kind, |spec, blocks| build(spec.clone(), blocks))
    }

    /// Keys for which AUTO chooses an array.
    fn dense(load: Load) -> Sample {
        let (spec, mut block) = (simple_spec(&LayoutSpec::new(LayoutKind::Auto)), simple_block(8));
        let keys = |count: u64| Arc::new(UInt64Array::from_iter_values(50..50 + count)) as ArrayRef;
        block[0] = keys(8);
        let sample = Sample::of(spec, block, vec![keys(12)], load);
        assert_eq!(sample.dictionary.layout(), "AUTO_FLAT");
        sample
    }

    fn of_kind(kind: LayoutKind, load: Load) -> Sample {
        // No unused positions: every bit of the file is flipped.
        let layout = LayoutSpec { initial_array_size: 0, ..LayoutSpec::new(kind) };
        let (mut spec, block, keys) = match kind.is_complex() {
            true => (complex_spec(&layout), complex_block(8), complex_block(12)),
            false => (simple_spec(&layout), simple_block(8), simple_block(12)),
        };
        let key_count = spec.key_columns.len();
        let mut block = with_range(kind, key_count, block);
        // Narrow values are in the cells of the table.
        if kind == LayoutKind::SparseHashed {
            spec.attributes.truncate(1);
            block.truncate(key_count + 1);
        }
        let mut keys = keys[..key_count].to_vec();
        // A point of the ranges.
        keys.extend(kind.is_range().then(|| Arc::new(UInt16Array::from(vec![5; 12])) as ArrayRef));
        Sample::of(spec, block, keys, load)
    }

    /// Nested prefixes.
    fn of_prefixes(load: Load) -> Sample {
        let mut spec = simple_spec(&LayoutSpec::new(LayoutKind::IpTrie));
        spec.key_columns = std::iter::once(Column::new("prefix", SqlType::String)).collect();
        let texts = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "2001:db8::/32", "::/0", "10.1.0.0/16"];
        let mut block: Vec<ArrayRef> = vec![Arc::new(BinaryViewArray::from_iter_values(texts))];
        block.extend(simple_block(6).split_off(1));
        let asked = ["10.5.0.0", "10.1.9.9", "10.1.2.3", "11.0.0.0"]
            .map(|text| text.parse::<std::net::Ipv4Addr>().map_or(0, u32::from));
        Sample::of(spec, block, vec![Arc::new(UInt32Array::from(asked.to_vec()))], load)
    }

    /// Nested polygons, which are stored.
    fn of_polygons(load: Load) -> Sample {
        let layout = LayoutSpec { store_polygons: true, ..LayoutSpec::new(LayoutKind::Polygon) };
        let mut spec = simple_spec(&layout);
        spec.attributes.truncate(2);
        let ring = SqlType::array_of(SqlType::array_of(SqlType::Float64));
        spec.key_columns = std::iter::once(Column::new("ring", ring)).collect();
        let points = Float64Builder::new();
        let points = ListBuilder::new(points).with_field(SqlType::Float64.element_field());
        let field = SqlType::array_of(SqlType::Float64).element_field();
        let mut rings = ListBuilder::new(points).with_field(field);
        for size in [8.0, 2.0, 5.0, 1.0] {
            for point in [[0.0, 0.0], [size, 0.0], [size, size], [0.0, size]] {
                rings.values().append_value(point.map(Some));
            }
            rings.append(true);
        }
        let mut block: Vec<ArrayRef> = vec![Arc::new(rings.finish())];
        block.extend(simple_block(4)[1..3].to_vec());
        let asked: [ArrayRef; 2] = [[7.0, 0.5, 1.5, 9.0], [7.0, 0.5, 1.0, 0.0]]
            .map(|axis| Arc::new(Float64Array::from(axis.to_vec())) as ArrayRef);
        Sample::of(spec, block, asked.to_vec(), load)
    }

    /// Nested expressions.
    fn of_nodes(load: Load) -> Sample {
        let keys: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["ab 7", "a", "b 12", "c"]));
        Sample::of(tree_spec(), tree_block(0..3), vec![keys], load)
    }

    /// Strings that are compressed.
    fn of_texts() -> Sample {
        let mut spec = simple_spec(&LayoutSpec::new(LayoutKind::CompactHashed));
        spec.attributes = vec![Attribute {
            name: "text".into(),
            ty: SqlType::String,
            default: SqlType::String.default_array(1),
            hierarchical: false,
            injective: false,
        }];
        let text = |row: u64| format!("{row}: {}", "what all of them say at great length, ".repeat(30));
        let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..12));
        let texts: ArrayRef = Arc::new(BinaryViewArray::from_iter_values((0..12).map(text)));
        let load: Load = |spec, blocks| build(spec.clone(), blocks);
        Sample::of(spec, vec![Arc::clone(&keys), texts], vec![keys], load)
    }

    fn of(spec: DictionarySpec, block: Vec<ArrayRef>, keys: Vec<ArrayRef>, load: Load) -> Sample {
        let dictionary = load(&spec, &mut [Ok(block)].into_iter()).expect("a valid source");
        let mut sample = Sample { spec, dictionary, keys, answer: Vec::new() };
        sample.answer = sample.ask(sample.dictionary.as_ref()).expect("valid keys");
        sample
    }

    fn ask(&self, dictionary: &dyn Dictionary) -> Result<Vec<ArrayRef>> {
        let attributes: Vec<usize> = (0..self.spec.attributes.len()).collect();
        let (mut columns, found) = dictionary.get(&attributes, &self.keys)?;
        columns.push(Arc::new(found));
        Ok(columns)
    }

    fn save(&self, storage: &FaultyStorage, stamp: &[u8]) -> Result<()> {
        save(self.dictionary.as_ref(), DEFINITION, stamp, storage, Path::new(PATH))
    }

    fn open(&self, storage: &FaultyStorage) -> Result<(Arc<dyn Dictionary>, Vec<u8>)> {
        open(self.spec.clone(), storage, Path::new(PATH), DEFINITION)
    }

    /// A damaged file may be opened, but never gives a wrong answer.
    fn check_damaged(&self, storage: &FaultyStorage, what: &str) {
        let Ok((dictionary, _)) = self.open(storage) else { return };
        if let Ok(answer) = self.ask(dictionary.as_ref()) {
            assert_eq!(answer, self.answer, "{what}");
        }
        assert!(dictionary.check().is_err() && dictionary.is_damaged(), "{what}");
        assert!(dictionary.scan().is_err(), "{what}");
        let described = DescribedImage::open(storage, Path::new(PATH)).expect("numbers that match");
        assert!(described.check().is_err(), "{what}");
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_found_before_a_wrong_answer() {
    let in_memory: Load = |spec, blocks| build(spec.clone(), blocks);
    let in_shards: Load = |spec, blocks| load_in_shards(spec, SHARD_BYTES, blocks);
    let in_two_shards: Load = |spec, blocks| load_in_shards(spec, 4 * SHARD_BYTES, blocks);
    let kinds = [
        (LayoutKind::Flat, in_memory),
        (LayoutKind::Flat, in_shards),
        (LayoutKind::Hashed, in_memory),
        (LayoutKind::SparseHashed, in_memory),
        (LayoutKind::CompactHashed, in_memory),
        (LayoutKind::CompactHashed, in_shards),
        (LayoutKind::Auto, in_memory),
        (LayoutKind::ComplexKeyHashed, in_memory),
        (LayoutKind::ComplexKeyHashed, in_shards),
        (LayoutKind::RangeHashed, in_memory),
        (LayoutKind::ComplexKeyRangeHashed, in_two_shards),
    ];
    let mut samples: Vec<Sample> =
        kinds.into_iter().map(|(kind, load)| Sample::of_kind(kind, load)).collect();
    samples.extend([Sample::of_prefixes(in_memory), Sample::of_prefixes(in_two_shards)]);
    samples.extend([Sample::of_polygons(in_memory), Sample::of_polygons(in_two_shards)]);
    samples.extend([Sample::of_nodes(in_memory), Sample::of_nodes(in_shards)]);
    samples.extend([Sample::of_texts(), Sample::dense(in_memory), Sample::dense(in_shards)]);
    for (number, sample) in samples.iter().enumerate() {
        let storage = FaultyStorage::new();
        sample.save(&storage, b"stamp").expect("space enough");
        let whole = storage.read(Path::new(PATH), u64::MAX).expect("the file");
        assert!(whole.len() < 12_000, "sample {number} takes long: {} bytes", whole.len());
        for bit in 0..whole.len() * 8 {
            storage.damage(Path::new(PATH), |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            sample.check_damaged(&storage, &format!("sample {number}, bit {bit}"));
            storage.damage(Path::new(PATH), |bytes| bytes.clone_from(&whole));
        }
        for bytes in 0..whole.len() {
            storage.damage(Path::new(PATH), |file| file.truncate(bytes));
            assert!(sample.open(&storage).is_err(), "sample {number} cut to {bytes} bytes");
            storage.damage(Path::new(PATH), |file| file.clone_from(&whole));
        }
    }
}

#[test]
fn a_file_is_described_without_its_definition() {
    let (sample, storage) = (Sample::new(LayoutKind::Hashed), FaultyStorage::new());
    sample.save(&storage, b"stamp").expect("space enough");
    let image = DescribedImage::open(&storage, Path::new(PATH)).expect("a whole file");
    image.check().expect("a whole file");
    let about = image.description();
    assert_eq!((about.version, about.definition.as_str()), (VERSION, DEFINITION));
    assert!(!about.sections.is_empty());
    assert!(DescribedImage::is_end_of_image(&storage.read(Path::new(PATH), u64::MAX).expect("the file")));
}

/// A crash at every sync and every change, of both kinds, leaves the old file or the new one.
#[test]
fn a_crash_at_every_moment_leaves_the_old_file_or_the_new_one() {
    let sample = Sample::new(LayoutKind::Hashed);
    let changes = {
        let storage = FaultyStorage::new();
        sample.save(&storage, b"old").expect("space enough");
        let before = storage.change_count();
        sample.save(&storage, b"new").expect("space enough");
        storage.change_count() - before
    };
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        for change in 0..=changes {
            let storage = FaultyStorage::new();
            sample.save(&storage, b"old").expect("space enough");
            storage.stop_at_change(storage.change_count() + change);
            let acknowledged = sample.save(&storage, b"new").is_ok();
            storage.crash(crash);
            let (dictionary, stamp) = sample.open(&storage).expect("a whole file");
            assert_eq!(sample.ask(dictionary.as_ref()).expect("valid keys"), sample.answer);
            let expected: &[&[u8]] = if acknowledged { &[b"new"] } else { &[b"old", b"new"] };
            assert!(expected.contains(&stamp.as_slice()), "{crash:?} at {change}: {stamp:?}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let sample = Sample::new(LayoutKind::Hashed);
    let storage = FaultyStorage::new();
    sample.save(&storage, b"old").expect("space enough");
    storage.set_space_left(Some(100));
    let error = sample.save(&storage, b"new").expect_err("no space");
    assert_eq!(error.code(), ErrorCode::NotEnoughSpace);
    assert_eq!(sample.open(&storage).expect("the old file").1, b"old");
}

#[test]
fn another_definition_and_other_versions_are_refused() {
    let sample = Sample::new(LayoutKind::Hashed);
    let storage = FaultyStorage::new();
    sample.save(&storage, b"").expect("space enough");
    let other = open(sample.spec.clone(), &storage, Path::new(PATH), "CREATE DICTIONARY other");
    assert_eq!(
        other.map(|_| ()).map_err(|error| error.code()),
        Err(ErrorCode::IncorrectDictionaryDefinition)
    );
    for version in [VERSION - 1, VERSION + 1] {
        storage.damage(Path::new(PATH), |bytes| {
            let at = bytes.len() - TRAILER_BYTES;
            bytes[at + 20..at + 24].copy_from_slice(&version.to_le_bytes());
            let sum = crc32c(&bytes[at..at + 24]);
            bytes[at + 24..at + 28].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(bytes[at + 28..], MAGIC);
        });
        let other = sample.open(&storage).map(|_| ()).map_err(|error| error.code());
        assert_eq!(other, Err(ErrorCode::NotImplemented));
    }
}
