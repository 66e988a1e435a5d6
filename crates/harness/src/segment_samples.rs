//! Small segments that have every encoding between them: seeds of [`crate::segment_file`].

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray,
    Float64Array, Int64Array, ListArray, NullArray, StructArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, PendingFile, Storage};
use basalt_segment::file::SpoolPlace;
use basalt_segment::value::StringEncoding;
use basalt_segment::{BuildOptions, ColumnSpec, RowBlock, RowSource, SegmentSpec, build};

/// The file in [`Sample::storage`].
pub const PATH: &str = "/table/1.seg";
const SPOOLS: &str = "/spools";
const ROWS: usize = 90;
const LARGE_ROWS: usize = 5000;

/// A segment as a file.
pub struct Sample {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// The spec that every sample is opened with; a sample has some of the columns.
pub fn spec() -> SegmentSpec {
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let columns = [
        ("number", DataType::Int64),
        ("small", DataType::UInt32),
        ("float", DataType::Float64),
        ("decimal", DataType::Decimal128(38, 4)),
        ("flag", DataType::Boolean),
        ("fixed", DataType::FixedSizeBinary(4)),
        ("text", DataType::BinaryView),
        ("list", DataType::List(item(DataType::BinaryView))),
        ("pair", DataType::Struct(pair_fields().into())),
        ("nothing", DataType::Null),
    ];
    let mut columns: Vec<ColumnSpec> =
        columns.into_iter().map(|(name, data_type)| ColumnSpec::new(name, data_type)).collect();
    columns.iter_mut().for_each(|column| column.has_trigrams = column.name == "text");
    SegmentSpec { columns, indexes: vec!["by_text".to_owned()] }
}

fn pair_fields() -> Vec<Field> {
    vec![Field::new("a", DataType::UInt32, true), Field::new("b", DataType::BinaryView, false)]
}

/// The samples, by the encodings of the keys and of the columns.
pub fn samples() -> Vec<Sample> {
    let integer = |at: usize| (5 + at as u64).to_be_bytes().to_vec();
    let spread = |at: usize| (at as u64 * at as u64 * 77).to_be_bytes().to_vec();
    let random = |at: usize| [(at as u64) << 32 | noise(at) >> 32, noise(at)].map(u64::to_be_bytes).concat();
    let name = |at: usize| format!("item-{at:04}").into_bytes();
    let keys: [&dyn Fn(usize) -> Vec<u8>; 4] = [&integer, &spread, &random, &name];
    let columns = [numbers(), few_values(), wide_values(), nested()];
    let names = ["dense_numbers", "ascending_codes", "array_plain", "front_nested"];
    let mut samples: Vec<Sample> = names
        .into_iter()
        .zip(keys)
        .zip(columns)
        .map(|((name, key), columns)| sample(name, key, columns, StringEncoding::Auto))
        .collect();
    for (name, encoding) in [
        ("strings_plain", StringEncoding::Plain),
        ("strings_onpair", StringEncoding::OnPair),
        ("strings_archive", StringEncoding::Archive),
        ("strings_long_match", StringEncoding::LongMatch),
    ] {
        samples.push(sample(name, &integer, vec![("text", texts(ROWS))], encoding));
    }
    samples.push(sample("strings_folded", &integer, vec![("text", texts(ROWS / 4))], StringEncoding::OnPair));
    samples.push(sample("strings_folded_plain", &integer, vec![("text", words())], StringEncoding::Plain));
    samples.push(sample("empty", &integer, Vec::new(), StringEncoding::Auto));
    samples
}

/// A segment of several pages of checksums.
pub fn large_sample() -> Sample {
    let name = |at: usize| format!("item-{at:04}-{:x}", noise(at)).into_bytes();
    let number = |at: usize| (!at.is_multiple_of(3)).then_some(noise(at) as i64);
    let text = |at: usize| format!("record {:x} of a passage {:x}", noise(at), noise(at + 1));
    let columns: Columns = vec![
        ("number", Arc::new((0..LARGE_ROWS).map(number).collect::<Int64Array>())),
        ("text", Arc::new(BinaryViewArray::from_iter_values((0..LARGE_ROWS).map(text)))),
    ];
    sample("large", &name, columns, StringEncoding::Plain)
}

/// A number that looks random.
fn noise(at: usize) -> u64 {
    let word = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

type Columns = Vec<(&'static str, ArrayRef)>;

/// Packed numbers, decimals with exceptions, and NULLs in both forms.
fn numbers() -> Columns {
    let number = |at: usize| (!at.is_multiple_of(3)).then_some(1000 + 7 * at as i64);
    let small = |at: usize| (at != 40).then_some(noise(at) as u32 % 500);
    let float = |at: usize| if at == 20 { f64::NAN } else { f64::from(noise(at) as u16) / 100.0 };
    vec![
        ("number", Arc::new((0..ROWS).map(number).collect::<Int64Array>())),
        ("small", Arc::new((0..ROWS).map(small).collect::<UInt32Array>())),
        ("float", Arc::new(Float64Array::from_iter_values((0..ROWS).map(float)))),
    ]
}

/// Codes and constants.
fn few_values() -> Columns {
    let fixed = (0..ROWS).map(|at| [at as u8 % 3; 4]);
    vec![
        ("number", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|at| noise(at % 3) as i64)))),
        ("small", Arc::new(UInt32Array::from(vec![7; ROWS]))),
        ("flag", Arc::new(BooleanArray::from_iter((0..ROWS).map(|at| Some(at.is_multiple_of(2)))))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_iter(fixed).expect("one width"))),
        ("text", words()),
    ]
}

