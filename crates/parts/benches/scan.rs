//! Measures how fast columns are written and scanned: bytes of decoded values a second, on one thread.
//!
//! `cargo bench -p basalt-parts` prints a line a column; run it twice and take the second. A cold scan decodes
//! every block, a hot one finds them in the cache; strings with few distinct values are coded.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt32Array, UInt64Array};
use basalt_base::fs::RealStorage;
use basalt_base::{Column, Columns, SqlType};
use basalt_codec::{CodecChain, CodecSpec};
use basalt_parts::{BlockCache, PartReader, PartSpec, ReadMetrics, TableParts};

const ROWS: usize = 4_000_000;
const ROUNDS: u32 = 5;
/// Large enough for any of the columns.
const CACHE_BYTES: usize = 2 << 30;

/// Pseudo-random, the same each time (splitmix64).
fn noise(at: u64) -> u64 {
    let mut word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word ^ (word >> 31)
}

fn scan(parts: &TableParts, cache: Option<&Arc<BlockCache>>) -> Duration {
    let started = Instant::now();
    for part in parts.snapshot().iter() {
        let mut reader = PartReader::open(part, cache, &Arc::new(ReadMetrics::default()));
        let (mut rows, mut mark) = (0, 0);
        while mark < part.mark_count() {
            let end = reader.piece_end(mark);
            rows += reader.read(0, mark..end).expect("the part is whole").len();
            mark = end;
        }
        assert_eq!(rows, ROWS, "all rows are scanned");
    }
    started.elapsed()
}

/// The best of several rounds.
fn best(parts: &TableParts, cache: Option<&Arc<BlockCache>>) -> Duration {
    (0..ROUNDS).map(|_| scan(parts, cache)).min().expect("there are rounds")
}

fn run(
    out: &mut impl Write,
    name: &str,
    ty: SqlType,
    chain: CodecChain,
    values: ArrayRef,
    value_bytes: usize,
) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let columns = Columns::new(vec![Column::new("c", ty)]);
    let spec = PartSpec { codecs: vec![chain.clone()], ..PartSpec::new(columns) };
    let batch = RecordBatch::try_new(spec.columns.to_arrow(), vec![values]).expect("the column fits");
    let parts = TableParts::open(Arc::new(RealStorage), dir.path().join("t"), spec).expect("a new table");
    let started = Instant::now();
    parts.insert(batch).expect("there is space");
    let insert = started.elapsed();
    let cold = best(&parts, None);
    let hot = best(&parts, Some(&Arc::new(BlockCache::new(CACHE_BYTES))));
    let raw = (ROWS * value_bytes) as f64;
    let stored: u64 = parts.stats().iter().map(|part| part.data_compressed_bytes).sum();
    let speed = |time: Duration| raw / time.as_secs_f64() / 1e9;
    writeln!(
        out,
        "{name:<24} {chain:<18} ratio {:>6.2}  write {:>5.2} GB/s  cold {:>5.2} GB/s  hot {:>7.2} GB/s",
        raw / stored as f64,
        speed(insert),
        speed(cold),
        speed(hot)
    )
    .expect("standard output is open");
}

fn main() {
    let mut out = std::io::stdout().lock();
    let lz4 = CodecChain::default;
    let link = |link| CodecChain::new(vec![link, CodecSpec::Lz4]);
    let times =
        || Arc::new(UInt32Array::from_iter_values((0..ROWS as u32).map(|row| 1_600_000_000 + row / 3)));
    let ids =
        || Arc::new(UInt64Array::from_iter_values((0..ROWS as u64).map(|row| noise(row / 4) % 1_000_000)));
    let words = || {
        let word = |row: usize| format!("https://example.org/{}/{}", noise(row as u64) % 100, row / 7);
        Arc::new(BinaryViewArray::from_iter_values((0..ROWS).map(word)))
    };
    let phrases = || {
        let phrase = |row: usize| format!("what is asked for, number {}", noise(row as u64) % 5000);
        Arc::new(BinaryViewArray::from_iter_values((0..ROWS).map(phrase)))
    };
    let date_time = || SqlType::DateTime(None);
    run(&mut out, "UInt64 ids", SqlType::UInt64, lz4(), ids(), 8);
    run(&mut out, "UInt64 ids", SqlType::UInt64, CodecSpec::None.into(), ids(), 8);
    run(&mut out, "DateTime", date_time(), lz4(), times(), 4);
    run(&mut out, "DateTime", date_time(), link(CodecSpec::Delta { width: 0 }), times(), 4);
    run(&mut out, "DateTime", date_time(), link(CodecSpec::DoubleDelta { width: 0 }), times(), 4);
    run(&mut out, "DateTime", date_time(), CodecSpec::Zstd { level: 1 }.into(), times(), 4);
    run(&mut out, "String (about 30 bytes)", SqlType::String, lz4(), words(), 30);
    run(&mut out, "String of 5000 kinds", SqlType::String, lz4(), phrases(), 30);
}
