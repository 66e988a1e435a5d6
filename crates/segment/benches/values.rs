//! How small each column store makes typical columns, and how fast it reads them, on one thread.
//!
//! `cargo bench -p basalt-segment --bench values` prints a line for each column: the encoding, bytes a value, nanoseconds
//! of a random read (of blocks of 1024 random ranks), of a read alone, and gigabytes of values a second of a scan.
//! `-- ROWS` has other sizes than a million rows.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, ListArray, UInt64Array,
};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::Result;
use basalt_base::fs::{PendingFile, RealStorage, Storage};
use basalt_segment::bits::{Offsets, OffsetsBuilder};
use basalt_segment::file::{Access, Features, PendingComponent, SegmentFile, SegmentWriter, SpoolPlace};
use basalt_segment::value::{ColumnSample, ColumnStore, StringEncoding, choose, open};

const SAMPLE_BYTES: usize = 16 << 20;
const BLOCK_ROWS: usize = 64 << 10;
/// Ranks of a `take`, and values of a scan.
const TAKEN: usize = 1024;
const SCANNED: u32 = 64 << 10;

/// Pseudo-random, the same each time (splitmix64).
fn noise(at: u64) -> u64 {
    let mut word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The columns: a name, and the values of some rows.
type Column = (&'static str, fn(std::ops::Range<u64>) -> ArrayRef);

const COLUMNS: &[Column] = &[
    ("counter u64", |rows| Arc::new(UInt64Array::from_iter_values(rows.map(|at| 1_000_000 + at * 3)))),
    ("timestamps i64", |rows| {
        Arc::new(Int64Array::from_iter_values(
            rows.map(|at| (1_700_000_000_000 + at * 1000 + noise(at) % 700) as i64),
        ))
    }),
    ("17 bits u64", |rows| Arc::new(UInt64Array::from_iter_values(rows.map(|at| noise(at) >> 47)))),
    ("40 bits u64", |rows| Arc::new(UInt64Array::from_iter_values(rows.map(|at| noise(at) >> 24)))),
    ("20 bits i32", |rows| Arc::new(Int32Array::from_iter_values(rows.map(|at| (noise(at) >> 44) as i32)))),
    ("multiples i64", |rows| {
        Arc::new(Int64Array::from_iter_values(rows.map(|at| (noise(at) % 90_000) as i64 * 86_400_000)))
    }),
    ("random u64", |rows| Arc::new(UInt64Array::from_iter_values(rows.map(noise)))),
    ("300 distinct u64", |rows| {
        Arc::new(UInt64Array::from_iter_values(rows.map(|at| noise(noise(at) % 300))))
    }),
    ("prices f64", |rows| {
        Arc::new(Float64Array::from_iter_values(rows.map(|at| (noise(at) % 1_000_000) as f64 / 100.0)))
    }),
    ("prices, 1% others f64", |rows| {
        Arc::new(Float64Array::from_iter_values(rows.map(|at| match noise(at) % 100 {
            0 => (at as f64).sqrt(),
            _ => (noise(at) % 1_000_000) as f64 / 100.0,
        })))
    }),
    ("random f64", |rows| {
        Arc::new(Float64Array::from_iter_values(rows.map(|at| noise(at) as f64 / (1_u64 << 40) as f64)))
    }),
    ("flags bool", |rows| {
        Arc::new(BooleanArray::from_iter(rows.map(|at| Some(noise(at).is_multiple_of(9)))))
    }),
    ("40 bits decimal128", |rows| {
        Arc::new(Decimal128Array::from_iter_values(rows.map(|at| i128::from(noise(at) >> 24))))
    }),
    ("uuid", |rows| {
        let ids = rows.map(|at| [noise(2 * at).to_le_bytes(), noise(2 * at + 1).to_le_bytes()].concat());
        Arc::new(FixedSizeBinaryArray::try_from_iter(ids).expect("one width"))
    }),
    ("17 bits u64, 1% NULL", |rows| {
        Arc::new(UInt64Array::from_iter(
            rows.map(|at| (!noise(at).is_multiple_of(100)).then_some(noise(at) >> 47)),
        ))
    }),
    ("17 bits u64, 50% NULL", |rows| {
        Arc::new(UInt64Array::from_iter(
            rows.map(|at| (!noise(at).is_multiple_of(2)).then_some(noise(at) >> 47)),
        ))
    }),
    ("200 names", |rows| {
        Arc::new(BinaryViewArray::from_iter_values(rows.map(|at| format!("the name {}", noise(at) % 200))))
    }),
    ("strings of 50 bytes", |rows| {
        Arc::new(BinaryViewArray::from_iter_values(
            rows.map(|at| format!("{at:010} {}", "x".repeat((noise(at) % 80) as usize))),
        ))
    }),
    ("lists of 0 to 7 u32", |rows| {
        let list = |at| Some((0..noise(at) % 8).map(move |of| Some((noise(at + of) >> 44) as u32)));
        Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(rows.map(list)))
    }),
];

/// Writes one column, and returns its size and encodings.
fn write(storage: &Arc<dyn Storage>, path: &Path, column: Column, rows: u64) -> Result<DataType> {
    let place = SpoolPlace::new(Arc::clone(storage), path.with_file_name("spools"));
    let blocks = || (0..rows).step_by(BLOCK_ROWS).map(|at| (column.1)(at..rows.min(at + BLOCK_ROWS as u64)));
    let data_type = (column.1)(0..1).data_type().clone();
    let mut sample = ColumnSample::new(&data_type, SAMPLE_BYTES)?;
    blocks().try_for_each(|block| sample.add(&block))?;
    let mut builder = choose("column", &data_type, StringEncoding::Auto, &sample, &place)?;
    blocks().try_for_each(|block| builder.push(&block))?;
    let components = builder.finish()?;
    let pending = PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
        components.into_iter().try_for_each(|component| writer.add(component))?;
        writer.finish(rows, 0).map(drop)
    })?;
    pending.publish(storage.as_ref())?;
    Ok(data_type)
}

