//! Sizes and times of key indexes, beside those of the crate `fst`.
//!
//! `cargo bench -p basalt-segment --bench keys -- [file of lines]...`: integers, and the lines of each file.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, PendingFile, Storage};
use basalt_segment::file::{Access, Features, SegmentFile, SegmentWriter, SpoolPlace};
use basalt_segment::filter::{KeyFilter, KeyFilterBuilder};
use basalt_segment::key::{
    KeyIndex, KeyIndexBuilder, KeySample, LevenshteinAutomaton, SecondaryIndex, SecondaryIndexBuilder,
    open_key_index,
};

const INTEGERS: u64 = 1_000_000;
const LOOKUPS: usize = 200_000;

fn main() -> Result<()> {
    println!(
        "{:<22} {:>8} {:<26} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "keys", "count", "index", "B/key", "build", "find", "miss", "key", "scan"
    );
    let number = |at: u64| at.to_be_bytes().to_vec();
    run("dense integers", (0..INTEGERS).map(number).collect())?;
    run("sparse integers", (0..INTEGERS).map(|at| number(mixed(at))).collect())?;
    run("steps of 1 to 16", (0..INTEGERS).map(|at| number(at * 16 + mixed(at) % 16)).collect())?;
    let uuid = |at: u64| [number(mixed(at)), number(mixed(at ^ 0x5555))].concat();
    run("random 16 bytes", (0..INTEGERS).map(uuid).collect())?;
    for path in std::env::args().skip(1).filter(|argument| !argument.starts_with('-')) {
        let text = std::fs::read(&path).map_err(basalt_base::Error::logical)?;
        let name = Path::new(&path).file_name().map_or(path.as_str().into(), |name| name.to_string_lossy());
        run(&name, text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect())?;
    }
    Ok(())
}

fn run(name: &str, mut keys: Vec<Vec<u8>>) -> Result<()> {
    keys.sort();
    keys.dedup();
    let bytes: usize = keys.iter().map(Vec::len).sum();
    let label = format!("{name} ({} B)", bytes / keys.len().max(1));
    let (file, build) = write(&keys)?;
    let index = open_key_index(&file, "key")?;
    let encoding = file.component("key")?.encoding().to_owned();
    print_row(&label, &keys, &encoding, index.stored_bytes() as usize, build, &Ours(index.as_ref()));
    print_searches(&label, &keys, index.as_ref(), &file)?;
    let start = Instant::now();
    let entries = keys.iter().zip(0_u64..);
    let map = fst::Map::from_iter(entries).map_err(basalt_base::Error::logical)?;
    let build = start.elapsed().as_nanos() as usize / keys.len();
    print_row(&label, &keys, "fst", map.as_fst().as_bytes().len(), build, &map);
    Ok(())
}

/// A file with the index, and the nanoseconds a key that its index took.
fn write(keys: &[Vec<u8>]) -> Result<(SegmentFile, usize)> {
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new("/spools"))?;
    let place = SpoolPlace::new(Arc::clone(&storage), PathBuf::from("/spools"));
    let (start, mut sample) = (Instant::now(), KeySample::default());
    keys.iter().try_for_each(|key| sample.add(key))?;
    let mut builder = KeyIndexBuilder::new("key", sample, &place)?;
    keys.iter().try_for_each(|key| builder.push(key))?;
    let index = builder.finish()?;
    let build = start.elapsed().as_nanos() as usize / keys.len();
    let mut reversed = SecondaryIndexBuilder::new("index/reversed", &place, 32 << 20);
    let mut filter = KeyFilterBuilder::new("filter", keys.len() as u64, &place);
    for (key, rank) in keys.iter().zip(0..) {
        let value: Vec<u8> = key.iter().rev().copied().collect();
        reversed.push(&value, rank)?;
        filter.push(key)?;
    }
    let path = Path::new("/spools/keys.seg");
    let pending = PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
        let components = reversed.finish()?.into_iter().chain([filter.finish()?]);
        components.chain(index).try_for_each(|component| writer.add(component))?;
        writer.finish(keys.len() as u64, 0).map(drop)
    })?;
    pending.publish(storage.as_ref())?;
    Ok((SegmentFile::open(storage.as_ref(), path, Access::Read)?, build))
}

