//! A segment file of any bytes opens or is refused; every way to read it gives an answer or an error, in little time and
//! memory.
//!
//! The first byte chooses a sample; then come edits of three bytes each: position (two bytes) and new value. Other first
//! bytes mean that the rest is a file. The file is read as it is, and with its checksums corrected: otherwise few inputs
//! would reach the decoders.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, Storage, publish_file};
use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit, enter};
use basalt_segment::file::{Access, restore_checksums};
use basalt_segment::key::{KeyIndex, LevenshteinAutomaton, PrefixAutomaton};
use basalt_segment::search::{Pattern, SearchMemory, search_keys};
use basalt_segment::{Rank, Segment, SegmentColumn};

use crate::segment_samples::{PATH, Sample, samples, spec};

/// Rows that are read: a file may say that it has four billion, and take no bytes for them.
const ROWS_MAX: Rank = 200;
/// A frame of Zstandard may be a thousand times as long as its bytes.
const MEMORY_BYTES_MAX: u64 = 512 << 20;
const TIME_MAX: Duration = Duration::from_secs(30);
const PROBES: [&[u8]; 6] = [b"", b"\0", b"\0\0\0\0\0\0\0\x0a", b"item-0040", b"item-0040x", &[0xff; 40]];

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(samples);
static PATTERNS: LazyLock<[Pattern; 3]> = LazyLock::new(|| {
    [
        Pattern::contains(b"passage"),
        Pattern::expression(b"(item|word|record).*[0-3]$").expect("an expression"),
        Pattern::one_of(&[b"", b"item-0040", b"a word that is long: 3"]),
    ]
});

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [sample, rest @ ..] = bytes else { return };
    let file = match SAMPLES.get(usize::from(*sample)) {
        Some(sample) => edited(&sample.bytes, rest),
        None => rest.to_vec(),
    };
    let mut corrected = file.clone();
    restore_checksums(&mut corrected);
    for (file, access) in [(&file, Access::Mapped), (&corrected, Access::Mapped), (&corrected, Access::Read)]
    {
        limited(|| touch(file, access));
    }
}

fn edited(file: &[u8], edits: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    for [low, high, value] in edits.as_chunks::<3>().0 {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % file.len();
        file[at] = *value;
    }
    file
}

/// Runs `work` as a query, and compares its memory and its time with the limits.
pub fn limited(work: impl FnOnce() -> Result<()>) {
    let (cancelled, memory) = (Arc::new(AtomicBool::new(false)), MemoryTracker::new(0));
    let query = Arc::new(QueryStatus::new("", cancelled, TimeLimit::default(), memory));
    let start = Instant::now();
    let entered = enter(Some(Arc::clone(&query)));
    let _ = work();
    drop(entered);
    assert!(query.memory().peak() <= MEMORY_BYTES_MAX, "{} bytes of memory", query.memory().peak());
    assert!(start.elapsed() <= TIME_MAX, "{:?}", start.elapsed());
}

/// Opens the segment of these bytes and compares its checksums.
pub fn verify(bytes: &[u8]) -> Result<()> {
    open(bytes, Access::Read)?.check()
}

/// Reads the segment of these bytes in every way, for an error or a panic.
pub fn touch(bytes: &[u8], access: Access) -> Result<()> {
    let segment = open(bytes, access)?;
    Answers(None).ask(&segment);
    Ok(())
}

/// What the segment of these bytes answers to each question: texts that are equal if the answers are. Checksums are
/// compared as far as a question needs it.
pub fn answers(bytes: &[u8], access: Access) -> Result<Vec<Result<String>>> {
    let segment = open(bytes, access)?;
    let mut answers = Answers(Some(Vec::new()));
    answers.ask(&segment);
    Ok(answers.0.unwrap_or_default())
}

/// The encodings of the components.
pub fn encodings(bytes: &[u8]) -> Result<Vec<String>> {
    let components = open(bytes, Access::Read)?.describe().components;
    Ok(components.into_iter().map(|component| component.encoding).collect())
}

fn open(bytes: &[u8], access: Access) -> Result<Segment> {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/table"))?;
    publish_file(&storage, Path::new(PATH), bytes)?;
    Segment::open(&storage, Path::new(PATH), access, &spec())
}

/// The answers so far, unless nobody wants them.
struct Answers(Option<Vec<Result<String>>>);

