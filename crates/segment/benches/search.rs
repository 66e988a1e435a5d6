//! Searches Debian package records (`apt-cache dumpavail`) as OnPair codes, decoded, and as plain text.
//!
//! Prints gigabytes of text a second on one thread, the best of several runs.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, PendingFile, Storage};
use basalt_codec::{TOKEN_BYTES_MAX, TokenMatcher, Tokens};
use basalt_segment::Rank;
use basalt_segment::file::{Access, Features, SegmentFile, SegmentWriter, SpoolPlace};
use basalt_segment::search::{Pattern, SearchMemory, Strings, TokenStrings, VisitCodes, search};
use basalt_segment::trigram::{Postings, TrigramBuilder};
use basalt_segment::value::StringStore;

const RUNS: u32 = 5;
const SAMPLE_BYTES: usize = 4 << 20;

/// Strings as codes of 16 bits.
#[derive(Debug)]
struct Coded {
    tokens: Tokens,
    codes: Vec<u16>,
    ends: Vec<usize>,
}

impl Coded {
    fn new(records: &[&[u8]]) -> Coded {
        let bytes: usize = records.iter().map(|record| record.len()).sum();
        let step = (bytes / SAMPLE_BYTES).max(1);
        let sample: Vec<&[u8]> = records.iter().copied().step_by(step).collect();
        let tokens = Tokens::train(&sample, 16);
        let matcher = TokenMatcher::new(&tokens);
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        for record in records {
            matcher.encode(record, 0..record.len(), |code| codes.push(code));
            ends.push(codes.len());
        }
        Coded { tokens, codes, ends }
    }

    fn range(&self, ranks: Range<Rank>) -> Range<usize> {
        let start = |rank: usize| rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        start(ranks.start as usize)..start(ranks.end as usize)
    }
}

impl StringStore for Coded {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        let codes = &self.codes[self.range(rank..rank + 1)];
        let start = out.len();
        out.resize(start + codes.len() * TOKEN_BYTES_MAX, 0);
        let mut ends = vec![0; codes.len()];
        self.tokens.decode(codes, &mut out[start..], &mut ends);
        out.truncate(start + ends.last().map_or(0, |&end| end as usize));
        Ok(())
    }
}

impl TokenStrings for Coded {
    fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    fn scan_codes(&self, ranks: Range<Rank>, visit: &mut VisitCodes<'_>) -> Result<()> {
        for rank in ranks {
            if visit(rank, &self.codes[self.range(rank..rank + 1)])?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn main() {
    let Ok(output) = Command::new("apt-cache").arg("dumpavail").output() else {
        println!("no apt-cache here");
        return;
    };
    let text = output.stdout;
    let mut records: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    for (at, window) in text.windows(2).enumerate() {
        if window == b"\n\n" {
            records.push(&text[start..at]);
            start = at + 2;
        }
    }
    let bytes: usize = records.iter().map(|record| record.len()).sum();
    let coded = Coded::new(&records);
    println!("{} records, {} bytes, {} codes", records.len(), bytes, coded.codes.len());
    let begun = Instant::now();
    let postings = postings_of(&records);
    println!("postings: {} bytes, built in {:?}", postings.stored_bytes(), begun.elapsed());
    println!("{:44} {:>7} {:>7} {:>8} {:>8} {:>8}", "GB/s", "found", "codes", "postings", "decoded", "regex");
    for pattern in [
        "transitional",
        "xyzzyq",
        "qtwebengine5-dev",
        "ibrary",
        "python3|perl|ruby|lua5",
        "(?i)postgresql",
        "[0-9a-f]{64}\\b",
        "Version: [0-9]+\\.[0-9]+~rc[0-9]",
        "\\b[a-z]+-[a-z]+-perl\\b",
        "(?m)^Depends: .*libssl3.*$",
        "a.*b.*c.*zz",
    ] {
        compare(pattern, &records, &coded, &postings, bytes);
    }
}

fn compare(expression: &str, records: &[&[u8]], coded: &Coded, postings: &Postings, bytes: usize) {
    let pattern = Pattern::expression(expression.as_bytes()).expect("an expression");
    let translated = basalt_base::re2::to_regex_syntax(expression.as_bytes()).expect("an expression");
    let mut builder = regex::bytes::RegexBuilder::new(&translated);
    let regex = builder.dot_matches_new_line(true).build().expect("an expression");
    let by = |postings| {
        move || {
            let mut found = 0;
            let strings = Strings { store: coded, tokens: Some(coded), postings };
            let report = search(
                strings,
                &pattern_of(expression),
                &mut SearchMemory::default(),
                0..records.len() as Rank,
                &mut |_| {
                    found += 1;
                    Ok(ControlFlow::Continue(()))
                },
            );
            black_box(report.expect("an answer"));
            found
        }
    };
    let decoded = || {
        let mut text = Vec::new();
        let matches = |rank: &Rank| {
            text.clear();
            coded.append(*rank, &mut text).expect("a record");
            regex.is_match(&text)
        };
        (0..records.len() as Rank).filter(matches).count()
    };
    let plain = || records.iter().filter(|record| regex.is_match(record)).count();
    let (found, codes) = best(bytes, by(None));
    let (pruned_found, pruned) = best(bytes, by(Some(postings)));
    let (decoded_found, decoded) = best(bytes, decoded);
    let (plain_found, plain) = best(bytes, plain);
    assert_eq!([found; 3], [pruned_found, decoded_found, plain_found], "{pattern}");
    println!("{expression:44} {found:>7} {codes:>7.2} {pruned:>8.2} {decoded:>8.2} {plain:>8.2}");
}

fn pattern_of(expression: &str) -> Pattern {
    Pattern::expression(expression.as_bytes()).expect("an expression")
}

/// The answer and the best speed in gigabytes a second.
fn best(bytes: usize, run: impl Fn() -> usize) -> (usize, f64) {
    let mut best = f64::MAX;
    let mut found = 0;
    for _ in 0..RUNS {
        let begun = Instant::now();
        found = run();
        best = best.min(begun.elapsed().as_secs_f64());
    }
    (found, bytes as f64 / best / 1e9)
}

fn postings_of(records: &[&[u8]]) -> Postings {
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    let path = Path::new("/bench/1.seg");
    storage.create_dir_all(Path::new("/bench")).expect("a directory");
    let place = SpoolPlace::new(Arc::clone(&storage), "/bench".into());
    let mut builder = TrigramBuilder::new(place, "trigram/text", 786);
    records.iter().for_each(|record| builder.push(record).expect("memory"));
    let component = builder.finish().expect("a component");
    PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
        writer.add(component)?;
        writer.finish(records.len() as u64, 0).map(drop)
    })
    .and_then(|pending| pending.publish(storage.as_ref()))
    .expect("a file");
    let file = SegmentFile::open(storage.as_ref(), path, Access::Mapped).expect("a file");
    Postings::open(file.component("trigram/text").expect("it is there")).expect("postings")
}
