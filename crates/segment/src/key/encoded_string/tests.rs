//! Searches of keys of several columns give the keys whose string matches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::Rank;
use crate::file::Access;
use crate::file::testing::{Parts, TestDir};
use crate::key::{
    KeyIndex, KeyIndexBuilder, KeySample, LevenshteinAutomaton, PrefixAutomaton, open_key_index,
};
use crate::search::{Pattern, search_encoded_keys};

const FORMS: [EncodedString; 4] = [
    EncodedString { is_nullable: false, is_followed: true },
    EncodedString { is_nullable: true, is_followed: true },
    EncodedString { is_nullable: false, is_followed: false },
    EncodedString { is_nullable: true, is_followed: false },
];

fn encode(form: EncodedString, string: Option<&[u8]>, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    if form.is_nullable {
        key.push(u8::from(string.is_none()));
    }
    let string = string.unwrap_or_default();
    if form.is_nullable && key == [1] {
        key.extend_from_slice(if form.is_followed { rest } else { b"" });
    } else if form.is_followed {
        for &byte in string {
            key.push(byte);
            if byte == 0 {
                key.push(0xff);
            }
        }
        key.extend_from_slice(&[0, 0]);
        key.extend_from_slice(rest);
    } else {
        key.extend_from_slice(string);
    }
    key
}

fn index(dir: &TestDir, keys: &[Vec<u8>]) -> (Arc<dyn KeyIndex>, String) {
    let mut sample = KeySample::default();
    keys.iter().for_each(|key| sample.add(key).expect("a sorted key"));
    let mut builder = KeyIndexBuilder::new("key", sample, dir.place()).expect("room");
    keys.iter().for_each(|key| builder.push(key).expect("the same key"));
    let parts: Vec<Parts> = builder.finish().expect("room").into_iter().map(Parts::of).collect();
    let encoding = parts[0].encoding.clone();
    (open_key_index(&dir.file(&parts, Access::Mapped), "key").expect("an index"), encoding)
}

/// Searches the keys of `rows`, strings with what follows them. Returns the encoding of the index.
fn check(form: EncodedString, rows: &[(Option<Vec<u8>>, Vec<u8>)]) -> String {
    let rows: BTreeMap<Vec<u8>, Option<&Vec<u8>>> = rows
        .iter()
        .map(|(string, rest)| (string.as_ref(), rest))
        .filter(|(string, _)| form.is_nullable || string.is_some())
        .map(|(string, rest)| (encode(form, string.map(Vec::as_slice), rest), string))
        .collect();
    let keys: Vec<Vec<u8>> = rows.keys().cloned().collect();
    let mut decoded = Vec::new();
    for (key, string) in &rows {
        assert_eq!(form.decode(key, &mut decoded).then_some(&decoded), *string, "{key:?}");
    }
    let dir = TestDir::new();
    let (index, encoding) = index(&dir, &keys);
    let expected = |matches: &dyn Fn(&[u8]) -> bool| -> Vec<Rank> {
        let strings = (0..).zip(rows.values());
        strings.filter(|(_, string)| string.is_some_and(|text| matches(text))).map(|(rank, _)| rank).collect()
    };
    for expression in ["a", "^a", "\\x00$", "^(a|\\x00b)*$", "\\xff", "", "a.*\\x00.*b", "^$"] {
        let pattern = Pattern::expression(expression.as_bytes()).expect("an expression");
        let mut found: Vec<Rank> = Vec::new();
        search_encoded_keys(index.as_ref(), form, &pattern, 0..index.len(), &mut |ranks| {
            found.extend(ranks);
            Ok(ControlFlow::Continue(()))
        })
        .expect("ranks");
        assert_eq!(found, expected(&|text| pattern.matches(text)), "{form:?} {expression}");
    }
    for prefix in [b"".as_slice(), b"a", b"a\0", b"\0\0", b"\0\xff"] {
        let found = search(index.as_ref(), form, &mut PrefixAutomaton::new(prefix));
        assert_eq!(found, expected(&|text| text.starts_with(prefix)), "{form:?} {prefix:?}");
    }
    let near = Pattern::character_distance("ab\0", 1).expect("a small one");
    let found = search(index.as_ref(), form, &mut LevenshteinAutomaton::new("ab\0", 1).expect("a small one"));
    assert_eq!(found, expected(&|text| near.matches(text)), "{form:?}");
    encoding
}

