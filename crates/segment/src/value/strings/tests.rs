//! Every store of strings gives back what was put in.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray};
use basalt_base::Result;
use proptest::prelude::*;

use super::archive::ArchiveEncoder;
use super::builder::StringsBuilder;
use super::folding::distinct_name;
use super::long_match::LongMatchEncoder;
use super::onpair::OnPairEncoder;
use super::plan::Trained;
use super::trial::Candidate;
use super::*;
use crate::Rank;
use crate::file::Access;
use crate::file::testing::{Parts, TestDir, each_damage};
use crate::search::TokenStrings;
use crate::value::{ColumnStore, StoreBuilder};

const DICTIONARY_BYTES: usize = 1 << 16;

/// Bytes that look like random ones.
pub(super) fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut word = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        word = (word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(0x94d0_49bb_1331_11eb);
        (word >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn candidates() -> Vec<Candidate> {
    let long_match = |bits| Candidate::LongMatch { bits, least: 2, dictionary_bytes: DICTIONARY_BYTES };
    let mut all = vec![Candidate::Plain, Candidate::Archive, long_match(12), long_match(14), long_match(16)];
    all.extend([12, 14, 16].map(|bits| Candidate::OnPair { bits }));
    all
}

/// The components of the strings, which are pushed in several blocks of both Arrow types.
fn build(strings: &[Vec<u8>], plan: StringPlan, dir: &TestDir) -> Vec<Parts> {
    let mut builder = plan.builder("column", dir.place()).expect("a builder");
    for (number, block) in strings.chunks(50).enumerate() {
        let values: ArrayRef = match number % 2 {
            0 => Arc::new(BinaryViewArray::from_iter_values(block)),
            _ => Arc::new(BinaryArray::from_iter_values(block)),
        };
        builder.push(&values).expect("a block");
    }
    builder.finish().expect("components").into_iter().map(Parts::of).collect()
}

fn plan(trained: Trained, is_folded: bool) -> StringPlan {
    StringPlan { trained, is_folded, reason: "asked for".to_owned() }
}

fn open_parts(parts: &[Parts], access: Access, dir: &TestDir) -> Result<Arc<dyn ColumnStore>> {
    open(&dir.file(parts, access), "column")
}

fn check_array(found: &ArrayRef, expected: &[&[u8]]) {
    let found = found.as_binary_view();
    found.to_data().validate_full().expect("an array of Arrow");
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().map(Option::unwrap).eq(expected.iter().copied()));
}

/// What every store of strings must do.
fn conforms(store: &dyn ColumnStore, strings: &[Vec<u8>]) {
    let len = strings.len() as Rank;
    assert_eq!((store.len(), store.is_empty()), (len, len == 0));
    let expected: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    check_array(&store.scan(0..len).expect("all"), &expected);
    for ranks in [0..len.min(1), len / 3..len / 2, len..len, len.saturating_sub(1)..len] {
        let part = &expected[ranks.start as usize..ranks.end as usize];
        check_array(&store.scan(ranks).expect("a part"), part);
    }
    let ranks: Vec<Rank> = (0..2 * len).map(|at| at.wrapping_mul(7919) % len).collect();
    let taken: Vec<&[u8]> = ranks.iter().map(|&rank| expected[rank as usize]).collect();
    check_array(&store.take(&ranks).expect("all, some twice"), &taken);
    check_array(&store.take(&[]).expect("none"), &[]);
    assert!(store.take(&[len]).is_err() && store.take(&[Rank::MAX]).is_err());
    assert!(store.scan(0..len + 1).is_err());
    let texts = store.as_strings().expect("strings");
    let mut out = b"before".to_vec();
    for (rank, string) in (0..).zip(strings) {
        out.truncate(6);
        texts.append(rank, &mut out).expect("a string");
        assert_eq!((&out[..6], &out[6..]), (b"before".as_slice(), string.as_slice()));
    }
    assert!(texts.append(len, &mut out).is_err());
    if let Some(coded) = texts.as_tokens() {
        codes_conform(coded, strings);
    }
}

fn codes_conform(coded: &dyn TokenStrings, strings: &[Vec<u8>]) {
    let (mut text, mut next) = (Vec::new(), 0);
    coded
        .scan_codes(0..strings.len() as Rank, &mut |rank, found| {
            assert_eq!(rank, next);
            next += 1;
            text.clear();
            found.iter().for_each(|&code| text.extend_from_slice(coded.tokens().text_of(code)));
            assert_eq!(text, strings[rank as usize]);
            Ok(if rank == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .expect("codes");
    assert_eq!(next, strings.len().min(71) as Rank);
    assert!(
        coded.scan_codes(0..strings.len() as Rank + 1, &mut |_, _| Ok(ControlFlow::Continue(()))).is_err()
    );
}

/// Every store of these strings conforms.
fn check(strings: &[Vec<u8>]) {
    let dir = TestDir::new();
    let sample: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    for candidate in candidates() {
        for is_folded in [false, true] {
            let parts = build(strings, plan(candidate.train(&sample), is_folded), &dir);
            assert_eq!(parts.len(), if is_folded { 2 } else { 1 });
            for access in [Access::Mapped, Access::Read] {
                conforms(open_parts(&parts, access, &dir).expect("a store").as_ref(), strings);
            }
        }
    }
}

fn sentences(count: usize) -> Vec<Vec<u8>> {
    let words =
        ["package", "library", "of the", "shared", "files", "documentation", "for", "development", "a"];
    let word = |at: usize| words[noise(1, at as u64)[0] as usize % words.len()];
    let sentence = |row: usize| (0..row % 23).map(|at| word(row / 2 * 31 + at)).collect::<Vec<_>>().join(" ");
    (0..count).map(|row| format!("{}: {}", row / 2, sentence(row)).into_bytes()).collect()
}

#[test]
fn stores_of_text_conform() {
    check(&sentences(700));
}

#[test]
fn stores_of_no_strings_empty_strings_and_equal_strings_conform() {
    check(&[]);
    check(&[Vec::new()]);
    check(&vec![Vec::new(); 1000]);
    check(&vec![b"all are equal, and longer than a view".to_vec(); 1000]);
    check(&vec![b"x".to_vec(); 3]);
}

#[test]
fn stores_of_arbitrary_bytes_conform() {
    check(&(0..200).map(|row| noise(row * row % 3000, row as u64)).collect::<Vec<_>>());
}

#[test]
fn strings_of_more_than_one_block_among_short_ones_conform() {
    let long = sentences(60_000).concat();
    assert!(long.len() > 3 << 20);
    let zeroes = vec![0; (1 << 20) + 1];
    let mut strings = sentences(20);
    strings.extend([long.clone(), zeroes, noise(1 << 20, 5), long[..2 << 20].to_vec()]);
    strings.extend(sentences(20));
    check(&strings);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn stores_conform(
        strings in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "(alpha|beta|gamma delta epsilon zeta eta theta iota kappa| ){0,20}".prop_map(Vec::from),
            ],
            0..150,
        ),
    ) {
        check(&strings);
    }
}

#[test]
fn nulls_are_empty_strings() {
    let dir = TestDir::new();
    let values: ArrayRef = Arc::new(BinaryViewArray::from_iter([Some("one"), None, Some("one"), None]));
    for is_folded in [false, true] {
        let mut builder = plan(Trained::Plain, is_folded).builder("column", dir.place()).expect("a builder");
        builder.push(&values).expect("a block");
        let parts: Vec<_> = builder.finish().expect("components").into_iter().map(Parts::of).collect();
        let store = open_parts(&parts, Access::Mapped, &dir).expect("a store");
        check_array(&store.scan(0..4).expect("all"), &[b"one", b"", b"one", b""]);
    }
}

/// Whatever is damaged, a store is refused, or reads give an error or some strings.
fn survives_damage(trained: Trained, is_folded: bool) {
    let dir = TestDir::new();
    let mut strings = sentences(30);
    strings.extend([vec![], b"package library of the shared files documentation".repeat(3)]);
    let parts = build(&strings, plan(trained, is_folded), &dir);
    each_damage(&parts, |parts| {
        let Ok(store) = open_parts(parts, Access::Mapped, &dir) else { return };
        let len = store.len().min(40);
        let _ = store.scan(0..len);
        let _ = store.take(&[0, len.saturating_sub(1), len]);
        let Some(strings) = store.as_strings() else { return };
        let _ = strings.append(len / 2, &mut Vec::new());
        if let Some(coded) = strings.as_tokens() {
            let _ = coded.scan_codes(0..len, &mut |_, _| Ok(ControlFlow::Continue(())));
        }
    });
}

/// Few tokens, so that few bits can be flipped.
fn small_sample() -> Vec<Vec<u8>> {
    sentences(8)
}

#[test]
fn damaged_stores_give_errors_or_some_strings() {
    let sample = small_sample();
    let sample: Vec<&[u8]> = sample.iter().map(Vec::as_slice).collect();
    for candidate in [
        Candidate::Plain,
        Candidate::OnPair { bits: 12 },
        Candidate::OnPair { bits: 16 },
        Candidate::LongMatch { bits: 14, least: 2, dictionary_bytes: 300 },
    ] {
        survives_damage(candidate.train(&sample), false);
    }
    survives_damage(Candidate::OnPair { bits: 14 }.train(&sample), true);
    survives_damage(Trained::Archive { dictionary: b"package library documentation shared".to_vec() }, false);
}

#[test]
fn a_builder_holds_no_more_after_many_strings_than_after_some() {
    let dir = TestDir::new();
    let strings = sentences(20_000);
    let sample: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    let block: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(&strings));
    let huge: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([vec![b'a'; 20 << 20]]));
    fn check<E: encoding::RecordEncoder>(encoder: E, dir: &TestDir, block: &ArrayRef, huge: &ArrayRef) {
        let mut builder = StringsBuilder::new("column", "", encoder, dir.place());
        builder.push(block).expect("a block");
        builder.push(huge).expect("a block");
        let held = builder.heap_bytes();
        assert!(held < 24 << 20, "{held} bytes");
        (0..5).for_each(|_| builder.push(block).expect("a block"));
        builder.push(huge).expect("a block");
        assert!(builder.heap_bytes() <= held + 1024, "{} after {held} bytes", builder.heap_bytes());
    }
    let Trained::OnPair(tokens) = (Candidate::OnPair { bits: 16 }).train(&sample) else { panic!("tokens") };
    check(OnPairEncoder::new(tokens.clone(), dir.place()), &dir, &block, &huge);
    check(LongMatchEncoder::new(noise(1 << 20, 1), tokens, dir.place()), &dir, &block, &huge);
    check(ArchiveEncoder::new(vec![], dir.place()).expect("an encoder"), &dir, &block, &huge);
}

