//! Indexes of fixed-size keys find what a sorted list has.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::file::testing::{Parts, TestDir};
use crate::file::{Access, SegmentFile};
use crate::key::KeyIndex;
use crate::key::conformance::{check_index, exercise};

/// Opens the component, whatever its encoding.
fn open(file: &SegmentFile) -> basalt_base::Result<Box<dyn KeyIndex>> {
    let component = file.component("key").expect("it is there");
    Ok(match component.encoding() {
        ARRAY => Box::new(ArrayIndex::open(component)?),
        _ => Box::new(IntegersIndex::open(component)?),
    })
}

fn integers(dir: &TestDir, keys: &[Vec<u8>], bytes: usize, is_dense: bool) -> Parts {
    let mut builder = match is_dense {
        true => IntegersBuilder::dense("key", bytes),
        false => IntegersBuilder::ascending("key", bytes, dir.place()),
    };
    keys.iter().for_each(|key| builder.push(key).expect("a key"));
    Parts::of(builder.finish().expect("room"))
}

fn array(dir: &TestDir, keys: &[Vec<u8>], bytes: usize) -> Parts {
    let common = match keys {
        [] => 0,
        [first, ..] => crate::key::limits::common_prefix(first, &keys[keys.len() - 1]).min(bytes - 1),
    };
    let prefix = keys.first().map_or(&[][..], |first| &first[..common]);
    let mut builder = ArrayBuilder::new("key", bytes, prefix, dir.place()).expect("room");
    keys.iter().for_each(|key| builder.push(key).expect("a key"));
    Parts::of(builder.finish())
}

fn check(dir: &TestDir, parts: &Parts, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    for access in [Access::Mapped, Access::Read] {
        let index = open(&dir.file(std::slice::from_ref(parts), access)).expect("an index");
        check_index(index.as_ref(), keys, probes);
    }
}

fn damage(dir: &TestDir, parts: &Parts, probes: &[Vec<u8>]) {
    parts.each_damage(|damaged| {
        if let Ok(index) = open(&dir.file(std::slice::from_ref(damaged), Access::Mapped)) {
            exercise(index.as_ref(), probes);
        }
    });
}

fn keys_of(bytes: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![Just(0), Just(0xff), Just(b'a'), Just(b'z'), Just(b'b'), any::<u8>()];
    let key = prop::collection::vec(byte, bytes..=bytes);
    prop::collection::btree_set(key, 0..300).prop_map(|keys: BTreeSet<_>| keys.into_iter().collect())
}

fn probes() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

    #[test]
    fn integers_are_found(
        (bytes, keys) in (0..=8_usize).prop_flat_map(|bytes| (Just(bytes), keys_of(bytes))),
        probes in probes(),
    ) {
        let dir = TestDir::new();
        check(&dir, &integers(&dir, &keys, bytes, false), &keys, &probes);
    }

    #[test]
    fn consecutive_integers_are_found(first in any::<u32>(), count in 0..500_u64, probes in probes()) {
        let dir = TestDir::new();
        let keys: Vec<Vec<u8>> =
            (0..count).map(|at| (u64::from(first) + at).to_be_bytes()[3..].to_vec()).collect();
        check(&dir, &integers(&dir, &keys, 5, true), &keys, &probes);
    }

    #[test]
    fn keys_of_an_array_are_found(
        (bytes, keys) in (1..=32_usize).prop_flat_map(|bytes| (Just(bytes), keys_of(bytes))),
        probes in probes(),
    ) {
        let dir = TestDir::new();
        check(&dir, &array(&dir, &keys, bytes), &keys, &probes);
    }
}

#[test]
fn the_largest_integers_are_found() {
    let dir = TestDir::new();
    let keys: Vec<Vec<u8>> = (0..300).map(|at| (u64::MAX - 299 + at).to_be_bytes().to_vec()).collect();
    check(&dir, &integers(&dir, &keys, 8, true), &keys, &[]);
    check(&dir, &integers(&dir, &keys, 8, false), &keys, &[]);
    check(&dir, &array(&dir, &keys, 8), &keys, &[]);
}

#[test]
fn uneven_keys_of_an_array_are_found() {
    let dir = TestDir::new();
    let key = |at: u64| [(1_u64 << (at % 60)).to_be_bytes(), at.to_be_bytes()].concat();
    let mut keys: Vec<Vec<u8>> = (0..5000).map(key).collect();
    keys.sort();
    check(&dir, &array(&dir, &keys, 16), &keys, &[]);
}

#[test]
fn damaged_bytes_give_an_error_or_some_answer() {
    let dir = TestDir::new();
    let keys: Vec<Vec<u8>> = (0..140_u64).map(|at| (at * at).to_be_bytes()[4..].to_vec()).collect();
    let probes: Vec<Vec<u8>> =
        [&b""[..], b"\0\0\0\x04", b"\0\0\x10", b"\xff\xff\xff\xff\xff"].map(<[u8]>::to_vec).to_vec();
    damage(&dir, &integers(&dir, &keys, 4, false), &probes);
    damage(&dir, &array(&dir, &keys, 4), &probes);
    let dense: Vec<Vec<u8>> = (0..100_u32).map(|at| at.to_be_bytes().to_vec()).collect();
    damage(&dir, &integers(&dir, &dense, 4, true), &probes);
}
