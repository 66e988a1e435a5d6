//! How small each store of strings makes real texts, and how fast it is, on one thread.
//!
//! `cargo bench -p basalt-segment --bench strings` takes the records that `apt-cache dumpavail` prints, if that program
//! is there. `-- FILE...` takes the lines of files. For each encoding, a line has: the ratio, what building makes of a
//! second in MB, what choosing takes in ms, then random reads of single strings in ns and MB/s, `take` of random ranks
//! and `scan` of all in MB/s. The reason of the automatic choice follows.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, BinaryViewArray};
use basalt_base::fs::{PendingFile, RealStorage, Storage};
use basalt_segment::file::{Access, Features, SegmentFile, SegmentWriter, SpoolPlace};
use basalt_segment::value::ColumnStore;
use basalt_segment::value::strings::{StringEncoding, StringSample, choose, open};

const ENCODINGS: [StringEncoding; 5] = [
    StringEncoding::Plain,
    StringEncoding::OnPair,
    StringEncoding::LongMatch,
    StringEncoding::Archive,
    StringEncoding::Auto,
];
const SAMPLE_BYTES: usize = 32 << 20;
const BLOCK_ROWS: usize = 8192;
const RANDOM_READS: usize = 60_000;
const ROUNDS: usize = 3;

fn main() {
    let mut out = std::io::stdout().lock();
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if files.is_empty() {
        match packages() {
            Some(records) => measure("packages", &records, &mut out),
            None => writeln!(out, "apt-cache is missing, and no file was given").expect("output"),
        }
    }
    for file in files {
        let bytes = std::fs::read(&file).expect("a file of lines");
        let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        measure(&file, &lines.iter().map(|line| line.to_vec()).collect::<Vec<_>>(), &mut out);
    }
}

/// Records in a mixed order; `None` without the program.
fn packages() -> Option<Vec<Vec<u8>>> {
    let output =
        Command::new("apt-cache").arg("dumpavail").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let records: Vec<&str> = text.split_terminator("\n\n").collect();
    let len = records.len();
    (len > 0).then(|| (0..len).map(|at| records[at * 7919 % len].as_bytes().to_vec()).collect())
}

/// About [`SAMPLE_BYTES`] of the strings, evenly spread.
fn sample(strings: &[Vec<u8>], bytes: usize) -> Vec<&[u8]> {
    let step = bytes.div_ceil(SAMPLE_BYTES).max(1);
    strings.iter().step_by(step).map(Vec::as_slice).collect()
}

fn measure(name: &str, strings: &[Vec<u8>], out: &mut impl Write) {
    let bytes: usize = strings.iter().map(Vec::len).sum();
    writeln!(out, "{name}: {} strings of {bytes} bytes", strings.len()).expect("output");
    for encoding in ENCODINGS {
        let dir = tempfile::tempdir().expect("a directory");
        let storage: Arc<dyn Storage> = Arc::new(RealStorage);
        let place = SpoolPlace::new(Arc::clone(&storage), dir.path().to_owned());
        let (choosing, plan) = timed(|| {
            let rows = strings.len() as u64;
            let sample = StringSample { strings: &sample(strings, bytes), rows, bytes: bytes as u64 };
            choose(sample, encoding, &place).expect("a plan")
        });
        let reason = plan.reason().to_owned();
        let blocks: Vec<ArrayRef> = strings
            .chunks(BLOCK_ROWS)
            .map(|block| Arc::new(BinaryViewArray::from_iter_values(block)) as ArrayRef)
            .collect();
        let (building, components) = timed(|| {
            let mut builder = plan.builder("text", &place).expect("a builder");
            blocks.iter().for_each(|block| builder.push(block).expect("a block"));
            builder.finish().expect("components")
        });
        let path = dir.path().join("segment");
        let pending = PendingFile::write_with(storage.as_ref(), &path, |file| {
            let mut writer = SegmentWriter::begin(file, 1, Features::default())?;
            components.into_iter().try_for_each(|component| writer.add(component))?;
            writer.finish(strings.len() as u64, 0).map(drop)
        });
        pending.and_then(|pending| pending.publish(storage.as_ref())).expect("a file");
        let file = SegmentFile::open(storage.as_ref(), &path, Access::Mapped).expect("a segment");
        let store = open(&file, "text").expect("a store");
        let ratio = bytes as f64 / store.stored_bytes() as f64;
        let speeds = reads(store.as_ref(), strings);
        let (building, choosing) = (bytes as f64 / 1e6 / building.as_secs_f64(), choosing.as_millis());
        writeln!(
            out,
            "{encoding:?}\tratio {ratio:.2}\tbuild {building:.0} MB/s\tchoose {choosing} ms\t{speeds}"
        )
        .expect("output");
        if encoding == StringEncoding::Auto {
            writeln!(out, "{reason}").expect("output");
        }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let result = work();
    (started.elapsed(), result)
}

/// The best times of reads, as text.
fn reads(store: &dyn ColumnStore, strings: &[Vec<u8>]) -> String {
    let len = strings.len() as u64;
    let ranks: Vec<u32> = (1..=RANDOM_READS as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % len)
        .map(|rank| rank as u32)
        .collect();
    let texts = store.as_strings().expect("strings");
    let mut text = Vec::new();
    for (rank, string) in (0..).zip(strings) {
        text.clear();
        texts.append(rank, &mut text).expect("a string");
        assert_eq!(&text, string, "string {rank} comes back");
    }
    let bytes: usize = ranks.iter().map(|&rank| strings[rank as usize].len()).sum();
    let all: usize = strings.iter().map(Vec::len).sum();
    let best = |work: &mut dyn FnMut()| (0..ROUNDS).map(|_| timed(&mut *work).0).min().unwrap_or_default();
    let single = best(&mut || {
        for &rank in &ranks {
            text.clear();
            texts.append(rank, &mut text).expect("a string");
        }
    });
    let take = best(&mut || drop(store.take(&ranks).expect("strings")));
    let scan = best(&mut || {
        let starts = (0..strings.len()).step_by(BLOCK_ROWS);
        starts.for_each(|from| drop(store.scan(from as u32..strings.len().min(from + BLOCK_ROWS) as u32)));
    });
    let speed = |bytes: usize, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    format!(
        "random {:.0} ns {:.0} MB/s\ttake {:.0} MB/s\tscan {:.0} MB/s",
        single.as_nanos() as f64 / ranks.len() as f64,
        speed(bytes, single),
        speed(bytes, take),
        speed(all, scan)
    )
}