/// Values that no encoding makes shorter.
fn wide_values() -> Columns {
    let fixed = (0..ROWS).map(|at| (noise(at) as u32).to_le_bytes());
    let decimals = Decimal128Array::from_iter_values((0..ROWS).map(|at| i128::from(noise(at)) << 50));
    vec![
        ("number", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|at| noise(at) as i64)))),
        ("decimal", Arc::new(decimals.with_precision_and_scale(38, 4).expect("they fit"))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_iter(fixed).expect("one width"))),
    ]
}

fn nested() -> Columns {
    let lengths = || (0..ROWS).map(|at| at % 4);
    let elements = lengths().sum::<usize>();
    let items = (0..elements).map(|at| (at % 5 > 0).then(|| format!("item {at}")));
    let items: ArrayRef = Arc::new(BinaryViewArray::from_iter(items));
    let item = Arc::new(Field::new("item", DataType::BinaryView, true));
    let numbers: ArrayRef =
        Arc::new((0..ROWS as u32).map(|at| (at % 9 > 0).then_some(at)).collect::<UInt32Array>());
    let fields = pair_fields().into_iter().map(Arc::new).zip([numbers, words()]).collect::<Vec<_>>();
    vec![
        ("list", Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths()), items, None))),
        ("pair", Arc::new(StructArray::from(fields))),
        ("nothing", Arc::new(NullArray::new(ROWS))),
    ]
}

/// So many different texts, which have a long passage in common.
fn texts(distinct: usize) -> ArrayRef {
    let passage = "and this passage is long enough to be one match of a dictionary";
    let text = |at: usize| match at % distinct {
        0 => String::new(),
        at => format!("record {:x} {passage} {at}", noise(at) as u16),
    };
    Arc::new(BinaryViewArray::from_iter_values((0..ROWS).map(text)))
}

fn words() -> ArrayRef {
    Arc::new(BinaryViewArray::from_iter_values(
        (0..ROWS).map(|at| format!("a word that is long: {}", at % 6)),
    ))
}

/// Rows with these columns. The texts are in a secondary index, and every tenth row is a tombstone.
struct Rows<'a> {
    key: &'a dyn Fn(usize) -> Vec<u8>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl RowSource for Rows<'_> {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        let entry = |at: usize| (!at.is_multiple_of(7)).then(|| format!("value {}", at % 5));
        take(&RowBlock {
            keys: BinaryArray::from_iter_values((0..self.rows).map(self.key)),
            columns: self.columns.clone(),
            indexes: vec![(0..self.rows).map(entry).collect()],
            tombstones: Some(BooleanBuffer::collect_bool(self.rows, |at| at % 10 == 3)),
        })
    }
}

fn sample(
    name: &'static str,
    key: &dyn Fn(usize) -> Vec<u8>,
    columns: Columns,
    encoding: StringEncoding,
) -> Sample {
    let all = spec();
    let column = |name: &str| {
        let column = all.columns.iter().find(|column| column.name == name).expect("a column of the spec");
        ColumnSpec { strings: encoding, ..column.clone() }
    };
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    let spec = SegmentSpec {
        columns: columns.iter().map(|(name, _)| column(name)).collect(),
        indexes: all.indexes.clone(),
    };
    let source = Rows { key, columns: columns.into_iter().map(|(_, values)| values).collect(), rows };
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    for dir in ["/table", SPOOLS] {
        storage.create_dir_all(Path::new(dir)).expect("a disk in memory");
    }
    let place = SpoolPlace::new(Arc::clone(&storage), SPOOLS.into());
    PendingFile::write_with(storage.as_ref(), Path::new(PATH), |out| {
        build(&source, &spec, 1, &place, BuildOptions::default(), out).map(drop)
    })
    .and_then(|pending| pending.publish(storage.as_ref()))
    .expect("rows of the spec");
    Sample { name, bytes: storage.read(Path::new(PATH), u64::MAX).expect("a disk in memory") }
}
