//! The contract of every type of skip index: no granule with a matching value is skipped, and damaged bytes give an
//! error or a summary, never a panic.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Float64Array};
use arrow::datatypes::{DataType, Field};
use proptest::prelude::*;

use super::kind::IndexKind;
use super::predicate::{Substring, ValueTest};
use super::summary::FilterSize;
use super::text::tokens;
use crate::key::ranges::KeyRanges;
use crate::sample::{self, Noise};

const ROWS: usize = 30;

fn kinds() -> Vec<IndexKind> {
    let filter = FilterSize { bytes: 64, hashes: 3, seed: 5 };
    vec![
        IndexKind::MinMax,
        IndexKind::Set { values_max: 0 },
        IndexKind::Set { values_max: 20 },
        IndexKind::BloomFilter { false_positive: 0.1 },
        IndexKind::NgramFilter { n: 3, filter },
        IndexKind::TokenFilter { filter },
    ]
}

/// Every value of `array` may match, before and after the summary was encoded and decoded.
fn check(kind: &IndexKind, array: &ArrayRef) {
    let field = Field::new("c", array.data_type().clone(), true);
    let mut summary = kind.summary(&field);
    summary.append(&array.slice(0, array.len() / 2)).unwrap();
    summary.append(&array.slice(array.len() / 2, array.len() - array.len() / 2)).unwrap();
    let bytes = summary.encode().unwrap();
    let decoded = kind.decode(&field, &bytes).unwrap();
    for row in (0..array.len()).filter(|&row| array.is_valid(row)) {
        for test in tests_of(&array.slice(row, 1)) {
            assert!(summary.may_match(&test), "{kind}: {test:?}");
            assert!(decoded.may_match(&test), "{kind}, decoded: {test:?}");
        }
    }
    check_damaged(kind, &field, &bytes, &array.slice(0, 1));
}

/// Tests that the one value of `value` passes.
fn tests_of(value: &ArrayRef) -> Vec<ValueTest> {
    let mut all =
        vec![ValueTest::Points(Arc::clone(value)), ValueTest::Ranges(KeyRanges::points(value).unwrap())];
    if let DataType::List(_) = value.data_type() {
        let elements = value.as_list::<i32>().value(0);
        if !elements.is_empty() && elements.is_valid(0) {
            all.push(ValueTest::Elements(elements.slice(0, 1)));
        }
    }
    if *value.data_type() == DataType::BinaryView {
        let text = value.as_binary_view().value(0);
        let substring = |bytes: &[u8], is_start, is_end| {
            ValueTest::Substrings(vec![Substring { bytes: bytes.to_vec(), is_start, is_end }])
        };
        all.push(substring(text, true, true));
        all.push(substring(&text[..text.len() / 2], true, false));
        all.push(substring(&text[text.len() / 2..], false, true));
        all.push(substring(&text[text.len() / 3..text.len() - text.len() / 3], false, false));
        all.extend(tokens(text).map(|at| ValueTest::Token(text[at].to_vec())));
    }
    all
}

fn check_damaged(kind: &IndexKind, field: &Field, bytes: &[u8], value: &ArrayRef) {
    let try_decode = |damaged: &[u8]| {
        if let Ok(summary) = kind.decode(field, damaged) {
            summary.may_match(&ValueTest::Points(Arc::clone(value)));
        }
    };
    for bit in 0..bytes.len().min(40) * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        try_decode(&flipped);
    }
    for end in 0..bytes.len().min(40) {
        try_decode(&bytes[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]
    #[test]
    fn no_value_that_is_there_is_left_out(seed in any::<u64>()) {
        for ty in sample::types() {
            let array = sample::array(&ty, ROWS, &mut Noise(seed));
            kinds().iter().for_each(|kind| check(kind, &array));
        }
    }
}

#[test]
fn both_zeros_are_one_value() {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![-0.0]));
    let field = Field::new("c", DataType::Float64, false);
    for kind in kinds() {
        let mut summary = kind.summary(&field);
        summary.append(&array).unwrap();
        let zero: ArrayRef = Arc::new(Float64Array::from(vec![0.0]));
        assert!(summary.may_match(&ValueTest::Points(zero)), "{kind}");
    }
}

#[test]
fn what_is_not_there_is_left_out() {
    let array: ArrayRef =
        Arc::new(BinaryViewArray::from_iter_values(["GET /index.html", "POST /form", "GET /about"]));
    let field = Field::new("c", DataType::BinaryView, false);
    let substring = |text: &str| {
        ValueTest::Substrings(vec![Substring {
            bytes: text.as_bytes().to_vec(),
            is_start: false,
            is_end: false,
        }])
    };
    let point = |text: &str| ValueTest::Points(Arc::new(BinaryViewArray::from_iter_values([text])));
    let check = |kind: IndexKind, test: ValueTest, expected: bool| {
        let mut summary = kind.summary(&field);
        summary.append(&array).unwrap();
        let decoded = kind.decode(&field, &summary.encode().unwrap()).unwrap();
        assert_eq!(decoded.may_match(&test), expected, "{kind}: {test:?}");
        assert!(expected || kind.understands(&test), "{kind}: {test:?}");
    };
    let filter = FilterSize { bytes: 256, hashes: 3, seed: 0 };
    check(IndexKind::MinMax, point("A"), false);
    check(IndexKind::Set { values_max: 3 }, point("GET /"), false);
    check(IndexKind::Set { values_max: 2 }, point("GET /"), true);
    check(IndexKind::BloomFilter { false_positive: 0.001 }, point("GET /"), false);
    check(IndexKind::NgramFilter { n: 4, filter }, substring("inde"), true);
    check(IndexKind::NgramFilter { n: 4, filter }, substring("jinx"), false);
    check(IndexKind::NgramFilter { n: 4, filter }, substring("jin"), true);
    check(IndexKind::TokenFilter { filter }, ValueTest::Token(b"about".to_vec()), true);
    check(IndexKind::TokenFilter { filter }, ValueTest::Token(b"bout".to_vec()), false);
    check(IndexKind::TokenFilter { filter }, substring("bout"), true);
    check(IndexKind::TokenFilter { filter }, substring(" bout "), false);
}