/// Times of searches for a key with one edit, of a secondary index from reversed keys, and of a filter.
fn print_searches(name: &str, keys: &[Vec<u8>], index: &dyn KeyIndex, file: &SegmentFile) -> Result<()> {
    if let Ok(text) = std::str::from_utf8(&keys[keys.len() / 2]) {
        let start = Instant::now();
        let mut automaton = LevenshteinAutomaton::new(text, 1)?;
        let mut found = 0;
        index.search(0..index.len(), &mut automaton, &mut |ranks| {
            found += ranks.len();
            Ok(ControlFlow::Continue(()))
        })?;
        println!("{name:<22} {found} keys with at most one edit in {:?}", start.elapsed());
    }
    let secondary = SecondaryIndex::open(file, "index/reversed")?;
    let ranks: Vec<usize> = (0..LOOKUPS as u64).map(|at| (mixed(at) % keys.len() as u64) as usize).collect();
    let reversed: Vec<Vec<u8>> =
        ranks.iter().map(|&rank| keys[rank].iter().rev().copied().collect()).collect();
    let (start, mut out) = (Instant::now(), Vec::new());
    reversed.iter().try_for_each(|value| secondary.find(value, &mut out))?;
    let find = start.elapsed().as_nanos() as usize / LOOKUPS;
    assert!(out.iter().zip(&ranks).all(|(&found, &rank)| found as usize == rank));
    let filter = KeyFilter::open(file, "filter")?;
    let start = Instant::now();
    let passed = reversed.iter().filter(|key| filter.may_contain(key)).count();
    let lookup = start.elapsed().as_nanos() as usize / LOOKUPS;
    let each = |bytes: u64| bytes as f64 / keys.len() as f64;
    println!(
        "{name:<22} secondary {:.2} B/row, find {find}; filter {:.2} B/key, lookup {lookup}, {passed} of {LOOKUPS} pass",
        each(secondary.stored_bytes()),
        each(filter.stored_bytes())
    );
    Ok(())
}

/// What is measured of an index.
trait Measured {
    fn find(&self, key: &[u8]) -> Option<u64>;
    fn key(&self, rank: u64, out: &mut Vec<u8>);
    fn scan(&self) -> usize;
}

struct Ours<'a>(&'a dyn KeyIndex);

impl Measured for Ours<'_> {
    fn find(&self, key: &[u8]) -> Option<u64> {
        self.0.find(key).ok().flatten().map(u64::from)
    }

    fn key(&self, rank: u64, out: &mut Vec<u8>) {
        out.clear();
        let _ = self.0.key(rank as u32, out);
    }

    fn scan(&self) -> usize {
        let mut bytes = 0;
        let mut visit = |_: u32, key: &[u8]| {
            bytes += key.len();
            Ok(ControlFlow::Continue(()))
        };
        let _ = self.0.scan(0..self.0.len(), &mut visit);
        bytes
    }
}

impl Measured for fst::Map<Vec<u8>> {
    fn find(&self, key: &[u8]) -> Option<u64> {
        self.get(key)
    }

    fn key(&self, rank: u64, out: &mut Vec<u8>) {
        out.clear();
        self.as_fst().get_key_into(rank, out);
    }

    fn scan(&self) -> usize {
        use fst::Streamer;
        let (mut stream, mut bytes) = (self.stream(), 0);
        while let Some((key, _)) = stream.next() {
            bytes += key.len();
        }
        bytes
    }
}

fn print_row(
    name: &str,
    keys: &[Vec<u8>],
    index: &str,
    stored: usize,
    build: usize,
    measured: &dyn Measured,
) {
    let ranks: Vec<usize> = (0..LOOKUPS as u64).map(|at| (mixed(at) % keys.len() as u64) as usize).collect();
    let probes: Vec<Vec<u8>> = ranks.iter().map(|&rank| [&keys[rank][..], b"~"].concat()).collect();
    // The keys are copied in the order of the lookups, which would else wait for the keys.
    let wanted: Vec<Vec<u8>> = ranks.iter().map(|&rank| keys[rank].clone()).collect();
    let each = |work: &mut dyn FnMut(usize)| {
        let start = Instant::now();
        (0..LOOKUPS).for_each(&mut *work);
        start.elapsed().as_nanos() as usize / LOOKUPS
    };
    let find = each(&mut |at| assert_eq!(measured.find(&wanted[at]), Some(ranks[at] as u64)));
    let miss =
        each(&mut |at| assert!(black_box(measured.find(&probes[at])).is_none_or(|_| keys.len() < 100)));
    let mut out = Vec::new();
    let key = each(&mut |at| {
        measured.key(ranks[at] as u64, &mut out);
        assert_eq!(out.len(), wanted[at].len());
    });
    let start = Instant::now();
    black_box(measured.scan());
    let scan = start.elapsed().as_nanos() as usize / keys.len();
    let each_key = stored as f64 / keys.len() as f64;
    println!(
        "{name:<22} {:>8} {index:<26} {each_key:>7.2} {build:>7} {find:>7} {miss:>7} {key:>7} {scan:>7}",
        keys.len()
    );
}

fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed >> 32
}
