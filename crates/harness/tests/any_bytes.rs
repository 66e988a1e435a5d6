//! Every harness runs for some seconds on its seeds, and on seeds that were changed at random.
//!
//! `BASALT_FUZZ_SECONDS` sets how long each runs, `BASALT_FUZZ_SEED` which changes are made. An input that breaks a
//! promise is kept as a file; `cargo +nightly fuzz run <harness> <file>` runs it again.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use basalt_harness::{
    address_text, codec_chain, dict_layout, format_read, native_block, native_packets, part_files, part_meta,
    postgres_messages, redis_commands, regular_expression, segment_file, source_answers, sql_parse,
};

/// How long each harness runs.
const RUN: Duration = Duration::from_secs(5);

const SEED: u64 = 1;

/// Bytes that decoders look at: ends of ranges, signs, digits, quotes.
const BYTES: &[u8] = b"\0\x01\x7f\x80\xff-+09.,;:'\"\\`()[]{}<>*/|$%_ \t\r\n\xc3\xa4";

/// The most bytes that one change inserts, removes or moves.
const CHANGE_BYTES_MAX: usize = 16;

/// The most bytes of an input: longer ones take more time and find no more.
const INPUT_BYTES_MAX: usize = 4096;

/// Numbers from a seed: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        match self.below(2) {
            0 => BYTES[self.below(BYTES.len())],
            _ => self.next() as u8,
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..1 + self.below(CHANGE_BYTES_MAX)).map(|_| self.byte()).collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// The files of `folder` in the order of their names; none if it does not exist.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

/// The seeds of a harness, what a fuzzer collected for it, and the empty input.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folders = ["seeds", "corpus"].map(|folder| root().join("fuzz").join(folder).join(name));
    let found = folders.iter().flat_map(|folder| files(folder));
    let mut seeds: Vec<Vec<u8>> = found.map(|path| std::fs::read(path).expect("readable")).collect();
    seeds.push(Vec::new());
    seeds
}

/// The statements of the SQL tests.
fn statements(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for path in files(folder) {
        if path.is_dir() {
            statements(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        for record in text.split("\n\n") {
            let mut lines = record.lines().skip_while(|line| line.starts_with('#'));
            let directive = lines.next().unwrap_or_default();
            if directive.starts_with("statement") || directive.starts_with("query") {
                let statement: Vec<&str> = lines.take_while(|line| *line != "----").collect();
                found.push(statement.join("\n").into_bytes());
            }
        }
    }
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(CHANGE_BYTES_MAX)).min(input.len());
    match random.below(8) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => drop(input.splice(at..end, random.bytes())),
        3 => input.extend(random.bytes()),
        4 => {
            let copy = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        5 => {
            let other = &seeds[random.below(seeds.len())];
            input.truncate(at);
            input.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        6 if at < input.len() => input[at] ^= 1 << random.below(8),
        _ if at < input.len() => input[at] = random.byte(),
        _ => input.push(random.byte()),
    }
}

fn check(name: &str, harness: fn(&[u8]), seeds: &[Vec<u8>]) {
    let run = number("BASALT_FUZZ_SECONDS").map_or(RUN, Duration::from_secs);
    let seed = number("BASALT_FUZZ_SEED").unwrap_or(SEED);
    let (mut random, start) = (Random(seed), Instant::now());
    for input in seeds {
        try_one(name, harness, input);
    }
    while start.elapsed() < run {
        let mut input = seeds[random.below(seeds.len())].clone();
        for _ in 0..1 + random.below(8) {
            change(&mut input, seeds, &mut random);
        }
        input.truncate(INPUT_BYTES_MAX);
        try_one(name, harness, &input);
    }
}

#[track_caller]
fn try_one(name: &str, harness: fn(&[u8]), input: &[u8]) {
    if catch_unwind(|| harness(input)).is_err() {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.input"));
        std::fs::write(&file, input).expect("writable");
        panic!("the input of {} bytes that broke it: {}", input.len(), file.display());
    }
}

#[test]
fn addresses_of_any_text_are_read_or_refused() {
    check("address_text", address_text::run, &seeds("address_text"));
}

#[test]
fn any_bytes_are_decoded_by_any_chain_or_refused() {
    check("codec_chain", codec_chain::run, &seeds("codec_chain"));
}

#[test]
fn any_layout_is_taken_or_refused_and_answers_as_a_map() {
    check("dict_layout", dict_layout::run, &seeds("dict_layout"));
}

#[test]
fn any_text_of_a_format_is_rows_or_refused() {
    check("format_read", format_read::run, &seeds("format_read"));
}

#[test]
fn any_bytes_are_a_native_block_or_refused() {
    check("native_block", native_block::run, &seeds("native_block"));
}

#[test]
fn any_bytes_are_packets_of_a_client_or_refused() {
    check("native_packets", native_packets::run, &seeds("native_packets"));
}

#[test]
fn postgres_messages_survive_any_bytes() {
    check("postgres_messages", postgres_messages::run, &seeds("postgres_messages"));
}

#[test]
fn any_damage_of_a_part_is_an_error_or_changes_no_row() {
    check("part_files", part_files::run, &seeds("part_files"));
}

#[test]
fn any_part_meta_opens_or_is_set_aside() {
    check("part_meta", part_meta::run, &seeds("part_meta"));
}

#[test]
fn any_bytes_are_commands_of_redis_or_refused() {
    check("redis_commands", redis_commands::run, &seeds("redis_commands"));
}

#[test]
fn any_regular_expression_is_translated_or_refused() {
    check("regular_expression", regular_expression::run, &seeds("regular_expression"));
}

#[test]
fn any_segment_file_answers_or_is_refused() {
    check("segment_file", segment_file::run, &seeds("segment_file"));
}

#[test]
fn any_answer_of_a_server_is_rows_or_an_error() {
    check("source_answers", source_answers::run, &seeds("source_answers"));
}

#[test]
fn any_sql_is_parsed_or_refused_and_prints_as_itself() {
    let mut seeds = seeds("sql_parse");
    statements(&root().join("tests/sql"), &mut seeds);
    check("sql_parse", sql_parse::run, &seeds);
}