#[test]
fn a_string_of_a_hundred_megabytes_comes_back_from_each_store() {
    let dir = TestDir::new();
    let mut text = sentences(50_000).concat();
    while text.len() < 100_000_000 {
        text.extend_from_within(..text.len().min(100_000_000 - text.len()));
    }
    let sample = sentences(3000);
    let sample: Vec<&[u8]> = sample.iter().map(Vec::as_slice).collect();
    let long_match = Candidate::LongMatch { bits: 16, least: 2, dictionary_bytes: DICTIONARY_BYTES };
    for candidate in [Candidate::OnPair { bits: 14 }, Candidate::Archive, long_match] {
        let strings = [text.clone()];
        let parts = build(&strings, plan(candidate.train(&sample), false), &dir);
        let store = open_parts(&parts, Access::Mapped, &dir).expect("a store");
        check_array(&store.scan(0..1).expect("a string"), &[&text]);
    }
}

#[test]
fn foreign_encodings_and_wrong_counts_are_refused() {
    let dir = TestDir::new();
    let strings = sentences(20);
    let mut parts = build(&strings, plan(Trained::Plain, true), &dir);
    parts[0].encoding = "other".to_owned();
    assert!(open_parts(&parts, Access::Mapped, &dir).is_err());
    assert!(!is_encoding("other") && is_encoding("onpair"));
    assert_eq!(parts[1].name, distinct_name("column"));
    parts[0].encoding = parts[1].encoding.clone();
    assert!(open_parts(&parts, Access::Mapped, &dir).is_err());
}