/// Nanoseconds of a value, the best of some rounds.
fn measure(values: usize, mut read: impl FnMut()) -> f64 {
    let rounds = (0..5).map(|_| {
        let started = Instant::now();
        read();
        started.elapsed().as_nanos() as f64 / values as f64
    });
    rounds.fold(f64::MAX, f64::min)
}

/// Prints a line for a way of access.
fn print(name: &str, file: &SegmentFile, data_type: &DataType, out: &mut impl Write) -> Result<()> {
    let store = open(file, "column", data_type)?;
    let rows = store.len();
    let raw_bytes = file.component("column")?.component().raw_bytes;
    let reads = rows.min(200_000) as usize / TAKEN * TAKEN;
    let ranks: Vec<u32> = (0..reads as u64).map(|at| (noise(at) % u64::from(rows)) as u32).collect();
    let blocks = measure(reads, || ranks.chunks(TAKEN).for_each(|ranks| drop(take(store.as_ref(), ranks))));
    let alone = measure(reads / 8, || {
        ranks[..reads / 8].chunks(1).for_each(|ranks| drop(take(store.as_ref(), ranks)));
    });
    let scan = measure(rows as usize, || {
        for start in (0..rows).step_by(SCANNED as usize) {
            let values = store.scan(start..rows.min(start + SCANNED)).expect("values");
            std::hint::black_box(values);
        }
    });
    let encoding = file.components().iter().map(|component| component.encoding.as_str());
    let (encoding, bytes) = (encoding.collect::<Vec<_>>().join("+"), store.stored_bytes());
    let speed = raw_bytes as f64 / f64::from(rows) / scan;
    let bytes = bytes as f64 / f64::from(rows);
    let access = file.access();
    writeln!(
        out,
        "{name:24} {encoding:22} {access:?}\t{bytes:6.2} bytes\t{blocks:7.1} ns\t{alone:7.0} ns alone\t{speed:6.2} GB/s"
    )
    .expect("standard output");
    Ok(())
}

fn take(store: &dyn ColumnStore, ranks: &[u32]) -> ArrayRef {
    std::hint::black_box(store.take(ranks).expect("values"))
}

/// Offsets alone: the ends of values of 0 to 100 bytes.
fn print_offsets(storage: &Arc<dyn Storage>, path: &Path, rows: u64, out: &mut impl Write) -> Result<()> {
    let place = SpoolPlace::new(Arc::clone(storage), path.with_file_name("spools"));
    let (mut builder, mut end) = (OffsetsBuilder::new(&place), 0);
    for at in 0..rows {
        end += noise(at) % 100;
        builder.push(end)?;
    }
    let mut component = PendingComponent::new("offsets", "offsets");
    builder.finish(&mut component)?;
    let pending = PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
        writer.add(component)?;
        writer.finish(rows, 0).map(drop)
    })?;
    pending.publish(storage.as_ref())?;
    let file = SegmentFile::open(storage.as_ref(), path, Access::Mapped)?;
    let offsets = Offsets::open(&mut file.component("offsets")?)?;
    let ranks: Vec<u32> = (0..200_000).map(|at| (noise(at) % rows) as u32).collect();
    let random = measure(ranks.len(), || {
        let ends = ranks.iter().map(|&rank| offsets.range(rank).expect("a range").end);
        std::hint::black_box(ends.fold(0, |sum, end| sum ^ end));
    });
    let bytes = offsets.stored_bytes() as f64 / rows as f64;
    writeln!(out, "{:24} {bytes:6.2} bytes\t{random:7.1} ns", "offsets").expect("standard output");
    Ok(())
}

fn main() -> Result<()> {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    let dir = tempfile::tempdir().expect("a directory");
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    storage.create_dir_all(&dir.path().join("spools"))?;
    let mut out = std::io::stdout().lock();
    print_offsets(&storage, &dir.path().join("offsets.seg"), rows, &mut out)?;
    for column in COLUMNS {
        let path = dir.path().join("column.seg");
        let data_type = write(&storage, &path, *column, rows)?;
        for access in [Access::Mapped, Access::Read] {
            let file = SegmentFile::open(storage.as_ref(), &path, access)?;
            file.check()?;
            print(column.0, &file, &data_type, &mut out)?;
        }
    }
    Ok(())
}