impl Answers {
    fn add<T: Debug>(&mut self, answer: Result<T>) {
        if let Some(answers) = &mut self.0 {
            answers.push(answer.map(|answer| format!("{answer:?}")));
        }
    }

    fn ask(&mut self, segment: &Segment) {
        self.keys(segment);
        for position in 0..spec().columns.len() {
            if let Some(column) = segment.column(position) {
                self.column(column, segment.rows());
            }
        }
        self.index(segment);
        self.add(Ok((segment.describe().components.len(), segment.describe_columns().count())));
    }

    fn keys(&mut self, segment: &Segment) {
        let (keys, rows) = (segment.keys(), segment.rows());
        for probe in PROBES {
            self.add(segment.find(probe));
            self.add(keys.lower_bound(probe));
            self.add(keys.prefix(probe));
        }
        for rank in ranks(rows) {
            let mut key = Vec::new();
            self.add(
                keys.key(rank, &mut key).and_then(|()| Ok((segment.find(&key)?, segment.is_tombstone(rank)))),
            );
            self.add(Ok(key));
        }
        self.add(scanned(keys, rows));
        let some = 0..rows.min(ROWS_MAX);
        for pattern in PATTERNS.iter() {
            let mut found = Vec::new();
            let searched = search_keys(keys, pattern, some.clone(), &mut |ranks| {
                found.push(ranks);
                Ok(ControlFlow::Continue(()))
            });
            self.add(searched.map(|()| found));
        }
        let mut distance = LevenshteinAutomaton::new("item-0041", 2).expect("a short text");
        let mut found = Vec::new();
        let searched = keys.search(some, &mut distance, &mut |ranks| {
            found.push(ranks);
            Ok(ControlFlow::Continue(()))
        });
        self.add(searched.map(|()| found));
    }

    fn column(&mut self, column: &SegmentColumn, rows: u32) {
        let store = column.store();
        let some = 0..rows.min(ROWS_MAX);
        self.array(store.scan(some.clone()), some.len());
        self.array(store.scan(some.end / 3..some.end / 2), (some.end / 2 - some.end / 3) as usize);
        let taken: Vec<Rank> = ranks(rows).rev().chain(some.clone().take(1)).collect();
        self.array(store.take(&taken), taken.len());
        assert!(store.scan(rows..rows + 1).is_err() && store.take(&[rows]).is_err(), "there is no such row");
        self.add(Ok(column.zones().map(|zones| zones.matching(None, None))));
        if let Some(strings) = store.as_strings() {
            for rank in some.clone().step_by(9) {
                let mut string = Vec::new();
                self.add(strings.append(rank, &mut string).map(|()| string));
            }
            for pattern in PATTERNS.iter() {
                let mut found = Vec::new();
                let searched =
                    column.search(pattern, &mut SearchMemory::default(), some.clone(), &mut |rank| {
                        found.push(rank);
                        Ok(ControlFlow::Continue(()))
                    });
                assert!(found.is_sorted_by(|one, other| one < other), "{pattern}");
                self.add(searched.map(|_| found));
            }
        }
    }

    fn array(&mut self, values: Result<ArrayRef>, count: usize) {
        if let Ok(values) = &values {
            assert_eq!(values.len(), count);
            values.to_data().validate_full().expect("an array of its type");
        }
        self.add(values);
    }

    fn index(&mut self, segment: &Segment) {
        let Some(index) = segment.index(0) else { return };
        let mut ranks = Vec::new();
        for probe in PROBES.into_iter().chain([&b"value 3"[..]]) {
            self.add(index.find(probe, &mut ranks));
            self.add(index.prefix(probe).map(|values| index.count(values)));
        }
        self.add(index.search(&mut PrefixAutomaton::new(b"value"), &mut ranks));
        self.add(Ok(ranks));
    }
}

/// Some ranks of the front, and the last one.
fn ranks(rows: u32) -> impl DoubleEndedIterator<Item = Rank> + Clone {
    (0..rows.min(ROWS_MAX)).step_by(7).chain(rows.checked_sub(1))
}

fn scanned(keys: &dyn KeyIndex, rows: u32) -> Result<Vec<Vec<u8>>> {
    let mut scanned = Vec::new();
    keys.scan(0..rows, &mut |_, key| {
        scanned.push(key.to_vec());
        Ok(if scanned.len() < ROWS_MAX as usize { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(scanned)
}