/// The plan for strings that are all in the sample.
fn chosen(strings: &[Vec<u8>], encoding: StringEncoding) -> StringPlan {
    let sample: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    let bytes = strings.iter().map(|string| string.len() as u64).sum();
    let sample = StringSample { strings: &sample, rows: strings.len() as u64, bytes };
    choose(sample, encoding, TestDir::new().place()).expect("a plan")
}

#[test]
fn the_choice_fits_the_strings() {
    let random: Vec<Vec<u8>> = (0..2000).map(|row| noise(50, row)).collect();
    let plan = chosen(&random, StringEncoding::Auto);
    assert!(matches!(plan.trained, Trained::Plain) && !plan.is_folded, "{}", plan.reason());
    let plan = chosen(&sentences(20_000), StringEncoding::Auto);
    assert!(matches!(plan.trained, Trained::OnPair(_)) && !plan.is_folded, "{}", plan.reason());
    let few: Vec<Vec<u8>> =
        (0..5000_usize).map(|row| format!("state number {}", row * row % 7).into()).collect();
    let plan = chosen(&few, StringEncoding::Auto);
    assert!(plan.is_folded, "{}", plan.reason());
    let passages: Vec<Vec<u8>> = (0..100).map(|seed| noise(300, 1_000_000 + seed)).collect();
    let passage = |row: u64| &passages[noise(1, row)[0] as usize % 100];
    let quoted: Vec<Vec<u8>> = (0..5000).map(|row| [noise(20, row), passage(row).clone()].concat()).collect();
    let plan = chosen(&quoted, StringEncoding::Auto);
    assert!(matches!(plan.trained, Trained::LongMatch { .. }), "{}", plan.reason());
    for strings in [vec![], vec![vec![]; 10], vec![b"one".to_vec()]] {
        chosen(&strings, StringEncoding::Auto);
    }
}

#[test]
fn an_encoding_that_was_asked_for_is_taken() {
    let random: Vec<Vec<u8>> = (0..300).map(|row| noise(50, row)).collect();
    for encoding in
        [StringEncoding::Plain, StringEncoding::OnPair, StringEncoding::Archive, StringEncoding::LongMatch]
    {
        let plan = chosen(&random, encoding);
        let is_taken = match &plan.trained {
            Trained::Plain => encoding == StringEncoding::Plain,
            Trained::OnPair(_) => encoding == StringEncoding::OnPair,
            Trained::Archive { .. } => encoding == StringEncoding::Archive,
            Trained::LongMatch { .. } => encoding == StringEncoding::LongMatch,
        };
        assert!(is_taken && plan.reason().contains("asked for"), "{}", plan.reason());
        let dir = TestDir::new();
        let parts = build(&random, plan, &dir);
        conforms(open_parts(&parts, Access::Mapped, &dir).expect("a store").as_ref(), &random);
    }
}
