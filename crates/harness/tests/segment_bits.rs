//! Every flipped bit and every truncation of small segments that have every encoding between them.
//!
//! Below corrected checksums that takes minutes: with `BASALT_EVERY_BIT=1` every bit is flipped, otherwise one of
//! each byte of the sections and two of each byte of the directory.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use basalt_base::region::CHECK_BLOCK_BYTES;
use basalt_harness::segment_file::{answers, encodings, limited, touch, verify};
use basalt_harness::segment_samples::{Sample, large_sample, samples};
use basalt_segment::file::{Access, restore_checksums};

const FOOTER_BYTES: usize = 32;
const ENCODINGS: [&str; 24] = [
    "archive",
    "array",
    "ascending",
    "binary fuse 8",
    "bitmap",
    "codes",
    "constant",
    "decimal",
    "dense",
    "entries",
    "folded",
    "front",
    "list",
    "long_match",
    "nothing",
    "onpair",
    "packed",
    "plain",
    "ranks",
    "strings",
    "struct",
    "tombstones",
    "trigram",
    "zones",
];

/// Calls `check` with each sample, on several threads.
fn each_sample(check: impl Fn(&Sample) + Sync) {
    let (samples, next) = (samples(), AtomicUsize::new(0));
    let work = || {
        while let Some(sample) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(sample);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

/// Calls `check` with the sample with each of these bits flipped in turn, and says which.
fn flip_each(sample: &Sample, bits: impl Iterator<Item = usize>, check: impl Fn(&[u8], &str)) {
    let mut damaged = sample.bytes.clone();
    for bit in bits {
        damaged[bit / 8] ^= 1 << (bit % 8);
        check(&damaged, &format!("{}: bit {bit}", sample.name));
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
}

fn directory(bytes: &[u8]) -> Range<usize> {
    let footer = bytes.len() - FOOTER_BYTES;
    let offset = u64::from_le_bytes(*bytes[footer..].first_chunk().expect("a footer"));
    usize::try_from(offset).expect("in the file")..footer
}

#[test]
fn samples_have_every_encoding() {
    let found = samples().into_iter().flat_map(|sample| encodings(&sample.bytes).expect("a whole segment"));
    assert_eq!(found.collect::<BTreeSet<_>>(), ENCODINGS.map(str::to_owned).into());
}

#[test]
fn a_whole_segment_answers_the_same_in_both_ways_of_access() {
    for Sample { name, bytes } in samples().into_iter().chain([large_sample()]) {
        verify(&bytes).expect(name);
        let [mapped, read] = [Access::Mapped, Access::Read].map(|access| {
            let answers = answers(&bytes, access).expect(name).into_iter();
            answers.map(|answer| answer.expect(name)).collect::<Vec<_>>()
        });
        assert_eq!(mapped, read, "{name}");
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_an_error() {
    each_sample(|sample| {
        let bits = 0..sample.bytes.len() * 8;
        flip_each(sample, bits, |bytes, damage| assert!(verify(bytes).is_err(), "{damage}"));
        for bytes in 0..sample.bytes.len() {
            assert!(verify(&sample.bytes[..bytes]).is_err(), "{}: cut to {bytes} bytes", sample.name);
        }
    });
}

/// Whether a bit is flipped if not all of them are. The high bits of a number in the directory make it very large.
fn is_tried(bit: usize, in_directory: bool) -> bool {
    let (byte, bit) = (bit / 8, bit % 8);
    bit == byte % 8 || in_directory && bit == 7 - byte % 8
}

#[test]
fn damage_below_the_checksums_is_an_error_or_some_answer() {
    let every_bit = std::env::var_os("BASALT_EVERY_BIT").is_some();
    each_sample(|sample| {
        let directory = directory(&sample.bytes);
        let bits = (0..sample.bytes.len() * 8)
            .filter(|bit| every_bit || is_tried(*bit, directory.contains(&(bit / 8))));
        flip_each(sample, bits, |bytes, _| {
            let mut bytes = bytes.to_vec();
            restore_checksums(&mut bytes);
            limited(|| touch(&bytes, Access::Mapped));
        });
    });
}

#[test]
fn a_damaged_page_makes_answers_errors_and_never_others() {
    let sample = large_sample();
    let whole = answers(&sample.bytes, Access::Mapped).expect("a whole segment");
    let pages = directory(&sample.bytes).start.div_ceil(CHECK_BLOCK_BYTES);
    assert!(pages > 4);
    for access in [Access::Mapped, Access::Read] {
        let bits = (0..pages).map(|page| (page * CHECK_BLOCK_BYTES + 1000) * 8);
        let errors = Cell::new(0);
        flip_each(&sample, bits, |bytes, damage| {
            verify(bytes).expect_err(damage);
            let Ok(damaged) = answers(bytes, access) else { return };
            assert_eq!(damaged.len(), whole.len());
            for (answer, right) in damaged.iter().zip(&whole) {
                match answer {
                    Ok(answer) => assert_eq!(Some(answer), right.as_ref().ok(), "{damage}"),
                    Err(_) => errors.set(errors.get() + 1),
                }
            }
        });
        assert!(errors.get() > 0, "some pages are read after the file was opened");
    }
}

#[test]
#[should_panic(expected = "bytes of memory")]
fn work_above_the_limit_of_memory_is_reported() {
    limited(|| {
        black_box(Vec::<u8>::with_capacity(600 << 20));
        Ok(())
    });
}
