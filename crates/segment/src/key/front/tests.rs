//! The index of front-coded keys finds what a sorted list has.

use proptest::prelude::*;

use super::*;
use crate::file::Access;
use crate::file::testing::{Parts, TestDir};
use crate::key::KeyIndex;
use crate::key::conformance::{check_index, exercise};

fn build(dir: &TestDir, keys: &[Vec<u8>]) -> Parts {
    let mut sample = CodesSample::default();
    keys.iter().for_each(|key| sample.add(key));
    let mut builder = FrontBuilder::new("key", sample.choose().tokens, dir.place());
    keys.iter().for_each(|key| builder.push(key).expect("room"));
    Parts::of(builder.finish().expect("room"))
}

fn open(dir: &TestDir, parts: &Parts, access: Access) -> basalt_base::Result<FrontIndex> {
    FrontIndex::open(dir.file(std::slice::from_ref(parts), access).component("key").expect("it is there"))
}

fn check(mut keys: Vec<Vec<u8>>, probes: &[Vec<u8>]) {
    keys.sort();
    keys.dedup();
    let dir = TestDir::new();
    let parts = build(&dir, &keys);
    for access in [Access::Mapped, Access::Read] {
        let index = open(&dir, &parts, access).expect("an index");
        check_index(&index, &keys, probes);
        let stored: u64 = parts.sections.iter().map(|section| section.len() as u64).sum();
        assert_eq!(index.stored_bytes(), stored);
    }
}

/// Bytes of which few are distinct, so that keys share prefixes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'a'), Just(b'b'), Just(0), Just(0xff), Just(b'z'), Just(b'!'), any::<u8>()];
    prop_oneof![
        prop::collection::vec(byte.clone(), 0..12),
        (0..4_usize, prop::collection::vec(byte, 0..6)).prop_map(|(repeats, end)| [
            b"/usr/share/doc".repeat(repeats),
            end
        ]
        .concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

    #[test]
    fn keys_are_found(keys in prop::collection::vec(key(), 0..400), probes in prop::collection::vec(key(), 0..50)) {
        check(keys, &probes);
    }
}

#[test]
fn many_keys_take_several_levels() {
    let path =
        |at: u32| format!("/usr/share/{}/{:x}/file{at}.txt", at % 7, at.wrapping_mul(0x9e37_79b9) >> 20);
    check((0..30_000).map(|at| path(at).into_bytes()).collect(), &[]);
}

#[test]
fn long_keys_and_their_prefixes() {
    let mut keys: Vec<Vec<u8>> = (0..200).map(|at| vec![0xff; at * 300]).collect();
    keys.push(vec![0; crate::key::KEY_BYTES_MAX]);
    keys.push([vec![0; crate::key::KEY_BYTES_MAX - 1], vec![1]].concat());
    let noise = |at: usize| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as u8;
    keys.push((0..crate::key::KEY_BYTES_MAX).map(noise).collect());
    check(keys, &[]);
}

#[test]
fn damaged_bytes_give_an_error_or_some_answer() {
    let dir = TestDir::new();
    let keys: Vec<Vec<u8>> = (0..150_u32).map(|at| format!("key{at:03}").into_bytes()).collect();
    let parts = build(&dir, &keys);
    let probes: Vec<Vec<u8>> = [&b""[..], b"key", b"key077", b"key1490", b"z"].map(<[u8]>::to_vec).to_vec();
    parts.each_damage(|damaged| {
        if let Ok(index) = open(&dir, damaged, Access::Mapped) {
            exercise(&index, &probes);
        }
    });
}