fn search(index: &dyn KeyIndex, form: EncodedString, strings: &mut dyn KeyAutomaton) -> Vec<Rank> {
    let mut found: Vec<Rank> = Vec::new();
    let mut automaton = EncodedStringAutomaton::new(strings, form);
    let mut take = |ranks| {
        found.extend::<std::ops::Range<Rank>>(ranks);
        Ok(ControlFlow::Continue(()))
    };
    index.search(0..index.len(), &mut automaton, &mut take).expect("ranks");
    found
}

fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(b'a'), 2 => Just(b'b'), 3 => Just(0), 1 => Just(0xff), 1 => Just(1)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

    #[test]
    fn the_strings_of_front_coded_keys_are_searched(
        rows in prop::collection::vec(
            (prop::option::weighted(0.9, prop::collection::vec(byte(), 0..7)), prop::collection::vec(byte(), 0..5)),
            0..150,
        ),
    ) {
        FORMS.iter().for_each(|&form| drop(check(form, &rows)));
    }

    /// Keys that have as many bytes as each other.
    #[test]
    fn the_strings_of_fixed_keys_are_searched(
        rows in prop::collection::btree_set(
            (prop::collection::vec(byte(), 3..=3), prop::collection::vec(any::<u8>(), 9..=9)), 1..150,
        ),
    ) {
        // A zero byte takes two bytes.
        let zeroes = |string: &[u8]| string.iter().filter(|&&byte| byte == 0).count();
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(string, rest)| (Some(string.clone()), rest[..9 - zeroes(&string)].to_vec()))
            .collect();
        for form in FORMS.into_iter().filter(|form| form.is_followed) {
            check(form, &rows);
        }
    }
}

#[test]
fn keys_of_all_encodings_are_searched() {
    let mixed = |at: u64| {
        let at = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (at ^ at >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
    };
    let rows = |letters: &[u8], bytes: u64| -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
        let letter = |at: u64| letters[mixed(at) as usize % letters.len()];
        let string = |at: u64| (0..bytes).map(|place| letter(at * bytes + place)).collect();
        (0..500).map(|at| (Some(string(at)), mixed(at).to_be_bytes()[4..].to_vec())).collect()
    };
    let encodings = [
        check(FORMS[0], &rows(b"ab", 1)),
        check(FORMS[1], &rows(&(1..=0xff).collect::<Vec<_>>(), 8)),
        check(FORMS[2], &(0..50).map(|at| (Some(vec![at]), vec![])).collect::<Vec<_>>()),
        check(FORMS[0], &rows(b"ab\0", 20)),
    ];
    assert_eq!(encodings, ["ascending", "array", "dense", "front"]);
}

#[test]
fn what_is_no_encoding_is_not_accepted() {
    let accepts = |form, key: &[u8]| {
        let mut strings = LevenshteinAutomaton::new("a", 1).expect("a small one");
        let mut automaton = EncodedStringAutomaton::new(&mut strings, form);
        let start = automaton.start().expect("a state");
        let end = key.iter().try_fold(start, |state, &byte| automaton.next(state, byte)).expect("a state");
        assert_eq!(form.decode(key, &mut Vec::new()), automaton.accepts(end).expect("an answer"));
        automaton.accepts(end).expect("an answer")
    };
    assert!(accepts(FORMS[0], b"a\0\0") && accepts(FORMS[0], b"a\0\xff\0\0rest"));
    assert!(!accepts(FORMS[0], b"a") && !accepts(FORMS[0], b"a\0") && !accepts(FORMS[0], b"a\0\x01\0\0"));
    assert!(accepts(FORMS[1], b"\0a\0\0") && !accepts(FORMS[1], b"\x01") && !accepts(FORMS[1], b"\x02a\0\0"));
    assert!(accepts(FORMS[3], b"\0a") && !accepts(FORMS[3], b"") && !accepts(FORMS[3], b"\x01"));
}
