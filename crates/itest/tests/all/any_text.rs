//! Randomly changed statements of the SQL tests: each is answered or refused, and the engine keeps running.

use std::path::Path;
use std::time::{Duration, Instant};

use basalt_itest::any_text::AnyText;
use basalt_itest::{note, shared};
use sqllogictest::{DefaultColumnType, Record};

/// The default duration; `BASALT_ANY_TEXT_SECONDS` overrides it.
const RUN: Duration = Duration::from_secs(10);

/// Statements per database; the next database starts empty.
const STATEMENTS_OF_A_DATABASE: usize = 500;

/// Numbers from a seed: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % end.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// The statements of all files as lists of words: names, numbers, quoted text, symbols.
fn statements() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(&shared::checkout().join("tests/sql"), &mut found);
    found.sort();
    found.iter().map(|text| words(text)).filter(|words| !words.is_empty()).collect()
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the SQL tests are in the checkout") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            let records = sqllogictest::parse_file::<DefaultColumnType>(&path).expect("the file parses");
            found.extend(records.into_iter().filter_map(|record| match record {
                Record::Statement { sql, .. } | Record::Query { sql, .. } => Some(sql),
                _ => None,
            }));
        }
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let mut word = String::from(first);
        if first.is_alphanumeric() || first == '_' {
            while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                word.push(next);
            }
        } else if matches!(first, '\'' | '`' | '"') {
            for next in rest.by_ref() {
                word.push(next);
                if next == first {
                    break;
                }
            }
        }
        words.push(word);
    }
    words
}

/// One statement with some words removed, doubled, or replaced by words of another.
fn changed(statements: &[Vec<String>], random: &mut Random) -> String {
    let mut words = random.pick(statements).clone();
    for _ in 0..random.below(5) {
        let other = random.pick(statements);
        let (at, from) = (random.below(words.len()), random.below(other.len()));
        let taken = &other[from..(from + 1 + random.below(6)).min(other.len())];
        let end = (at + random.below(4)).min(words.len());
        match random.below(4) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[at].clone()),
            2 => drop(words.splice(at..end, taken.iter().cloned())),
            _ => words[at] = random.pick(other).clone(),
        }
    }
    words.concat()
}

#[test]
fn any_text_is_answered_or_refused() {
    let seconds = std::env::var("BASALT_ANY_TEXT_SECONDS").ok().and_then(|text| text.parse().ok());
    let seed = std::env::var("BASALT_ANY_TEXT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (run, start) = (seconds.map_or(RUN, Duration::from_secs), Instant::now());
    let (statements, mut random) = (statements(), Random(seed));
    let (mut count, mut answered, mut broken) = (0, 0, Vec::new());
    while start.elapsed() < run {
        let mut engine = AnyText::default();
        for _ in 0..STATEMENTS_OF_A_DATABASE {
            broken.extend(engine.run(changed(&statements, &mut random).as_bytes()).err());
            count += 1;
            if start.elapsed() > run {
                break;
            }
        }
        answered += engine.answered;
    }
    note(&format!("{count} changed statements, {answered} of them answered"));
    assert!(answered * 50 > count, "only {answered} of {count} statements were answered");
    assert!(broken.is_empty(), "{} of {count} broke a promise:\n{}", broken.len(), broken.join("\n\n"));
}
